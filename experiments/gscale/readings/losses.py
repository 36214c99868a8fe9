"""Losses under a reading for one draw of pairs: every demand, link and scheme in the fluid model; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice, pairwise
from statistics import fmean

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.aggregates import aggregates_of, roles_of
from experiments.gscale.cases import DEMANDS, LINKS, Edge
from experiments.gscale.flow_run import offered
from experiments.gscale.readings.interior import INTERIOR
from experiments.gscale.readings.reading import Direct, GscaleReading, Rates, Tunnels
from experiments.gscale.scenario import TUNNELS, draws_of, gscale, pairs_of, scaled, unit_plan
from experiments.measuring.wanted_flow import WantedFlow
from experiments.results.result import Role
from simulator.flow.model import share
from te_solver.demands import Demand
from te_solver.failure_schemes.failure_scheme import VICTIM
from te_solver.failure_schemes.registry import failure_scheme
from te_solver.plan import Plan
from te_solver.programs.program import Options
from te_solver.programs.registry import MAX_THROUGHPUT
from te_solver.solve import Paths, Planner
from te_solver.tunnels import TunnelFinder
from testbed.traffic.hash_probe import Protocol

FIGURES: Mapping[str, tuple[Protocol, Role]] = {
    "fig10": ("tcp", "direct"),
    "fig11": ("udp", "direct"),
    "fig12": ("tcp", "victim"),
    "fig13": ("udp", "victim"),
}

Losses = dict[str, dict[str, list[list[float]]]]
"""Figure and scheme to the losses in % at each demand, one number for each link that has flows of the role."""

_Rates = NDArray[np.float64]


def losses_of(reading: GscaleReading, draw: int, seed: int) -> Losses:
    """Return the losses of a draw; draws 1 to 3 of the default reading are the repetitions of `kuijia run gscale`."""
    pairs = pairs_under(reading, draw, seed)
    found: Losses = {figure: {scheme: [[] for _ in DEMANDS] for scheme in PAPERS_SCHEMES} for figure in FIGURES}
    for at, plan in enumerate(_plans(reading, pairs)):
        for link in LINKS:
            for figure, scheme, loss in _losses_of_failure(reading, scaled(plan, 1.0, reading.planned_share), link):
                found[figure][scheme][at].append(loss)
    return found


def pairs_under(reading: GscaleReading, draw: int, seed: int) -> tuple[Edge, ...]:
    """Return the first five pairs of a draw that the reading allows."""
    if reading.redrawn and not (reading.ten_sites or reading.two_left):
        return pairs_of(draw, seed)
    return next(pairs for pairs in draws_of(draw, seed) if _allows(reading, pairs))


def _allows(reading: GscaleReading, pairs: Sequence[Edge]) -> bool:
    if reading.ten_sites and len({site for pair in pairs for site in pair}) < 2 * len(pairs):
        return False
    if reading.two_left and not all(_leaves_two(pair) for pair in pairs):
        return False
    return not reading.redrawn or all(
        {"victim", "direct"} <= set(roles_of(aggregates_of(plan, link), link).values())
        for plan in _plans(reading, tuple(pairs))
        for link in LINKS
    )


@lru_cache
def _leaves_two(pair: Edge) -> bool:
    """Return True if each failing link is in at most one of the pair's tunnels."""
    links = Counter(frozenset(hop) for path in _paths("edge-disjoint", pair) for hop in pairwise(path))
    return all(links[frozenset(link)] <= 1 for link in LINKS)


def _plans(reading: GscaleReading, pairs: tuple[Edge, ...]) -> tuple[Plan, ...]:
    unit = 1 / reading.planned_share if reading.whole_links else 1.0
    return _unit_plans(reading.tunnels, reading.rates, unit, pairs)


@lru_cache(maxsize=64)
def _unit_plans(tunnels: Tunnels, rates: Rates, unit: float, pairs: tuple[Edge, ...]) -> tuple[Plan, ...]:
    """Return a plan for each demand, in parts of the capacity that may be planned on a link; demands are in `unit`."""
    if (tunnels, rates, unit) == ("edge-disjoint", "spread", 1.0):
        return tuple(unit_plan(1, demand, pairs) for demand in DEMANDS)
    planner = Planner(
        gscale(),
        {pair: _paths(tunnels, pair) for pair in pairs},
        [Demand(*pair, unit) for pair in pairs],
        INTERIOR if rates == "interior point" else MAX_THROUGHPUT,
        options=Options(spread=rates == "spread"),
    )
    return tuple(planner.plan([Demand(*pair, demand * unit) for pair in pairs]) for demand in DEMANDS)


