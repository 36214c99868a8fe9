"""The plan of each case on Gscale: network, random pairs and rates, under a reading of the paper; pure."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise, permutations, product
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx

from experiments.gscale.cases import DEMANDS, HIGH, LINKS, LOW, UNNAMED, Case, Edge, ReadingName, aggregates_of
from experiments.measuring.failure_run import WantedFlow, roles_of
from experiments.results.result import FlowResult
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.networks import shipped_network
from te_solver.programs.program import Options
from te_solver.programs.registry import MAX_THROUGHPUT, find_objective
from te_solver.solve import Planner, solve
from te_solver.tunnels.finder import Paths, TunnelFinder

if TYPE_CHECKING:
    from te_solver.programs.program import Objective


PAIRS, TUNNELS = 5, 3

PLANNED_SHARE = 0.95
"""Share of a link that plans may fill. Hosts limit the frames that they send. The frames' labels (0.3 %), the
acknowledgements of traffic in the other direction (up to 2.4 %) and control messages need room besides; without it
every fully planned link would be overloaded before anything fails."""

LOW_TO_HIGH = 10
"""Rate of the low class relative to the high one, in `priorities`."""

NOTHING = 1e-3
"""Share of a link below which the optimiser's tolerances decide."""


def scaled(plan: Plan, capacity: float, unit: float) -> Plan:
    """Return the plan on links of `capacity` Mbit/s, with its rates in units of `unit` Mbit/s."""
    return replace(
        plan.with_rates_times(unit),
        topology=plan.topology.with_capacity(capacity),
        objective_value=plan.objective_value * unit,
        upper_bound=None if plan.upper_bound is None else plan.upper_bound * unit,
    )


@lru_cache(maxsize=64)
def pairs_of(repetition: int, seed: int) -> tuple[Edge, ...]:
    """Return five random ingress-egress pairs, the same for every case of a repetition.

    Pairs are drawn again until, at each demand, all of them are allocated something, and each of the three links has
    victims and traffic directly affected by them: otherwise its failure would measure nothing.
    """
    return next(
        pairs
        for pairs in draws_of(repetition, seed)
        if all(measures(unit_plan(*each, pairs)) for each in product((1, 2), DEMANDS))
    )


def draws_of(repetition: int, seed: int) -> Iterator[tuple[Edge, ...]]:
    """Yield draws of five different random pairs, endlessly."""
    chance = random.Random(f"{seed} {repetition}")
    everyone = list(permutations(gscale().nodes, 2))
    while True:
        yield tuple(chance.sample(everyone, PAIRS))


def measures(plan: Plan) -> bool:
    """Return True if every failure measures something: all pairs send, and each link has victims and direct flows."""
    return all(pair.allocated > NOTHING for pair in plan.pairs) and all(hurts(plan, link) for link in LINKS)


def hurts(plan: Plan, link: Edge) -> bool:
    """Return True if the failure of the link has victims and directly affected flows."""
    return {"victim", "direct"} <= set(roles_of(aggregates_of(plan, link), link).values())


@lru_cache(maxsize=256)
def unit_plan(classes: int, demand: float, pairs: Sequence[Edge]) -> Plan:
    """Return the plan for links on which 1 Mbit/s may be planned, with one class of traffic or two."""
    return solve(gscale(), demands_of(classes, demand, pairs), TUNNELS, options=Options(spread=True))


def demands_of(classes: int, demand: float, pairs: Sequence[Edge]) -> list[Demand]:
    """Return the demand of each pair; with two classes, of each class of each pair."""
    if classes == 1:
        return [Demand(*pair, demand) for pair in pairs]
    high = demand / (1 + LOW_TO_HIGH)
    return [Demand(*pair, rate, priority) for pair in pairs for priority, rate in ((HIGH, high), (LOW, demand - high))]


@lru_cache(maxsize=1)
def gscale() -> Topology:
    """Return the network with links of 1 Mbit/s."""
    return load_topology(shipped_network("gscale")).with_capacity(1.0)


Tunnels = Literal["edge-disjoint", "node-disjoint", "k-shortest"]
Rates = Literal["spread", "fewest hops", "interior point", "equal"]
Direct = Literal["one direction", "both directions", "all but victims"]
Average = Literal["of the role", "of flows"]


