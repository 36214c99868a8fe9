"""Variables and bounds that all programs share: a rate for every tunnel within link capacities."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from te_solver.programs.incidence import Incidence, Vector, scaled
from te_solver.programs.scale import Scale, could_carry

_DUST = 1e-9
"""A rate below this share of what its tunnel could carry alone is the solver's rounding (its tolerance is 1e-7)."""

_PLENTY = 1e9
"""Demands count as at most this many times what the pair's tunnels can carry; more would not bind."""


class TunnelRates:
    """The rates of T tunnels as variables, and capacities and demands as parameters.

    Attributes:
        share: a tunnel's rate as a share of `scale.alone`, shape (T,).
        capacity: capacities as shares of `scale.capacity`, shape (L,).
        demand: demands as shares of `scale.most`, shape (P,).
        load: load of each link as a share of `scale.capacity`, shape (L,).
        sent: rate of each pair's tunnels as a share of `scale.most`, shape (P,).
        bounds: no link carries more than its capacity, no tunnel more than it could alone. The latter follows from the
            former and the demands only up to the solver's tolerance, which would let a small tunnel beside large ones
            use a link without capacity.
        throughput: the sum of the rates in `scale.unit`.
        hops: the sum of each rate times its tunnel's hops, in `scale.unit`.
    """

    def __init__(self, incidence: Incidence, scale: Scale) -> None:
        self.incidence = incidence
        self.scale = scale
        self.share = cp.Variable(scale.alone.size, nonneg=True)
        self.capacity = cp.Parameter(scale.capacity.size, nonneg=True)
        self.demand = cp.Parameter(scale.most.size, nonneg=True)
        self.load = scaled(incidence.links, scale.alone, scale.capacity) @ self.share
        self.sent = scaled(incidence.pairs, scale.alone, scale.most) @ self.share
        self._reach = cp.Parameter(scale.alone.size, nonneg=True)
        self.bounds = [self.load <= self.capacity, self.share <= self._reach]
        self.throughput = (scale.alone / scale.unit) @ self.share
        self.hops = (incidence.hops * scale.alone / scale.unit) @ self.share

    def put(self, capacity: Vector, demand: Vector) -> None:
        """Set the parameters from values in Mbit/s."""
        self.capacity.value = capacity / self.scale.capacity
        self._reach.value = could_carry(self.incidence, capacity, demand) / self.scale.alone
        self.demand.value = self.of_most(demand)

    def of_most(self, of_pair: Vector) -> Vector:
        """Return Mbit/s of each pair as shares of `scale.most`, the unit of pairs' rows."""
        with np.errstate(over="ignore"):
            return np.minimum(of_pair / self.scale.most, _PLENTY)

    def rates(self) -> Vector:
        """Return the solver's rates in Mbit/s."""
        share = self.share.value
        return np.asarray(self.scale.alone * np.where(share < _DUST, 0.0, share))
