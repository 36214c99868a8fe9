"""Impact of a failure: the model applied to a scheme's rerouting, with losses by cause and by role."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.flow.model import Flags, FluidFlows, Shares, Vector, share
from te_solver.schemes.models.rerouting import NEW_TRAFFIC, Rerouting
from te_solver.schemes.models.traffic import Indices, PlannedTraffic, TunnelColumns

Weighting = Literal["equal", "offered"]
"""Share of an elastic sub-flow in a bottleneck: like one TCP connection, or like one for each Mbit/s offered."""

_DUST = 1e-9
"""An excess over a link's capacity by less than this share of it is rounding."""


class Role(IntEnum):
    """The role of traffic in a failure; each sub-flow has the first that fits.

    `VICTIM`: the failure took its tunnel. `NEW`: was not sent before. `DIRECT`: shares a link with a victim's tunnel.
    `INDIRECT`: shares a link with direct traffic. `UNTOUCHED`: all other aboriginal traffic.
    """

    VICTIM = 0
    NEW = 1
    DIRECT = 2
    INDIRECT = 3
    UNTOUCHED = 4


@dataclass(frozen=True, slots=True)
class RoleTraffic:
    """All traffic of one role, in Mbit/s.

    Attributes:
        sent: traffic sent before the failure; for new traffic, after it.
        failure_loss: the part of it that no longer enters the network: pairs without a tunnel, withheld traffic.
        congestion_loss: traffic that enters the network and does not arrive.
        goodput: traffic that arrives.
    """

    sent: float
    failure_loss: float
    congestion_loss: float
    goodput: float

    @property
    def lost(self) -> float:
        """Mbit/s that do not arrive, for either reason."""
        return self.failure_loss + self.congestion_loss


@dataclass(frozen=True, eq=False)
class Impact:
    """A failure's effect under one scheme; S sub-flows and L links as in the `Rerouting`, P pairs.

    Attributes:
        before: Mbit/s of each pair that arrived before the failure, shape (P,).
        flows: the sub-flows as given to the model.
        goodput: Mbit/s of each sub-flow that arrive, shape (S,).
        load: Mbit/s that each link carries, shape (L,).
        dropped: Mbit/s of inelastic traffic that each link drops, shape (L,).
    """

    rerouting: Rerouting
    before: Vector
    flows: FluidFlows
    goodput: Vector
    load: Vector
    dropped: Vector

    @property
    def congestion_loss(self) -> Vector:
        """Mbit/s of each sub-flow that are offered and do not arrive, shape (S,)."""
        return self.rerouting.offered - self.goodput

    @property
    def failure_loss(self) -> Vector:
        """Mbit/s of each pair that were sent before and no longer enter the network, shape (P,)."""
        return self.rerouting.lost

    @cached_property
    def role(self) -> NDArray[np.int8]:
        """A `Role` for each sub-flow, shape (S,)."""
        return _roles(self.rerouting, self.flows)

    @cached_property
    def pair_goodput(self) -> Vector:
        """Mbit/s of each pair that arrive, shape (P,)."""
        return np.bincount(self.rerouting.pair, self.goodput, minlength=self.before.size).astype(np.float64)

    @cached_property
    def overloaded(self) -> Flags:
        """Flags of links that would be offered more than their capacity if no link dropped anything, shape (L,)."""
        capacity = np.where(self.rerouting.damage.failed_links, 0.0, self.rerouting.traffic.capacity)
        return np.asarray(self.rerouting.link_loads > capacity * (1 + _DUST), dtype=np.bool_)

    def of_role(self, role: Role, priority: int | None = None) -> RoleTraffic:
        """Return the sums of one role, for all classes of traffic or one.

        Traffic of pairs without a tunnel was victim traffic. Withheld traffic counts as victim traffic up to what the
        pair's victims sent and no longer offer; the rest, which only `recompute` produces, is withheld from untouched
        traffic.
        """
        of_pair = self._pairs(priority)
        chosen = (self.role == role) & of_pair[self.rerouting.pair]
        offered = float(self.rerouting.offered[chosen].sum())
        goodput = float(self.goodput[chosen].sum())
        shut_out = 0.0
        if role in (Role.VICTIM, Role.UNTOUCHED):
            from_victims = self._shut_out_victims
            shut_out = float((from_victims if role == Role.VICTIM else self.failure_loss - from_victims)[of_pair].sum())
        return RoleTraffic(offered + shut_out, shut_out, offered - goodput, goodput)

    @cached_property
    def _shut_out_victims(self) -> Vector:
        """Mbit/s of each pair that dead tunnels carried before and no tunnel carries now, shape (P,)."""
        answer = self.rerouting
        sent = answer.traffic.tunnels.sums(np.where(answer.damage.alive, 0.0, answer.traffic.sent))
        still = np.bincount(answer.pair, np.where(answer.victim, answer.offered, 0.0), minlength=sent.size)
        return np.clip(sent - still, 0.0, answer.lost)

    def _pairs(self, priority: int | None) -> Flags:
        classes = self.rerouting.traffic.priority
        return np.asarray(np.ones(classes.size, np.bool_) if priority is None else classes == priority)


