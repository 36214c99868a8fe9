"""Maximum concurrent flow: the largest share of its demand that every pair can get at the same time."""

from __future__ import annotations

import numpy as np

from te_solver.model.plan import Plan
from te_solver.programs.highs import TITLE
from te_solver.programs.incidence import Incidence, Vector, least, scaled
from te_solver.programs.linear import Linear, LinearOptimum, ProgramBlock, column
from te_solver.programs.max_throughput import MANY_TUNNELS
from te_solver.programs.program import Allocation, Objective, Program
from te_solver.programs.solver import Solver


class MaxConcurrent(Program):
    """The program of the greatest share s such that each pair f gets s d_f (Shahrokhi and Matula, JACM 37(2), 1990).

    It is solved as its reciprocal: fractions y_t of each pair's demand, which sum to one, and the least utilisation U:

        minimise U,  with sum(d_f y_t for the t over link e) <= U c_e

    Then s = 1 / U, and pairs get s d_f, at most d_f. No number in it depends on the unit of demands or capacities. From
    `MANY_TUNNELS` tunnels on, HiGHS solves it by its interior point method without crossover, in seconds where the
    literal program takes minutes. For fewer tunnels a second program takes, of the best solutions, that of fewest hops.
    """

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        incidence = self.incidence
        asks = demand > 0
        most = np.where((least(incidence.links, room) > 0) & asks[incidence.pair_of_tunnel], 1.0, 0.0)
        if not asks.any() or (asks & (incidence.pairs @ most == 0)).any():
            return Allocation(np.zeros(most.size), np.zeros(demand.size), TITLE, 0.0)
        shares, seconds = least_utilisation(incidence, room, demand, most, self.options.solver)
        rates = shares * demand[incidence.pair_of_tunnel]
        used = np.divide(incidence.links @ rates, room, out=np.zeros(room.size), where=room > 0).max()
        rates = rates / max(used, 1.0)
        return Allocation(rates, np.minimum(incidence.pairs @ rates, demand), TITLE, seconds)


def least_utilisation(  # the data of a program
    incidence: Incidence,
    capacity: Vector,
    demand: Vector,
    most: Vector,
    solver: Solver,
    carried: Vector | None = None,
    *,
    fewest_hops: bool = True,
) -> tuple[Vector, float]:
    """Return the fractions of each pair's demand that load links least, exactly summing to one, and the seconds.

    Args:
        incidence: T tunnels over L links for P pairs.
        capacity: Mbit/s of each link, shape (L,).
        demand: Mbit/s of each pair, shape (P,), some of it positive.
        most: most of its pair's demand that each tunnel can take, shape (T,), for each pair with a demand one in all.
        solver: HiGHS, with its `watch`.
        carried: Mbit/s of more important traffic on each link, shape (L,).
        fewest_hops: settle ties by a second program, if there are fewer than `MANY_TUNNELS`.

    Raises:
        SolverError: HiGHS did not reach an optimum.
    """
    # The utilisation is at least this: no pair can do better alone.
    possible = incidence.pairs @ np.where(most > 0, least(incidence.links, capacity), 0.0)
    unit = np.divide(demand, possible, out=np.zeros(demand.size), where=possible > 0).max()
    per_link = np.where(capacity > 0, capacity, 1.0) * unit
    load = scaled(incidence.links, demand[incidence.pair_of_tunnel], per_link)
    before = np.zeros(capacity.size) if carried is None else -carried / per_link
    many = incidence.hops.size >= MANY_TUNNELS
    program = Linear(solver, "interior" if many else "simplex")
    fractions = program.variables(incidence.hops.size, caps=np.minimum(most, 1.0))
    highest = program.variables(1, cost=1.0)
    program.rows((fractions, incidence.pairs), at_least=np.where(demand > 0, 1.0, 0.0), at_most=1.0)
    program.rows((fractions, load), (highest, column(-np.ones(capacity.size))), at_most=before)
    found = program.solve()
    seconds = found.seconds
    if fewest_hops and not many:
        program.rows((highest, column(np.ones(1))), at_most=float(highest.of(found.values)[0]))
        program.price(fractions, incidence.hops * demand[incidence.pair_of_tunnel] / demand.max())
        found = program.solve()
        seconds += found.seconds
    return _whole(incidence, fractions, found), seconds


def _whole(incidence: Incidence, fractions: ProgramBlock, found: LinearOptimum) -> Vector:
    shares = np.maximum(fractions.of(found.values), 0.0)
    total = incidence.pairs @ shares
    whole = np.divide(1.0, total, out=np.zeros(total.size), where=total > 0)
    return np.asarray(shares * whole[incidence.pair_of_tunnel])


def concurrency(plan: Plan) -> float:
    """Return the least share of its demand that a pair gets, or could get on the same tunnels if links are not full."""
    shares = [pair.allocated / pair.demand for pair in plan.pairs if pair.demand > 0]
    used = plan.maximum_utilisation
    return min(shares, default=1.0) / (used or 1.0)


SHARE = "share that all demands can have"
"""Words for the value."""

OBJECTIVE = Objective("max-concurrent", MaxConcurrent, concurrency, compiled=False, share=SHARE)
