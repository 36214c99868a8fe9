"""The plan of each case of the evaluation on Gscale, under its reading of the paper; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.gscale.aggregates import roles_of
from experiments.gscale.cases import DEMANDS, UNNAMED, Case, Edge, ReadingName
from experiments.gscale.readings.plans import pairs_under, plans_under
from experiments.gscale.readings.reading import DIRECTED, SHARED, GscaleReading
from experiments.gscale.scenario import scaled
from experiments.measuring.wanted_flow import WantedFlow
from experiments.results.result import FlowResult
from te_solver.model.plan import Plan

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
