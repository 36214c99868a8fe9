"""Max-min fairness: no pair can get more without taking from a pair that has no more."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import SolverError
from te_solver.model.plan import Plan
from te_solver.programs.incidence import Vector, least, within_bounds, within_capacity
from te_solver.programs.program import Allocation, Objective, Program
from te_solver.programs.scale import Scale
from te_solver.programs.spread import most_even
from te_solver.programs.tunnel_rates import TunnelRates

Flags = NDArray[np.bool_]

_LEAST_PULL = 1e-2
"""A pair limits the level if its dual value is at least this share of the largest one."""

_CLOSE = 30.0
"""Largest factor between the demands and those that the program of the level was compiled for."""

_ROUNDING = 1e-9


class MaxMin(Program):
    """The program of the allocation whose smallest entry is as large as possible, then the second smallest, and so on.

    A sequence of programs raises the level z that all pairs can reach together as far as possible:

        maximise z, with sum(rates of f) >= z for the pairs still rising, and >= b_f for those already fixed

    Pairs that ask for no more than z are fixed at their demand, and the level is raised again. If there are none, some
    pair limits it: those whose row has a positive dual value have exactly z in every optimum (complementary slackness),
    so they are fixed at z. Each program fixes at least one pair; the b_f are the only max-min fair ones (Nace and
    Pióro, IEEE Communications Surveys & Tutorials 10(4), 2008).

    A last program finds the rates of fewest hops that give each pair b_f or, with `Options.spread`, the most even.
    """

    def _compile(self, scale: Scale) -> None:
        self._tunnels = tunnels = TunnelRates(self.incidence, scale)
        self._floor = cp.Parameter(scale.most.size, nonneg=True)
        self._exempt = cp.Parameter(scale.most.size, nonneg=True)
        self._asked = 0.0
        self._rising = np.zeros(scale.most.size, dtype=np.bool_)
        # A level lies between some pair's demand and that demand divided by the tunnels that share a link: a unit in
        # between keeps it neither too large nor too small for the solver's tolerances.
        self._crowd = float(np.sqrt(self.incidence.links.sum(axis=1).max()))
        kept = [*tunnels.bounds, tunnels.sent >= self._floor]
        self._tidy = most_even(tunnels, kept) if self.options.spread else cp.Problem(cp.Minimize(tunnels.hops), kept)

    def _compile_level(self, asked: float, rising: Flags) -> None:
        """Compile the program of the level for a smallest demand of the `rising` pairs near `asked` Mbit/s."""
        tunnels = self._tunnels
        self._asked, self._rising = asked, rising
        self._unit = asked / self._crowd
        self._highest = _CLOSE * 10 * self._crowd
        self._level = cp.Variable(nonneg=True)
        in_units = np.where(rising, self._unit / tunnels.scale.most, 0.0)
        self._reached = tunnels.sent + self._exempt >= in_units * self._level
        bounds = [*tunnels.bounds, tunnels.sent >= self._floor, self._level <= self._highest]
        self._raise = cp.Problem(cp.Maximize(self._level), [*bounds, self._reached])

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        tunnels, solver = self._tunnels, self.options.solver
        tunnels.put(room, demand)
        floor, seconds = self._levels(room, demand)
        self._floor.value = floor / tunnels.scale.most
        seconds += solver.run(self._tidy)
        rates = within_bounds(self.incidence, room, demand, tunnels.rates())
        return Allocation(rates, self.incidence.pairs @ rates, solver.title, seconds)

    def _levels(self, room: Vector, demand: Vector) -> tuple[Vector, float]:
        """Return the Mbit/s of each pair, and the seconds spent in the solver."""
        possible = self.incidence.pairs @ least(self.incidence.links, room)
        fixed = (demand == 0) | (possible == 0)
        granted = np.zeros(demand.shape)
        seconds = 0.0
        while not fixed.all():
            asked = float(np.minimum(demand, possible)[~fixed].min())
            if not asked / _CLOSE <= self._asked <= asked * _CLOSE or (~fixed & ~self._rising).any():
                self._compile_level(asked, ~fixed)
            self._floor.value = granted / self._tunnels.scale.most
            self._exempt.value = np.where(fixed, self._highest * self._unit / self._tunnels.scale.most, 0.0)
            seconds += self.options.solver.run(self._raise)
            level = float(self._level.value) * self._unit
            if not level > 0:
                raise SolverError(f"{self.options.solver.title} found no fair share, no plan was made")
            satisfied = ~fixed & (demand <= level * (1 + _ROUNDING))
            if satisfied.any():
                granted = np.where(satisfied, demand, granted)
                fixed |= satisfied
            else:
                holding = self._holding(fixed)
                granted = np.where(holding, level, granted)
                fixed |= holding
            # Rates that keep the capacities exactly stay possible in all later programs.
            rates = within_capacity(self.incidence, room, self._tunnels.rates())
            granted = np.minimum(granted, self.incidence.pairs @ rates)
        return granted, seconds

    def _holding(self, fixed: Flags) -> Flags:
        """Return flags of the pairs that keep the level from rising."""
        if self._reached.dual_value is None:
            raise SolverError(f"{self.options.solver.title} reports no dual values, which max-min fairness needs")
        pull = np.where(fixed, 0.0, np.abs(self._reached.dual_value) / self._tunnels.scale.most)
        return np.asarray(~fixed & (pull >= _LEAST_PULL * pull.max()))


def _least(plan: Plan) -> float:
    return min(pair.allocated for pair in plan.pairs)


OBJECTIVE = Objective("max-min", MaxMin, _least)
