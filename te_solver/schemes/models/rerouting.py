"""Traffic after a failure, as sub-flows that moved or stayed, and splits of failed tunnels' traffic over alive ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from te_solver.programs.incidence import Vector
from te_solver.schemes.models.traffic import Damage, Flags, Indices, PlannedTraffic, TunnelColumns

NEW_TRAFFIC = -1
"""Origin of traffic that no tunnel carried before the failure."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Mbit/s that leave their tunnel (`origin`) for another one of their pair (`carrier`); arrays of one length."""

    origin: Indices
    carrier: Indices
    rate: Vector


@dataclass(frozen=True, eq=False)
class Rerouting:
    """The traffic after a failure in S sub-flows, each with one tunnel that carried it and one that carries it now.

    First come the plan's alive tunnels in order, each with the traffic that stays on it, even if that is zero; then all
    moved traffic. For each pair, offered traffic + `cut_off` + `withheld` = traffic sent before + `gained`.

    Attributes:
        traffic: the traffic before the failure.
        damage: the failed links and surviving tunnels.
        tunnels: the tunnels after the failure: the plan's, in their columns, then new ones that the scheme added.
        origin: the tunnel that carried each sub-flow before, as a column, or `NEW_TRAFFIC`; shape (S,).
        carrier: the tunnel that carries it now, as a column; shape (S,).
        offered: Mbit/s that enter at the ingress, without regard to losses behind it; shape (S,).
        demoted: True if it is in the victims' queue of its class instead of the normal one; shape (S,).
        cut_off: Mbit/s of each pair that were sent before and have no tunnel left; shape (P,).
        withheld: Mbit/s of each pair that were sent before and that the scheme no longer admits although the pair has
            tunnels left; shape (P,).
    """

    traffic: PlannedTraffic
    damage: Damage
    tunnels: TunnelColumns
    origin: Indices
    carrier: Indices
    offered: Vector
    demoted: Flags
    cut_off: Vector
    withheld: Vector

    @property
    def pair(self) -> Indices:
        """The row of each sub-flow's pair, shape (S,)."""
        return self.tunnels.pair[self.carrier]

    @property
    def victim(self) -> Flags:
        """Flags of the sub-flows that lost the tunnel that carried them, shape (S,)."""
        return np.asarray((self.origin != NEW_TRAFFIC) & ~self.damage.alive[self.origin], dtype=np.bool_)

    @property
    def moved(self) -> Flags:
        """Flags of the sub-flows that changed tunnel, victims and others, shape (S,)."""
        return np.asarray((self.origin != NEW_TRAFFIC) & (self.origin != self.carrier), dtype=np.bool_)

    @property
    def level(self) -> Indices:
        """The strict-priority level of each sub-flow, lower first, shape (S,).

        Class p is at 2p and its demoted traffic at 2p + 1, ahead of the next class (Kuijia, section 4.3).
        """
        return 2 * self.traffic.priority[self.pair] + self.demoted

    @property
    def lost(self) -> Vector:
        """Mbit/s of each pair that were sent before and no longer enter the network, shape (P,)."""
        return self.cut_off + self.withheld

    @property
    def gained(self) -> Vector:
        """Mbit/s of each pair that were not sent before, shape (P,)."""
        new = np.where(self.origin == NEW_TRAFFIC, self.offered, 0.0)
        return np.bincount(self.pair, new, minlength=self.cut_off.size).astype(np.float64)

    @cached_property
    def tunnel_rates(self) -> Vector:
        """Mbit/s that each tunnel is offered, in the columns of `tunnels`."""
        return np.bincount(self.carrier, self.offered, minlength=self.tunnels.pair.size).astype(np.float64)

    @cached_property
    def link_loads(self) -> Vector:
        """Mbit/s offered to each link if nothing is dropped on the way, shape (L,)."""
        return np.asarray(self.tunnels.incidence.links @ self.tunnel_rates)


def assemble(
    traffic: PlannedTraffic,
    damage: Damage,
    kept: Vector,
    moves: Moves,
    *,
    tunnels: TunnelColumns | None = None,
    demote_victims: bool = False,
    withheld: Vector | None = None,
) -> Rerouting:
    """Assemble an answer: pairs without an alive tunnel are cut off, moves of zero Mbit/s are omitted.

    Args:
        traffic: the traffic before the failure, of T tunnels.
        damage: the failed links and surviving tunnels.
        kept: Mbit/s that stay on their tunnel, shape (T,); those of dead tunnels do not count.
        moves: traffic that changes tunnel or is new.
        tunnels: the tunnels after the failure; the plan's by default, further columns are alive.
        demote_victims: True to put the traffic of failed tunnels into the victims' queue.
        withheld: Mbit/s of pairs that are no longer admitted, shape (P,); it counts only for pairs with tunnels left.
            Zero by default.
    """
    tunnels = tunnels or traffic.tunnels
    alive = np.flatnonzero(damage.alive)
    some = moves.rate > 0
    origin = np.concatenate([alive, moves.origin[some]])
    new_tunnels = np.ones(tunnels.pair.size - damage.alive.size)
    tunnels_left = tunnels.sums(np.concatenate([damage.alive, new_tunnels]))
    demoted = np.zeros(origin.size, dtype=np.bool_)
    if demote_victims:
        demoted[alive.size :] = ~damage.alive[moves.origin[some]]
    return Rerouting(
        traffic,
        damage,
        tunnels,
        origin,
        carrier=np.concatenate([alive, moves.carrier[some]]),
        offered=np.concatenate([kept[alive], moves.rate[some]]),
        demoted=demoted,
        cut_off=np.where(tunnels_left > 0, 0.0, traffic.tunnels.sums(traffic.sent)),
        withheld=np.where(tunnels_left > 0, 0.0 if withheld is None else withheld, 0.0),
    )


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
