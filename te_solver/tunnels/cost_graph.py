"""A network as numbered nodes with exact link costs, and the cheapest paths that several path choices need."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from itertools import pairwise

from te_solver.model.plan import Weight
from te_solver.model.topology import Topology
from te_solver.tunnels.finder import Path, link_costs
from te_solver.tunnels.path_search import NOWHERE, search

Steps = list[list[tuple[int, int, int]]]
"""For every node its steps: the node at the other end, the cost, and an unused number."""


class CostGraph:
    """A network whose links have whole numbers as costs, all above zero.

    Attributes:
        names: names of the nodes, in the topology's order.
        position: the number of each node.
        leaving, entering: for every node the steps from it and to it, by the order of the other node.
    """

    def __init__(self, topology: Topology, weight: Weight) -> None:
        self._topology, self._weight = topology, weight
        self.names = topology.nodes
        self.position = {node: number for number, node in enumerate(topology.nodes)}
        self.cost: Mapping[tuple[int, int], int] = link_costs(topology, weight)
        self.leaving: Steps = [[] for _ in self.names]
        self.entering: Steps = [[] for _ in self.names]
        for (tail, head), cost in sorted(self.cost.items()):
            self.leaving[tail].append((head, cost, 0))
            self.entering[head].append((tail, cost, 0))
        self.beyond = sum(self.cost.values()) + 1
        self._costs_to: dict[int, list[int]] = {}

    @cached_property
    def metric(self) -> Mapping[tuple[int, int], int]:
        """The costs by the weight alone, where hops do not decide between equals; `cost` if one of them is zero."""
        # `link_costs` multiplies the weight by the number of nodes and adds one for the hop.
        pure = {link: (cost - 1) // len(self.names) for link, cost in self.cost.items()}
        return pure if all(pure.values()) else self.cost

    def named(self, path: Path) -> tuple[str, ...]:
        return tuple(self.names[node] for node in path)

    def length(self, path: Path) -> int:
        """Return the cost of a path."""
        return sum(self.cost[link] for link in pairwise(path))

    def costs_to(self, target: int) -> list[int]:
        """Return the cost from every node to this one, `beyond` where there is no path."""
        if target not in self._costs_to:
            found, _ = search(self.entering, target, NOWHERE, [0] * len(self.names))
            self._costs_to[target] = [found.get(node, self.beyond) for node in range(len(self.names))]
        return self._costs_to[target]

    def cheapest(self, begun: Path, target: int, without: Collection[int] = ()) -> Path | None:
        """Return the cheapest simple path that begins like this, of several the first in the order of nodes.

        Args:
            begun: the first nodes, at least one; the target is none of them.
            target: the last node.
            without: nodes that must not follow the begun ones at once.
        """
        start = begun[-1]
        steps = [step for step in self.leaving[start] if step[0] not in without]
        cost, _ = search(
            [*self.leaving[:start], steps, *self.leaving[start + 1 :]],
            start,
            target,
            self.costs_to(target),
            with_ties=True,
            closed=begun[:-1],
        )
        if target not in cost:
            return None
        useful = {target}
        pending = [target]
        while pending:
            head = pending.pop()
            for tail, step, _ in self.entering[head]:
                if tail not in useful and tail in cost and cost[tail] + step == cost[head]:
                    if tail == start and head in without:
                        continue
                    useful.add(tail)
                    pending.append(tail)
        path = list(begun)
        while path[-1] != target:
            here = path[-1]
            path.append(
                next(
                    head
                    for head, step, _ in (steps if here == start else self.leaving[here])
                    if head in useful and cost[here] + step == cost[head]
                )
            )
        return tuple(path)


def without_loops(path: Path) -> Path:
    """Return the path that leaves out all between two visits of a node."""
    kept: list[int] = []
    for node in path:
        if node in kept:
            del kept[kept.index(node) + 1 :]
        else:
            kept.append(node)
    return tuple(kept)
