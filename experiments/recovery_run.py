"""Cuts links of the emulated Gscale under a steady flow, mode by mode; cuts on a busy machine are repeated."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from experiments.load import LoadWatch
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.recovery import EGRESS, INGRESS, MODES, NETWORK, TICK_SECONDS, Mode, RecoveryOptions
from experiments.recovery_report import (
    CutRecord,
    ModeResult,
    longest_silence,
    missed_bars,
    mode_data,
    table_text,
)
from experiments.registry import Outcome, Settings
from kuijia_app.queues import PLAIN_LAYOUT
from te_solver.demands_file import load_demands
from te_solver.networks import shipped_demands, shipped_network
from te_solver.plan import Plan, Tunnel
from te_solver.solve import solve
from te_solver.topology_file import load_topology
from testbed.errors import TestbedError
from testbed.failures import fail_link, heal_link
from testbed.hash_probe import FlowKey, Mark
from testbed.lab import Lab, LabOptions
from testbed.machine import Machine, require_emulation
from testbed.manifest import describe_run
from testbed.ticks import TickFlow

ATTEMPTS = 3
"""How often a cut is made when the machine is too busy for it to be believed."""

ADDRESSES = 16
"""Source addresses tried: the switch hashes addresses but not the ports of UDP, so that each has a slot of its own."""

BEFORE_SECONDS, AFTER_SECONDS, RATE_SECONDS = 0.5, 1.5, 0.4
"""What is looked at before and after the cut, and how much at either end of it gives the packets per second."""

QUIET_SECONDS = 10.0
"""For which false alarms of BFD are counted before the first cut."""

GUARD_SECONDS = 0.01
"""Before the cut; the last arrivals may be part of the interruption."""

_SIGHT_SECONDS = 1.0
_RETURN_SECONDS = 15.0
"""For the flow's tunnel to carry it (again)."""

_NORMAL, _VICTIM = PLAIN_LAYOUT.classes[0].normal.traffic_class, PLAIN_LAYOUT.classes[0].victim.traffic_class
_FIRST_SOURCE_PORT, _TARGET_PORT = 20000, 5201


@dataclass(frozen=True)
class _Source:
    """Where a flow comes from: the address decides its slot, the port only tells it from the flow before it."""

    address: str
    port: int

    @property
    def key(self) -> FlowKey:
        return FlowKey("udp", self.address, self.port, _TARGET_PORT)


@dataclass(frozen=True)
class _Aim:
    """The link to cut, by its position in a tunnel, and the source of a flow on that tunnel."""

    tunnel: Tunnel
    position: int
    source: _Source

    @property
    def link(self) -> tuple[str, str]:
        return self.tunnel.hops[self.position]


def run_recovery(settings: Settings, options: RecoveryOptions, output: OutputFolder, progress: Progress) -> Outcome:
    """Measure every mode, writing each as it is had, then the table.

    Raises:
        InputError: the machine cannot run an emulation.
        TestbedError: the lab failed, or the flow did not come back after a cut.
    """
    machine = require_emulation()
    plan = recovery_plan(settings.capacity)
    results = []
    for name in options.modes:
        began = time.time()
        lab, result = _measure(MODES[name], plan, settings, options.cuts, progress)
        results.append(result)
        output.write_json(f"recovery-{name}.json", _file(settings, options, machine, lab, result, began))
    text = table_text(results)
    output.write_text("recovery.txt", f"{text}\n")
    missed = tuple(missed_bars(results))
    summary: dict[str, object] = {
        "experiment": "recovery",
        "published": None,
        "passed": not missed,
        "modes": {result.mode.name: _without_cuts(result) for result in results},
    }
    output.write_json("recovery-summary.json", summary)
    return Outcome(text, summary, missed)


def recovery_plan(capacity: float) -> Plan:
    """Gscale with its largest link at `capacity` Mbit/s and its own demands."""
    topology = load_topology(shipped_network(NETWORK))
    demands = load_demands(shipped_demands(NETWORK), topology)
    factor = capacity / max(link.capacity for link in topology.links)
    return solve(topology.scaled(factor), [replace(demand, rate=demand.rate * factor) for demand in demands])


