"""Sweeps whose cases have keys."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import swept_by_key
from kuijia_base.sweep.workers import Workers

KEYED = {"even": [2, 4], "none": [], "odd": [3]}


def square(case: int) -> dict[str, Any]:
    return {"square": case * case}


def squares(folder: Path) -> Mapping[str, list[int]]:
    with swept_by_key("squares", KEYED, square, Workers(1), OutputFolder(folder), Progress(io.StringIO())) as found:
        return {key: [run["square"] for run in runs] for key, runs in found.items()}


def test_results_are_under_the_keys_of_their_cases(tmp_path: Path) -> None:
    assert squares(tmp_path) == {"even": [4, 16], "none": [], "odd": [9]}
    assert list(tmp_path.iterdir()) == []


def test_finished_cases_are_kept_until_the_files_of_the_sweep_are_written(tmp_path: Path) -> None:
    sweep = swept_by_key("squares", KEYED, square, Workers(1), OutputFolder(tmp_path), Progress(io.StringIO()))
    with pytest.raises(KeyboardInterrupt), sweep:
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["squares.checkpoint"]
    told = io.StringIO()
    with swept_by_key("squares", KEYED, square, Workers(1), OutputFolder(tmp_path), Progress(told)):
        pass
    assert "3 of 3 cases were finished by an earlier run" in told.getvalue()
