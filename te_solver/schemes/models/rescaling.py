"""Schemes whose victims go to alive tunnels by their original weights: rescaling, Kuijia, forward fault correction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from te_solver.model.failures import Failure
from te_solver.programs.incidence import Vector
from te_solver.programs.registry import FFC
from te_solver.schemes.models.rerouting import Moves, Rerouting, Split, assemble, proportional
from te_solver.schemes.models.traffic import Damage, Indices, PlannedTraffic

_DUST = 1e-9
"""An overlap of hash ranges below this is rounding."""


@dataclass(frozen=True)
class Rescaling:
    """Rescaling with the failed tunnels' hash ranges divided in advance: other traffic keeps its tunnel.

    With a proportional split, every tunnel is offered exactly what `RenormalisedRescaling` offers it.

    Attributes:
        split: the division of victims; `splits.failover_order` is that of switches programmed in advance.
    """

    name: ClassVar[str] = "rescaling"
    plan_objective: ClassVar[str | None] = None

    split: Split = proportional

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        damage = traffic.damage(failure)
        return assemble(traffic, damage, traffic.sent, self.split(traffic, damage))


@dataclass(frozen=True)
class RenormalisedRescaling:
    """Rescaling as Zhang et al. describe it (Kuijia, section 4.1): the alive tunnels' hash ranges grow over all values.

    Tunnels own ranges of [0, 1) in the plan's order, as wide as their weights; after the failure the alive ones own
    ranges as wide as their weights divided by the sum of these (equal ranges if it is zero). A flow keeps its hash
    value, so flows of alive tunnels may also change tunnel.
    """

    name: ClassVar[str] = "rescaling-renormalised"
    plan_objective: ClassVar[str | None] = None

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        damage = traffic.damage(failure)
        affected = _affected(traffic, damage)
        origin, carrier = traffic.tunnels.couples(affected)
        usable = damage.alive[carrier]
        origin, carrier = origin[usable], carrier[usable]
        before, after = np.zeros((2, traffic.sent.size, 2))
        before[affected] = _ranges(traffic, affected, traffic.weight)
        after[affected] = _ranges(traffic, affected, _renormalised(traffic, damage))
        overlap = np.minimum(before[origin, 1], after[carrier, 1]) - np.maximum(before[origin, 0], after[carrier, 0])
        pair_sends = traffic.tunnels.sums(traffic.sent)[traffic.tunnels.pair]
        rate = np.where(overlap > _DUST, overlap, 0.0) * pair_sends[origin]
        stays = origin == carrier
        kept = traffic.sent.copy()
        kept[origin[stays]] = rate[stays]
        return assemble(traffic, damage, kept, Moves(origin[~stays], carrier[~stays], rate[~stays]))


def _affected(traffic: PlannedTraffic, damage: Damage) -> Indices:
    """Return all tunnels of the pairs that have lost one."""
    return np.flatnonzero(traffic.tunnels.sums((~damage.alive).astype(float))[traffic.tunnels.pair])


def _renormalised(traffic: PlannedTraffic, damage: Damage) -> Vector:
    """Return the weights after the failure, zero for dead tunnels."""
    weight = np.where(damage.alive, traffic.weight, 0.0)
    total = traffic.tunnels.sums(weight)[traffic.tunnels.pair]
    alive = traffic.tunnels.sums(damage.alive.astype(float))[traffic.tunnels.pair]
    equal = np.divide(damage.alive, alive, out=np.zeros(alive.size), where=alive > 0)
    return np.divide(weight, total, out=equal, where=total > 0)


def _ranges(traffic: PlannedTraffic, tunnels: Indices, weight: Vector) -> Vector:
    """Return start and end of each tunnel's range in [0, 1), shape (tunnels, 2); a pair's tunnels are consecutive."""
    end = np.cumsum(weight[tunnels])
    begin = end - weight[tunnels]
    _, first, inverse = np.unique(traffic.tunnels.pair[tunnels], return_index=True, return_inverse=True)
    return np.stack([begin, end], axis=1) - begin[first[inverse], np.newaxis]


@dataclass(frozen=True)
class Kuijia:
    """Zhang et al., Kuijia, section 4.2; with several classes of traffic section 4.3.

    Aboriginal traffic keeps its tunnels and its priority. Victims keep their rate, with a priority below all aboriginal
    traffic of their class and above the next class.

    Attributes:
        split: the division of victims; `splits.failover_order` is that of switches programmed in advance.
    """

    name: ClassVar[str] = "kuijia"
    plan_objective: ClassVar[str | None] = None

    split: Split = proportional

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        damage = traffic.damage(failure)
        return assemble(traffic, damage, traffic.sent, self.split(traffic, damage), demote_victims=True)


@dataclass(frozen=True)
class FfcModel:
    """Liu et al., Traffic engineering with forward fault correction, SIGCOMM 2014.

    The plan reserves a rate for each tunnel so that the tunnels of a pair that survive any k failed links have room for
    what the pair sends. Rescaling by the plan's weights then keeps every tunnel within its rate, hence every link
    within its capacity, as long as no more than k links fail.
    """

    name: ClassVar[str] = "ffc"
    plan_objective: ClassVar[str | None] = FFC

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        if traffic.plan.protected_failures == 0:
            raise ValueError(f"a plan of the objective {traffic.plan.objective}, which protects against no failure")
        return Rescaling().reroute(traffic, failure)
