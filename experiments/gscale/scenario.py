"""The plan of each case of the evaluation on Gscale: network, random pairs, demands, tunnels, rates; pure."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import permutations, product

from experiments.gscale.aggregates import aggregates_of, roles_of
from experiments.gscale.cases import DEMANDS, HIGH, LINKS, LOW, Edge
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.networks import shipped_network
from te_solver.programs.program import Options
from te_solver.solve import solve

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
        plan,
        topology=plan.topology.with_capacity(capacity),
        pairs=tuple(
            replace(
                pair,
                demand=pair.demand * unit,
                allocated=pair.allocated * unit,
                tunnels=tuple(replace(tunnel, rate=tunnel.rate * unit) for tunnel in pair.tunnels),
            )
            for pair in plan.pairs
        ),
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
