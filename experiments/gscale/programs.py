"""Programs of greatest throughput that only some readings of the paper have.

Two use an interior-point method, which ends in the middle of the set of optima, not at a corner; one of them with equal
rates on the tunnels of each pair. Links may have one capacity for both directions together, as undirected edges do;
real links are full duplex, so the product's solver has no such option.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kuijia_base.errors import SolverError
from te_solver.model.plan import Plan
from te_solver.programs.incidence import Incidence, Vector, within_bounds
from te_solver.programs.program import Allocation, Objective, Options, Program
from te_solver.programs.scale import Scale
from te_solver.programs.solver import Solver

_SOLVER = Solver(cp.CLARABEL)


class InteriorThroughput(Program):
    """The paper's program in FFC's form: tunnels are granted at least the traffic that their pair sends.

    A tunnel's weight is its share of the grants of the pair's tunnels, which may exceed the pair's traffic. CVX solves
    such programs with SDPT3 or SeDuMi. Like the solver here they are interior-point methods: with many optima, as for
    light demands, they end in the middle of them.
    """

    def _compile(self, scale: Scale) -> None:
        del scale  # Gscale's links are all alike, and its plans in parts of one
        tunnels, pairs = self.incidence.links.shape[1], self.incidence.pairs.shape[0]
        self._free, self._asked = cp.Parameter(self.incidence.links.shape[0]), cp.Parameter(pairs)
        self._granted, self._sent = cp.Variable(tunnels, nonneg=True), cp.Variable(pairs, nonneg=True)
        self._problem = cp.Problem(
            cp.Maximize(cp.sum(self._sent)),
            [
                sp.csr_array(self.incidence.links) @ self._granted <= self._free,
                sp.csr_array(self.incidence.pairs) @ self._granted >= self._sent,
                self._sent <= self._asked,
            ],
        )

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` is without it
        self._free.value, self._asked.value = room, demand
        seconds = _solved(self._problem)
        granted = np.maximum(np.asarray(self._granted.value), 0.0)
        of_pair = self.incidence.pairs @ granted
        part = np.divide(self._sent.value, of_pair, out=np.zeros_like(of_pair), where=of_pair > 0)
        rates = within_bounds(self.incidence, room, demand, granted * part[self.incidence.pair_of_tunnel])
        return Allocation(rates, self.incidence.pairs @ rates, _SOLVER.title, seconds)


class EqualRates(Program):
    """Greatest throughput if all tunnels of a pair get the same rate; of many optima the one in the middle."""

    def _compile(self, scale: Scale) -> None:
        del scale  # as above
        pairs = sp.csr_array(self.incidence.pairs)
        tunnels_of_pair = np.asarray(pairs.sum(axis=1))
        self._of_tunnel = sp.csr_array(pairs.T @ sp.diags_array(1 / tunnels_of_pair))
        self._free, self._asked = cp.Parameter(self.incidence.links.shape[0]), cp.Parameter(pairs.shape[0])
        self._sent = cp.Variable(pairs.shape[0], nonneg=True)
        self._problem = cp.Problem(
            cp.Maximize(cp.sum(self._sent)),
            [
                sp.csr_array(self.incidence.links @ self._of_tunnel) @ self._sent <= self._free,
                self._sent <= self._asked,
            ],
        )

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` is without it
        self._free.value, self._asked.value = room, demand
        seconds = _solved(self._problem)
        sent = np.maximum(np.asarray(self._sent.value), 0.0)
        rates = within_bounds(self.incidence, room, demand, self._of_tunnel @ sent)
        return Allocation(rates, self.incidence.pairs @ rates, _SOLVER.title, seconds)


def _solved(problem: cp.Problem) -> float:
    """Solve a problem and return the seconds; rates that are off by up to 5e-5 are good enough for losses in per cent.

    The method ends so in a few of thousands of plans. Rates are cut to their bounds afterwards in any case.
    """
    try:
        return _SOLVER.run(problem)
    except SolverError:
        if problem.status != cp.OPTIMAL_INACCURATE:
            raise
        return float(problem.solver_stats.solve_time or 0.0)


def _total(plan: Plan) -> float:
    return sum(pair.allocated for pair in plan.pairs)


INTERIOR = Objective("max-throughput-interior", InteriorThroughput, _total)
EQUAL = Objective("max-throughput-equal", EqualRates, _total)


def with_shared_capacity(objective: Objective) -> Objective:
    """Return the objective for links whose two directions share the capacity of one."""
    return replace(objective, name=f"{objective.name}-shared", program=partial(_program, objective))


def _program(objective: Objective, incidence: Incidence, options: Options) -> Program:
    return objective.program(replace(incidence, links=_of_both_directions(incidence)), options)


def _of_both_directions(incidence: Incidence) -> sp.csc_array:
    """Return 1 where a tunnel (column) uses a link (row) in either direction, shape (L, T)."""
    edges = incidence.edge_of_link
    together = sp.csc_array((edges[:, None] == edges[None, :]).astype(np.float64))
    links = sp.csc_array(together @ incidence.links)
    links.sort_indices()
    return links
