"""TEAVAR: rates whose loss is small in all but the least likely failures."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from te_solver.programs.failure_scenarios import FAILURE_SETTINGS, Scenarios, scenarios_of
from te_solver.programs.highs import TITLE, Indices
from te_solver.programs.incidence import Incidence, Vector, within_capacity
from te_solver.programs.linear import Linear, LinearOptimum, ProgramBlock, Term, TunnelShares, column, row
from te_solver.programs.program import Allocation, Objective, Program
from te_solver.programs.settings import NumberSetting, Settings, WordSetting

Whole = TypeVar("Whole", np.int64, np.uint64)

_TOLERANCE = 1e-7
"""Loss by which a scenario may exceed what the program allows for it."""

_MANY_ROWS = 3_000
"""Rows from which on the interior point method is used."""

_MOST_ROWS = 400_000
"""Rows for the greatest loss of pairs in scenarios from which on they are taken in only where they are violated."""

_ROWS_AT_ONCE = 100_000
"""Most rows that are taken in after one solution."""

_ENTRIES_AT_ONCE = 1 << 22
"""Tunnels that are down in scenarios, counted in each, which are looked at together."""

_COMPARED = 64
"""Kinds of losses of a pair with which each is compared: with four tunnels there are 15."""

_DUST = 1e-9
"""A rate below this share of what its tunnel could carry alone is the solver's rounding."""

_HOPS_MATTER = 1e-4
"""Share of its rate that the longest tunnel costs in the second program: shorter tunnels win ties."""


class Teavar(Program):
    """The program of the least conditional value at risk (Bogle et al., TEAVAR: striking the right
    utilization-availability balance in WAN traffic engineering, SIGCOMM 2019).

    In scenario q, of probability p_q, pair f loses the share l_fq = max(0, 1 - sum(a_t of tunnels that are up) / d_f)
    of its demand, and the network the greatest of these (`loss=max`), or their mean by demand (`loss=mean`). The mean
    loss of the worst 1 - `beta` of all scenarios is least (Rockafellar and Uryasev, Journal of Risk 2, 2000):

        minimise  v + sum(p_q u_q) / (1 - beta),   u_q >= loss_q - v,  u_q >= 0

    Scenarios less likely than `cutoff` are left out and count as loss of everything. So the value bounds the true one
    from above, and exceeds it by their probability / (1 - beta) at most. Rates are set aside as by FFC: a pair's
    tunnels may hold more than its demand, which survives in those that are left.

    A pair loses the same in all scenarios that take down the same tunnels of it, so this loss is one variable. Where
    the greatest loss counts, one that takes down all tunnels of a pair loses everything, whatever the others lose. A
    program with very many rows begins without those of pairs in scenarios, and takes in those that a solution violates.
    Of the best rates, those that grant the most without failures are taken, on the shortest tunnels; in such a program
    of those under which no scenario loses more than in the first solution.
    """

    settings: ClassVar[Settings] = {
        "beta": NumberSetting(0.99, 0.0, 1.0, excluded="both"),
        "loss": WordSetting("max", ("max", "mean")),
        **FAILURE_SETTINGS,
    }

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        incidence, beta = self.incidence, self.number("beta")
        asking = np.flatnonzero(demand > 0)
        if not asking.size:
            nothing = np.zeros(incidence.hops.size)
            return Allocation(nothing, np.zeros(demand.size), TITLE, 0.0, value=0.0)
        scenarios = scenarios_of(self, demand > 0 if self.word("loss") == "max" else None)
        if scenarios.left_out >= 1 - beta:
            problem = f"scenarios below cutoff={self.number('cutoff'):g} have probability {scenarios.left_out:.6g}"
            raise UnsoundError(("objective",), problem, f"a smaller cutoff, so that they have less than {1 - beta:.6g}")
        risk = _Risk(self, TunnelShares(incidence, room, demand), demand, scenarios)
        found, seconds = risk.least()
        value = float(found.objective)
        found, more = risk.most_granted(found)
        rates = within_capacity(incidence, room, risk.rates(found))
        granted = np.minimum(incidence.pairs @ rates, demand)
        return Allocation(rates, granted, TITLE, seconds + more, value=max(value, 0.0))


