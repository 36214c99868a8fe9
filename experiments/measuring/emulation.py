"""Measures one link failure on the emulated testbed or boxes: real flows, hashed to wanted tunnels, around the cut."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from experiments.experiment import Settings
from experiments.measuring.failure_run import END_SECONDS, Phases, WantedFlow, roles_of, slot_moves
from experiments.measuring.load import LoadWatch, MachineLoad
from experiments.results.result import FlowResult, NoticedCut, Series, Window
from kuijia_app.tables.queues import PLAIN_LAYOUT, QueueLayout
from kuijia_app.tables.slots import cut_slots
from kuijia_base.errors import InputError, TestbedError
from kuijia_base.manifest import describe_program, describe_time
from te_solver.model.topology import Topology
from te_solver.schemes.all_schemes import failure_scheme
from testbed.boxes.inventory import read_inventory
from testbed.boxes.network import BoxGround
from testbed.lab.cuts import LinkEvent
from testbed.lab.lab import Emulation, Ground, Lab
from testbed.links.label_observer import EgressFlowKey, IngressMark, Protocol
from testbed.machine.machine import Machine, examine_machine, require_emulation
from testbed.network.calibration import LinkCalibration
from testbed.network.lab_network import LabNetwork
from testbed.traffic.hash_probe import TunnelFlowWish, choose_flows, probe_marks_seen_by
from testbed.traffic.iperf import UDP_FRAME, UDP_PAYLOAD, Goodput, IperfFlow, IperfRun
from testbed.traffic.offered_rate import BURST_SECONDS, PACED_SECONDS, OfferedRate, limit_offered_rates

SHOW_SECONDS = 0.5
_SHOWN_FLOWS = 8
"""Flows that fit on a line of text."""

_PACING_HEADROOM = 1.02
"""Factor by which a UDP flow may exceed its rate to catch up after a delay."""


Show = Callable[[str], None]
Marks = Mapping[EgressFlowKey, IngressMark]


@dataclass(frozen=True)
class Sending:
    """TCP settings of the hosts: congestion control, and the seconds for which a flow may catch up with its limit."""

    congestion_control: str = "cubic"
    burst_seconds: float = BURST_SECONDS


@dataclass(frozen=True)
class LinkCut:
    """Link to cut; `without_controller` kills the controller before the window that precedes the cut."""

    link: tuple[str, str]
    without_controller: bool = False


@dataclass(frozen=True)
class Reaction:
    """Calls `react` at a cut, which may take so many seconds; the flows last so much longer."""

    react: Callable[[], None]
    seconds: float


NO_REACTION = Reaction(lambda: None, 0.0)


@dataclass(frozen=True)
class MeasuredFlow:
    """A wanted flow and the ports that make the ingress hash it as wanted."""

    wanted: WantedFlow
    key: EgressFlowKey


@dataclass(frozen=True)
class Recording:
    """Observations of a run; times in seconds since the epoch.

    Attributes:
        started_at: time when all flows were connected.
        before, after: averaging windows, start and end.
        marks_before, marks_after: labels seen at the ingress.
    """

    started_at: float
    before: tuple[float, float]
    after: tuple[float, float]
    event: LinkEvent
    goodput: Mapping[str, Goodput]
    marks_before: Marks
    marks_after: Marks
    load: MachineLoad


def record_failure(
    lab: Lab,
    flows: Sequence[MeasuredFlow],
    cut: LinkCut,
    timing: Phases,
    sending: Sending,
    show: Show,
    reaction: Reaction = NO_REACTION,
) -> Recording:
    """Start the flows, cut the link, wait, stop; the link stays cut.

    Args:
        lab: idle, with all links up.
        flows: flows to run; at most one for each source port of a site.
        cut: the link and the way to cut it.
        timing: duration of each phase.
        sending: TCP settings of the hosts.
        show: receives the present goodput of all flows, several times a second.
        reaction: what to do as soon as the lab has noticed the cut.

    Raises:
        TestbedError: a flow failed, or the lab noticed the cut too late.
    """
    for site in sorted({flow.wanted.source for flow in flows}):
        limits = [_limit(flow, sending) for flow in flows if flow.wanted.source == site]
        limit_offered_rates(lab.network.host(site), limits)
    iperf_flows = [_iperf_flow(flow, sending) for flow in flows]
    link = "-".join(cut.link)
    broken = {tunnel.path_id for tunnel in lab.plan.tunnels if tunnel.crosses(*cut.link)}
    duration = timing.total + math.ceil(reaction.seconds)
    with IperfRun(lab.network, iperf_flows, duration, timing.interval) as run:
        started_at = run.connected_at
        marks_before = _observe(lab, flows, timing.observe)
        _follow(run, started_at + timing.warmup, "flows getting going", show)
        if cut.without_controller:
            lab.kill_controller()
        watch = LoadWatch(lab.network.forwarding_process, lab.network.count_box_loads)
        before_start = time.time()
        _follow(run, before_start + timing.before, f"before {link} is cut", show)
        event = lab.fail(*cut.link)
        reaction.react()
        marks_after = _observe(lab, flows, timing.observe, broken)
        _follow(run, event.requested_at + timing.settle, f"{link} is cut, flows settling", show)
        after_start = time.time()
        after_end = after_start + timing.after
        if after_end > started_at + duration - END_SECONDS / 2:
            raise TestbedError(f"the cut of {link} was noticed too late: the flows end before they are measured")
        _follow(run, after_end, f"after {link} was cut", show)
        load = watch.load()
        show("flows ending")
        goodput = run.finish()
    return Recording(
        started_at=started_at,
        before=(before_start, event.requested_at),
        after=(after_start, after_end),
        event=event,
        goodput=goodput,
        marks_before=marks_before,
        marks_after=marks_after,
        load=load,
    )


def evaluate(
    recording: Recording, flows: Sequence[MeasuredFlow], cut: LinkCut, layout: QueueLayout = PLAIN_LAYOUT
) -> tuple[FlowResult, ...]:
    """Return the result of each flow: goodput, role, tunnels seen, and whether it was in a victims' queue.

    Raises:
        TestbedError: a flow was seen on another tunnel than wanted, or its goodput is unknown for part of a window.
    """
    role = roles_of([flow.wanted for flow in flows], cut.link)
    low = {served.priority: served.victim.traffic_class for served in layout.classes}
    results = []
    for flow in flows:
        wanted, goodput = flow.wanted, recording.goodput[flow.wanted.name]
        mark_before, mark_after = recording.marks_before.get(flow.key), recording.marks_after.get(flow.key)
        for mark, tunnel in ((mark_before, wanted.tunnel), (mark_after, wanted.backup)):
            if mark is not None and mark.label != tunnel.path_id:
                raise TestbedError(
                    f"flow {wanted.name} was seen with label {mark.label} instead of {tunnel.path_id}: its hash changed"
                )
        try:
            before, after = goodput.mean(*recording.before), goodput.mean(*recording.after)
            sent = goodput.mean_sent(*recording.after) if flow.key.protocol == "udp" else None
        except ValueError as error:
            raise TestbedError(f"flow {wanted.name}: {error}") from error
        results.append(
            FlowResult(
                name=wanted.name,
                role=role[wanted.name],
                protocol=flow.key.protocol,
                source=wanted.source,
                target=wanted.target,
                offered=wanted.offered,
                before=before,
                after=after,
                tunnel_before=wanted.tunnel.nodes if mark_before is not None else None,
                tunnel_after=wanted.backup.nodes if mark_after is not None else None,
                low_after=mark_after.traffic_class == low[wanted.priority] if mark_after else None,
                series=_series(goodput, recording.started_at),
                priority=wanted.priority,
                sent=sent,
            )
        )
    return tuple(results)


def failure_of(recording: Recording, cut: LinkCut) -> NoticedCut:
    return NoticedCut(cut.link, recording.event.requested_at - recording.started_at, asdict(recording.event))


def windows_of(recording: Recording) -> tuple[Window, Window]:
    """Return the windows before and after, in seconds since the run began."""
    zero = recording.started_at
    before, after = (Window(start - zero, end - zero) for start, end in (recording.before, recording.after))
    return before, after


def _limit(flow: MeasuredFlow, sending: Sending) -> OfferedRate:
    """Return the rate that tc enforces: TCP flows fill it; UDP flows pace themselves and are only smoothed by it."""
    if flow.key.protocol == "tcp":
        return OfferedRate(flow.key.source_port, flow.wanted.offered, sending.burst_seconds)
    return OfferedRate(flow.key.source_port, flow.wanted.offered * _PACING_HEADROOM, PACED_SECONDS)


def _iperf_flow(flow: MeasuredFlow, sending: Sending) -> IperfFlow:
    is_tcp = flow.key.protocol == "tcp"
    return IperfFlow(
        flow.wanted.name,
        flow.wanted.source,
        flow.wanted.target,
        flow.key.source_port,
        flow.key.server_port,
        protocol=flow.key.protocol,
        rate=None if is_tcp else flow.wanted.offered * UDP_PAYLOAD / UDP_FRAME,
        congestion_control=sending.congestion_control if is_tcp else None,
        source_address=flow.key.source_address,
        code_point=flow.key.code_point,
    )


def _observe(
    lab: Lab, flows: Sequence[MeasuredFlow], seconds: float, broken: Collection[int] = frozenset()
) -> dict[EgressFlowKey, IngressMark]:
    """Return the labels of flows at their ingress, ignoring those of `broken` tunnels, which stay in use a little.

    So do those of alive tunnels that flows leave after a failure, as ranges of hash values grow.
    """
    sites = sorted({flow.wanted.source for flow in flows})
    leaving = {
        flow.key: flow.wanted.tunnel.path_id
        for flow in flows
        if broken and flow.wanted.tunnel != flow.wanted.backup and flow.wanted.tunnel.path_id not in broken
    }
    with lab.network.observe(*sites) as observer:
        marks = observer.watch([flow.key for flow in flows if flow.key not in leaving], seconds, broken)
        for key, path_id in leaving.items():
            marks |= observer.watch([key], seconds, {path_id, *broken})
        return marks


def _follow(run: IperfRun, until: float, phase: str, show: Show) -> None:
    """Show the flows' goodput until a moment, in seconds since the epoch."""
    while (left := until - time.time()) > 0:
        time.sleep(min(SHOW_SECONDS, left))
        live = run.live_goodput()
        rates = "  ".join(f"{name} {rate:5.2f}" for name, rate in live.items())
        if len(live) > _SHOWN_FLOWS:
            rates = f"{len(live)} flows {sum(live.values()):.1f}"
        show(f"{rates} Mbit/s  ({phase}, {max(0.0, until - time.time()):.0f} s)")


