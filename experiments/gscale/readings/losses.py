"""Losses under a reading for one draw of pairs: every demand, link and scheme in the fluid model; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from experiments.gscale.readings.interior import EQUAL, INTERIOR
from experiments.gscale.readings.reading import DEFAULT, Direct, GscaleReading, Rates, Tunnels
from experiments.gscale.readings.shared_capacity import with_shared_capacity
from experiments.gscale.scenario import TUNNELS, draws_of, gscale, pairs_of, scaled, unit_plan
from experiments.measuring.wanted_flow import WantedFlow
from experiments.results.result import Role
from simulator.flow.model import share
from te_solver.demands import Demand
from te_solver.failure_schemes.failure_scheme import VICTIM
from te_solver.failure_schemes.registry import failure_scheme
from te_solver.plan import Plan
from te_solver.programs.program import Objective, Options
from te_solver.programs.registry import MAX_THROUGHPUT, find_objective
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

_PROTOCOLS: tuple[Protocol, ...] = ("tcp", "udp")
_Rates = NDArray[np.float64]


@dataclass(frozen=True)
class _Failed:
    """Flows around a failure under both schemes.

    Attributes:
        had: goodput before the failure of TCP, rate sent of UDP, of each flow.
        after: goodput after it, by protocol and scheme.
    """

    flows: tuple[WantedFlow, ...]
    victims: NDArray[np.bool_]
    had: Mapping[Protocol, _Rates]
    after: Mapping[tuple[Protocol, str], _Rates]


def losses_of(reading: GscaleReading, draw: int, seed: int) -> Losses:
    """Return the losses of a draw; draws 1 to 3 of the default reading are the repetitions of `kuijia run gscale`."""
    return losses_of_each([reading], draw, seed)[0]


def losses_of_each(readings: Sequence[GscaleReading], draw: int, seed: int) -> list[Losses]:
    """Return the losses of a draw under each reading; those that differ only in what is counted share their runs."""
    found: list[Losses] = [
        {figure: {scheme: [[] for _ in DEMANDS] for scheme in PAPERS_SCHEMES} for figure in FIGURES} for _ in readings
    ]
    alike: dict[GscaleReading, list[int]] = {}
    for number, reading in enumerate(readings):
        alike.setdefault(replace(reading, direct=DEFAULT.direct, average=DEFAULT.average), []).append(number)
    for simulated, numbers in alike.items():
        for at, plan in enumerate(_plans(simulated, pairs_under(simulated, draw, seed))):
            for link in LINKS:
                failed = _failed(simulated, scaled(plan, 1.0, simulated.planned_share), link)
                if failed is None:
                    continue
                for number in numbers:
                    for figure, scheme, loss in _losses_of_failure(readings[number], failed):
                        found[number][figure][scheme][at].append(loss)
    return found


def pairs_under(reading: GscaleReading, draw: int, seed: int) -> tuple[Edge, ...]:
    """Return the first five pairs of a draw that the reading allows."""
    if reading.redrawn and not (reading.ten_sites or reading.two_left or reading.three_disjoint):
        return pairs_of(draw, seed)
    return next(pairs for pairs in draws_of(draw, seed) if _allows(reading, pairs))


def _allows(reading: GscaleReading, pairs: Sequence[Edge]) -> bool:
    if reading.ten_sites and len({site for pair in pairs for site in pair}) < 2 * len(pairs):
        return False
    if reading.two_left and not all(_leaves_two(pair) for pair in pairs):
        return False
    if reading.three_disjoint and not all(_has_three_disjoint(pair) for pair in pairs):
        return False
    return not reading.redrawn or all(
        {"victim", "direct"} <= set(roles_of(aggregates_of(plan, link), link).values())
        for plan in _plans(reading, tuple(pairs))
        for link in LINKS
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


def _plans(reading: GscaleReading, pairs: tuple[Edge, ...]) -> tuple[Plan, ...]:
    unit = 1 / reading.planned_share if reading.whole_links else 1.0
    return _unit_plans(reading.tunnels, reading.rates, unit, pairs, shared=reading.shared)


@lru_cache(maxsize=64)
def _unit_plans(
    tunnels: Tunnels, rates: Rates, unit: float, pairs: tuple[Edge, ...], *, shared: bool
) -> tuple[Plan, ...]:
    """Return a plan for each demand, in parts of the capacity that may be planned on a link; demands are in `unit`."""
    if (tunnels, rates, unit, shared) == ("edge-disjoint", "spread", 1.0, False):
        return tuple(unit_plan(1, demand, pairs) for demand in DEMANDS)
    objective = _objective(rates)
    planner = Planner(
        gscale(),
        {pair: _paths(tunnels, pair) for pair in pairs},
        [Demand(*pair, unit) for pair in pairs],
        with_shared_capacity(objective) if shared else objective,
        options=Options(spread=rates == "spread"),
    )
    return tuple(planner.plan([Demand(*pair, demand * unit) for pair in pairs]) for demand in DEMANDS)


def _objective(rates: Rates) -> Objective:
    return {"interior point": INTERIOR, "equal": EQUAL}.get(rates) or find_objective(MAX_THROUGHPUT)


@lru_cache(maxsize=512)
def _paths(tunnels: Tunnels, pair: Edge) -> Paths:
    if tunnels == "k-shortest":
        graph = nx.DiGraph([link.ends for link in gscale().links])
        return tuple(tuple(path) for path in islice(nx.shortest_simple_paths(graph, *pair), TUNNELS))
    return TunnelFinder(gscale(), node_disjoint=tunnels == "node-disjoint").tunnels(*pair, TUNNELS)


def _failed(reading: GscaleReading, plan: Plan, link: Edge) -> _Failed | None:
    """Return the flows around the failure of a link, None if it cuts off a pair, which no scheme covers."""
    if any(all(tunnel.crosses(*link) for tunnel in pair.tunnels) for pair in plan.pairs):
        return None  # only the three shortest tunnels allow that
    flows = _sent(reading, plan, link)
    victims = np.array([flow.tunnel.crosses(*link) for flow in flows])
    had: dict[Protocol, _Rates] = {}
    after: dict[tuple[Protocol, str], _Rates] = {}
    for protocol in _PROTOCOLS:
        had[protocol] = (
            np.array([flow.offered for flow in flows])
            if protocol == "udp"
            else _goodput(reading, plan, protocol, flows, rerouted=False, low=set())
        )
        for scheme in PAPERS_SCHEMES:
            demotes = failure_scheme(scheme).demotes(VICTIM)
            low = {flow.name for flow, victim in zip(flows, victims, strict=True) if victim and demotes}
            after[protocol, scheme] = _goodput(reading, plan, protocol, flows, rerouted=True, low=low)
    return _Failed(flows, victims, had, after)


def _losses_of_failure(reading: GscaleReading, failed: _Failed) -> Iterator[tuple[str, str, float]]:
    """Yield (figure, scheme, loss in %) for each role that has flows when a link fails."""
    direct = _directly_affected(reading.direct, failed.flows, failed.victims)
    for figure, (protocol, role) in FIGURES.items():
        had = failed.had[protocol]
        chosen = (failed.victims if role == "victim" else direct) & (had > 0)
        if chosen.any():
            for scheme in PAPERS_SCHEMES:
                yield figure, scheme, _part_lost(reading, had[chosen], failed.after[protocol, scheme][chosen])


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