class _Risk:
    """The program of the value at risk. A pair's loss is a variable for each set of its tunnels that fails together."""

    def __init__(self, program: Program, shares: TunnelShares, demand: Vector, scenarios: Scenarios) -> None:
        self._shares, self._demand, self._incidence = shares, demand, program.incidence
        self._weight = demand / demand.sum()
        tail = 1 - program.number("beta")
        self._fixed = scenarios.left_out / tail
        # Share of its pair's demand that each tunnel's variable stands for.
        of_tunnel = self._incidence.pair_of_tunnel
        own = demand[of_tunnel]
        self._part = np.divide(shares.scale.alone, own, out=np.zeros(own.size), where=own > 0)
        worst_counts = program.word("loss") == "max"
        self._scenario, pair, lost, everything = _losses(self._incidence, scenarios, demand > 0, apart=worst_counts)
        self._lazily = worst_counts and self._scenario.size > _MOST_ROWS
        masks, mask = _numbered(lost, int(lost.max(initial=0)) + 1)
        kinds, kind = _numbered(pair * masks.size + mask, demand.size * masks.size)
        self._kind = kind.astype(np.int32)
        self._pair_of_kind, self._lost_of_kind = kinds // masks.size, masks[kinds % masks.size]
        self._program = linear = Linear(program.options.solver)
        self._tunnels = linear.variables(self._incidence.hops.size, caps=shares.caps)
        self._threshold = linear.variables(1, cost=1.0 - self._fixed, caps=1.0)
        self._excess = linear.variables(scenarios.probability.size, cost=scenarios.probability / tail)
        self._usual = linear.variables(demand.size)
        self._loss = linear.variables(0 if self._lazily else self._pair_of_kind.size)
        linear.rows((self._tunnels, shares.load), at_most=shares.capacity)
        self._sent = sp.csr_array(self._incidence.pairs) @ sp.diags_array(self._part)
        asked = np.where(demand > 0, 1.0, 0.0)
        linear.rows((self._usual, _identity(demand.size)), (self._tunnels, self._sent), at_least=asked)
        self._alive = _alive(self._incidence, self._pair_of_kind, self._lost_of_kind, self._part)
        if not self._lazily:
            linear.rows((self._loss, _identity(self._pair_of_kind.size)), (self._tunnels, self._alive), at_least=1.0)
        if not worst_counts:
            self._waiting = np.zeros(0, dtype=np.int64)
            self._add_means()
        else:
            worst = linear.variables(1)
            linear.rows((worst, column(np.ones(demand.size))), (self._usual, -_identity(demand.size)), at_least=0.0)
            self._allow((worst, column(-np.ones(self._excess.size))), scenarios=np.arange(self._excess.size))
            self._allow(scenarios=everything, at_least=1.0)
            self._waiting = np.arange(self._kind.size)
            if not self._lazily:
                self._add_losses(self._waiting)
        if linear.height > _MANY_ROWS:
            linear.method = "interior"

    def least(self) -> tuple[LinearOptimum, float]:
        """Return the optimum, whose objective counts what is left out, and the seconds."""
        found, seconds = self._settled()
        return LinearOptimum(found.values, found.prices, found.objective + self._fixed, found.seconds), seconds

    def most_granted(self, found: LinearOptimum) -> tuple[LinearOptimum, float]:
        """Return the rates with no more risk that grant the most without failures, and the seconds."""
        program, shares, count = self._program, self._shares, self._demand.size
        if self._lazily:
            program = self._no_more_loss(found)
        else:
            cost = program.costs()
            program.rows((ProgramBlock(0, cost.size), row(cost)), at_most=found.objective - self._fixed + _TOLERANCE)
        granted = program.variables(count, caps=self._demand / shares.scale.most)
        program.rows((granted, _identity(count)), (self._tunnels, -shares.sent), at_most=0.0)
        hops = self._incidence.hops
        program.price(granted, -shares.scale.most / shares.scale.unit)
        program.price(self._tunnels, shares.worth * _HOPS_MATTER * hops / hops.max(), alone=False)
        if self._lazily:
            best = program.solve()
            return best, best.seconds
        return self._settled()

    def _no_more_loss(self, found: LinearOptimum) -> Linear:
        """Return a program of rates alone, under which no scenario loses more than in a solution."""
        shares, allowed = self._shares, self._allowed(found) + _TOLERANCE
        program = Linear(self._program.solver, self._program.method)
        tunnels = program.variables(self._incidence.hops.size, caps=shares.caps)
        program.rows((tunnels, shares.load), at_most=shares.capacity)
        program.rows((tunnels, self._sent), at_least=np.where(self._demand > 0, 1.0 - allowed.min(), 0.0))
        of_kind = np.ones(self._pair_of_kind.size)
        np.minimum.at(of_kind, self._kind, allowed[self._scenario])
        kinds = np.arange(of_kind.size)
        kinds = kinds[(of_kind < 1) & ~_implied(self._pair_of_kind, self._lost_of_kind, of_kind)]
        program.rows((tunnels, self._alive[kinds]), at_least=1.0 - of_kind[kinds])
        return program

    def rates(self, found: LinearOptimum) -> Vector:
        """Return the Mbit/s of each tunnel, up to the solver's tolerance within capacities."""
        shares = self._tunnels.of(found.values)
        return np.asarray(self._shares.scale.alone * np.where(shares < _DUST, 0.0, shares))

    def _settled(self) -> tuple[LinearOptimum, float]:
        """Return a solution that violates no row, of those that wait outside the program either."""
        seconds = 0.0
        while True:
            found = self._program.solve()
            seconds += found.seconds
            allowed = self._allowed(found)
            beyond = self._lost(found)[self._kind[self._waiting]] - allowed[self._scenario[self._waiting]]
            violated = np.flatnonzero(beyond > _TOLERANCE)
            if not violated.size:
                return found, seconds
            violated = violated[np.argsort(-beyond[violated], kind="stable")]
            # Of each kind, the row of the scenario that allows it least, unless another kind's implies it.
            entries = self._waiting[violated]
            kinds, first = np.unique(self._kind[entries], return_index=True)
            allowed = allowed[self._scenario[entries[first]]]
            first = first[~_implied(self._pair_of_kind[kinds], self._lost_of_kind[kinds], allowed)]
            self._add_losses(entries[np.sort(first)[:_ROWS_AT_ONCE]])

    def _allowed(self, found: LinearOptimum) -> Vector:
        """Return the loss that each scenario may have."""
        return np.asarray(self._threshold.of(found.values)[0] + self._excess.of(found.values))

    def _lost(self, found: LinearOptimum) -> Vector:
        """Return the share of its demand that each kind loses."""
        if self._lazily:
            return np.asarray(1 - self._alive @ self._tunnels.of(found.values))
        return self._loss.of(found.values)

    def _add_losses(self, entries: Indices) -> None:
        """Add rows that allow the loss of one pair in one scenario each."""
        kinds = self._kind[entries]
        if self._lazily:
            self._allow((self._tunnels, self._alive[kinds]), scenarios=self._scenario[entries], at_least=1.0)
        else:
            chosen = np.arange(entries.size), kinds
            losses = sp.csr_array((-np.ones(entries.size), chosen), shape=(entries.size, self._loss.size))
            self._allow((self._loss, losses), scenarios=self._scenario[entries])
        is_waiting = np.zeros(self._kind.size, dtype=np.bool_)
        is_waiting[self._waiting] = True
        is_waiting[entries] = False
        self._waiting = np.flatnonzero(is_waiting)

    def _add_means(self) -> None:
        """Add the row of each scenario's mean loss: that without failures, and what pairs lose more by these."""
        count = self._excess.size
        weight = self._weight[self._pair_of_kind[self._kind]]
        more = sp.csr_array((-weight, (self._scenario, self._kind)), shape=(count, self._loss.size))
        pairs = self._pair_of_kind[self._kind]
        less = sp.csr_array((weight, (self._scenario, pairs)), shape=(count, self._weight.size))
        usual = self._program.variables(1)
        self._program.rows((usual, column(np.ones(1))), (self._usual, -row(self._weight)), at_least=0.0, at_most=0.0)
        lost = (usual, column(-np.ones(count))), (self._usual, less), (self._loss, more)
        self._allow(*lost, scenarios=np.arange(count))

    def _allow(self, *lost: Term, scenarios: Indices, at_least: float = 0.0) -> None:
        """Add a row for each of some scenarios: what it allows, and a term with what is kept or less what is lost."""
        chosen = sp.csr_array(
            (np.ones(scenarios.size), (np.arange(scenarios.size), scenarios)),
            shape=(scenarios.size, self._excess.size),
        )
        threshold = self._threshold, column(np.ones(scenarios.size))
        self._program.rows((self._excess, chosen), threshold, *lost, at_least=at_least)