def _series(goodput: Goodput, zero: float) -> Series:
    """Return the goodput series, rounded to the clocks' accuracy and to 1 kbit/s."""
    return Series(
        start=tuple(round(each.start - zero, 3) for each in goodput.intervals),
        end=tuple(round(each.end - zero, 3) for each in goodput.intervals),
        goodput=tuple(
            round(each.carried * 8 / 1e6 / (each.end - each.start), 3) if each.end > each.start else 0.0
            for each in goodput.intervals
        ),
    )


def ground_of(settings: Settings, topology: Topology, sites: Iterable[str]) -> tuple[Ground, Machine]:
    """Return the ground that the lab stands on, and the description of this machine.

    Args:
        settings: contain the backend and the inventory.
        topology: the inventory must contain its switches; capacities do not matter.
        sites: sites whose hosts will send or receive traffic.

    Raises:
        InputError: this machine cannot run an emulation, or the inventory is missing, invalid, or lacks some of these
            switches and hosts.
    """
    if settings.backend != "boxes":
        return Emulation(), require_emulation()
    if settings.inventory is None:
        raise InputError("option", "--backend", "boxes need an inventory", "--inventory FILE")
    inventory = read_inventory(Path(settings.inventory))
    inventory.require_fit(topology)
    inventory.require_hosts(set(sites))
    return BoxGround(inventory), examine_machine()


