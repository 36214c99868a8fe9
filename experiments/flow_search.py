"""Finds, in a running lab, flows that the ingress hashes to the tunnels an experiment wants them on."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from te_solver.plan import Tunnel
from testbed.errors import TestbedError
from testbed.hash_probe import FlowKey, FlowWish, Mark, choose_flows, probe_marks
from testbed.lab import Lab

FIRST_SERVER_PORT = 5201
SOURCE_PORTS = range(10000, 30000)
"""Below those that the kernel hands out by itself (ip_local_port_range)."""

CANDIDATES = 128
"""Per flow; with three equal tunnels a source port fits with a chance of one in six or more."""

REROUTE_TIMEOUT = 5.0
"""Seconds for the ingress to react to a link, beyond those the lab has waited already."""

Marks = Mapping[FlowKey, Mark]


@dataclass(frozen=True)
class WantedFlow:
    """A flow between two sites: `tunnel` carries it, `backup` while the link in question is down.

    `offered` is its limit in Mbit/s on the wire. The two tunnels are the same unless the flow is a victim.
    """

    name: str
    offered: float
    source: str
    target: str
    tunnel: Tunnel
    backup: Tunnel


def core_interfaces(lab: Lab, switch: str) -> list[str]:
    """The devices of a switch's ports to other switches."""
    ports = range(1, len(lab.plan.topology.neighbours[switch]) + 1)
    return [lab.network.interface(switch, port) for port in ports]


def find_flows(lab: Lab, flows: Sequence[WantedFlow], link: tuple[str, str], seed: int) -> dict[str, FlowKey]:
    """For each flow ports with which the ingress sends it as wanted, with the link up and with it down.

    The link is really taken down for this, and is up again on return.

    Raises:
        TestbedError: no candidate is hashed as wanted, or the ingress does not react to the link.
    """
    broken = {tunnel.path_id for tunnel in lab.plan.tunnels if tunnel.crosses(*link)}
    drawn = iter(random.Random(seed).sample(SOURCE_PORTS, CANDIDATES * len(flows)))
    candidates = {
        flow.name: [FlowKey("tcp", next(drawn), FIRST_SERVER_PORT + position) for _ in range(CANDIDATES)]
        for position, flow in enumerate(flows)
    }
    before = _probe(lab, flows, candidates)
    candidates = _seen(candidates, before)
    lab.fail(*link)
    try:
        after = _probe_until(lab, flows, candidates, lambda marks: not broken & {mark.label for mark in marks.values()})
    finally:
        lab.heal(*link)
    candidates = _seen(candidates, after)
    wishes = [FlowWish(flow.name, flow.tunnel.path_id, flow.backup.path_id) for flow in flows]
    chosen = choose_flows(wishes, candidates, before, after)
    missing = [flow.name for flow in flows if flow.name not in chosen]
    if missing:
        raise TestbedError(f"none of {CANDIDATES} source ports is hashed to the tunnels wanted for {missing[0]}")
    restored = {name: [key] for name, key in chosen.items()}
    _probe_until(lab, flows, restored, lambda marks: all(before[key] == mark for key, mark in marks.items()))
    return chosen


def _seen(candidates: Mapping[str, Sequence[FlowKey]], marks: Marks) -> dict[str, list[FlowKey]]:
    """Without those whose source port turned out to be in use."""
    return {name: [key for key in keys if key in marks] for name, keys in candidates.items()}


def _probe(lab: Lab, flows: Iterable[WantedFlow], candidates: Mapping[str, Sequence[FlowKey]]) -> dict[FlowKey, Mark]:
    by_pair: dict[tuple[str, str], list[FlowKey]] = {}
    for flow in flows:
        by_pair.setdefault((flow.source, flow.target), []).extend(candidates[flow.name])
    marks: dict[FlowKey, Mark] = {}
    for (source, target), keys in by_pair.items():
        address = str(lab.network.host(target).address)
        marks |= probe_marks(lab.network.host(source), address, core_interfaces(lab, source), keys)
    return marks


def _probe_until(
    lab: Lab,
    flows: Iterable[WantedFlow],
    candidates: Mapping[str, Sequence[FlowKey]],
    condition: Callable[[Marks], bool],
) -> dict[FlowKey, Mark]:
    deadline = time.monotonic() + REROUTE_TIMEOUT
    while not condition(marks := _probe(lab, flows, candidates)):
        if time.monotonic() > deadline:
            raise TestbedError(f"the ingress has not rerouted its flows {REROUTE_TIMEOUT:g} s after a link changed")
    return marks
