"""Replaces plans and controllers of a network that carries numbered packets, and counts the lost ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial

from experiments.experiment import Outcome, Settings
from experiments.measuring.emulation import ground_of
from experiments.measuring.load import LoadWatch, believable, overload
from experiments.update.report import (
    FLOWS_PER_PAIR,
    IDLE_SECONDS,
    PACKET_BYTES,
    PAIRS,
    PLANS,
    REST_SECONDS,
    UpdateOptions,
    UpdatePhase,
    interval_of,
    update_plan,
    write_outcome,
)
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from testbed.lab.lab import Lab
from testbed.lab.lab_changes import PlanUpdate
from testbed.lab.lab_options import LabOptions
from testbed.lab.manifest import describe_run
from testbed.traffic.ticks import TickFlow

_FIRST_SOURCE_PORT, _FIRST_TARGET_PORT = 20000, 30000

Event = Callable[[], PlanUpdate | None]


def run_update(settings: Settings, options: UpdateOptions, output: OutputFolder, progress: Progress) -> Outcome:
    """Measure the phases `idle`, `update` and `restart`, and write the results.

    Raises:
        InputError: the machine cannot run an emulation, or the inventory does not fit.
        TestbedError: the lab failed, or an update was given up.
    """
    plans = [update_plan(settings.capacity, tunnels, spread=spread) for tunnels, spread in PLANS]
    ground, machine = ground_of(settings, plans[0].topology, {site for ends in PAIRS for site in ends})
    began = time.time()

    def show(text: str) -> None:
        progress.show(f"update: {text}")

    lab_options = LabOptions(slot_count=settings.slots, framework=settings.framework)
    with Lab(plans[0], lab_options, show, ground) as lab:
        events: dict[str, list[Event]] = {
            "idle": [lambda: time.sleep(IDLE_SECONDS)],
            "update": [
                lambda plan=plans[number % 2]: lab.update(plan)  # type: ignore[misc]  # mypy does not infer the default
                for number in range(1, options.updates + 1)
            ],
            "restart": [lab.restart_controller] * options.restarts,
        }
        results = [
            believable(partial(_phase, lab, name, each, show), f"phase {name}", progress.say)
            for name, each in events.items()
        ]
        manifest = describe_run(machine, lab.network, (), began, time.time() - began)
    told = {**manifest, "settings": asdict(settings), "options": asdict(options)}
    return write_outcome(results, lab_options.scheme, settings, told, output)


def _phase(lab: Lab, name: str, events: Sequence[Event], show: Callable[[str], None]) -> UpdatePhase:
    updates = []
    with ExitStack() as running:
        flows = {label: running.enter_context(flow) for label, flow in _flows(lab)}
        for flow in flows.values():
            flow.start()
        watch = LoadWatch(lab.network.forwarding_process, lab.network.count_box_loads)
        began = time.monotonic()
        time.sleep(REST_SECONDS)
        for number, event in enumerate(events, start=1):
            show(f"{name} {number} of {len(events)}")
            done = event()
            if done is not None:
                updates.append(done)
        time.sleep(REST_SECONDS)
        load = watch.load()
        seconds = time.monotonic() - began
        records = {label: flow.stop() for label, flow in flows.items()}
    lost = {label: record.lost for label, record in records.items() if record.lost}
    invalid = overload(load)
    if name == "idle" and lost:
        invalid = (*invalid, f"{sum(lost.values())} packets were lost although nothing was changed")
    return UpdatePhase(
        name=name,
        events=len(events),
        seconds=seconds,
        sent=sum(len(record.sent_at) for record in records.values()),
        lost=sum(lost.values()),
        reordered=sum(record.reordered for record in records.values()),
        lost_by_flow=lost,
        updates=tuple(updates),
        load=load,
        invalid=invalid,
    )


def _flows(lab: Lab) -> Iterator[tuple[str, TickFlow]]:
    """Yield labelled flows, each from its own address: the switch hashes addresses but not UDP ports."""
    allocated = {(pair.source, pair.target): pair for pair in lab.plan.pairs}
    for ends in PAIRS:
        source, target = map(lab.network.host, ends)
        interval = interval_of(allocated[ends])
        for number in range(FLOWS_PER_PAIR):
            address = str(source.address + number)
            ports = _FIRST_SOURCE_PORT + number, _FIRST_TARGET_PORT + number
            yield (
                f"{'-'.join(ends)} {number}",
                TickFlow(source, target, address, *ports, interval, PACKET_BYTES),
            )
