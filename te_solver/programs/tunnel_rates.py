"""The variables and bounds that all programs share: a rate for every tunnel within link capacities."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from te_solver.programs.incidence import Incidence, Vector, least, scaled
from te_solver.programs.scale import Scale

_DUST = 1e-9
"""Below this share of what its tunnel could carry alone, a rate is the solver's rounding (its tolerance is 1e-7)."""

_PLENTY = 1e9
"""A demand above this many times what its pair's tunnels can carry is no bound."""


class TunnelRates:
    """The rates of T tunnels as variables, and capacities and demands as parameters.

    Attributes:
        share: a tunnel's rate as a share of `scale.alone`, shape (T,).
        capacity: of `scale.capacity`, shape (L,).
        demand: of `scale.most`, shape (P,).
        load: what the tunnels put on each link, of `scale.capacity`, shape (L,).
        sent: what the tunnels of each pair carry, of `scale.most`, shape (P,).
        throughput: the sum of the rates, of `scale.unit`.
        hops: the sum of each rate times its tunnel's hops, of `scale.unit`.
    """

    def __init__(self, incidence: Incidence, scale: Scale) -> None:
        self.incidence = incidence
        self.scale = scale
        self.share = cp.Variable(scale.alone.size, nonneg=True)
        self.capacity = cp.Parameter(scale.capacity.size, nonneg=True)
        self.demand = cp.Parameter(scale.most.size, nonneg=True)
        self.load = scaled(incidence.links, scale.alone, scale.capacity) @ self.share
        self.sent = scaled(incidence.pairs, scale.alone, scale.most) @ self.share
        self.throughput = (scale.alone / scale.unit) @ self.share
        self.hops = (incidence.hops * scale.alone / scale.unit) @ self.share

    def put(self, capacity: Vector, demand: Vector) -> None:
        """Give the parameters their values, from Mbit/s."""
        self.capacity.value = capacity / self.scale.capacity
        self.demand.value = self.of_most(demand)

    def of_most(self, of_pair: Vector) -> Vector:
        """Mbit/s of each pair as the share of `scale.most` that rows of pairs are counted in."""
        with np.errstate(over="ignore"):
            return np.minimum(of_pair / self.scale.most, _PLENTY)

    def rates(self) -> Vector:
        """What the solver found, in Mbit/s."""
        share = self.share.value
        return np.asarray(self.scale.alone * np.where(share < _DUST, 0.0, share))


def within_capacity(incidence: Incidence, capacity: Vector, rates: Vector) -> Vector:
    """The rates with what the solver's tolerance lets exceed a link taken off: each shrunk by its worst excess."""
    return np.asarray(rates * least(incidence.links, _part_within(capacity, incidence.links @ rates)))


def within_bounds(incidence: Incidence, capacity: Vector, demand: Vector, rates: Vector) -> Vector:
    """Likewise with what exceeds a link or a demand."""
    links = least(incidence.links, _part_within(capacity, incidence.links @ rates))
    pairs = _part_within(demand, incidence.pairs @ rates)[incidence.pair_of_tunnel]
    return np.asarray(rates * np.minimum(links, pairs))


def _part_within(bound: Vector, taken: Vector) -> Vector:
    return np.divide(bound, taken, out=np.ones(taken.shape), where=taken > bound)
