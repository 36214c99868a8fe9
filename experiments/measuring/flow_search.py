"""Finds flows in a running lab that the ingress hashes to the tunnels an experiment wants them on."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice

from experiments.measuring.failure_run import WantedFlow, slot_moves
from kuijia_app.tables.queues import QueueLayout
from kuijia_app.tables.slots import cut_slots
from kuijia_base.errors import TestbedError
from te_solver.schemes.all_schemes import failure_scheme
from testbed.lab.lab import Lab
from testbed.traffic.hash_probe import (
    EgressFlowKey,
    IngressMark,
    Protocol,
    TunnelFlowWish,
    choose_flows,
    probe_marks_seen_by,
)

FIRST_SERVER_PORT = 5201
SOURCE_PORTS = range(10000, 30000)
"""Source ports below those that the kernel assigns itself (ip_local_port_range)."""

DEFAULT_CODE_POINT = 0
"""DSCP value of packets that no host has marked (RFC 2474)."""

MISS_CHANCE = 1e-4
"""Probability that no candidate of a flow is hashed as wanted."""

REROUTE_TIMEOUT = 15.0
"""Seconds that the ingress may take to react to a link, after those that the lab has already waited."""

Marks = Mapping[EgressFlowKey, IngressMark]


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
