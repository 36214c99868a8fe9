"""TEAVAR: rates whose loss is small in all but the least likely failures."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from kuijia_base.errors import UnsoundError
from te_solver.highs import TITLE
from te_solver.programs.failure_scenarios import FAILURE_SETTINGS, Scenarios, scenarios_of
from te_solver.programs.incidence import Vector, within_capacity
from te_solver.programs.linear import Linear, LinearOptimum, ProgramBlock, TunnelShares, column, row
from te_solver.programs.program import Allocation, Objective, Program, total
from te_solver.programs.settings import NumberSetting, Settings, WordSetting

_TOLERANCE = 1e-7
"""Loss by which a scenario may exceed what the program allows for it."""

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

    Rows of scenarios are added where a solution violates them, the worst pair of each scenario at a time. Of the best
    rates, those that grant the most without failures are taken, on the shortest tunnels.
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
        scenarios = scenarios_of(self)
        if scenarios.left_out >= 1 - beta:
            problem = (
                f"scenarios from cutoff={self.number('cutoff'):g} on have probability {1 - scenarios.left_out:.6g}"
            )
            raise UnsoundError(("objective",), problem, f"a smaller cutoff, so that they have more than {beta:g}")
        risk = _Risk(self, TunnelShares(incidence, room, demand), demand, scenarios)
        found, seconds = risk.least()
        value = float(found.objective)
        found, more = risk.most_granted(value)
        rates = within_capacity(incidence, room, risk.rates(found))
        granted = np.minimum(incidence.pairs @ rates, demand)
        return Allocation(rates, granted, TITLE, seconds + more, value=max(value, 0.0))


class _Risk:
    """The program of the value at risk, to which rows are added as solutions violate them."""

    def __init__(self, program: Program, shares: TunnelShares, demand: Vector, scenarios: Scenarios) -> None:
        self._shares, self._scenarios, self._demand = shares, scenarios, demand
        self._mean = program.word("loss") == "mean"
        self._incidence = program.incidence
        tail = 1 - program.number("beta")
        self._asking = np.flatnonzero(demand > 0)
        # Share of its pair's demand that each tunnel's variable stands for.
        pair = self._incidence.pair_of_tunnel
        per_demand = np.divide(1.0, demand, out=np.zeros(demand.size), where=demand > 0)
        self._part = shares.scale.alone * per_demand[pair]
        self._of_pair = sp.csr_array(self._incidence.pairs)
        self._weight = demand / demand.sum()
        self._program = Linear(program.options.solver)
        tunnels = self._incidence.hops.size
        self._tunnels = self._program.variables(tunnels, caps=shares.caps)
        self._threshold = self._program.variables(1, cost=1.0 - scenarios.left_out / tail, caps=1.0)
        self._fixed = scenarios.left_out / tail
        self._excess = self._program.variables(scenarios.probability.size, cost=scenarios.probability / tail)
        self._program.rows((self._tunnels, shares.load), at_most=shares.capacity)
        self._rows: set[tuple[int, int]] = set()
        self._losses: dict[tuple[int, bytes], ProgramBlock] = {}

    def least(self) -> tuple[LinearOptimum, float]:
        """Return the optimum, whose objective counts what is left out, and the seconds."""
        found, seconds = self._settled()
        return LinearOptimum(found.values, found.prices, found.objective + self._fixed, found.seconds), seconds

    def most_granted(self, value: float) -> tuple[LinearOptimum, float]:
        """Return the rates with no more risk that grant the most without failures, and the seconds."""
        program, shares, count = self._program, self._shares, self._demand.size
        cost = program.costs()
        program.rows((ProgramBlock(0, cost.size), row(cost)), at_most=value - self._fixed + _TOLERANCE)
        granted = program.variables(count, caps=self._demand / shares.scale.most)
        program.rows((granted, sp.identity(count, format="csc")), (self._tunnels, -shares.sent), at_most=0.0)
        hops = self._incidence.hops
        program.price(granted, -shares.scale.most / shares.scale.unit)
        program.price(self._tunnels, shares.worth * _HOPS_MATTER * hops / hops.max(), alone=False)
        return self._settled()

    def rates(self, found: LinearOptimum) -> Vector:
        shares = self._tunnels.of(found.values)
        return np.asarray(self._shares.scale.alone * np.where(shares < 1e-9, 0.0, shares))

    def _settled(self) -> tuple[LinearOptimum, float]:
        """Return a solution that violates no row, of those that were not in the program either."""
        seconds = 0.0
        while True:
            found = self._program.solve()
            seconds += found.seconds
            if not self._add_violated(found):
                return found, seconds

    def _add_violated(self, found: LinearOptimum) -> bool:
        """Add rows for scenarios whose loss exceeds what they are allowed; return whether there are any."""
        shares = self._tunnels.of(found.values)
        part = self._part * shares
        allowed = float(self._threshold.of(found.values)[0]) + self._excess.of(found.values)
        lost = sp.csr_array(self._scenarios.down @ sp.diags_array(part) @ self._incidence.pairs.T)
        whole = self._of_pair @ part
        added = False
        for scenario in range(allowed.size):
            own = slice(lost.indptr[scenario], lost.indptr[scenario + 1])
            kept = whole.copy()
            kept[lost.indices[own]] -= lost.data[own]
            loss = np.where(self._demand > 0, np.maximum(1 - kept, 0.0), 0.0)
            if self._mean:
                if float(self._weight @ loss) > allowed[scenario] + _TOLERANCE:
                    added |= self._add_mean(scenario)
            elif loss.max() > allowed[scenario] + _TOLERANCE:
                added |= self._add_worst(scenario, int(np.argmax(loss)))
        return added

    def _add_worst(self, scenario: int, pair: int) -> bool:
        """Add the row of a scenario and the pair that loses most in it; return whether it is new."""
        if (scenario, pair) in self._rows:
            return False
        self._rows.add((scenario, pair))
        self._program.rows(
            (self._tunnels, self._alive(scenario, pair)),
            (self._threshold, column(np.ones(1))),
            (self._excess, _unit(scenario, self._excess.size)),
            at_least=1.0,
        )
        return True

    def _add_mean(self, scenario: int) -> bool:
        """Add the row of a scenario's mean loss, and rows of losses that it needs; return whether it is new."""
        if (scenario, -1) in self._rows:
            return False
        self._rows.add((scenario, -1))
        terms = []
        for pair in self._asking.tolist():
            alive = self._alive(scenario, pair)
            key = (pair, alive.indices.tobytes())
            if key not in self._losses:
                self._losses[key] = loss = self._program.variables(1)
                self._program.rows((self._tunnels, alive), (loss, column(np.ones(1))), at_least=1.0)
            terms.append((self._losses[key], row(np.array([-self._weight[pair]]))))
        self._program.rows(
            (self._threshold, column(np.ones(1))),
            (self._excess, _unit(scenario, self._excess.size)),
            *terms,
            at_least=0.0,
        )
        return True

    def _alive(self, scenario: int, pair: int) -> sp.csr_array:
        """Return the row that sums the shares of a pair's tunnels that are up in a scenario."""
        down = self._scenarios.down
        dead = down.indices[down.indptr[scenario] : down.indptr[scenario + 1]]
        own = self._of_pair.indices[self._of_pair.indptr[pair] : self._of_pair.indptr[pair + 1]]
        left = np.setdiff1d(own, dead)
        places = np.zeros(left.size, dtype=np.int64), left
        return sp.csr_array((self._part[left], places), shape=(1, self._part.size))


def _unit(place: int, size: int) -> sp.csr_array:
    return sp.csr_array(([1.0], ([0], [place])), shape=(1, size))


OBJECTIVE = Objective("teavar", Teavar, total, settings=Teavar.settings, compiled=False)
