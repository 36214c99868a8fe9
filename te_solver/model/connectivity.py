"""Connectivity of a network: parts and reachable nodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property

from kuijia_base.errors import UnsoundError
from kuijia_base.quantities import counted
from te_solver.model.topology import Topology


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


def connected_nodes(topology: Topology) -> str:
    """Return what demands must be between, for messages: links that go one way only may be why they are not."""
    one_way = sum(not topology.has_link(link.target, link.source) for link in topology.links)
    only = f" ({counted(one_way, 'link')} without a reverse)" if one_way else ""
    return f"demands between connected nodes of {topology.name}{only}"


def largest_part(topology: Topology) -> Topology:
    """Return the largest part in which every node reaches every other, of equal ones the first in the topology.

    Raises:
        UnsoundError: no node reaches another one and back.
    """
    group_of = Reachability(topology).groups
    sizes = Counter(group_of[node] for node in topology.nodes)
    (largest, size), *_ = sizes.most_common(1)
    if size < 2:
        raise UnsoundError((), f"no two nodes of {topology.name} reach each other", "a network with a path and back")
    kept = [node for node in topology.nodes if group_of[node] == largest]
    inside = set(kept)
    return replace(
        topology,
        nodes=tuple(kept),
        links=tuple(link for link in topology.links if inside.issuperset(link.ends)),
        positions={node: place for node, place in topology.positions.items() if node in inside},
        down={ends: chance for ends, chance in topology.down.items() if inside.issuperset(ends)},
    )


class Reachability:
    """Reachability between nodes of a topology along the direction of links.

    Nodes that reach each other are a group; what a group reaches is a number with a bit for each other group.
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology

    def connects(self, source: str, target: str) -> bool:
        """Return True if there is a path; raises KeyError for an unknown source."""
        groups, reached = self._groups
        start, end = groups[source], groups.get(target)
        return start == end or (end is not None and bool(reached[start] >> end & 1))

    @property
    def groups(self) -> dict[str, int]:
        """The number of each node's group: nodes of a group reach each other, and no others that reach them."""
        return self._groups[0]

    @cached_property
    def _groups(self) -> tuple[dict[str, int], list[int]]:
        """The number of each node's group (strongly connected component), and the other groups that each reaches.

        Tarjan, Depth-first search and linear graph algorithms, SIAM Journal on Computing 1, 1972: a group is complete
        after all others that it reaches.
        """
        topology = self._topology
        heads = {
            node: [other for other in others if topology.has_link(node, other)]
            for node, others in topology.neighbours.items()
        }
        groups: dict[str, int] = {}
        reached: list[int] = []
        index: dict[str, int] = {}
        lowest: dict[str, int] = {}
        waiting: list[str] = []
        for start in topology.nodes:
            way = [] if start in index else [(start, iter(heads[start]))]
            while way:
                node, rest = way[-1]
                if node not in index:
                    index[node] = lowest[node] = len(index)
                    waiting.append(node)
                head = next((each for each in rest if each not in groups), None)
                if head is not None and head not in index:
                    way.append((head, iter(heads[head])))
                elif head is not None:
                    lowest[node] = min(lowest[node], index[head])
                else:
                    way.pop()
                    if way:
                        lowest[way[-1][0]] = min(lowest[way[-1][0]], lowest[node])
                    if lowest[node] == index[node]:
                        self._close(node, waiting, heads, groups, reached)
        return groups, reached

    @staticmethod
    def _close(
        first: str, waiting: list[str], heads: dict[str, list[str]], groups: dict[str, int], reached: list[int]
    ) -> None:
        """Make a group of the nodes that wait from `first` on."""
        members = [waiting.pop()]
        while members[-1] != first:
            members.append(waiting.pop())
        groups.update(dict.fromkeys(members, len(reached)))
        bits = 0
        for other in {groups[head] for member in members for head in heads[member]} - {len(reached)}:
            bits |= reached[other] | 1 << other
        reached.append(bits)
