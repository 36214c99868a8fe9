"""Patterns and arrivals on large networks: what is drawn is what was asked for, and figures are written and judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.hedera import large_run
from experiments.hedera.arrivals import SIZES, SMALLEST, arriving
from experiments.hedera.large_run import missed_bars, run_large
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Settings, find_experiment
from hedera.fat_tree import FatTree

SETTINGS = Settings("flow", 1000.0, "os-ken", 64, 1, quick=True, seed=1)


def test_sizes_have_the_mean_that_loads_are_made_of() -> None:
    drawn = SIZES.quantile(np.random.default_rng(1).uniform(size=400_000))
    assert drawn.min() >= SMALLEST
    assert drawn.mean() == pytest.approx(SIZES.mean, rel=0.02)


def test_arrivals_ask_for_the_load() -> None:
    tree = FatTree(16)
    workload = arriving(tree, 0.4, 60, seed=1)
    asked = workload.size.sum() * 8e-6 / 60
    assert asked == pytest.approx(0.4 * tree.hosts * tree.nic_rate, rel=0.15)
    assert (np.diff(workload.start) >= 0).all()
    assert (workload.source != workload.target).all()


def test_tables_and_picture_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_run, "ITERATIONS", 200)
    with (tmp_path / "progress").open("w") as stream:
        outcome = run_large(SETTINGS, 4, OutputFolder(tmp_path), Progress(stream))
    data = json.loads((tmp_path / "hedera-8192.json").read_text())
    assert (data["hosts"], len(data["patterns"])) == (16, 9)
    assert "bijection" in outcome.text
    assert (tmp_path / "hedera-8192.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_missed_is_told() -> None:
    placed = {"goodput": 100.0, "moves per round": 10.0}
    data: dict[str, Any] = {
        "patterns": {"stride1": {"ecmp": 0.9, "global-first-fit": 0.8, "simulated-annealing": 1.0}},
        "arrivals": {"simulated-annealing": placed, "annealing with a fee": placed | {"goodput": 90.0}},
    }
    assert missed_bars(data) == [
        "stride1: global-first-fit reaches 0.800, less than ECMP's 0.900",
        "with a fee 10 flows move, expected half of 10",
        "a fee costs 10.0% of goodput, expected less than 2 %",
    ]


def test_it_runs_in_the_flow_model_alone() -> None:
    assert find_experiment("hedera-8192").backends == ("flow",)
