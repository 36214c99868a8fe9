"""Timings are written beside the published ones, and slower ones are missed bars."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matplotlib.patches import Rectangle

from experiments.hedera import iterations
from experiments.hedera.iterations import exhibits_of_timing, run_timing
from experiments.reporting.exhibit_output import exhibit_figure
from tests.experiments.executions import execution_in


def test_timings_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iterations, "_REPETITIONS", 2)
    outcome = run_timing(execution_in(tmp_path, "hedera-timing"), 1_024)
    rows = json.loads((tmp_path / "hedera-timing.json").read_text())["rows"]
    assert [(row["what"], row["flows"]) for row in rows] == [
        *(("estimation", 1_024), ("estimation", 5_000)),
        *(("round", 1_024), ("round", 5_120), ("round", 10_240)),
    ]
    assert all(row["ms"] > 0 for row in rows)
    assert "published" in outcome.text
    drawn = [exhibit_figure(exhibit).axes[0] for exhibit in exhibits_of_timing(outcome.summary)]
    heights = [bar.get_height() for axes in drawn for bar in axes.patches if isinstance(bar, Rectangle)]
    assert heights == [row["ms"] for row in rows]
    assert (tmp_path / "hedera-timing.svg").exists()


def test_a_slow_estimation_is_told() -> None:
    row = {"what": "estimation", "hosts": 10, "flows": 20, "ms": 3.0, "published_ms": 2.0}
    data = {"backend": "flow", "source": "made up", "rows": [row, row | {"flows": 30, "ms": 1.0}]}
    assert [words for exhibit in exhibits_of_timing(data) for words in exhibit.missed()] == [
        "hedera-timing (flow): limit: estimation in ms, 20 flows, 10 hosts is 3, expected at most 2"
    ]
