"""Cuts links of a network under a steady flow, mode by mode; cuts on a busy machine are repeated."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from experiments.experiment import Outcome, Settings
from experiments.grid import Execution
from experiments.measuring.emulation import describe_run, ground_of
from experiments.measuring.load import LoadWatch, believable
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
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_base.errors import TestbedError
from kuijia_base.progress import Progress
from te_solver.model.plan import Plan, Tunnel
from testbed.lab.cuts import fail_link, heal_link
from testbed.lab.lab import Ground, Lab
from testbed.lab.lab_options import LabOptions
from testbed.machine.machine import Machine
from testbed.traffic.hash_probe import EgressFlowKey, IngressMark, probe_marks_seen_by
from testbed.traffic.ticks import TickFlow

ADDRESSES = 16
"""Source addresses to try: the switch hashes addresses but not UDP ports, so each address has its own slot."""

QUIET_SECONDS = 10.0
"""Seconds in which false alarms of BFD are counted before the first cut."""

_SIGHT_SECONDS = 1.0
_RETURN_SECONDS = 15.0
"""Seconds that the flow may take to be on its tunnel (again)."""

_NORMAL, _VICTIM = PLAIN_LAYOUT.classes[0].normal.traffic_class, PLAIN_LAYOUT.classes[0].victim.traffic_class
_FIRST_SOURCE_PORT, _TARGET_PORT = 20000, 5201


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
    """Link to cut, as a position in a tunnel, and the flow on that tunnel: ingress, egress, source."""

    tunnel: Tunnel
    position: int
    ends: tuple[str, str]
    source: _Source

    @property
    def link(self) -> tuple[str, str]:
        return self.tunnel.hops[self.position]


@dataclass(frozen=True)
class _Job:
    """Values shared by all modes."""

    settings: Settings
    options: RecoveryOptions
    plan: Plan
    ground: Ground
    machine: Machine


def run_recovery(run: Execution, options: RecoveryOptions) -> Outcome:
    """Measure every mode, writing each result at once, then the table.

    Raises:
        InputError: the machine cannot run an emulation, or the inventory does not fit.
        TestbedError: the lab failed, or the flow did not come back after a cut.
    """
    plan = recovery_plan(options.network, run.settings.capacity)
    job = _Job(run.settings, options, plan, *ground_of(run.settings, plan.topology, options.ends))
    results = []
    for name in options.modes:
        began = time.time()
        lab, result = _measure(MODES[name], job, run.progress)
        results.append(result)
        manifest = describe_run(job.machine, lab.network, (), began, time.time() - began)
        write_mode(run, result, lab.options.scheme, run.said(manifest, options))
    return write_outcome(run, results, options)


def _measure(mode: Mode, job: _Job, progress: Progress) -> tuple[Lab, ModeResult]:
    settings, ends = job.settings, job.options.ends

    def show(text: str) -> None:
        progress.show(f"recovery {mode.name}: {text}")

    options = LabOptions(slot_count=settings.slots, framework=settings.framework, liveness=mode.liveness)
    if mode.bfd_interval_ms is not None:
        options = replace(options, bfd_interval_ms=mode.bfd_interval_ms)
    chance = random.Random(settings.seed)
    records = []
    with Lab(job.plan, options, show, job.ground) as lab:
        show("looking for source addresses that are hashed to the tunnels")
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
            aim = _Aim(tunnel, position, ends, chance.choice(sources[tunnel.path_id]))
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


def _cut(lab: Lab, aim: _Aim) -> CutRecord:
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


def _wait_for_tunnel(lab: Lab, aim: _Aim) -> None:
    """Wait until the flow is on its tunnel, as normal traffic, and all BFD sessions are up."""
    lab.network.bfd.wait_until(lab.network.bfd.states(), up=True)
    deadline = time.monotonic() + _RETURN_SECONDS
    while (mark := _see(lab, aim)) != IngressMark(aim.tunnel.path_id, _NORMAL):
        if time.monotonic() > deadline:
            seen = "nowhere" if mark is None else f"on {mark.label} with traffic class {mark.traffic_class}"
            expected = f"on tunnel {aim.tunnel.path_id}"
            raise TestbedError(f"the flow expected {expected} is still {seen} {_RETURN_SECONDS:g} s after it healed")


def _see(lab: Lab, aim: _Aim, ignored: Collection[int] = frozenset()) -> IngressMark | None:
    with lab.network.observe(aim.ends[0]) as observer:
        return observer.watch([aim.source.key], _SIGHT_SECONDS, ignored).get(aim.source.key)
