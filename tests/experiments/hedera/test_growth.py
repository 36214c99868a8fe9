"""Larger and larger networks: every size is reported with its time and memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from experiments.experiment import Settings
from experiments.hedera import growth, large
from experiments.hedera.growth import exhibits, in_own_process, run_growth, simulate
from tests.experiments.executions import execution_in


@pytest.mark.slow
def test_every_size_is_told_with_its_time_and_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "ITERATIONS", 200)
    monkeypatch.setattr(large, "FLOW_ITERATIONS", 200)
    monkeypatch.setattr(growth, "in_own_process", simulate)
    chosen = Settings("flow", 1000.0, "os-ken", 64, 1, quick=True, seed=1)
    outcome = run_growth(execution_in(tmp_path, "hedera-growth", chosen), (4, 6))
    rows = json.loads((tmp_path / "hedera-growth.json").read_text())["sizes"]
    assert [(row["ports"], row["hosts"], len(row["patterns"])) for row in rows] == [(4, 16, 4), (6, 54, 4)]
    assert all(each["seconds"] > 0 for row in rows for each in (*row["patterns"].values(), *row["arrivals"].values()))
    assert "bijection" in outcome.text
    assert "arrivals" in (tmp_path / "hedera-growth.svg").read_text()


def test_memory_is_that_of_a_process_of_its_own() -> None:
    ballast = bytearray(os.urandom(1)) * 400_000_000
    assert 10 < in_own_process(4, "ecmp", 1)["megabytes"] < len(ballast) / 1e6


def test_annealing_that_is_worse_than_ecmp_is_a_missed_bar() -> None:
    parts = {"ecmp": 0.5, "global-first-fit": 0.5, "simulated-annealing": 0.4, "seconds": 1.0}
    size = {"hosts": 1024, "patterns": {"random": parts}, "arrivals": {}, "megabytes": 9.0}
    made = exhibits({"backend": "flow", "flow_sizes": "data-mining", "load": 0.4, "sizes": [size]})
    (missed,) = [words for exhibit in made for words in exhibit.missed()]
    assert missed.startswith(
        "hedera-growth-goodput (flow): order: annealing less ECMP at 1,024 hosts, random, points is -10,"
    )


def test_what_ecmp_wastes_is_of_all_that_hosts_can_send() -> None:
    parts = {"global-first-fit": 1.0, "simulated-annealing": 1.0, "seconds": 1.0}
    patterns = {
        "random": {"non-blocking": 60.0, "ecmp": 0.5, **parts},
        "bijection": {"non-blocking": 100.0, "ecmp": 0.6, **parts},
    }
    size = {"hosts": 27_648, "patterns": patterns, "arrivals": {}, "megabytes": 9.0}
    made = exhibits({"backend": "flow", "flow_sizes": "data-mining", "load": 0.4, "sizes": [size]})
    (wasted,) = [exhibit for exhibit in made if exhibit.name == "hedera-growth-wasted"]
    points = {line.label: line.points[0] for line in wasted.lines}
    assert points["random"].value == pytest.approx(70)
    assert points["bijection"].value == pytest.approx(40)
    assert [point.published for point in points.values()] == [61, 61]
