"""Splits of failed tunnels' traffic over the alive tunnels at the ingress, without recomputation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from te_solver.programs.incidence import Vector
from te_solver.schemes.models.rerouting import Moves
from te_solver.schemes.models.traffic import Damage, Indices, PlannedTraffic

Split = Callable[[PlannedTraffic, Damage], Moves]
"""Function that returns the moves of the failed tunnels' traffic; none for pairs without an alive tunnel."""


def proportional(traffic: PlannedTraffic, damage: Damage) -> Moves:
    """Split over the alive tunnels in proportion to their original weights; equally if all of these are zero.

    Zhang et al., Kuijia, section 4.2 and figure 3(b), for any number of failed tunnels.
    """
    origin, carrier = traffic.tunnels.couples(np.flatnonzero(~damage.alive))
    usable = damage.alive[carrier]
    origin, carrier = origin[usable], carrier[usable]
    return Moves(origin, carrier, traffic.sent[origin] * _shares(traffic, origin, carrier))


def failover_order(traffic: PlannedTraffic, damage: Damage) -> Moves:
    """Split as switches with hash ranges divided in advance: first to the promised backup, then to the heaviest tunnel.

    The range of each tunnel is divided among all others in proportion to their weights. A part whose promised tunnel
    has failed as well goes, whole, to the alive tunnel of greatest weight (of equal ones to the first in the plan).
    With one failed tunnel per pair this is `proportional`.
    """
    origin, carrier = traffic.tunnels.couples(np.flatnonzero(~damage.alive))
    other = origin != carrier
    origin, carrier = origin[other], carrier[other]
    promised = _shares(traffic, origin, carrier)
    alive = damage.alive[carrier]
    broken = np.bincount(origin[~alive], weights=promised[~alive], minlength=traffic.sent.size)
    origin, carrier, share = origin[alive], carrier[alive], promised[alive]
    heaviest_first = np.lexsort((carrier, -traffic.weight[carrier], origin))
    _, first = np.unique(origin[heaviest_first], return_index=True)
    heaviest = heaviest_first[first]
    share[heaviest] += broken[origin[heaviest]]
    return Moves(origin, carrier, traffic.sent[origin] * share)


def _shares(traffic: PlannedTraffic, origin: Indices, carrier: Indices) -> Vector:
    """Return the share of each origin's traffic that each of its carriers is due by weight."""
    weight = traffic.weight[carrier]
    total = np.bincount(origin, weights=weight, minlength=traffic.sent.size)[origin]
    carriers = np.bincount(origin, minlength=traffic.sent.size)[origin]
    return np.divide(weight, total, out=1 / carriers, where=total > 0)