def describe_run(
    machine: Machine, network: LabNetwork, calibration: Sequence[LinkCalibration], started_at: float, duration: float
) -> dict[str, Any]:
    """Return versions, machine and network of a run, ready for JSON.

    Args:
        machine: as `testbed.machine.machine` found it before the run.
        network: network of the measurement; it may have been stopped.
        calibration: rates of its links before the run, in Mbit/s; empty if they were not measured.
        started_at: Unix time in seconds.
        duration: seconds.
    """
    return {
        **describe_program(),
        **describe_time(started_at, duration),
        "open_vswitch": machine.programs["ovs-vswitchd"],
        "iperf3": machine.programs["iperf3"],
        "mininet": machine.mininet,
        **network.describe(),
        "cpu": {"model": machine.cpu_model, "count": machine.cpu_count},
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "calibration": [asdict(link) for link in calibration],
    }


FIRST_SERVER_PORT = 5201
SOURCE_PORTS = range(10000, 30000)
"""Source ports below those that the kernel assigns itself (ip_local_port_range)."""

DEFAULT_CODE_POINT = 0
"""DSCP value of packets that no host has marked (RFC 2474)."""

MISS_CHANCE = 1e-4
"""Probability that no candidate of a flow is hashed as wanted."""

REROUTE_TIMEOUT = 15.0
"""Seconds that the ingress may take to react to a link, after those that the lab has already waited."""


