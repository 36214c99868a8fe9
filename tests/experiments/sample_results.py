"""Results made up for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from experiments.measuring.failure_run import FlowPaths, roles
from experiments.results.result import Check, FlowResult, NoticedCut, Result, Series, Window, result_to_json

CAPACITY = 20.0
LINK = ("s2", "s4")
PATHS = {
    "f1": FlowPaths(("s1", "s2", "s4"), ("s1", "s4")),
    "f2": FlowPaths(("s1", "s2", "s4"), ("s1", "s3", "s4")),
    "f3": FlowPaths(("s1", "s4"), ("s1", "s4")),
    "f4": FlowPaths(("s1", "s3", "s4"), ("s1", "s3", "s4")),
}


def save_result(result: Result, path: Path) -> None:
    """Write the result as JSON."""
    path.write_text(json.dumps(result_to_json(result)), encoding="utf-8")


def flow(name: str, before: float, after: float, *, low_after: bool | None = None) -> FlowResult:
    """Return one flow of the motivation experiment; goodput in Mbit/s."""
    return FlowResult(
        name=name,
        role=roles(PATHS, LINK)[name],
        protocol="tcp",
        source="s1",
        target="s4",
        offered=max(before, after) / 0.954 or 1.0,
        before=before,
        after=after,
        tunnel_before=PATHS[name].before,
        tunnel_after=None if low_after is None else PATHS[name].after,
        low_after=low_after,
        series=Series((0.0, 1.0), (1.0, 2.0), (before, after)),
    )


def result(
    scheme: str,
    goodput: Mapping[str, tuple[float, float]],
    *,
    repetition: int = 1,
    checks: tuple[Check, ...] = (),
    invalid: tuple[str, ...] = (),
) -> Result:
    """Return a run of table2; `goodput` is before and after in Mbit/s."""
    return Result(
        experiment="table2",
        backend="emulation",
        scheme=scheme,
        seed=1,
        repetition=repetition,
        capacity=CAPACITY,
        started_at=1.75e9,
        failure=NoticedCut(LINK, 1.0, {"a": "s2", "b": "s4", "delay": {"s2": 0.01}}),
        before=Window(0.0, 1.0),
        after=Window(1.0, 2.0),
        flows=tuple(flow(name, before, after) for name, (before, after) in goodput.items()),
        published=None,
        checks=checks,
        invalid=invalid,
        manifest={"kernel": "6.1", "calibration": []},
    )


TABLE_2_RESCALING = {"f1": (7.6, 7.6), "f2": (7.6, 7.6), "f3": (15.3, 11.5), "f4": (15.3, 11.5)}
TABLE_2_KUIJIA = {"f1": (7.6, 3.8), "f2": (7.6, 3.8), "f3": (15.3, 15.3), "f4": (15.3, 15.3)}

FIGURE_4 = {
    "experiment": "fig4",
    "backend": "flow",
    "demands": [0.8],
    "loss": {"kuijia": [0.01], "precomputed": [0.02]},
    "largest_gap": 0.001,
    "published": "comparable",
}
"""Output of its experiment, shortened."""
