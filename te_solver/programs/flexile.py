"""Flexile: the least loss that every pair keeps to for nearly all of the time, each in its own scenarios."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from kuijia_base.errors import UnsoundError
from te_solver.programs.failure_scenarios import FAILURE_SETTINGS, Scenarios, scenarios_of
from te_solver.programs.highs import TITLE, Indices
from te_solver.programs.incidence import Vector
from te_solver.programs.linear import Linear, TunnelShares, column
from te_solver.programs.program import Allocation, Objective, Program
from te_solver.programs.settings import NumberSetting, Settings

_MOST_CHOICES = 20_000
"""Most pairs times scenarios: each is a choice of the mixed-integer program."""

_TOLERANCE = 1e-7

_HOPS_MATTER = 1e-4
"""Share of its rate that the longest tunnel is worth less than one without hops: shorter tunnels win ties."""


class Flexile(Program):
    """The program of the least percentile loss (Jiang, Li, Rao et al., Flexile: meeting bandwidth objectives almost
    always, CoNEXT 2022).

    Rates are found again in each scenario q. In those that are critical to pair f (z_fq = 1), which have probability
    `beta` or more together, it loses at most the share m of its demand:

        minimise  m,   l_fq <= m + 1 - z_fq,  sum(p_q z_fq for q) >= beta
        sum(a_tq of tunnels that are up) >= (1 - l_fq) d_f,  load of each link in each q <= c_e

    Scenarios less likely than `cutoff` are critical to nobody. The plan has the rates of the scenario without failures:
    no pair gets less than the program's choice leaves it there, and all together get the most. The value is m.
    """

    settings: ClassVar[Settings] = {"beta": NumberSetting(0.99, 0.0, 1.0, excluded="both"), **FAILURE_SETTINGS}

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        incidence = self.incidence
        asking = np.flatnonzero(demand > 0)
        if not asking.size:
            nothing = np.zeros(incidence.hops.size)
            return Allocation(nothing, np.zeros(demand.size), TITLE, 0.0, value=0.0)
        scenarios = self._required(asking.size)
        shares = TunnelShares(incidence, room, demand)
        loss, without, seconds = self._percentile(shares, demand, asking, scenarios)
        program = Linear(self.options.solver)
        worth = shares.worth * (1 - _HOPS_MATTER * incidence.hops / incidence.hops.max())
        tunnels = program.variables(incidence.hops.size, cost=-worth, caps=shares.caps)
        program.rows((tunnels, shares.load), at_most=shares.capacity)
        promised = np.maximum(1 - without - _TOLERANCE, 0.0) * shares.demand
        program.rows((tunnels, shares.sent), at_least=promised, at_most=shares.demand)
        found = program.solve()
        rates = shares.rates(tunnels.of(found.values))
        granted = np.minimum(incidence.pairs @ rates, demand)
        return Allocation(rates, granted, TITLE, seconds + found.seconds, value=loss)

    def _required(self, pairs: int) -> Scenarios:
        """Return the scenarios; raise UnsoundError if they are too many, or not likely enough together."""
        scenarios = scenarios_of(self)
        count, beta = scenarios.probability.size, self.number("beta")
        likely = 1 - scenarios.left_out
        if count * pairs > _MOST_CHOICES:
            problem = f"{count} scenarios of {pairs} pairs"
            raise UnsoundError(("objective",), problem, f"a larger cutoff: at most {_MOST_CHOICES // pairs} scenarios")
        if likely < beta:
            problem = f"scenarios below cutoff={self.number('cutoff'):g} have probability {scenarios.left_out:.6g}"
            raise UnsoundError(("objective",), problem, f"a smaller cutoff, so that they have at most {1 - beta:.6g}")
        return scenarios

    def _percentile(
        self, shares: TunnelShares, demand: Vector, asking: Indices, scenarios: Scenarios
    ) -> tuple[float, Vector, float]:
        """Return the least percentile loss, each pair's loss without failures, and the seconds in the solver."""
        incidence, beta = self.incidence, self.number("beta")
        program = Linear(self.options.solver)
        worst = program.variables(1, cost=1.0, caps=1.0)
        count = asking.size
        each = sp.identity(count, format="csr")
        sent = sp.csr_array(shares.sent)[asking]
        # A pair cannot get more than `most`, so its loss is in shares of its demand all the same.
        asked = shares.demand[asking]
        weighted, losses = [], []
        for number, probability in enumerate(scenarios.probability.tolist()):
            down = np.zeros(incidence.hops.size, dtype=bool)
            down[scenarios.down.indices[scenarios.down.indptr[number] : scenarios.down.indptr[number + 1]]] = True
            tunnels = program.variables(incidence.hops.size, caps=np.where(down, 0.0, shares.caps))
            loss = program.variables(count, caps=1.0)
            critical = program.variables(count, caps=1.0, whole=True)
            program.rows((tunnels, shares.load), at_most=shares.capacity)
            program.rows((tunnels, sent), (loss, sp.diags_array(asked)), at_least=asked)
            program.rows((loss, each), (critical, each), (worst, column(-np.ones(count))), at_most=1.0)
            weighted.append((critical, each * probability))
            losses.append(loss)
        program.rows(*weighted, at_least=beta)
        found = program.solve()
        without = np.ones(demand.size)
        usual = int(np.argmin(np.diff(scenarios.down.indptr)))
        without[asking] = losses[usual].of(found.values)
        return max(float(worst.of(found.values)[0]), 0.0), without, found.seconds


_VALUE = "loss of each pair at the percentile, at most"

OBJECTIVE = Objective("flexile", Flexile, None, settings=Flexile.settings, compiled=False, share=_VALUE)
