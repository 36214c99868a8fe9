"""Choice of a pair's tunnels: edge-disjoint as far as the network allows, then with the least sharing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain
from math import lcm
from typing import Protocol

from te_solver.model.plan import DISJOINT, NODE_DISJOINT, Weight
from te_solver.model.topology import Topology
from te_solver.tunnels.arc_graph import Link, Skeleton, Step
from te_solver.tunnels.path_search import NOWHERE, PathSearch, search

Path = tuple[int, ...]
"""Nodes as positions in the topology's order, from source to target."""

Paths = tuple[tuple[str, ...], ...]
"""The tunnels of a pair as node names."""

_PARTS = 10**15
"""Parts of the greatest delay or inverse capacity, to which all are rounded if no common multiple makes them whole."""

_MOST_BITS = 4096
"""Bits of a common multiple by which all delays or inverse capacities become whole, so that sums tie exactly."""

_COST_BITS, _MOST_COSTS = 64, 20_000_000
"""Costs of so many bits that are kept, in some 160 MB; those between all nodes of a network of 4,000 are fewer. Fewer
longer ones are kept, in proportion."""


def link_costs(topology: Topology, weight: Weight) -> dict[Link, int]:
    """Return whole numbers, by the positions of a link's ends, that order simple paths by weight, then by hops."""
    position = {node: number for number, node in enumerate(topology.nodes)}
    if weight == "hops":
        weights = [0] * len(topology.links)
    elif weight == "delay":
        weights = _whole([_exact(link.delay) for link in topology.links])
    else:
        weights = _whole([1 / _exact(link.capacity) for link in topology.links])
    return {
        (position[link.source], position[link.target]): own * len(topology.nodes) + 1
        for link, own in zip(topology.links, weights, strict=True)
    }


def _exact(number: float) -> Fraction:
    """Return a number as its decimals say: three times 0.1 is 0.3."""
    return Fraction(repr(float(number)))


