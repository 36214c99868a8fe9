"""Oblivious routing and COPE: splits whose utilisation is near the best one, whatever the demands are."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from te_solver.formats.matrices import read_matrices
from te_solver.programs.highs import TITLE
from te_solver.programs.incidence import Incidence, Vector, least, scaled
from te_solver.programs.linear import Linear, Method, ProgramBlock, column, row
from te_solver.programs.program import Allocation, Objective, Program
from te_solver.programs.settings import NumberSetting, Settings, WordSetting
from te_solver.programs.solver import Solver

_MANY_VARIABLES = 20_000
"""Variables from which on the interior point method is used."""

_SLACK = 1e-6
"""Share by which the ratio of COPE's program may exceed its envelope: tolerances of the program that found it."""


class Oblivious(Program):
    """The program of the least oblivious ratio (Applegate and Cohen, Making intra-domain routing robust to changing and
    uncertain traffic demands, SIGCOMM 2003), over the given tunnels.

    The ratio r is the worst, over all demands of these pairs, of the utilisation of the splits y over that of the best
    routing for these demands, over any paths. Its dual is linear: each link e has weights w of all links such that

        sum(c_h w_h) <= r,   sum(y_t of pair f over e) / c_e <= length of f's shortest path by w

    Splits do not depend on the demands. All demand is carried, so the utilisation may exceed one.
    """

    def _room(self, capacity: Vector, carried: Vector) -> Vector:
        del carried  # it loads links without reducing the room: utilisation may exceed one
        return capacity

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried
        shares, seconds = self._shares(room, demand)
        rates = shares * demand[self.incidence.pair_of_tunnel]
        return Allocation(rates, self.incidence.pairs @ rates, TITLE, seconds)

    def _shares(self, room: Vector, demand: Vector) -> tuple[Vector, float]:
        del demand
        shares, _, seconds = least_ratio(self.incidence, room, self.options.solver)
        return shares, seconds


class Cope(Oblivious):
    """The program of the least ratio for the expected demands among splits that suit unexpected ones (Wang et al.,
    COPE: traffic engineering in dynamic networks, SIGCOMM 2006).

    The oblivious ratio of the splits is at most `envelope` times the least one (the paper's penalty envelope). Expected
    are the demands of the plan and all in the convex hull of these and of the matrices in the file `hull`. A ratio is
    the same for all multiples of some demands, so the unit of the file does not matter; without one the splits of the
    least ratio are those of the least utilisation.
    """

    settings: ClassVar[Settings] = {"envelope": NumberSetting(1.1, 1.0), "hull": WordSetting("", is_file=True)}

    def _shares(self, room: Vector, demand: Vector) -> tuple[Vector, float]:
        solver = self.options.solver
        _, ratio, seconds = least_ratio(self.incidence, room, solver)
        program = _RatioProgram(self.incidence, room, solver)
        program.keep_ratio(ratio * self.number("envelope") * (1 + _SLACK))
        if not self.word("hull"):
            shares, _, more = program.least_utilisation(demand)
            return shares, seconds + more
        shares, _, more = program.least_ratio(np.array([demand, *self._matrices()]))
        return shares, seconds + more

    def _matrices(self) -> Iterator[Vector]:
        incidence = self.incidence
        pairs = [incidence.pair_ends(int(own[0])) for own in incidence.tunnels_of_pair]
        for matrix in read_matrices(Path(self.word("hull")), incidence.topology):
            rates = {each.pair: each.rate for each in matrix}
            yield np.array([rates.get(pair, 0.0) for pair in pairs])


def least_ratio(incidence: Incidence, capacity: Vector, solver: Solver | None = None) -> tuple[Vector, float, float]:
    """Return the splits of the least oblivious ratio, each pair's summing to one, the ratio, and the solver's seconds.

    Raises:
        SolverError: HiGHS did not reach an optimum.
    """
    return _RatioProgram(incidence, capacity, solver or Solver()).least_ratio()


