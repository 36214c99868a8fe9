"""The report refuses files that no run of their experiment wrote, in one line with file and key."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.experiment import Settings
from experiments.gscale.cases import LINKS, Case
from experiments.gscale.models import compute
from experiments.results.exhibit import Exhibit, Line, Point, exhibit_to_json
from experiments.results.result import Check, Result
from kuijia.cli.main import main
from kuijia_base.errors import key_path
from tests.experiments.sample_results import FIGURE_4, TABLE_2_KUIJIA, result, save_result


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"loss": 3}, ":loss: breaks the schema, expected an object with kuijia and precomputed"),
        ({"loss": {"kuijia": [0.01]}}, ":loss: breaks the schema, expected an object with kuijia and precomputed"),
        (
            {"loss": {"kuijia": ["x" * 500_000], "precomputed": [0.02]}},
            ":loss.kuijia[0]: breaks the schema, expected a number",
        ),
        ({"demands": [0.8, 1.0]}, ":loss.kuijia: has 1 numbers, expected one for each of 2 demands"),
        ({"largest_gap": None}, ":largest_gap: breaks the schema, expected a number"),
        ({"largest_gap": math.nan}, ": NaN is not a number in JSON, expected a file that `kuijia run` wrote"),
    ],
)
def test_a_damaged_figure_4_is_refused_in_one_line_with_its_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], told: str
) -> None:
    path = tmp_path / "fig4.json"
    path.write_text(json.dumps(FIGURE_4 | change))
    assert main(["report", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {path}{told}")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (("lines", 0, "points", 0, "value"), "x"),
        (("lines", 0, "points", 0, "x"), None),
        (("lines", 0, "points", 0, "runs"), 1.5),
        (("checks", 0, "measured"), None),
        (("checks", 0), {"name": "loss", "measured": 1.0, "low": None, "high": None}),
        (("remarks",), [1]),
        (("title",), 3),
    ],
)
def test_a_damaged_table_is_refused_in_one_line_with_its_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: tuple[str | int, ...], value: object
) -> None:
    lines, checks = (Line("a", (Point.of(1.0, [2.0], 2.5),)),), (Check("loss", 1.0, None, 2.0),)
    data = json.loads(
        json.dumps(exhibit_to_json(Exhibit("fig8", "t", "Figure 8", "flow", "x", "y", lines, None, checks)))
    )
    inner: Any = data
    for part in key[:-1]:
        inner = inner[part]
    inner[key[-1]] = value
    path = tmp_path / "fig8.json"
    path.write_text(json.dumps(data))
    assert main(["report", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {path}:{key_path(key)}")
    assert "breaks the schema, expected " in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (lambda: result("ffc", TABLE_2_KUIJIA), ":scheme: 'ffc' is unknown, expected one of rescaling, kuijia"),
        (
            lambda: renamed(result("kuijia", TABLE_2_KUIJIA), 1, "f9"),
            ":flows[1].name: 'f9' is unknown, expected one of f1, f2, f3, f4",
        ),
        (
            lambda: renamed(result("kuijia", TABLE_2_KUIJIA), 1, "f1"),
            ":flows[1].name: 'f1' is there twice, expected one of f1, f2, f3, f4",
        ),
        (
            lambda: result("kuijia", {"f1": (7.6, 3.8)}),
            ":flows: f2 is missing, expected all of f1, f2, f3, f4",
        ),
        (lambda: renamed(of_figure_16(), 0, "f9"), ":flows[0].name: 'f9' is unknown, expected one of "),
    ],
)
def test_a_run_that_is_none_of_its_experiment_is_refused_in_one_line_with_its_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], run: Callable[[], Result], told: str
) -> None:
    path = tmp_path / "run.json"
    save_result(run(), path)
    assert main(["report", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {path}{told}")
    assert said.count("\n") == 1


def renamed(run: Result, number: int, name: str) -> Result:
    """Return the run with one flow renamed."""
    flows = [replace(flow, name=name) if each == number else flow for each, flow in enumerate(run.flows)]
    return replace(run, flows=tuple(flows))


def of_figure_16() -> Result:
    settings = Settings("flow", 20.0, "os-ken", 64, 1, quick=True, seed=1)
    return compute(Case("priorities", 1.6, LINKS[0], "kuijia", 1), settings)
