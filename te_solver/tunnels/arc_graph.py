"""A network reduced to its branching nodes: chains of nodes become arcs, and hanging trees are removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import pairwise

Link = tuple[int, int]
"""A directed link between nodes, by their positions in the topology."""

Step = tuple[int, int, int]
"""The vertex at the other end, the cost, and the arc."""


class ArcGraph:
    """Vertices joined by arcs, each for a chain of links; arcs `a` and `a ^ 1` are opposite directions.

    A vertex is a node with more than two neighbours, or one made a vertex. If nodes may be used only once, as links
    are, a node has two vertices: paths enter `node`, cross an arc without links, and leave `exit(node)`.

    Attributes:
        leaving: for every vertex its steps to others, in the order of the first node on the way.
        entering: for every vertex the steps from others to it.
        ends: for every arc the vertices where it starts and ends.
        cost: for every arc its cost; an arc that lacks a link in its direction is in no vertex's steps.
        nodes: for every arc the nodes that it passes, without the first, with the last.
        size: for every arc the number of links, and inner nodes if nodes count, that two paths on it share.
    """

    def __init__(self, node_count: int, cost: Mapping[Link, int], *, nodes_once: bool) -> None:
        vertices = node_count * 2 if nodes_once else node_count
        self._link_cost = cost
        self._shift = node_count if nodes_once else 0
        self.leaving: list[list[Step]] = [[] for _ in range(vertices)]
        self.entering: list[list[Step]] = [[] for _ in range(vertices)]
        self.ends: list[tuple[int, int]] = []
        self.cost: list[int] = []
        self.nodes: list[tuple[int, ...]] = []
        self.size: list[int] = []
        self._chain_of: dict[int, tuple[int, int]] = {}

    def exit(self, node: int) -> int:
        """Return the vertex by which paths leave the node."""
        return node + self._shift

    def add_node(self, node: int) -> None:
        """Let paths pass the node; only once if nodes may be used only once."""
        if self._shift:
            self._add_arc(node, self.exit(node), (), 0, 1)
            self._add_arc(self.exit(node), node, (), None, 1)

    def add_chain(self, chain: Sequence[int]) -> None:
        """Add arcs along `chain`, the nodes from vertex to vertex, in each direction that its links have."""
        size = 2 * len(chain) - 3 if self._shift else len(chain) - 1
        for index, node in enumerate(chain[1:-1], start=1):
            self._chain_of[node] = len(self.nodes), index
        for way in (tuple(chain), tuple(reversed(chain))):
            costs = [self._link_cost.get(link, 0) for link in pairwise(way)]  # those of links are above zero
            cost = sum(costs) if way[0] != way[-1] and 0 not in costs else None
            self._add_arc(self.exit(way[0]), way[-1], way[1:], cost, size)

    def with_vertex(self, node: int) -> ArcGraph:
        """Return this graph with `node` as a vertex; this graph is not changed."""
        if node not in self._chain_of:
            return self
        graph = copy(self)
        graph.divide(node)
        return graph

    def divide(self, node: int) -> None:
        """Make `node` a vertex by cutting its chain in two; lists are replaced, not changed."""
        self.leaving, self.entering, self.ends = self.leaving.copy(), self.entering.copy(), self.ends.copy()
        self.cost, self.nodes, self.size = self.cost.copy(), self.nodes.copy(), self.size.copy()
        self._chain_of = self._chain_of.copy()
        arc, index = self._chain_of.pop(node)
        chain = (self.nodes[arc ^ 1][-1], *self.nodes[arc])
        for way in (arc, arc ^ 1):
            tail, head = self.ends[way]
            self.leaving[tail] = [step for step in self.leaving[tail] if step[2] != way]
            self.entering[head] = [step for step in self.entering[head] if step[2] != way]
        self.add_chain(chain[: index + 1])
        self.add_chain(chain[index:])

    def _add_arc(self, tail: int, head: int, nodes: tuple[int, ...], cost: int | None, size: int) -> None:
        arc = len(self.nodes)
        self.ends.append((tail, head))
        self.cost.append(cost or 0)
        self.nodes.append(nodes)
        self.size.append(size)
        if cost is not None:
            steps = [*self.leaving[tail], (head, cost, arc)]
            self.leaving[tail] = sorted(steps, key=lambda step: self.nodes[step[2]])
            self.entering[head] = [*self.entering[head], (tail, cost, arc)]


class Skeleton:
    """Graph of a network without its branches: trees attached to one node, in which paths have no choice.

    Attributes:
        graph: the network without the branches.
        roots: for every node the node to which its branch is attached; a node in no branch is its own root.
    """

    def __init__(self, neighbours: Sequence[Sequence[int]], cost: Mapping[Link, int], *, nodes_once: bool) -> None:
        self._inwards = _hanging(neighbours)
        self.roots = list(range(len(neighbours)))
        for node in reversed(self._inwards):
            self.roots[node] = self.roots[self._inwards[node]]
        self.graph = ArcGraph(len(neighbours), cost, nodes_once=nodes_once)
        self._add_arcs(
            [
                [other for other in others if other not in self._inwards] if node not in self._inwards else []
                for node, others in enumerate(neighbours)
            ]
        )

    def branch(self, node: int) -> tuple[int, ...]:
        """Return the nodes from `node` to its root, both included."""
        path = [node]
        while path[-1] in self._inwards:
            path.append(self._inwards[path[-1]])
        return tuple(path)

    def _add_arcs(self, neighbours: Sequence[Sequence[int]]) -> None:
        vertices = {node for node, others in enumerate(neighbours) if len(others) > 2}
        passed = set[int]()
        # After the chains between vertices come rings without any: there the first node becomes one.
        for start in [*sorted(vertices), *(node for node, others in enumerate(neighbours) if others)]:
            if start in passed:
                continue
            self.graph.add_node(start)
            for first in neighbours[start]:
                chain = [start, first]
                while chain[-1] != start and chain[-1] not in vertices:
                    chain.append(next(node for node in neighbours[chain[-1]] if node != chain[-2]))
                if (start, first) <= (chain[-1], chain[-2]):
                    self.graph.add_chain(chain)
                passed.update(chain[:-1])


def _hanging(neighbours: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return for every node of an attached tree the next node towards its root, outermost first."""
    left = [len(others) for others in neighbours]
    next_node: dict[int, int] = {}
    outermost = [node for node, degree in enumerate(left) if degree == 1]
    while outermost:
        node = outermost.pop()
        inner = next((other for other in neighbours[node] if other not in next_node), None)
        if inner is not None and left[node] == 1:
            next_node[node] = inner
            left[inner] -= 1
            if left[inner] == 1:
                outermost.append(inner)
    return next_node
