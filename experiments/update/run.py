"""Replaces plans and controllers of a network that carries numbered packets, and counts the lost ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from experiments.measuring.attempts import ATTEMPTS, believable
from experiments.measuring.ground import ground_of
from experiments.measuring.load import Load, LoadWatch, overload
from experiments.registry import Outcome, Settings
from experiments.reporting.exhibit_output import write_tables
from experiments.results.bars import limit
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.update.cases import FLOWS_PER_PAIR, LOAD, NETWORK, PACKET_BYTES, PAIRS, PLANS, UpdateOptions
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from te_solver.demands import Demand
from te_solver.networks import shipped_network
from te_solver.plan import PairPlan, Plan
from te_solver.programs.program import Options
from te_solver.solve import solve
from te_solver.topology_file import load_topology
from testbed.lab.lab import Lab
from testbed.lab.lab_changes import PlanUpdate
from testbed.lab.lab_options import LabOptions
from testbed.lab.manifest import describe_run
from testbed.traffic.ticks import TickFlow

REST_SECONDS = 1.0
"""Seconds of sending before the first and after the last event of a phase."""

IDLE_SECONDS = 5.0
"""Length in seconds of the phase in which nothing changes."""

_FIRST_SOURCE_PORT, _FIRST_TARGET_PORT = 20000, 30000
_FRAME_OVERHEAD = 46
"""Bytes around a packet's payload: Ethernet, one label, IPv4, UDP."""

Event = Callable[[], PlanUpdate | None]


@dataclass(frozen=True)
class PhaseResult:
    """Packet counts of a phase of repeated events.

    Attributes:
        events: number of events.
        seconds: duration of the phase.
        sent, lost, reordered: packets of all flows.
        lost_by_flow: lost packets by flow name, for flows with a loss.
        updates: changes that each new plan made.
        invalid: reasons not to trust the phase, in words.
    """

    name: str
    events: int
    seconds: float
    sent: int
    lost: int
    reordered: int
    lost_by_flow: dict[str, int]
    updates: tuple[PlanUpdate, ...]
    load: Load
    invalid: tuple[str, ...]


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
    phases = [asdict(result) for result in results]
    shown, failures = exhibits(phases, settings.backend), tuple(unbelievable(phases))
    data: dict[str, object] = {
        "experiment": "update",
        "backend": settings.backend,
        "scheme": lab_options.scheme,
        "seed": settings.seed,
        "capacity": settings.capacity,
        "load": LOAD,
        "published": None,
        "passed": not failures and all(exhibit.passed for exhibit in shown),
        "phases": phases,
        "manifest": {**manifest, "settings": asdict(settings), "options": asdict(options)},
    }
    output.write_json("update.json", data)
    summary = {key: value for key, value in data.items() if key != "manifest"}
    output.write_json("update-summary.json", summary)
    return write_tables("update", summary, shown, output, failures)


def update_plan(capacity: float, tunnels: int, *, spread: bool) -> Plan:
    """Return the plan for `PAIRS` on links of `capacity` Mbit/s with this number of tunnels for each."""
    topology = load_topology(shipped_network(NETWORK)).with_capacity(capacity)
    demands = [Demand(*ends, share * capacity) for ends, share in PAIRS.items()]
    return solve(topology, demands, tunnels, options=Options(spread=spread))


def interval_of(pair: PairPlan) -> float:
    """Return the packet interval of each of a pair's flows in seconds; together they offer `LOAD` of its allocation."""
    return FLOWS_PER_PAIR * (PACKET_BYTES + _FRAME_OVERHEAD) * 8 / (LOAD * pair.allocated * 1e6)


def unbelievable(phases: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the phases, as JSON data, that must not be used, in words."""
    for phase in phases:
        if phase["invalid"]:
            yield f"{phase['name']}: invalid in {ATTEMPTS} attempts ({'; '.join(phase['invalid'])})"


def exhibits(phases: Sequence[Mapping[str, Any]], backend: str) -> tuple[Exhibit, ...]:
    """Return the phases, given as JSON data: no packet may be lost while plans or controllers are replaced."""
    columns = {
        "events": "events",
        "seconds": "seconds",
        "packets sent": "sent",
        "packets lost": "lost",
        "packets reordered": "reordered",
    }
    updates = [
        f"Update {number}: {len(update['kept'])} tunnels kept, {len(update['added'])} added, {len(update['removed'])}"
        f" removed, {update['reweighted']} reweighted, done after {update['seconds']:.1f} s."
        for phase in phases
        for number, update in enumerate(phase["updates"], start=1)
    ]
    return (
        Exhibit(
            "update",
            f"packets lost while plans and controllers are replaced under {LOAD:.0%} load",
            "Update",
            backend,
            "count",
            f"units as in the headings; packets of {PACKET_BYTES} bytes in {FLOWS_PER_PAIR * len(PAIRS)} flows",
            tuple(
                Line(phase["name"], tuple(Point.of(title, [phase[key]]) for title, key in columns.items()))
                for phase in phases
            ),
            checks=tuple(
                limit(f"packets lost during {phase['name']}", phase["lost"], high=0.0)
                for phase in phases
                if phase["name"] != "idle"
            ),
            remarks=(*updates, *unbelievable(phases)),
            mixed=True,
        ),
    )


def exhibits_of_run(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the exhibits of the file of a run."""
    return exhibits(data["phases"], data["backend"])


def _phase(lab: Lab, name: str, events: Sequence[Event], show: Callable[[str], None]) -> PhaseResult:
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
    return PhaseResult(
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