def _losses(
    incidence: Incidence, scenarios: Scenarios, asking: NDArray[np.bool_], *, apart: bool
) -> tuple[Indices, Indices, NDArray[np.uint64], Indices]:
    """Return the scenario and the pair of each loss, the lost tunnels, and scenarios in which some pair loses all.

    Lost tunnels are numbers with bit i for the i-th one of the pair. With `apart`, losses in scenarios in which some
    pair loses all of its tunnels are left out, and these scenarios returned; otherwise none are.
    """
    down, bits, everything = scenarios.down, _bits(incidence), _all_tunnels(incidence)
    owner = incidence.pair_of_tunnel.astype(np.int32)
    found, cut = [], []
    # In parts: all entries together would take ten times their memory.
    bounds = np.searchsorted(down.indptr, np.arange(0, down.nnz, _ENTRIES_AT_ONCE))
    for first, last in pairwise(np.unique([0, *bounds, down.shape[0]]).tolist()):
        tunnel = down.indices[down.indptr[first] : down.indptr[last]]
        scenario = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(down.indptr[first : last + 1]))
        kept = asking[owner[tunnel]]
        scenario, tunnel = scenario[kept], tunnel[kept]
        pair = owner[tunnel]
        begin = np.flatnonzero((np.diff(scenario, prepend=-1) != 0) | (np.diff(pair, prepend=-1) != 0))
        lost = np.bitwise_or.reduceat(bits[tunnel], begin) if begin.size else np.zeros(0, dtype=np.uint64)
        scenario, pair = scenario[begin], pair[begin]
        if apart:
            whole = np.unique(scenario[lost == everything[pair]])
            other = ~np.isin(scenario, whole)
            scenario, pair, lost = scenario[other], pair[other], lost[other]
            cut.append(whole)
        found.append((scenario, pair, lost))
    scenario, pair, lost = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return scenario, pair.astype(np.int64), lost, np.concatenate([*cut, np.zeros(0, dtype=np.int64)]).astype(np.int64)


