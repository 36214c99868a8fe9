"""Published optima as rows, and the programs that compute them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from benchmarks.registry import BenchmarkSetting
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from te_solver.programs.column_generation import most_throughput
from te_solver.programs.edge_flow import edge_flow
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.linear import Linear
from te_solver.programs.max_concurrent import least_utilisation
from te_solver.programs.solver import Solver
from te_solver.programs.tunnel_links import TunnelLinks

Item = TypeVar("Item")

_SOME_PRICE = 1e-6
"""Sum of prices of links, each up to one, above which some are not zero."""


@dataclass(frozen=True)
class PublishedRow:
    """A published optimum.

    Attributes:
        of: its network, or the file of a network.
        name: what tells it from others of the network.
        published: the published value.
        compute: computes it again; None if that is not possible, NaN if several values are right, this one too.
    """

    of: str
    name: str
    published: float
    compute: Callable[[], float | None]


def first_rows(items: Iterable[Item], setting: BenchmarkSetting) -> Iterable[Item]:
    """Return the first items, as many as the user wants of each network."""
    return islice(items, setting.rows)


def most_total_flow(incidence: Incidence, capacity: Vector, demand: Vector) -> float:
    """Return the greatest sum of tunnels' rates within capacities and demands."""
    return float(most_throughput(TunnelLinks.of(incidence), capacity, demand).rates.sum())


def least_of_tunnels(incidence: Incidence, capacity: Vector, demand: Vector) -> float:
    """Return the least utilisation of the busiest link for demands above zero, as `max-concurrent` finds it."""
    most = np.ones(incidence.hops.size)
    shares, _ = least_utilisation(incidence, capacity, demand, most, Solver(), fewest_hops=False)
    return busiest(incidence, capacity, demand, shares)


def least_of_any_paths(topology: Topology, demands: Sequence[Demand]) -> float:
    """Return the same if demands may be divided over all paths, as `edge-min-max-utilisation` finds it."""
    return edge_flow(topology, demands, "utilisation").value


def busiest(incidence: Incidence, capacity: Vector, demand: Vector, shares: Vector) -> float:
    """Return the utilisation of the busiest link if each tunnel has its share of its pair's demand."""
    return float((incidence.links @ (shares * demand[incidence.pair_of_tunnel]) / capacity).max())


def optimal_for_some_demands(incidence: Incidence, weights: Vector) -> bool:
    """Return False if the weights have the least utilisation for no demands above zero and no capacities.

    By duality they have it only if some links, not all of them free, have prices by which each tunnel that is used is
    the cheapest one of its pair.
    """
    pair = incidence.pair_of_tunnel
    others = [
        (used, other) for used in np.flatnonzero(weights).tolist() for other in np.flatnonzero(pair == pair[used])
    ]
    used, other = np.array(others).T
    dearer = sp.csr_array(incidence.links.T.tocsr()[used] - incidence.links.T.tocsr()[other])
    program = Linear()
    prices = program.variables(incidence.links.shape[0], cost=-1.0, caps=1.0)
    program.rows((prices, dearer), at_most=0.0)
    return -program.solve().objective > _SOME_PRICE


def concurrency(incidence: Incidence, capacity: Vector, demand: Vector) -> float:
    """Return the greatest share of all demands that fits, at most 1: without a program if a simple division fits."""
    alike = 1 / np.bincount(incidence.pair_of_tunnel)[incidence.pair_of_tunnel]
    shortest = np.zeros(alike.size)
    shortest[incidence.shortest_tunnels] = 1
    if any(busiest(incidence, capacity, demand, shares) <= 1 for shares in (alike, shortest)):
        return 1.0
    return min(1.0, 1 / least_of_tunnels(incidence, capacity, demand))
