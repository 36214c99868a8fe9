"""Replaces plans of a network that carries numbered packets in the packet simulator, and counts the lost ones."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from experiments.experiment import Outcome, Settings
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
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from simulator.packet.transports import ConstantRate
from simulator.planned.events import Replace, Timing
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from te_solver.model.plan import Plan
from testbed.lab.lab_changes import PlanUpdate

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


def simulate_update(
    settings: Settings, options: UpdateOptions, notice: Notice, output: OutputFolder, progress: Progress
) -> Outcome:
    """Simulate the phases `idle` and `update`, and write the results."""
    began = time.time()
    plans = [delayed(update_plan(settings.capacity, count, spread=spread), notice) for count, spread in PLANS]
    words = OptionWords(slots=settings.slots)
    timing = timing_of(notice, plans[0].topology)
    shared = _Simulated(plans, pipeline_options(words), notice, timing, settings.seed)
    results = []
    for name, events in (("idle", 0), ("update", options.updates)):
        progress.show(f"update: {name}")
        results.append(_phase(shared, name, events))
    manifest = {
        **describe_computation(began, time.time() - began),
        "settings": asdict(settings),
        "options": asdict(options),
        "notice": asdict(notice),
    }
    remarks = (told_of(notice), "The simulated controller cannot be killed and restarted.")
    return write_outcome(results, words.scheme, settings, manifest, output, remarks)


def _phase(shared: _Simulated, name: str, events: int) -> UpdatePhase:
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