def _measure(mode: Mode, plan: Plan, settings: Settings, cuts: int, progress: Progress) -> tuple[Lab, ModeResult]:
    def show(text: str) -> None:
        progress.show(f"recovery {mode.name}: {text}")

    options = LabOptions(slot_count=settings.slots, framework=settings.framework, liveness=mode.liveness)
    if mode.bfd_interval_ms is not None:
        options = replace(options, bfd_interval_ms=mode.bfd_interval_ms)
    chance = random.Random(settings.seed)
    records = []
    with Lab(plan, options, show) as lab:
        show("looking for source addresses that are hashed to the tunnels")
        sources = _find_sources(lab)
        if mode.without_controller:
            lab.kill_controller()
        show(f"counting false alarms for {QUIET_SECONDS:g} s")
        false_alarms = _false_alarms(lab, sources) if lab.network.session_states() else None
        tunnels = [tunnel for tunnel in plan.tunnels if tunnel.path_id in sources]
        for number in range(cuts):
            tunnel = tunnels[number % len(tunnels)]
            position = mode.links[number // len(tunnels) % len(mode.links)]
            aim = _Aim(tunnel, position, chance.choice(sources[tunnel.path_id]))
            show(f"cut {number + 1} of {cuts}, {'-'.join(aim.link)}")
            record = _cut(lab, aim)
            for _ in range(1, ATTEMPTS):
                if not record.invalid:
                    break
                progress.say(f"cut {number + 1} of {mode.name} is repeated: {'; '.join(record.invalid)}")
                record = _cut(lab, aim)
            records.append(record)
    return lab, ModeResult(mode, tuple(records), false_alarms)


def _find_sources(lab: Lab) -> dict[int, list[_Source]]:
    """Over which tunnel packets from addresses of the ingress' site are sent, by path id."""
    host = lab.network.host(INGRESS)
    sources = [_Source(str(host.address + number), _FIRST_SOURCE_PORT + number) for number in range(ADDRESSES)]
    found: dict[int, list[_Source]] = {}
    for source in sources:
        with _flow(lab, source) as flow:
            flow.start()
            mark = _see(lab, source)
        if mark is None:
            raise TestbedError(f"packets from {source.address} were not seen to leave switch {INGRESS}")
        found.setdefault(mark.label, []).append(source)
    return found


def _false_alarms(lab: Lab, sources: Mapping[int, Sequence[_Source]]) -> int:
    """How often ends of BFD sessions go down while nothing fails and a flow is sent."""
    with _flow(lab, next(iter(sources.values()))[0]) as flow:
        flow.start()
        before = lab.network.session_flaps()
        time.sleep(QUIET_SECONDS)
        return -(-(lab.network.session_flaps() - before) // 2)  # each goes up again


def _cut(lab: Lab, aim: _Aim) -> CutRecord:
    """Cut one link under the flow and bring it up again."""
    with _flow(lab, aim.source) as flow:
        flow.start()
        _wait_for_tunnel(lab, aim)
        watch = LoadWatch(lab.fabric.forwarding_process)
        time.sleep(BEFORE_SECONDS)
        event = fail_link(lab.network, *aim.link)
        try:
            cut_at = event.requested_at + time.monotonic() - time.time()
            time.sleep(max(0.0, cut_at + AFTER_SECONDS - time.monotonic()))
            load = watch.load()
            mark = _see(lab, aim.source, {aim.tunnel.path_id})
            record = flow.stop()
        finally:
            heal_link(lab.network, *aim.link)
    link = "-".join(aim.link)
    if mark is None:
        raise TestbedError(f"the flow from {aim.source.address} was not seen on another tunnel after {link} was cut")
    arrivals = [at for _, at in record.arrivals]
    end = cut_at + AFTER_SECONDS
    try:
        gap = longest_silence(arrivals, cut_at, end)
        return CutRecord(
            link=aim.link,
            position=aim.position,
            path_id=aim.tunnel.path_id,
            backup_path_id=mark.label,
            source_address=aim.source.address,
            low_after=mark.traffic_class == _VICTIM,
            gap=gap.length,
            gap_before=longest_silence(arrivals, cut_at - BEFORE_SECONDS, cut_at - GUARD_SECONDS).length,
            sender_pause=longest_silence(record.sent_at, cut_at - BEFORE_SECONDS, end).length,
            sender_pause_in_gap=longest_silence(record.sent_at, gap.start, gap.end).length,
            lost=record.lost,
            before=_rate(arrivals, cut_at - RATE_SECONDS, cut_at),
            after=_rate(arrivals, end - RATE_SECONDS, end),
            noticed=event.delay,
            load=load,
        )
    except ValueError as error:
        raise TestbedError(f"the flow did not arrive both before and after {link} was cut: {error}") from error


def _rate(arrivals: Sequence[float], start: float, end: float) -> float:
    return sum(start < at <= end for at in arrivals) / (end - start)


def _flow(lab: Lab, source: _Source) -> TickFlow:
    hosts = lab.network.host(INGRESS), lab.network.host(EGRESS)
    return TickFlow(*hosts, source.address, source.port, _TARGET_PORT, TICK_SECONDS)


def _wait_for_tunnel(lab: Lab, aim: _Aim) -> None:
    """Wait until the flow is on its tunnel, as normal traffic, and all BFD sessions are up."""
    lab.network.wait_for_sessions(lab.network.session_states(), up=True)
    deadline = time.monotonic() + _RETURN_SECONDS
    while (mark := _see(lab, aim.source)) != Mark(aim.tunnel.path_id, _NORMAL):
        if time.monotonic() > deadline:
            seen = "nowhere" if mark is None else f"on {mark.label} with traffic class {mark.traffic_class}"
            expected = f"on tunnel {aim.tunnel.path_id}"
            raise TestbedError(f"the flow expected {expected} is still {seen} {_RETURN_SECONDS:g} s after it healed")


def _see(lab: Lab, source: _Source, ignored: Collection[int] = frozenset()) -> Mark | None:
    with lab.fabric.observe(INGRESS) as observer:
        return observer.watch([source.key], _SIGHT_SECONDS, ignored).get(source.key)


def _without_cuts(result: ModeResult) -> dict[str, object]:
    return {key: value for key, value in mode_data(result).items() if key not in ("cuts", "flows")}


def _file(
    settings: Settings, options: RecoveryOptions, machine: Machine, lab: Lab, result: ModeResult, began: float
) -> dict[str, object]:
    return {
        "experiment": "recovery",
        "backend": settings.backend,
        "scheme": lab.options.scheme,
        "seed": settings.seed,
        "capacity": settings.capacity,
        "published": None,
        **mode_data(result),
        "manifest": {
            **describe_run(machine, lab.network, (), began, time.time() - began),
            "settings": asdict(settings),
            "options": asdict(options),
        },
    }