@dataclass(frozen=True)
class GscaleReading:
    """One reading of the paper's section 5; the defaults are those of `directed`, the first one that was measured.

    Attributes:
        redrawn: pairs are drawn until each of the three links has victims and directly affected flows at each demand.
        ten_sites: no site is an end of two pairs.
        two_left: no failing link is in two tunnels of a pair, so that victims can go to "the two remaining tunnels".
        three_disjoint: no edge is in two tunnels of a pair, which holds for 32 of the 132 ordered pairs.
        tunnels: method that finds the three tunnels of a pair.
        rates: choice among the plans of greatest throughput: spread over the tunnels, over the shortest ones, or the
            one in the middle where interior-point methods, such as CVX's solvers, stop; or equal rates on all tunnels
            of a pair, the middle among these plans.
        measurable: in one class and in two, every pair sends something at each demand, and each of the three links has
            victims and directly affected flows; otherwise runs of a campaign would measure nothing.
        planned_share: share of each link that plans fill.
        shared: both directions of a link share its capacity in the plan; the links themselves are full duplex.
        whole_links: demands are in parts of a link, not in parts of the capacity that may be planned on it.
        halves: the two aggregates of a tunnel are equal instead of weighted by the other tunnels.
        unthrottled: flows send their demand, not their allocation.
        round_trips: TCP shares full links by round-trip times, otherwise by max-min fairness.
        direct: directly affected flows: those that share a link with rescaled victims in its direction, or in either
            direction, or all but victims.
        average: loss of a role's flows together, or the mean of each flow's own.
    """

    redrawn: bool = True
    ten_sites: bool = False
    two_left: bool = False
    three_disjoint: bool = False
    measurable: bool = False
    tunnels: Tunnels = "edge-disjoint"
    rates: Rates = "spread"
    planned_share: float = PLANNED_SHARE
    shared: bool = False
    whole_links: bool = False
    halves: bool = False
    unthrottled: bool = False
    round_trips: bool = True
    direct: Direct = "one direction"
    average: Average = "of the role"


DIRECTED = GscaleReading()
NEAREST = GscaleReading(redrawn=False, ten_sites=True, two_left=True, rates="interior point", average="of flows")
SHARED = GscaleReading(
    redrawn=False,
    ten_sites=True,
    two_left=True,
    rates="interior point",
    planned_share=1.0,
    shared=True,
    direct="both directions",
    average="of flows",
)


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
    from experiments.gscale.programs import with_shared_capacity  # noqa: PLC0415  # slow: CVXPY

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
    from experiments.gscale.programs import EQUAL, INTERIOR  # noqa: PLC0415  # slow to import: CVXPY

    return {"interior point": INTERIOR, "equal": EQUAL}.get(rates) or find_objective(MAX_THROUGHPUT)


@lru_cache(maxsize=512)
def _paths(tunnels: Tunnels, pair: Edge) -> Paths:
    if tunnels == "k-shortest":
        graph = nx.DiGraph([link.ends for link in gscale().links])
        return tuple(tuple(path) for path in islice(nx.shortest_simple_paths(graph, *pair), TUNNELS))
    return TunnelFinder(gscale(), node_disjoint=tunnels == "node-disjoint").tunnels(*pair, TUNNELS)


CAMPAIGN_READINGS: Mapping[ReadingName, GscaleReading] = {
    "directed": DIRECTED,
    "shared": replace(SHARED, measurable=True),
}
"""Readings under which whole campaigns run."""


def reading_of(case: Case) -> GscaleReading:
    """Return the reading of the paper that a case belongs to."""
    return CAMPAIGN_READINGS[case.reading]


def pairs_of_case(case: Case, seed: int) -> tuple[Edge, ...]:
    """Return the pairs of sites of a case, the same for all cases of a repetition."""
    return pairs_under(reading_of(case), case.repetition, seed)


def with_roles_read(case: Case, wanted: Sequence[WantedFlow], flows: Sequence[FlowResult]) -> tuple[FlowResult, ...]:
    """Return the flows with the roles that they have under the case's reading."""
    found = roles_of(wanted, case.link, either_direction=reading_of(case).direct == "both directions")
    return tuple(replace(flow, role=found[flow.name]) for flow in flows)


def parameters_of(case: Case, plan: Plan, *, private_entries: bool = False) -> dict[str, Any]:
    """Return the parameters of a result's case, beyond those of every result."""
    return {
        "traffic": case.traffic,
        "demand": case.demand,
        "pairs": [list(pair) for pair in dict.fromkeys((pair.source, pair.target) for pair in plan.pairs)],
        "planned_share": reading_of(case).planned_share,
        **({} if case.reading == UNNAMED else {"reading": case.reading}),
        **({"private_entries": True} if private_entries else {}),
    }


def plan_of(case: Case, capacity: float, seed: int) -> Plan:
    """Return the plan in force before the link of a case fails; the same for all links and both schemes.

    The network is Gscale with links of `capacity` Mbit/s. For light demands, the paper's program of greatest throughput
    has many optima, and the simplex method tends to those that leave tunnels empty, on which the paper's two aggregates
    per tunnel would send nothing. A `directed` plan therefore spreads each pair's allocation as evenly over its
    tunnels as it can (`kuijia solve --spread`).

    Args:
        case: case to plan.
        capacity: of every link, in Mbit/s; plans fill the reading's `planned_share` of it.
        seed: determines the pairs, together with the repetition.
    """
    reading = reading_of(case)
    plans = plans_under(reading, pairs_of_case(case, seed), 2 if case.traffic == "priorities" else 1)
    return scaled(plans[DEMANDS.index(case.demand)], capacity, reading.planned_share * capacity)