def find_flows(
    lab: Lab, flows: Sequence[WantedFlow], link: tuple[str, str], seed: int, protocol: Protocol = "tcp"
) -> dict[str, EgressFlowKey]:
    """Return for each flow a source that the ingress sends as wanted, both with the link up and with it down.

    TCP flows differ in their source ports. The switch's hash ignores UDP ports, so UDP flows differ in their source
    addresses. The search really takes the link down, and returns with the link up again.

    Raises:
        TestbedError: no candidate is hashed as wanted, or the ingress does not react to the link.
    """
    broken = {tunnel.path_id for tunnel in lab.plan.tunnels if tunnel.crosses(*link)}
    slots_grow = failure_scheme(lab.options.scheme).renormalises
    candidates = _draw_candidates(lab, flows, link, random.Random(seed), protocol)
    before = _probe(lab, flows, candidates)
    candidates = _seen(candidates, before)
    wishes = [TunnelFlowWish(flow.name, flow.tunnel.path_id, flow.backup.path_id) for flow in flows]

    def is_settled(marks: Marks) -> bool:
        if broken & {mark.label for mark in marks.values()}:
            return False
        # Ranges of hash values grow later, by the controller.
        return not slots_grow or len(choose_flows(wishes, _seen(candidates, marks), before, marks)) == len(wishes)

    lab.fail(*link)
    try:
        after = _probe_until(lab, flows, candidates, is_settled)
    finally:
        lab.heal(*link)
    candidates = _seen(candidates, after)
    chosen = choose_flows(wishes, candidates, before, after)
    missing = [flow.name for flow in flows if flow.name not in chosen]
    if missing:
        raise TestbedError(f"no source that was tried is hashed to the tunnels wanted for flow {missing[0]}")
    restored = {name: [key] for name, key in chosen.items()}
    _probe_until(lab, flows, restored, lambda marks: all(before[key] == mark for key, mark in marks.items()))
    return chosen


