"""Cuts links of a network under a steady flow in the packet simulator, mode by mode."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from experiments.experiment import Outcome, Settings
from experiments.grid import Execution
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
from kuijia_app.tables.slots import cut_slots
from kuijia_base.errors import InputError, KuijiaError
from kuijia_base.manifest import describe_computation
from simulator.packet.transports import ConstantRate
from simulator.planned.events import Cut, Heal, Timing
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from te_solver.model.plan import Plan, Tunnel
from testbed.traffic.ticks import TickRecord

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
class _Job:
    """Values shared by all modes."""

    settings: Settings
    options: RecoveryOptions
    plan: Plan
    notice: Notice


@dataclass(frozen=True)
class _Aim:
    """A link to cut, as a position in a tunnel, the slot of the flow, and times in seconds."""

    tunnel: Tunnel
    position: int
    slot: int
    begin: float
    cut: float

    @property
    def link(self) -> tuple[str, str]:
        return self.tunnel.hops[self.position]

    @property
    def end(self) -> float:
        return self.cut + AFTER_SECONDS + _LATE


def simulate_recovery(run: Execution, options: RecoveryOptions, notice: Notice) -> Outcome:
    """Simulate every mode, writing each result at once, then the table.

    Raises:
        InputError: with so few slots a tunnel has none.
    """
    plan = delayed(recovery_plan(options.network, run.settings.capacity), notice)
    job = _Job(run.settings, options, plan, notice)
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


def _simulate(mode: Mode, job: _Job) -> ModeResult:
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
    cuts: Sequence[tuple[Tunnel, int, int]], job: _Job, tables: PipelineOptions, timing: Timing, chance: random.Random
) -> list[CutRecord]:
    """Simulate cuts one after the other, each healed before the next."""
    far = longest_message(timing, job.plan.topology)
    period = _EARLY + BEFORE_SECONDS + AFTER_SECONDS + _LATE + _CALM + 2 * (timing.port + timing.reaction + 4 * far)
    aims = []
    for number, (tunnel, position, slot) in enumerate(cuts):
        begin = number * period
        # Neither ticks nor packets of BFD are to know the cut.
        cut = begin + _EARLY + BEFORE_SECONDS + chance.uniform(0, 10 * TICK_SECONDS)
        aims.append(_Aim(tunnel, position, slot, begin, cut))
    flows = [_flow(aim, job.options.ends) for aim in aims]
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


def _flow(aim: _Aim, ends: tuple[str, str]) -> SiteFlows:
    """Return a flow for each packet, so that the arrival of each is known."""
    times = np.arange(aim.begin, aim.end, TICK_SECONDS)
    return SiteFlows.of(
        [ends] * times.size, ConstantRate(1.0, _TICK_FRAME), size=_TICK_FRAME, start=times, slot=aim.slot
    )


def _seen(run: PlanRun, aim: _Aim) -> tuple[int, bool]:
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


def _way(run: PlanRun, begin: float, end: float, aim: _Aim) -> tuple[tuple[str, ...] | None, set[str]]:
    run.run(begin)
    nodes, queues = way_taken(run.run(end), 0, aim.tunnel.nodes[0])
    return nodes, set(queues)


def _ticks(started: Sequence[float], finished: Sequence[float]) -> TickRecord:
    """Return the packets as if both ends had one clock."""
    arrivals = sorted((time, number) for number, time in enumerate(finished) if math.isfinite(time))
    return TickRecord(tuple(started), tuple((number, time) for time, number in arrivals))
