"""Maximum throughput: the most traffic that fits, over the shortest tunnels that allow it."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp

from te_solver.programs.incidence import Vector, within_bounds
from te_solver.programs.program import Allocation, Objective, Program, total
from te_solver.programs.scale import Scale
from te_solver.programs.spread import most_even
from te_solver.programs.tunnel_rates import TunnelRates

MANY_TUNNELS = 30_000
"""From so many on, the primal simplex method is used.

The dual one takes minutes for 20,000 demands that all fit; the primal one seconds.
"""


class MaxThroughput(Program):
    """The program of the greatest sum of rates; of several solutions the one of fewest hops.

    This is the program of the paper's offline TE (also FFC, SIGCOMM 2014, equations 1 to 4) with b_f, the rate of pair
    f, written as the sum of the rates of its tunnels. A second program settles ties: it minimises sum(hops * rates)
    while the sum of rates keeps its maximum. The first answer, made to keep its bounds exactly, is a solution of the
    second, so no throughput is lost. A penalty on hops in a single program would either be large enough to cost
    throughput or too small for the solver's tolerance.

    With `Options.spread` a third program divides each pair's rate evenly over its tunnels.
    """

    def _compile(self, scale: Scale) -> None:
        self._tunnels = tunnels = TunnelRates(self.incidence, scale)
        bounds = [*tunnels.bounds, tunnels.sent <= tunnels.demand]
        self._throughput = cp.Parameter(nonneg=True)
        self._granted = cp.Parameter(scale.most.size, nonneg=True)
        self._most = cp.Problem(cp.Maximize(tunnels.throughput), bounds)
        self._shortest = cp.Problem(cp.Minimize(tunnels.hops), [*bounds, tunnels.throughput >= self._throughput])
        kept = [*tunnels.bounds, tunnels.sent >= self._granted]
        self._even = most_even(tunnels, kept) if self.options.spread else None

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        tunnels, solver = self._tunnels, self.options.solver
        if self.incidence.links.shape[1] >= MANY_TUNNELS:
            solver = replace(solver, primal=True)
        tunnels.put(room, demand)

        def within() -> Vector:
            return within_bounds(self.incidence, room, demand, tunnels.rates())

        seconds = solver.run(self._most)
        self._throughput.value = within().sum() / tunnels.scale.unit
        seconds += solver.run(self._shortest)
        rates = within()
        if self._even is not None:
            self._granted.value = tunnels.of_most(self.incidence.pairs @ rates)
            seconds += solver.run(self._even)
            rates = within()
        return Allocation(rates, self.incidence.pairs @ rates, solver.title, seconds)


OBJECTIVE = Objective("max-throughput", MaxThroughput, total)