class _RatioProgram:
    def __init__(self, incidence: Incidence, capacity: Vector, solver: Solver) -> None:
        self._incidence, self._capacity = incidence, capacity
        nodes = {node: number for number, node in enumerate(incidence.topology.nodes)}
        live = np.flatnonzero(capacity > 0)
        ends = np.array([[nodes[node] for node in incidence.ends[link]] for link in live.tolist()]).reshape(-1, 2)
        self._alive = least(incidence.links, capacity) > 0
        self._reached = incidence.pairs @ np.where(self._alive, 1.0, 0.0) > 0
        loaded = live[(sp.csr_array(incidence.links)[live] @ np.where(self._alive, 1.0, 0.0)) > 0]
        pairs = np.flatnonzero(self._reached)
        first = np.array([own[0] for own in incidence.tunnels_of_pair], dtype=np.int64)
        named = [incidence.pair_ends(int(first[pair])) for pair in pairs.tolist()]
        pair_ends = [(nodes[source], nodes[target]) for source, target in named]
        sources = sorted({source for source, _ in pair_ends})
        place = {source: number for number, source in enumerate(sources)}
        size = loaded.size * (live.size + len(sources) * len(nodes))
        method: Method = "interior" if size >= _MANY_VARIABLES else "simplex"
        self._program = program = Linear(solver, method)
        self._tunnels = program.variables(incidence.hops.size, caps=np.where(self._alive, 1.0, 0.0))
        program.rows((self._tunnels, incidence.pairs), at_least=np.where(self._reached, 1.0, 0.0), at_most=1.0)
        unit = capacity[live].max(initial=1.0)
        weights = capacity[live] / unit
        steps, falls = self._steps(ends, len(nodes), len(sources))
        distances = np.array([place[source] * len(nodes) + target for source, target in pair_ends], dtype=np.int64)
        reach = sp.csr_array(
            (np.ones(pairs.size), (np.arange(pairs.size), distances)), shape=(pairs.size, len(sources) * len(nodes))
        )
        self._at_source = [place[source] * len(nodes) + source for source in sources]
        self._live, self._loaded, self._pairs, self._reach = live, loaded, pairs, reach
        self._weights, self._unit, self._steps_and_falls = weights, unit, (steps, falls)
        self._ratio = self._ratio_over(sp.csr_array(sp.identity(pairs.size)))

    def _ratio_over(self, cone: sp.csr_array) -> ProgramBlock:
        """Add the ratio for all sums of multiples of some demands: a row for each, and a column for each reached pair.

        With a row for each pair these are all demands that there are.
        """
        program, capacity, live, unit = self._program, self._capacity, self._live, self._unit
        steps, falls = self._steps_and_falls
        ratio = program.variables(1, cost=1.0)
        caps = np.full(self._reach.shape[1], np.inf)
        caps[self._at_source] = 0.0
        by_link = sp.csr_array(self._incidence.links)
        for link in self._loaded.tolist():
            lengths = program.variables(live.size)
            far = program.variables(caps.size, caps=caps)
            program.rows((lengths, row(self._weights)), (ratio, -column(np.ones(1))), at_most=0.0)
            program.rows((far, falls), (lengths, -steps), at_most=0.0)
            crossing = by_link[[link]].toarray().reshape(-1)
            on_pair = sp.csr_array(self._incidence.pairs)[self._pairs] @ sp.diags_array(crossing)
            load = cone @ on_pair * (unit / capacity[link])
            program.rows((self._tunnels, load), (far, -(cone @ self._reach)), at_most=0.0)
        return ratio

    @staticmethod
    def _steps(ends: Vector, nodes: int, sources: int) -> tuple[sp.csr_array, sp.csr_array]:
        """Return the matrices of `far[source, head] - far[source, tail] <= length of the link`, for each source."""
        links = len(ends)
        numbers = np.arange(links)
        falls = sp.csr_array((np.ones(links), (numbers, ends[:, 1])), shape=(links, nodes)) - sp.csr_array(
            (np.ones(links), (numbers, ends[:, 0])), shape=(links, nodes)
        )
        each = sp.identity(sources)
        return sp.csr_array(sp.kron(np.ones((sources, 1)), sp.identity(links))), sp.csr_array(sp.kron(each, falls))

    def keep_ratio(self, most: float) -> None:
        """Bound the ratio."""
        self._program.rows((self._ratio, column(np.ones(1))), at_most=most)

    def least_ratio(self, hull: Vector | None = None) -> tuple[Vector, float, float]:
        """Return the splits of the least ratio, the ratio, and the seconds in the solver.

        Args:
            hull: demands of each pair in some matrices, shape (M, P), whose convex hull counts; None for all demands.
        """
        ratio = self._ratio
        if hull is not None:
            reached = hull[:, self._pairs]
            asking = reached[reached.any(axis=1)]
            ratio = self._ratio_over(sp.csr_array(asking / asking.max(axis=1, keepdims=True, initial=0.0)))
            self._program.price(ratio, 1.0)
        found = self._program.solve()
        return self._whole(self._tunnels, found.values), float(ratio.of(found.values)[0]), found.seconds

    def least_utilisation(self, demand: Vector) -> tuple[Vector, float, float]:
        """Return the splits of the least utilisation for these demands, it, and the seconds in the solver."""
        incidence, capacity = self._incidence, self._capacity
        live = np.where(capacity > 0, capacity, 1.0)
        asked = np.where(self._reached, demand, 0.0)
        possible = incidence.pairs @ least(incidence.links, capacity)
        unit = np.divide(asked, possible, out=np.zeros(asked.size), where=possible > 0).max(initial=0.0) or 1.0
        load = scaled(incidence.links, asked[incidence.pair_of_tunnel], live * unit)
        highest = self._program.variables(1)
        self._program.price(highest, 1.0)
        self._program.rows((self._tunnels, load), (highest, column(-np.ones(capacity.size))), at_most=0.0)
        found = self._program.solve()
        used = float(highest.of(found.values)[0]) * unit
        return self._whole(self._tunnels, found.values), used, found.seconds

    def _whole(self, tunnels: ProgramBlock, values: Vector) -> Vector:
        shares = np.where(self._alive, np.maximum(tunnels.of(values), 0.0), 0.0)
        total = self._incidence.pairs @ shares
        whole = np.divide(1.0, total, out=np.zeros(total.size), where=total > 0)
        return np.asarray(shares * whole[self._incidence.pair_of_tunnel])


_utilisation = attrgetter("maximum_utilisation")

OBJECTIVE = Objective("oblivious", Oblivious, _utilisation, compiled=False, carries_all=True)
COPE = Objective("cope", Cope, _utilisation, settings=Cope.settings, compiled=False, carries_all=True)
