"""Replaces plans and controllers of a network that carries numbered packets, on switches or in packets."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from experiments.experiment import Outcome
from experiments.grid import Execution
from experiments.measuring.emulation import describe_run, ground_of
from experiments.measuring.load import LoadWatch, believable, overload
from experiments.measuring.packet_options import Notice
from experiments.measuring.packet_run import NO_LOAD, delayed, longest_message, physical_of, timing_of, told_of
from experiments.update.report import (
    FLOWS_PER_PAIR,
    FRAME_OVERHEAD,
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
from kuijia_app.tables.options import OptionWords, PipelineOptions, pipeline_options
from kuijia_base.errors import KuijiaError
from simulator.packet.transports import ConstantRate
from simulator.planned.events import Replace, Timing
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from te_solver.model.plan import Plan
from testbed.lab.cuts import PlanUpdate
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.traffic.ticks import TickFlow

_FIRST_SOURCE_PORT, _FIRST_TARGET_PORT = 20000, 30000

Event = Callable[[], PlanUpdate | None]


def run_update(run: Execution, options: UpdateOptions) -> Outcome:
    """Measure the phases `idle`, `update` and `restart`, and write the results.

    Raises:
        InputError: the machine cannot run an emulation, or the inventory does not fit.
        TestbedError: the lab failed, or an update was given up.
    """
    settings = run.settings
    plans = [update_plan(settings.capacity, tunnels, spread=spread) for tunnels, spread in PLANS]
    ground, machine = ground_of(settings, plans[0].topology, {site for ends in PAIRS for site in ends})
    lab_options = LabOptions(slot_count=settings.slots, framework=settings.framework)
    with Lab(plans[0], lab_options, run.show, ground) as lab:
        events: dict[str, list[Event]] = {
            "idle": [lambda: time.sleep(IDLE_SECONDS)],
            "update": [
                lambda plan=plans[number % 2]: lab.update(plan)  # type: ignore[misc]  # mypy does not infer the default
                for number in range(1, options.updates + 1)
            ],
            "restart": [lab.restart_controller] * options.restarts,
        }
        results = [
            believable(partial(_phase, lab, name, each, run.show), f"phase {name}", run.progress.say)
            for name, each in events.items()
        ]
        manifest = describe_run(machine, lab.network, (), run.began, time.time() - run.began)
    return write_outcome(run, results, lab_options.scheme, run.said(manifest, options))


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


_FRAME = PACKET_BYTES + FRAME_OVERHEAD

_MESSAGES = 8
"""More messages, one after the other, than an update takes between controller and switch."""


@dataclass(frozen=True)
class _Simulated:
    """Values shared by all phases: the two plans in turn, and the conditions."""

    plans: Sequence[Plan]
    options: PipelineOptions
    notice: Notice
    timing: Timing
    seed: int

    @property
    def spacing(self) -> float:
        """Seconds from one update to the next, more than it takes."""
        return self.timing.drain + REST_SECONDS + _MESSAGES * longest_message(self.timing, self.plans[0].topology)


def simulate_update(run: Execution, options: UpdateOptions, notice: Notice) -> Outcome:
    """Simulate the phases `idle` and `update`, and write the results."""
    settings = run.settings
    plans = [delayed(update_plan(settings.capacity, count, spread=spread), notice) for count, spread in PLANS]
    words = OptionWords(slots=settings.slots)
    timing = timing_of(notice, plans[0].topology)
    shared = _Simulated(plans, pipeline_options(words), notice, timing, settings.seed)
    results = []
    for name, events in (("idle", 0), ("update", options.updates)):
        run.show(name)
        results.append(_simulated_phase(shared, name, events))
    manifest = {**run.said(run.computed(), options), "notice": asdict(notice)}
    remarks = (told_of(notice), "The simulated controller cannot be killed and restarted.")
    return write_outcome(run, results, words.scheme, manifest, remarks)


def _simulated_phase(shared: _Simulated, name: str, events: int) -> UpdatePhase:
    """Send packets while plans replace one another; the first plan is in force at the beginning."""
    busy = IDLE_SECONDS if events == 0 else events * shared.spacing
    seconds = busy + 2 * REST_SECONDS
    following = [shared.plans[number % 2] for number in range(1, events + 1)]
    at = [REST_SECONDS + number * shared.spacing for number in range(events)]
    traffic = list(_traffic(shared, seconds))
    run = PlanRun(
        shared.plans[0],
        shared.options,
        traffic,
        physical_of(shared.notice),
        shared.timing,
        [Replace(moment, plan) for moment, plan in zip(at, following, strict=True)],
        shared.seed,
    )
    results = run.run(seconds + REST_SECONDS + sum(link.delay for link in shared.plans[0].topology.links))
    done = [moment for moment, _, state in results.progress if state == "done"]
    if len(done) != events:
        raise KuijiaError(f"{events} plans were to replace one another, but {len(done)} did in {busy:g} s")
    before = [shared.plans[0], *following]
    updates = [
        PlanUpdate.between(*plans, ended - moment)
        for plans, moment, ended in zip(zip(before, following, strict=False), at, done, strict=True)
    ]
    flows, names = results.flows, _names()
    lost = (flows.sent.astype(np.int64) - flows.arrived.astype(np.int64)).tolist()
    return UpdatePhase(
        name=name,
        events=max(1, events),
        seconds=seconds,
        sent=int(flows.sent.sum()),
        lost=sum(lost),
        reordered=int(flows.reordered.sum()),
        lost_by_flow={label: count for label, count in zip(names, lost, strict=True) if count},
        updates=tuple(updates),
        load=NO_LOAD,
        invalid=(),
    )


def _names() -> list[str]:
    """Return the names of all flows, in the order of `_traffic`."""
    return [f"{'-'.join(ends)} {number}" for ends in PAIRS for number in range(FLOWS_PER_PAIR)]


def _traffic(shared: _Simulated, seconds: float) -> Iterator[SiteFlows]:
    """Yield the flows of each pair; they start at random, as packets at equal intervals never meet otherwise."""
    chance = random.Random(shared.seed)
    allocated = {(pair.source, pair.target): pair for pair in shared.plans[0].pairs}
    for ends in PAIRS:
        interval = interval_of(allocated[ends])
        yield SiteFlows.of(
            [ends] * FLOWS_PER_PAIR,
            ConstantRate(_FRAME * 8e-6 / interval, _FRAME),
            size=round(seconds / interval) * _FRAME,
            start=[chance.uniform(0, interval) for _ in range(FLOWS_PER_PAIR)],
        )