def _whole(values: Sequence[Fraction]) -> list[int]:
    """Return whole numbers in the ratio of the values, exactly if they have no very large common multiple."""
    multiple = 1
    for each in set(values):
        multiple = lcm(multiple, each.denominator)
        if multiple.bit_length() > _MOST_BITS:
            scale = _PARTS / max(values)
            return [round(each * scale) for each in values]
    return [each.numerator * (multiple // each.denominator) for each in values]


class PairsFinder(Protocol):
    """Finder of the tunnels of many pairs: a `TunnelFinder`, in several processes or not, or another path choice."""

    @property
    def choice(self) -> str:
        """Name of the path choice."""

    @property
    def weight(self) -> Weight:
        """Metric that tunnels minimise."""

    @property
    def node_disjoint(self) -> bool:
        """True if tunnels of a pair share no node where possible."""

    @property
    def seed(self) -> int:
        """Seed of paths that are drawn."""

    def tunnels_of_pairs(self, pairs: Sequence[tuple[str, str]], count: int) -> Iterable[Paths]:
        """Return the tunnels of each pair, as `TunnelFinder.tunnels` does."""

    def shares(self, pair: tuple[str, str]) -> tuple[float, ...] | None:
        """Return the shares by which the choice itself would use a pair's tunnels, once found; None for equal ones."""


class TunnelFinder:
    """Finder of tunnels in one topology.

    An edge is a cable: both its directions count as the same. The cost of a path is its weight; hops decide between
    paths of the same weight. The topology's order of nodes breaks further ties, so a topology always gives the same
    tunnels. If every link has an opposite of the same weight, the tunnels of a pair are those of the opposite pair,
    reversed.

    With `node_disjoint`, tunnels share no node but their ends, as far as the network allows, and shared nodes count
    like shared edges.

    Attributes:
        names: names of the nodes, in the topology's order.
        weight, node_disjoint: as given.
        choice: name of this path choice.
        seed: 1, as nothing is drawn.
        symmetric: True if every link has an opposite of the same weight.
    """

    def __init__(self, topology: Topology, weight: Weight = "hops", *, node_disjoint: bool = False) -> None:
        self.names = topology.nodes
        self.weight, self.node_disjoint = weight, node_disjoint
        self.choice = NODE_DISJOINT if node_disjoint else DISJOINT
        self.seed = 1
        self._position = {node: position for position, node in enumerate(topology.nodes)}
        neighbours = [[self._position[other] for other in topology.neighbours[node]] for node in topology.nodes]
        cost = link_costs(topology, weight)
        self._skeleton = Skeleton(neighbours, cost, nodes_once=node_disjoint)
        self._vertices_per_node = 2 if node_disjoint else 1
        self._beyond = sum(cost.values()) + 1
        nodes = range(len(neighbours))
        self._leaving = [
            [(head, cost[tail, head], 0) for head in neighbours[tail] if (tail, head) in cost] for tail in nodes
        ]
        self._entering = [
            [(tail, cost[tail, head], 0) for tail in neighbours[head] if (tail, head) in cost] for head in nodes
        ]
        self.symmetric = self._leaving == self._entering
        self._most_costs = _MOST_COSTS * _COST_BITS // max(_COST_BITS, self._beyond.bit_length())
        self._costs_from: dict[int, list[int]] = {}
        self._costs_to: dict[int, list[int]] = self._costs_from if self.symmetric else {}
        self._with_start = -1, self._skeleton.graph

    def tunnels(self, source: str, target: str, count: int) -> Paths:
        """Return up to `count` different simple paths, as node names, sorted by cost.

        The first ones chosen, as many as can be edge-disjoint, have the least total cost of all such sets (Suurballe
        and Tarjan, Networks 14, 1984; for more than two paths: Bhandari, Survivable Networks, 1999). Each further one
        is the remaining path that shares the fewest edges with those chosen before (an edge shared with two of them
        counts twice), of several the cheapest. Fewer than `count` are returned only if the pair has no more simple
        paths, none if it is not connected.

        Raises:
            ValueError: `count` is below one, or source and target are the same.
            KeyError: source or target is unknown.
        """
        paths = self.paths(self._position[source], self._position[target], count)
        return tuple(tuple(self.names[node] for node in path) for path in paths)

    def tunnels_of_pairs(self, pairs: Sequence[tuple[str, str]], count: int) -> Iterable[Paths]:
        """Return the `tunnels` of each pair."""
        return (self.tunnels(source, target, count) for source, target in pairs)

    def shares(self, pair: tuple[str, str]) -> None:
        """Return nothing: tunnels are chosen for what they avoid, and share equally."""

    def count_disjoint(self, source: str, target: str, at_most: int) -> int:
        """Return the number of disjoint paths from `source` to `target`, counted up to `at_most`."""
        return len(self.paths(self._position[source], self._position[target], at_most, disjoint_only=True))

    def paths(self, source: int, target: int, count: int, *, disjoint_only: bool = False) -> list[Path]:
        """Return `tunnels` for nodes by their positions; with `disjoint_only` without those that share edges."""
        if count < 1:
            raise ValueError(f"{count} tunnels asked for, at least one is needed")
        if source == target:
            raise ValueError(f"a tunnel from {self.names[source]} to itself")
        if self.symmetric and target < source:
            return [path[::-1] for path in self.paths(target, source, count, disjoint_only=disjoint_only)]
        if self._cost_from(source)[target] == self._beyond:
            return []
        inwards, outwards = self._skeleton.branch(source), self._skeleton.branch(target)[::-1]
        if inwards[-1] == outwards[0]:
            return [_without_detour(inwards, outwards)]
        search = self._search(inwards[-1], outwards[0])
        # A part that hangs on the rest by a bridge has no two disjoint paths there.
        chosen = search.disjoint(count if len(inwards) == len(outwards) == 1 else 1)
        while len(chosen) < count and not disjoint_only:
            further = search.least_sharing(chosen)
            if further is None:
                break
            chosen.append(further)
        graph = search.graph
        cost_of, nodes_of = graph.cost.__getitem__, graph.nodes.__getitem__
        paths = [(sum(map(cost_of, path)), (*inwards, *chain.from_iterable(map(nodes_of, path)))) for path in chosen]
        return [path + outwards[1:] for _, path in sorted(paths)]

    def _search(self, start: int, end: int) -> PathSearch:
        # Pairs usually come source by source.
        if self._with_start[0] != start:
            self._with_start = start, self._skeleton.graph.with_vertex(start)
        graph = self._with_start[1].with_vertex(end)
        return PathSearch(
            graph,
            graph.exit(start),
            end,
            to_end=self._cost_to(end) * self._vertices_per_node,
            from_start=self._cost_from(start) * self._vertices_per_node,
            beyond=self._beyond,
        )

    def _cost_from(self, node: int) -> list[int]:
        return self._kept(self._costs_from, node, self._leaving)

    def _cost_to(self, node: int) -> list[int]:
        return self._kept(self._costs_to, node, self._entering)

    def _kept(self, costs: dict[int, list[int]], node: int, steps: Sequence[list[Step]]) -> list[int]:
        """Return the costs between a node and all others, which are kept as long as they do not become too many."""
        if node not in costs:
            if (len(costs) + 1) * len(steps) > self._most_costs:
                costs.clear()
            costs[node] = self._costs_of_all(node, steps)
        return costs[node]

    def _costs_of_all(self, node: int, steps: Sequence[list[Step]]) -> list[int]:
        cost, _ = search(steps, node, NOWHERE, [0] * len(steps))
        return [cost.get(other, self._beyond) for other in range(len(steps))]


def _without_detour(inwards: Path, outwards: Path) -> Path:
    """Return the path within one tree: up to its root and down again, without the part passed both ways."""
    while len(inwards) > 1 and len(outwards) > 1 and inwards[-2] == outwards[1]:
        inwards, outwards = inwards[:-1], outwards[1:]
    return inwards + outwards[1:]
