"""Pairs and plans of Gscale under a reading of the paper; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import networkx as nx

from experiments.gscale.cases import DEMANDS, LINKS, Edge
from experiments.gscale.readings.reading import GscaleReading, Rates, Tunnels
from experiments.gscale.scenario import TUNNELS, demands_of, draws_of, gscale, hurts, measures, pairs_of, unit_plan
from te_solver.model.plan import Plan
from te_solver.programs.program import Options
from te_solver.programs.registry import MAX_THROUGHPUT, find_objective
from te_solver.solve import Planner
from te_solver.tunnels.finder import Paths, TunnelFinder

if TYPE_CHECKING:
    from te_solver.programs.program import Objective


def pairs_under(reading: GscaleReading, draw: int, seed: int) -> tuple[Edge, ...]:
    """Return the first five pairs of a draw that the reading allows."""
    if reading.redrawn and not (reading.ten_sites or reading.two_left or reading.three_disjoint):
        return pairs_of(draw, seed)
    return next(pairs for pairs in draws_of(draw, seed) if _allows(reading, pairs))


def plans_under(reading: GscaleReading, pairs: tuple[Edge, ...], classes: int = 1) -> tuple[Plan, ...]:
    """Return a plan for each demand, in parts of the capacity that may be planned on a link."""
    unit = 1 / reading.planned_share if reading.whole_links else 1.0
    return _unit_plans(reading.tunnels, reading.rates, unit, pairs, classes, shared=reading.shared)


def _allows(reading: GscaleReading, pairs: Sequence[Edge]) -> bool:
    if reading.ten_sites and len({site for pair in pairs for site in pair}) < 2 * len(pairs):
        return False
    if reading.two_left and not all(_leaves_two(pair) for pair in pairs):
        return False
    if reading.three_disjoint and not all(_has_three_disjoint(pair) for pair in pairs):
        return False
    if reading.measurable:
        return all(measures(plan) for classes in (1, 2) for plan in plans_under(reading, tuple(pairs), classes))
    return not reading.redrawn or all(
        hurts(plan, link) for plan in plans_under(reading, tuple(pairs)) for link in LINKS
    )


@lru_cache(maxsize=256)
def _leaves_two(pair: Edge) -> bool:
    """Return True if each failing link is in at most one of the pair's tunnels."""
    edges = _edges(pair)
    return all(edges[frozenset(link)] <= 1 for link in LINKS)


@lru_cache(maxsize=256)
def _has_three_disjoint(pair: Edge) -> bool:
    """Return True if no edge is in two of the pair's three tunnels."""
    return max(_edges(pair).values()) <= 1


def _edges(pair: Edge) -> Counter[frozenset[str]]:
    """Return the number of the pair's tunnels that cross each edge."""
    return Counter(frozenset(hop) for path in _paths("edge-disjoint", pair) for hop in pairwise(path))


@lru_cache(maxsize=64)
def _unit_plans(  # the choices that decide a plan, as the key of the cache
    tunnels: Tunnels, rates: Rates, unit: float, pairs: tuple[Edge, ...], classes: int, *, shared: bool
) -> tuple[Plan, ...]:
    """Return a plan for each demand, in parts of the capacity that may be planned on a link; demands are in `unit`."""
    if (tunnels, rates, unit, shared) == ("edge-disjoint", "spread", 1.0, False):
        return tuple(unit_plan(classes, demand, pairs) for demand in DEMANDS)
    from experiments.gscale.readings.shared_capacity import with_shared_capacity  # noqa: PLC0415  # slow: CVXPY

    objective = _objective(rates)
    planner = Planner(
        gscale(),
        {pair: _paths(tunnels, pair) for pair in pairs},
        demands_of(classes, unit, pairs),
        with_shared_capacity(objective) if shared else objective,
        options=Options(spread=rates == "spread"),
    )
    return tuple(planner.plan(demands_of(classes, demand * unit, pairs)) for demand in DEMANDS)


def _objective(rates: Rates) -> Objective:
    from experiments.gscale.readings.interior import EQUAL, INTERIOR  # noqa: PLC0415  # slow to import: CVXPY

    return {"interior point": INTERIOR, "equal": EQUAL}.get(rates) or find_objective(MAX_THROUGHPUT)


@lru_cache(maxsize=512)
def _paths(tunnels: Tunnels, pair: Edge) -> Paths:
    if tunnels == "k-shortest":
        graph = nx.DiGraph([link.ends for link in gscale().links])
        return tuple(tuple(path) for path in islice(nx.shortest_simple_paths(graph, *pair), TUNNELS))
    return TunnelFinder(gscale(), node_disjoint=tunnels == "node-disjoint").tunnels(*pair, TUNNELS)