def _draw_candidates(
    lab: Lab, flows: Sequence[WantedFlow], link: tuple[str, str], chance: random.Random, protocol: Protocol
) -> dict[str, list[EgressFlowKey]]:
    """Return enough candidates for each flow's share of the slots; no source port of a site is drawn twice."""
    sites = sorted({flow.source for flow in flows})
    ports = {site: iter(chance.sample(SOURCE_PORTS, len(SOURCE_PORTS))) for site in sites}
    found: dict[str, list[EgressFlowKey]] = {}
    for position, flow in enumerate(flows):
        count = _candidates_needed(_slot_share(lab, flow, link))
        addresses = [str(lab.network.host(flow.source).address)] * count
        if protocol == "udp":
            every_address = [str(each) for each in islice(lab.wiring.prefix(flow.source).hosts(), 1 << 16)]
            addresses = chance.sample(every_address, min(count, len(every_address)))
        server_port, code_point = FIRST_SERVER_PORT + position, code_point_of(lab.network.layout, flow)
        found[flow.name] = [
            EgressFlowKey(protocol, address, next(ports[flow.source]), server_port, code_point) for address in addresses
        ]
    return found


def _slot_share(lab: Lab, flow: WantedFlow, link: tuple[str, str]) -> float:
    """Return the share of the pair's hash slots that fit a flow: its tunnel first, then (unless it stays) its backup.

    Raises:
        TestbedError: no slot fits.
    """
    (pair,) = [pair for pair in lab.plan.pairs if flow.tunnel in pair.tunnels]
    count = lab.options.slot_count
    moves = slot_moves(pair, link, lab.options.scheme, count)
    if moves is not None:
        fitting = moves[flow.tunnel, flow.backup]
    else:
        slots = cut_slots([tunnel.weight for tunnel in pair.tunnels], count).slots
        primary, backup = pair.tunnels.index(flow.tunnel), pair.tunnels.index(flow.backup)
        fitting = sum(slot.primary == primary and backup in {primary, slot.backup} for slot in slots)
    if not fitting:
        raise TestbedError(
            f"none of the {count} hash slots from {pair.source} to {pair.target} is that of flow {flow.name}:"
            " its tunnel's weight is too small"
        )
    return fitting / count


def _candidates_needed(share: float) -> int:
    return 1 if share == 1 else math.ceil(math.log(MISS_CHANCE) / math.log(1 - share))


def code_point_of(layout: QueueLayout, flow: WantedFlow) -> int:
    """Return the DSCP value that puts a flow into its class."""
    code_points = layout.classes[flow.priority].code_points
    return code_points[0] if code_points else DEFAULT_CODE_POINT


def _seen(candidates: Mapping[str, Sequence[EgressFlowKey]], marks: Marks) -> dict[str, list[EgressFlowKey]]:
    """Return the candidates without those whose source port turned out to be in use."""
    return {name: [key for key in keys if key in marks] for name, keys in candidates.items()}


def _probe(
    lab: Lab, flows: Iterable[WantedFlow], candidates: Mapping[str, Sequence[EgressFlowKey]]
) -> dict[EgressFlowKey, IngressMark]:
    by_pair: dict[tuple[str, str], list[EgressFlowKey]] = {}
    for flow in flows:
        by_pair.setdefault((flow.source, flow.target), []).extend(candidates[flow.name])
    marks: dict[EgressFlowKey, IngressMark] = {}
    for (source, target), keys in by_pair.items():
        address = str(lab.network.host(target).address)
        marks |= probe_marks_seen_by(partial(lab.network.observe, source), lab.network.host(source), address, keys)
    return marks


def _probe_until(
    lab: Lab,
    flows: Iterable[WantedFlow],
    candidates: Mapping[str, Sequence[EgressFlowKey]],
    condition: Callable[[Marks], bool],
) -> dict[EgressFlowKey, IngressMark]:
    deadline = time.monotonic() + REROUTE_TIMEOUT
    while not condition(marks := _probe(lab, flows, candidates)):
        if time.monotonic() > deadline:
            raise TestbedError(f"the ingress has not rerouted its flows {REROUTE_TIMEOUT:g} s after a link changed")
    return marks