def _implied(pair: Indices, lost: NDArray[np.uint64], allowed: Vector) -> NDArray[np.bool_]:
    """Return True for kinds, in ascending order, of a pair that loses more tunnels in another one, allowed less."""
    implied = np.zeros(pair.size, dtype=np.bool_)
    for further in range(1, min(pair.size, _COMPARED + 1)):  # a set of more tunnels has a greater number
        same = pair[:-further] == pair[further:]
        within = (lost[:-further] & ~lost[further:]) == 0
        implied[:-further] |= same & within & (allowed[:-further] >= allowed[further:] - _TOLERANCE / 2)
    return implied


def _numbered(values: NDArray[Whole], end: int) -> tuple[NDArray[Whole], Indices]:
    """Return the different values, all below `end`, and the place of each among them: `np.unique` without a sort."""
    if end > values.size:
        different, place = np.unique(values, return_inverse=True)
        return different, place
    there = np.zeros(end, dtype=np.bool_)
    there[values] = True
    return np.flatnonzero(there).astype(values.dtype), (np.cumsum(there) - 1)[values]


def _bits(incidence: Incidence) -> NDArray[np.uint64]:
    pair = incidence.pair_of_tunnel
    first = np.searchsorted(pair, pair)
    return np.asarray(np.left_shift(np.uint64(1), (np.arange(pair.size) - first).astype(np.uint64)), dtype=np.uint64)


def _all_tunnels(incidence: Incidence) -> NDArray[np.uint64]:
    """Return the set of all tunnels of each pair."""
    return np.asarray(np.bitwise_or.reduceat(_bits(incidence), incidence.pairs.tocsr().indptr[:-1]))


def _alive(incidence: Incidence, pairs: Indices, lost: NDArray[np.uint64], part: Vector) -> sp.csr_array:
    """Return a row for each pair and some of its tunnels that sums the shares of the others."""
    of_tunnel = incidence.pair_of_tunnel
    starts, ends = np.searchsorted(of_tunnel, pairs), np.searchsorted(of_tunnel, pairs, side="right")
    rows = np.repeat(np.arange(pairs.size), ends - starts)
    tunnels = np.arange(rows.size) - np.repeat(np.cumsum(ends - starts) - (ends - starts), ends - starts) + starts[rows]
    up = (lost[rows] & _bits(incidence)[tunnels]) == 0
    return sp.csr_array((part[tunnels[up]], (rows[up], tunnels[up])), shape=(pairs.size, of_tunnel.size))


def _identity(size: int) -> sp.csr_array:
    return sp.csr_array(sp.identity(size))


OBJECTIVE = Objective(
    "teavar", Teavar, None, settings=Teavar.settings, compiled=False, share="mean loss of the worst scenarios"
)
