"""Outcomes of failures under schemes, one after the other and without a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simulator.flow.failure_impact import FailureModel
from simulator.flow.what_if import Contender, FailureOutcome, outcome_of
from te_solver.model.failures import Failure


def what_if(
    contenders: Sequence[Contender], failures: Sequence[Failure], *, elastic: bool = True
) -> Iterator[FailureOutcome]:
    """Yield the outcome of every failure under every scheme: all failures under the first scheme, then the next."""
    for contender in contenders:
        model = FailureModel(contender.traffic, elastic=elastic)
        for failure in failures:
            yield outcome_of(contender, model, failure)
