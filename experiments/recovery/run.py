"""Cuts links of a network under a steady flow, mode by mode, on switches and in packets; on a busy machine again."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from experiments.experiment import Outcome, Settings
from experiments.grid import Execution
from experiments.measuring.emulation import describe_run, ground_of
from experiments.measuring.load import LoadWatch, believable
from experiments.measuring.packet_options import Notice
from experiments.measuring.packet_run import (
    NO_LOAD,
    delayed,
    longest_message,
    physical_of,
    timing_of,
    told_of,
    way_taken,
)
from experiments.recovery.report import (
    AFTER_SECONDS,
    BEFORE_SECONDS,
    MODES,
    TICK_SECONDS,
    CutRecord,
    Mode,
    ModeResult,
    RecoveryOptions,
    cuts_in_turn,
    interruption,
    recovery_plan,
    write_mode,
    write_outcome,
)
from kuijia_app.tables.options import OptionWords, PipelineOptions, pipeline_options
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.slots import cut_slots
from kuijia_base.errors import InputError, KuijiaError, TestbedError
from kuijia_base.manifest import describe_computation
from kuijia_base.progress import Progress
from simulator.packet.transports import ConstantRate
from simulator.planned.events import Cut, Heal, Timing
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from te_solver.model.plan import Plan, Tunnel
from testbed.lab.cuts import fail_link, heal_link
from testbed.lab.lab import Ground, Lab
from testbed.lab.lab_options import LabOptions
from testbed.links.label_observer import EgressFlowKey, IngressMark
from testbed.machine.machine import Machine
from testbed.traffic.hash_probe import probe_marks_seen_by
from testbed.traffic.ticks import TickFlow, TickRecord

ADDRESSES = 16
"""Source addresses to try: the switch hashes addresses but not UDP ports, so each address has its own slot."""

QUIET_SECONDS = 10.0
"""Seconds in which false alarms of BFD are counted before the first cut."""

_SIGHT_SECONDS = 1.0
_RETURN_SECONDS = 15.0
"""Seconds that the flow may take to be on its tunnel (again)."""

_NORMAL, _VICTIM = PLAIN_LAYOUT.classes[0].normal.traffic_class, PLAIN_LAYOUT.classes[0].victim.traffic_class
_FIRST_SOURCE_PORT, _TARGET_PORT = 20000, 5201

_TICK_FRAME = 64
"""Bytes on the wire of a packet with 8 bytes of payload."""

_EARLY = 0.5
"""Seconds of sending before those that are examined before a cut."""

_LATE = 0.5
"""Seconds of sending after those that are examined after it; the way is seen in them."""

_CALM = 7.0
"""Seconds from a repair to the next flow, beyond those of messages: BFD sessions take up to three to come up."""

_MOST_CUTS = 20
"""Cuts in one simulation; for each of them the packets of a flow are kept."""


@dataclass(frozen=True)
class _Source:
    """Source of a flow: the address decides its slot, the port only distinguishes it from the previous flow."""

    address: str
    port: int

    @property
    def key(self) -> EgressFlowKey:
        return EgressFlowKey("udp", self.address, self.port, _TARGET_PORT)


@dataclass(frozen=True)
class _Aim:
    """Link to cut, as a position in a tunnel."""

    tunnel: Tunnel
    position: int

    @property
    def link(self) -> tuple[str, str]:
        return self.tunnel.hops[self.position]


@dataclass(frozen=True)
class _MeasuredAim(_Aim):
    """The same with the flow on that tunnel: ingress, egress, source."""

    ends: tuple[str, str]
    source: _Source


@dataclass(frozen=True)
class _Job:
    """Values shared by all modes."""

    settings: Settings
    options: RecoveryOptions
    plan: Plan


@dataclass(frozen=True)
class _MeasuredJob(_Job):
    """The same on switches."""

    ground: Ground
    machine: Machine


def run_recovery(run: Execution, options: RecoveryOptions) -> Outcome:
    """Measure every mode, writing each result at once, then the table.

    Raises:
        InputError: the machine cannot run an emulation, or the inventory does not fit.
        TestbedError: the lab failed, or the flow did not come back after a cut.
    """
    plan = recovery_plan(options.network, run.settings.capacity)
    job = _MeasuredJob(run.settings, options, plan, *ground_of(run.settings, plan.topology, options.ends))
    results = []
    for name in options.modes:
        began = time.time()
        lab, result = _measure(MODES[name], job, run.progress)
        results.append(result)
        manifest = describe_run(job.machine, lab.network, (), began, time.time() - began)
        write_mode(run, result, lab.options.scheme, run.said(manifest, options))
    return write_outcome(run, results, options)


def _measure(mode: Mode, job: _MeasuredJob, progress: Progress) -> tuple[Lab, ModeResult]:
    settings, ends = job.settings, job.options.ends

    def show(text: str) -> None:
        progress.show(f"recovery {mode.name}: {text}")

    options = LabOptions(slot_count=settings.slots, framework=settings.framework, liveness=mode.liveness)
    if mode.bfd_interval_ms is not None:
        options = replace(options, bfd_interval_ms=mode.bfd_interval_ms)
    chance = random.Random(settings.seed)
    records = []
    with Lab(job.plan, options, show, job.ground) as lab:
        show("looking for source addresses that hash to the tunnels")
        sources = _find_sources(lab, ends)
        if mode.without_controller:
            lab.kill_controller()
        show(f"counting false alarms for {QUIET_SECONDS:g} s")
        false_alarms = _false_alarms(lab, ends, sources) if lab.network.bfd.states() else None
        tunnels = [tunnel for tunnel in job.plan.tunnels if tunnel.path_id in sources]
        try:
            cuts = cuts_in_turn(mode, tunnels, job.options.cuts)
        except ValueError as error:
            raise TestbedError(f"{mode.name}: {error}") from error
        for number, (tunnel, position) in enumerate(cuts, start=1):
            aim = _MeasuredAim(tunnel, position, ends, chance.choice(sources[tunnel.path_id]))
            show(f"cut {number} of {len(cuts)}, {'-'.join(aim.link)}")
            records.append(believable(partial(_cut, lab, aim), f"cut {number} of {mode.name}", progress.say))
    return lab, ModeResult(mode, tuple(records), false_alarms)


def _find_sources(lab: Lab, ends: tuple[str, str]) -> dict[int, list[_Source]]:
    """Return the sources at the ingress' site by the path id of the tunnel that carries their packets."""
    ingress, egress = map(lab.network.host, ends)
    sources = [_Source(str(ingress.address + number), _FIRST_SOURCE_PORT + number) for number in range(ADDRESSES)]
    keys = [source.key for source in sources]
    marks = probe_marks_seen_by(partial(lab.network.observe, ends[0]), ingress, str(egress.address), keys)
    found: dict[int, list[_Source]] = {}
    for source in sources:
        if source.key in marks:
            found.setdefault(marks[source.key].label, []).append(source)
    return found


