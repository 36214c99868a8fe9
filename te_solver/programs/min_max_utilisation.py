"""Minimum of the maximum utilisation: all demand is carried, and the busiest link is as little used as possible."""

from __future__ import annotations

from operator import attrgetter

import cvxpy as cp
import numpy as np

from te_solver.programs.incidence import Vector, least
from te_solver.programs.program import Allocation, Objective, Program
from te_solver.programs.scale import Scale
from te_solver.programs.spread import most_even
from te_solver.programs.tunnel_rates import TunnelRates


class MinMaxUtilisation(Program):
    """The program of the least U such that no link carries more than U times its capacity; U may exceed one.

    The load of more important traffic counts as well. Of the solutions with the least U the one of fewest hops is taken
    or, with `Options.spread`, the most even one.
    """

    def _room(self, capacity: Vector, carried: Vector) -> Vector:
        del carried  # it loads links without reducing the room: utilisation may exceed one
        return capacity

    def _compile(self, scale: Scale) -> None:
        # The least U lies between this and this times the number of tunnels that share a link: each pair could divide
        # its traffic in proportion to what its tunnels could carry alone. Loads are shares of it.
        possible = self.incidence.pairs @ least(self.incidence.links, scale.capacity)
        usual = np.divide(scale.demand, possible, out=np.zeros(possible.shape), where=possible > 0).max()
        self._tunnels = tunnels = TunnelRates(
            self.incidence, Scale.of(self.incidence, scale.capacity * usual, scale.demand)
        )
        self._whole = scale.capacity
        self._capacity = cp.Parameter(scale.capacity.size, nonneg=True)
        self._carried = cp.Parameter(scale.capacity.size, nonneg=True)
        self._utilisation = cp.Variable(nonneg=True)
        everything = tunnels.sent == tunnels.demand
        # `capacity` of the tunnels bounds their load on each link in the second stage.
        kept = [everything, tunnels.load <= tunnels.capacity]
        self._least = cp.Problem(
            cp.Minimize(self._utilisation),
            [everything, tunnels.load + self._carried <= cp.multiply(self._capacity, self._utilisation)],
        )
        self._tidy = most_even(tunnels, kept) if self.options.spread else cp.Problem(cp.Minimize(tunnels.hops), kept)

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        tunnels, solver = self._tunnels, self.options.solver
        tunnels.put(room, demand)
        self._capacity.value = room / self._whole
        self._carried.value = carried / tunnels.scale.capacity
        seconds = solver.run(self._least)
        load = self.incidence.links @ self._complete(demand) + carried
        with np.errstate(divide="ignore", invalid="ignore"):
            utilisation = np.nanmax(np.where(load > 0, load / room, 0.0), initial=0.0)
        tunnels.put(np.maximum(utilisation * room - carried, 0.0), demand)
        seconds += solver.run(self._tidy)
        rates = self._complete(demand)
        return Allocation(rates, self.incidence.pairs @ rates, solver.title, seconds)

    def _complete(self, demand: Vector) -> Vector:
        """Return the rates scaled to carry each demand exactly, without the solver's tolerance."""
        rates = self._tunnels.rates()
        sent = self.incidence.pairs @ rates
        factor = np.divide(demand, sent, out=np.zeros(sent.shape), where=sent > 0)
        return np.asarray(rates * factor[self.incidence.pair_of_tunnel])


SMORE = Objective("smore", MinMaxUtilisation, attrgetter("maximum_utilisation"), carries_all=True, paths="raeke")
"""Semi-oblivious traffic engineering (Kumar et al., SMORE, NSDI 2018): this program over the paths of oblivious
routing, `te_solver.tunnels.path_choices.raeke`."""

OBJECTIVE = Objective("min-max-utilisation", MinMaxUtilisation, attrgetter("maximum_utilisation"), carries_all=True)
