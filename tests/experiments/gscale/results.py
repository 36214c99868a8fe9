"""Results of Gscale made up for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from experiments.gscale.cases import Case
from experiments.results.result import Failure, FlowResult, Result, Role, Series, Window
from tests.experiments.sample_results import flow, result

Kept = Mapping[Role, float]
"""Role to the share that its one flow keeps."""


def made_up(case: Case, kept: Kept, *, priority: int = 0, series: Series | None = None) -> Result:
    """Return a run with one flow of 10 Mbit/s per role (for UDP also sent at 10), which then keeps its share."""
    flows = tuple(_flow(case, role, part, priority, series) for role, part in kept.items())
    return replace(
        result(case.scheme, {}),
        experiment="gscale",
        repetition=case.repetition,
        failure=Failure(case.link, 10.0, {}),
        before=Window(5.0, 10.0),
        after=Window(20.0, 40.0),
        flows=flows,
        parameters={"traffic": case.traffic, "demand": case.demand},
    )


def _flow(case: Case, role: Role, part: float, priority: int, series: Series | None) -> FlowResult:
    made = replace(flow("f1", 10.0, 10.0 * part), name=role, role=role, protocol=case.protocol, priority=priority)
    return replace(
        made,
        sent=10.0 if case.protocol == "udp" else None,
        series=series or made.series,
    )
