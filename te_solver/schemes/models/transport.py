"""Rates set by programs, one for each class of traffic, and moves to them: as little as possible changes tunnel."""

from __future__ import annotations

import numpy as np

from te_solver.programs.incidence import Vector
from te_solver.schemes.models.interface import RateSolver
from te_solver.schemes.models.rerouting import NEW_TRAFFIC, Moves, Rerouting, assemble
from te_solver.schemes.models.traffic import Damage, PlannedTraffic, TunnelColumns

_NO_ROOM = 1e-9
"""Remaining capacity below this share of a link's is rounding."""


def rates_by_class(
    solver: RateSolver, traffic: PlannedTraffic, tunnels: TunnelColumns, capacity: Vector, demand: Vector
) -> Vector:
    """Return the Mbit/s of each tunnel, shape (C,); the most important class is solved first.

    A class without demand costs no program.

    Args:
        solver: divides the demand of one class over the tunnels.
        traffic: gives the class of each pair and the capacity of each link.
        tunnels: C tunnels.
        capacity: Mbit/s available on each link, shape (L,); zero on failed links. Negative values, on links that were
            overloaded before, count as zero.
        demand: Mbit/s that each pair asks for, shape (P,).
    """
    rates = np.zeros(tunnels.pair.size)
    for priority in traffic.classes:
        of_class = np.where(traffic.priority == priority, demand, 0.0)
        left = capacity - tunnels.incidence.links @ rates
        usable = np.where(left > _NO_ROOM * traffic.capacity, left, 0.0)
        if of_class.any() and usable.any():
            rates = rates + solver(tunnels.incidence, usable, of_class).rates
    return rates


_DUST = 1e-9
"""Rates that differ by less than this share of themselves are equal up to the solver's rounding."""


def transported(
    traffic: PlannedTraffic, damage: Damage, after: Vector, tunnels: TunnelColumns | None = None
) -> Rerouting:
    """Return the rerouting that brings the tunnels to the rates `after`, Mbit/s by columns of `tunnels`, shape (C,).

    Each tunnel keeps as much of its traffic as its new rate allows. The rest goes to the tunnels of the same pair that
    will carry more, from each and to each in proportion. If a pair sends less than before, the same share of all moved
    traffic is withheld; if it sends more, new traffic fills the rest. All of it is in normal queues.
    """
    tunnels = tunnels or traffic.tunnels
    before = np.concatenate([traffic.sent, np.zeros(tunnels.pair.size - traffic.sent.size)])
    after = after.copy()
    after[: damage.alive.size][~damage.alive] = 0.0  # the solver's tolerance may leave a trace there
    after = np.where(np.abs(after - before) <= _DUST * np.maximum(after, before), before, after)
    kept = np.minimum(before, after)
    given_up, taken_on = before - kept, after - kept
    left, more = tunnels.sums(given_up), tunnels.sums(taken_on)
    same = np.abs(left - more) <= _DUST * np.maximum(left, more)
    larger = np.where(same, more, np.maximum(left, more))

    origin, carrier = tunnels.couples(np.flatnonzero(given_up))
    rate = given_up[origin] * (taken_on[carrier] / larger[tunnels.pair[origin]])
    grown = np.flatnonzero((taken_on > 0) & (more > left)[tunnels.pair] & ~same[tunnels.pair])
    unfilled = 1 - left[tunnels.pair[grown]] / more[tunnels.pair[grown]]
    moves = Moves(
        origin=np.concatenate([origin, np.full(grown.size, NEW_TRAFFIC)]),
        carrier=np.concatenate([carrier, grown]),
        rate=np.concatenate([rate, taken_on[grown] * unfilled]),
    )
    withheld = np.where(same, 0.0, np.maximum(left - more, 0.0))
    return assemble(traffic, damage, kept[: traffic.sent.size], moves, tunnels=tunnels, withheld=withheld)
