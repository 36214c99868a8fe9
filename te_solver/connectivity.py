"""Connectivity of a network: parts, reachable nodes and distances."""

from __future__ import annotations

from collections import deque
from functools import cached_property

from te_solver.topology import Topology


def connected_parts(topology: Topology) -> list[tuple[str, ...]]:
    """Return the connected parts, ignoring the direction of edges, in the order of the topology."""
    parts: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for start in topology.nodes:
        if start in seen:
            continue
        seen.add(start)
        part = [start]
        for node in part:
            for neighbour in topology.neighbours[node]:
                if neighbour not in seen:
                    seen.add(neighbour)
                    part.append(neighbour)
        parts.append(tuple(part))
    return parts


class Reachability:
    """Reachability between nodes of a topology along the direction of links."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._from: dict[str, frozenset[str]] = {}

    def connects(self, source: str, target: str) -> bool:
        """Return True if there is a path; raises KeyError for an unknown source."""
        return target in self._reachable(source)

    @cached_property
    def _both_ways(self) -> bool:
        return all(self._topology.has_link(link.target, link.source) for link in self._topology.links)

    def _reachable(self, source: str) -> frozenset[str]:
        if source not in self._from:
            reached = dict.fromkeys([source])
            queue = deque([source])
            while queue:
                node = queue.popleft()
                for neighbour in self._topology.neighbours[node]:
                    if neighbour not in reached and self._topology.has_link(node, neighbour):
                        reached[neighbour] = None
                        queue.append(neighbour)
            nodes = frozenset(reached)
            # If every link has its reverse, all reached nodes reach the same nodes.
            self._from.update(dict.fromkeys(nodes if self._both_ways else [source], nodes))
        return self._from[source]


def hop_diameter(topology: Topology, most_steps: int = 20_000_000) -> int | None:
    """Return the most links on a shortest path between connected nodes; None if that takes too many steps."""
    if len(topology.nodes) * len(topology.links) > most_steps:
        return None
    position = {node: number for number, node in enumerate(topology.nodes)}
    heads: list[list[int]] = [[] for _ in topology.nodes]
    for link in topology.links:
        heads[position[link.source]].append(position[link.target])
    return max(_eccentricity(heads, start) for start in range(len(heads)))


def _eccentricity(heads: list[list[int]], start: int) -> int:
    hops = {start: 0}
    queue = deque([start])
    node = start
    while queue:
        node = queue.popleft()
        for head in heads[node]:
            if head not in hops:
                hops[head] = hops[node] + 1
                queue.append(head)
    return hops[node]