def _false_alarms(lab: Lab, ends: tuple[str, str], sources: Mapping[int, Sequence[_Source]]) -> int:
    """Return how often ends of BFD sessions go down without a failure, while a flow is sent."""
    with _flow(lab, ends, next(iter(sources.values()))[0]) as flow:
        flow.start()
        before = lab.network.bfd.flaps()
        time.sleep(QUIET_SECONDS)
        return -(-(lab.network.bfd.flaps() - before) // 2)  # each also comes up again


def _cut(lab: Lab, aim: _MeasuredAim) -> CutRecord:
    """Cut one link under the flow and bring it up again."""
    network = lab.network
    with _flow(lab, aim.ends, aim.source) as flow:
        flow.start()
        _wait_for_tunnel(lab, aim)
        clock = network.host(aim.ends[1]).clock()
        watch = LoadWatch(network.forwarding_process, network.count_box_loads)
        time.sleep(BEFORE_SECONDS)
        event = fail_link(network, *aim.link)
        try:
            cut_at = event.requested_at + time.monotonic() - time.time()
            time.sleep(max(0.0, cut_at + AFTER_SECONDS - time.monotonic()))
            load = watch.load()
            mark = _see(lab, aim, {aim.tunnel.path_id})
            record = flow.stop()
        finally:
            heal_link(network, *aim.link)
    link = "-".join(aim.link)
    if mark is None:
        raise TestbedError(f"the flow from {aim.source.address} was not seen on another tunnel after {link} was cut")
    try:
        found = interruption(record, cut_at + clock.offset - clock.error)
    except ValueError as error:
        raise TestbedError(f"the flow did not arrive both before and after {link} was cut: {error}") from error
    return CutRecord(
        **vars(found),
        link=aim.link,
        position=aim.position,
        path_id=aim.tunnel.path_id,
        backup_path_id=mark.label,
        source_address=aim.source.address,
        low_after=mark.traffic_class == _VICTIM,
        noticed=event.delay,
        clock_error=clock.error,
        load=load,
    )


def _flow(lab: Lab, ends: tuple[str, str], source: _Source) -> TickFlow:
    sender, receiver = map(lab.network.host, ends)
    return TickFlow(sender, receiver, source.address, source.port, _TARGET_PORT, TICK_SECONDS)


def _wait_for_tunnel(lab: Lab, aim: _MeasuredAim) -> None:
    """Wait until the flow is on its tunnel, as normal traffic, and all BFD sessions are up."""
    lab.network.bfd.wait_until(lab.network.bfd.states(), up=True)
    deadline = time.monotonic() + _RETURN_SECONDS
    while (mark := _see(lab, aim)) != IngressMark(aim.tunnel.path_id, _NORMAL):
        if time.monotonic() > deadline:
            seen = "nowhere" if mark is None else f"on {mark.label} with traffic class {mark.traffic_class}"
            expected = f"on tunnel {aim.tunnel.path_id}"
            raise TestbedError(f"the flow expected {expected} is still {seen} {_RETURN_SECONDS:g} s after it healed")


def _see(lab: Lab, aim: _MeasuredAim, ignored: Collection[int] = frozenset()) -> IngressMark | None:
    with lab.network.observe(aim.ends[0]) as observer:
        return observer.watch([aim.source.key], _SIGHT_SECONDS, ignored).get(aim.source.key)


@dataclass(frozen=True)
class _SimulatedJob(_Job):
    """The same in the packet model."""

    notice: Notice


@dataclass(frozen=True)
class _SimulatedAim(_Aim):
    """The same with the slot of the flow, and times in seconds."""

    slot: int
    begin: float
    cut: float

    @property
    def end(self) -> float:
        return self.cut + AFTER_SECONDS + _LATE


def simulate_recovery(run: Execution, options: RecoveryOptions, notice: Notice) -> Outcome:
    """Simulate every mode, writing each result at once, then the table.

    Raises:
        InputError: with so few slots a tunnel has none.
    """
    plan = delayed(recovery_plan(options.network, run.settings.capacity), notice)
    job = _SimulatedJob(run.settings, options, plan, notice)
    told = (told_of(notice), "BFD's packets are computed and never lost: there are no false alarms.")
    results = []
    for name in options.modes:
        began = time.time()
        run.progress.show(f"recovery {name}")
        result = _simulate(MODES[name], job)
        results.append(result)
        manifest = run.said(describe_computation(began, time.time() - began), options)
        told_of_model = {**manifest, "notice": asdict(notice)}
        write_mode(run, result, OptionWords().scheme, told_of_model, remarks=list(told))
    return write_outcome(run, results, options, told)


def _simulate(mode: Mode, job: _SimulatedJob) -> ModeResult:
    tables = pipeline_options(OptionWords(slots=job.settings.slots, liveness=mode.liveness))
    timing = timing_of(job.notice, job.plan.topology, mode.bfd_interval_ms)
    chance = random.Random(job.settings.seed)
    slots = _slots_of(job.plan, job.options.ends, tables.slot_count)
    try:
        cuts = cuts_in_turn(mode, [tunnel for tunnel in job.plan.tunnels if slots.get(tunnel)], job.options.cuts)
    except ValueError as error:
        raise InputError("option", "--modes", str(error), "a network with longer tunnels") from error
    records = []
    for first in range(0, len(cuts), _MOST_CUTS):
        some = [
            (tunnel, position, chance.choice(slots[tunnel])) for tunnel, position in cuts[first : first + _MOST_CUTS]
        ]
        records += _records(some, job, tables, timing, chance)
    return ModeResult(mode, tuple(records), None)


def _slots_of(plan: Plan, ends: tuple[str, str], count: int) -> dict[Tunnel, list[int]]:
    """Return the hash slots that each tunnel of a pair owns."""
    pair = next(each for each in plan.pairs if (each.source, each.target) == ends)
    table = cut_slots([tunnel.weight for tunnel in pair.tunnels], count)
    return {
        tunnel: [place for place, slot in enumerate(table.slots) if slot.primary == number]
        for number, tunnel in enumerate(pair.tunnels)
    }


def _records(
    cuts: Sequence[tuple[Tunnel, int, int]],
    job: _SimulatedJob,
    tables: PipelineOptions,
    timing: Timing,
    chance: random.Random,
) -> list[CutRecord]:
    """Simulate cuts one after the other, each healed before the next."""
    far = longest_message(timing, job.plan.topology)
    period = _EARLY + BEFORE_SECONDS + AFTER_SECONDS + _LATE + _CALM + 2 * (timing.port + timing.reaction + 4 * far)
    aims = []
    for number, (tunnel, position, slot) in enumerate(cuts):
        begin = number * period
        # Neither ticks nor packets of BFD are to know the cut.
        cut = begin + _EARLY + BEFORE_SECONDS + chance.uniform(0, 10 * TICK_SECONDS)
        aims.append(_SimulatedAim(tunnel, position, slot, begin, cut))
    flows = [_packets(aim, job.options.ends) for aim in aims]
    events = [event for aim in aims for event in (Cut(aim.cut, aim.link), Heal(aim.end, aim.link))]
    run = PlanRun(job.plan, tables, flows, physical_of(job.notice), timing, events, job.settings.seed)
    seen = [_seen(run, aim) for aim in aims]
    results = run.simulation.flow_results()
    started, finished = results.start.tolist(), results.finished.tolist()
    counts = np.cumsum([0, *(flow.count for flow in flows)]).tolist()
    records = []
    for aim, (backup, low), first, last in zip(aims, seen, counts, counts[1:], strict=False):
        record = _ticks(started[first:last], finished[first:last])
        try:
            found = interruption(record, aim.cut)
        except ValueError as error:
            problem = f"the flow did not arrive both before and after {'-'.join(aim.link)} was cut"
            raise KuijiaError(f"{problem}: {error}") from error
        records.append(
            CutRecord(
                **vars(found),
                link=aim.link,
                position=aim.position,
                path_id=aim.tunnel.path_id,
                backup_path_id=backup,
                source_address=f"slot {aim.slot}",
                low_after=low,
                noticed=dict.fromkeys(aim.link, timing.port),
                clock_error=0.0,
                load=NO_LOAD,
            )
        )
    return records


def _packets(aim: _SimulatedAim, ends: tuple[str, str]) -> SiteFlows:
    """Return a flow for each packet, so that the arrival of each is known."""
    times = np.arange(aim.begin, aim.end, TICK_SECONDS)
    return SiteFlows.of(
        [ends] * times.size, ConstantRate(1.0, _TICK_FRAME), size=_TICK_FRAME, start=times, slot=aim.slot
    )


def _seen(run: PlanRun, aim: _SimulatedAim) -> tuple[int, bool]:
    """Run to the end of a flow; return its tunnel after the cut, and if its packets waited among victims."""
    nodes, _ = _way(run, aim.begin + _EARLY, aim.cut, aim)
    link = "-".join(aim.link)
    if nodes != aim.tunnel.nodes:
        raise KuijiaError(f"before {link} was cut, the flow was not on tunnel {aim.tunnel.path_id}")
    nodes, queues = _way(run, aim.cut + AFTER_SECONDS, aim.end, aim)
    tunnels = {tunnel.nodes: tunnel.path_id for tunnel in run.plan.tunnels}
    if nodes not in tunnels:
        raise KuijiaError(f"the flow was not seen on another tunnel after {link} was cut")
    return tunnels[nodes], not {each.victim.name for each in run.options.layout.classes}.isdisjoint(queues)


def _way(run: PlanRun, begin: float, end: float, aim: _SimulatedAim) -> tuple[tuple[str, ...] | None, set[str]]:
    run.run(begin)
    nodes, queues = way_taken(run.run(end), 0, aim.tunnel.nodes[0])
    return nodes, set(queues)


def _ticks(started: Sequence[float], finished: Sequence[float]) -> TickRecord:
    """Return the packets as if both ends had one clock."""
    arrivals = sorted((time, number) for number, time in enumerate(finished) if math.isfinite(time))
    return TickRecord(tuple(started), tuple((number, time) for time, number in arrivals))
