"""Results of Gscale made up for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from experiments.gscale.cases import Case
from experiments.results.result import FlowResult, NoticedCut, Result, Role, Series, Window, result_from_json
from kuijia_base.json_document import ARCHIVE, packed_files
from tests.experiments.sample_results import flow, result

Kept = Mapping[Role, float]
"""Role to the share that its one flow keeps."""

COMMITTED = Path(__file__).resolve().parents[3] / "docs" / "results"
"""Folders with archives of the runs on switches."""


@cache
def committed_texts(folder: str) -> Mapping[str, str]:
    """Return the text of each record of a committed campaign, by the name of its file."""
    return {path.name: text for path, text in packed_files(COMMITTED / folder / ARCHIVE).items()}


def committed_run(folder: str, name: str) -> Result:
    """Return one run of a committed campaign."""
    return result_from_json(json.loads(committed_texts(folder)[f"{name}.json"]), folder)


def made_up(case: Case, kept: Kept, *, priority: int = 0, series: Series | None = None) -> Result:
    """Return a run with one flow of 10 Mbit/s per role (for UDP also sent at 10), which then keeps its share."""
    flows = tuple(_flow(case, role, part, priority, series) for role, part in kept.items())
    return replace(
        result(case.scheme, {}),
        experiment="gscale",
        repetition=case.repetition,
        failure=NoticedCut(case.link, 10.0, {}),
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