@lru_cache(maxsize=512)
def _paths(tunnels: Tunnels, pair: Edge) -> Paths:
    if tunnels == "k-shortest":
        graph = nx.DiGraph([link.ends for link in gscale().links])
        return tuple(tuple(path) for path in islice(nx.shortest_simple_paths(graph, *pair), TUNNELS))
    return TunnelFinder(gscale(), node_disjoint=tunnels == "node-disjoint").tunnels(*pair, TUNNELS)


def _losses_of_failure(reading: GscaleReading, plan: Plan, link: Edge) -> Iterator[tuple[str, str, float]]:
    """Yield (figure, scheme, loss in %) for each role that has flows when a link fails."""
    if any(all(tunnel.crosses(*link) for tunnel in pair.tunnels) for pair in plan.pairs):
        return  # a pair is cut off, which no scheme covers; only the three shortest tunnels allow that
    flows = _sent(reading, plan, link)
    victims = _victims(flows, link)
    role = {"victim": victims, "direct": _directly_affected(reading.direct, flows, victims)}
    for protocol in ("tcp", "udp"):
        sent = np.array([flow.offered for flow in flows])
        before = _goodput(reading, plan, protocol, flows, rerouted=False, low=set())
        had = sent if protocol == "udp" else before
        for scheme in PAPERS_SCHEMES:
            demotes = failure_scheme(scheme).demotes(VICTIM)
            low = {flow.name for flow, victim in zip(flows, victims, strict=True) if victim and demotes}
            after = _goodput(reading, plan, protocol, flows, rerouted=True, low=low)
            for figure, (of_protocol, of_role) in FIGURES.items():
                chosen = role[of_role] & (had > 0)
                if of_protocol == protocol and chosen.any():
                    yield figure, scheme, _part_lost(reading, had[chosen], after[chosen])


def _sent(reading: GscaleReading, plan: Plan, link: Edge) -> tuple[WantedFlow, ...]:
    """Return the aggregates of a plan, sized according to a reading."""
    flows = aggregates_of(plan, link)
    if reading.halves:
        on_tunnel: dict[int, list[float]] = {}
        for flow in flows:
            on_tunnel.setdefault(flow.tunnel.path_id, []).append(flow.offered)
        flows = tuple(replace(flow, offered=fmean(on_tunnel[flow.tunnel.path_id])) for flow in flows)
    if reading.unthrottled:
        asked = {(pair.source, pair.target): pair.demand / pair.allocated for pair in plan.pairs if pair.allocated}
        flows = tuple(replace(flow, offered=flow.offered * asked[flow.source, flow.target]) for flow in flows)
    return flows


def _victims(flows: Sequence[WantedFlow], link: Edge) -> NDArray[np.bool_]:
    return np.array([flow.tunnel.crosses(*link) for flow in flows])


def _directly_affected(direct: Direct, flows: Sequence[WantedFlow], victims: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if direct == "all but victims":
        return ~victims
    taken = {hop for flow, victim in zip(flows, victims, strict=True) if victim for hop in flow.backup.hops}
    if direct == "both directions":
        taken |= {hop[::-1] for hop in taken}
    sharing: NDArray[np.bool_] = np.array([bool(taken & set(flow.tunnel.hops)) for flow in flows])
    return ~victims & sharing


def _goodput(
    reading: GscaleReading,
    plan: Plan,
    protocol: Protocol,
    flows: Sequence[WantedFlow],
    *,
    rerouted: bool,
    low: set[str],
) -> _Rates:
    tunnels = [flow.backup if rerouted else flow.tunnel for flow in flows]
    waiting = dict.fromkeys(low, True)
    each = offered(plan.topology, protocol, tunnels, flows, waiting, round_trips=reading.round_trips)
    return share([link.capacity for link in plan.topology.links], each).goodput


def _part_lost(reading: GscaleReading, had: _Rates, after: _Rates) -> float:
    part = np.mean(1 - after / had) if reading.average == "of flows" else 1 - after.sum() / had.sum()
    return 100 * float(part)
