"""Sends single packets of flows through a plan's tables in the packet simulator, and sees the ways they take."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.measuring.wanted_flow import WantedFlow
from kuijia_app.tables.options import PipelineOptions
from simulator.packet.transports import Packets
from simulator.planned.events import Cut
from simulator.planned.results import PlanResults
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from te_solver.model.plan import Plan

_EVERY = 10.0
"""Seconds between two packets, so that each is alone in the network."""

_PACKET = 1000


@dataclass(frozen=True)
class Sighting:
    """Nodes that a flow's packets visit before and after a cut, and whether they wait among victims after it.

    None if a packet was lost.
    """

    before: tuple[str, ...] | None
    after: tuple[str, ...] | None
    low_after: bool | None


def sightings(
    plan: Plan, options: PipelineOptions, flows: Sequence[WantedFlow], slots: Sequence[int], link: tuple[str, str]
) -> list[Sighting]:
    """Return what is seen of each flow, which has the hash slot at its place in `slots`, around a cut of `link`."""
    count = len(flows)
    sizes = np.full(2, _PACKET)
    traffic = [
        SiteFlows.of(
            [(flow.source, flow.target)],
            Packets(np.array([number, count + 0.5 + number]) * _EVERY, sizes),
            slot=slot,
            priority=flow.priority,
        )
        for number, (flow, slot) in enumerate(zip(flows, slots, strict=True))
    ]
    run = PlanRun(plan, options, traffic, events=[Cut((count - 0.5) * _EVERY, link)])
    results = run.run((2 * count + 1) * _EVERY, window=_EVERY)
    victims = {each.victim.name for each in options.layout.classes}
    found = []
    for number, flow in enumerate(flows):
        before, _ = way_taken(results, number, flow.source)
        after, queues = way_taken(results, count + number, flow.source)
        found.append(Sighting(before, after, None if after is None else not victims.isdisjoint(queues)))
    return found


def way_taken(results: PlanResults, window: int, source: str) -> tuple[tuple[str, ...] | None, Collection[str]]:
    """Return the nodes of the only way that packets from a source took in a window, and the queues on it.

    The nodes are None if no packet crossed a link, or if the links in use make no single way.
    """
    return _way(source, _links_used(results, window))


def _links_used(results: PlanResults, window: int) -> dict[tuple[str, str], str]:
    """Return the queue of each link between switches that sent something in a window."""
    places = zip(*np.nonzero(results.windows.queue_sent[window]), strict=True)
    used = {results.outputs[output]: results.queues[queue] for output, queue in places}
    return {ends: queue for ends, queue in used.items() if ends[0] != ends[1]}


def _way(source: str, links: Mapping[tuple[str, str], str]) -> tuple[tuple[str, ...] | None, Collection[str]]:
    """Return the nodes of the way that these links make, and the queues on it; None if they are not one way."""
    following = dict(links.keys())
    nodes = [source]
    while nodes[-1] in following and len(nodes) <= len(links):
        nodes.append(following[nodes[-1]])
    return (tuple(nodes) if len(nodes) == len(links) + 1 and links else None), set(links.values())