class FailureModel:
    """The model applied to the reroutings of one plan; it holds nothing that depends on the failure.

    Args:
        traffic: the traffic of the plan.
        elastic: True if a pair's traffic adapts to its share (TCP), for all pairs or for each, shape (P,).
        weighting: the weights of elastic sub-flows at a bottleneck.
    """

    def __init__(self, traffic: PlannedTraffic, *, elastic: ArrayLike = True, weighting: Weighting = "equal") -> None:
        self._traffic = traffic
        self._elastic = np.broadcast_to(np.asarray(elastic, np.bool_), traffic.priority.shape)
        self._weighting = weighting

    @cached_property
    def before(self) -> Shares:
        """Shares before the failure, one flow for each planned tunnel."""
        tunnels = np.arange(self._traffic.sent.size)
        level = 2 * self._traffic.priority[self._traffic.tunnels.pair]
        return share(self._traffic.capacity, self.flows(self._traffic.tunnels, tunnels, self._traffic.sent, level))

    @cached_property
    def _pairs_before(self) -> Vector:
        return self._traffic.tunnels.sums(self.before.goodput)

    def impact(self, rerouting: Rerouting) -> Impact:
        """Return the impact on the traffic once the scheme's rerouting is in force.

        Raises:
            ValueError: the rerouting is for another plan.
            NoFixedPointError: the losses of inelastic traffic do not settle.
        """
        if rerouting.traffic is not self._traffic:
            raise ValueError("a rerouting of other traffic, expected one of this model's traffic")
        capacity = np.where(rerouting.damage.failed_links, 0.0, self._traffic.capacity)
        flows = self.flows(rerouting.tunnels, rerouting.carrier, rerouting.offered, rerouting.level)
        shares = share(capacity, flows)
        return Impact(rerouting, self._pairs_before, flows, shares.goodput, shares.load, shares.dropped)

    def flows(
        self, tunnels: TunnelColumns, carrier: Indices, offered: Vector, level: Indices, part: ArrayLike = 1.0
    ) -> FluidFlows:
        """Return the model's flows for sub-flows on these tunnels, at these rates and levels of strict priority.

        `part` is the part of a sub-flow that each flow stands for, and its weight at a bottleneck.
        """
        starts, links = tunnels.links_in_order
        if not np.array_equal(carrier, np.arange(starts.size - 1)):  # as before any failure
            first, hops = starts[carrier], np.diff(starts)[carrier]
            starts = np.concatenate([[0], np.cumsum(hops)])
            positions = np.repeat(first - starts[:-1], hops)
            positions += np.arange(starts[-1])
            links = links[positions]
        if self._weighting == "offered":
            weight = np.where(offered > 0, offered, 1.0)
        else:
            weight = np.broadcast_to(np.asarray(part, np.float64), offered.shape)
        elastic = self._elastic[tunnels.pair[carrier]]
        return FluidFlows(starts, links, offered, level.astype(np.int32), elastic, weight)


def _roles(rerouting: Rerouting, flows: FluidFlows) -> NDArray[np.int8]:
    """Return the role of each sub-flow; direct ones that offer nothing make no other one indirect."""
    victim, new = rerouting.victim, rerouting.origin == NEW_TRAFFIC
    direct = ~victim & ~new & _meeting(flows, victim, rerouting)
    indirect = ~victim & ~new & ~direct & _meeting(flows, direct & (rerouting.offered > 0), rerouting)
    role = np.full(flows.size, Role.UNTOUCHED, dtype=np.int8)
    for which, of_role in ((victim, Role.VICTIM), (new, Role.NEW), (direct, Role.DIRECT), (indirect, Role.INDIRECT)):
        role[which] = of_role
    return role


def _meeting(flows: FluidFlows, chosen: Flags, rerouting: Rerouting) -> Flags:
    """Return flags of the sub-flows that share a link with any of the chosen ones."""
    flow = np.repeat(np.arange(flows.size), np.diff(flows.first))
    used = np.zeros(rerouting.damage.failed_links.size, dtype=np.bool_)
    used[flows.links[chosen[flow]]] = True
    return np.asarray(np.bincount(flow[used[flows.links]], minlength=flows.size) > 0)
