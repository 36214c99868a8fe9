"""Hypothesis strategies for problems of programs, and the same problems row by row for scipy's linprog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from scipy.optimize import linprog

from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.incidence import Incidence, Vector
from te_solver.tunnels.finder import TunnelFinder
from tests.te_solver.random_networks import demands_on, topologies

RHOMBUS = Topology(
    "rhombus",
    ("s", "a", "b", "t"),
    tuple(Link(a, b, 10.0) for a, b in (("s", "t"), ("s", "a"), ("a", "t"), ("s", "b"), ("b", "t"))),
)


@dataclass(frozen=True)
class Case:
    """A network, its demands, and the tunnels of each demand."""

    topology: Topology
    demands: tuple[Demand, ...]
    tunnels: tuple[tuple[tuple[str, ...], ...], ...]

    @classmethod
    def of(cls, topology: Topology, demands: Sequence[Demand], count: int) -> Case:
        tunnels = tuple(TunnelFinder(topology).tunnels(demand.source, demand.target, count) for demand in demands)
        return cls(topology, tuple(demands), tunnels)

    @property
    def incidence(self) -> Incidence:
        return Incidence.of(self.topology, self.tunnels)

    @property
    def capacity(self) -> Vector:
        return np.array([link.capacity for link in self.topology.links])

    @property
    def demand(self) -> Vector:
        return np.array([demand.rate for demand in self.demands])

    @property
    def paths(self) -> list[tuple[str, ...]]:
        return [path for of_pair in self.tunnels for path in of_pair]

    @property
    def owners(self) -> list[int]:
        """The pair of each path."""
        return [pair for pair, paths in enumerate(self.tunnels) for _ in paths]

    @property
    def hops(self) -> list[float]:
        return [float(len(path) - 1) for path in self.paths]

    def uses(self, link: Link) -> list[float]:
        """1 for each path that crosses the link."""
        return [float(link.ends in pairwise(path)) for path in self.paths]

    def owned(self, pair: int) -> list[float]:
        """1 for each path of the pair."""
        return [float(owner == pair) for owner in self.owners]

    def alive(self, failed: Sequence[tuple[str, str]]) -> list[float]:
        """1 for each path that crosses none of the failed edges, in either direction."""
        dead = {frozenset(edge) for edge in failed}
        return [float(dead.isdisjoint(map(frozenset, pairwise(path)))) for path in self.paths]

    def failures(self, edges: int) -> list[tuple[tuple[str, str], ...]]:
        """Return all sets of this many edges of the network, or the set of all edges if it has fewer."""
        return list(combinations(self.topology.edges, min(edges, len(self.topology.edges))))


class Rows:
    """Rows of a linear program in the form of linprog: `row @ x <= bound`, all variables from zero up."""

    def __init__(self, variables: int) -> None:
        self._variables = variables
        self._rows: list[list[float]] = []
        self._bounds: list[float] = []

    def at_most(self, row: Sequence[float], bound: float) -> None:
        self._rows.append([*row, *[0.0] * (self._variables - len(row))])
        self._bounds.append(bound)

    def at_least(self, row: Sequence[float], bound: float) -> None:
        self.at_most([-entry for entry in row], -bound)

    def minimum(self, cost: Sequence[float]) -> float:
        whole = [*cost, *[0.0] * (self._variables - len(cost))]
        outcome: Any = linprog(whole, A_ub=self._rows, b_ub=self._bounds)
        assert outcome.status == 0, outcome.message
        return float(outcome.fun)

    def maximum(self, gain: Sequence[float]) -> float:
        return -self.minimum([-entry for entry in gain])


@st.composite
def cases(draw: st.DrawFn, *, directed: bool = True, max_nodes: int = 7, max_tunnels: int = 4) -> Case:
    """Networks of any capacities with connected demands; some are directed, unless excluded."""
    topology = draw(topologies(directed=directed and draw(st.booleans()), max_nodes=max_nodes))
    demands = draw(demands_on(topology))
    assume(demands)
    return Case.of(topology, demands, draw(st.integers(1, max_tunnels)))


def within_capacities(case: Case, rows: Rows) -> None:
    for link in case.topology.links:
        rows.at_most(case.uses(link), link.capacity)


def within_demands(case: Case, rows: Rows) -> None:
    for pair, demand in enumerate(case.demands):
        rows.at_most(case.owned(pair), demand.rate)
