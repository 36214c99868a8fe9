"""The page on metrics has exactly the metrics that our programs export."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.metrics_of_programs import PROGRAMS, series_of, shared, table

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_table_of_a_program_is_that_of_its_code(program: str) -> None:
    assert table(program) in PAGE


def test_the_scheduler_shares_the_first_metrics_of_the_controller_as_the_page_says() -> None:
    first = [metric.name.replace("scheduler", "controller") for metric in shared("scheduler")]
    assert first == [metric.name for metric in PROGRAMS["controller"]][: len(first)]
    assert f"first {len(first)} metrics of the controller" in " ".join(PAGE.split())


def test_boxes_share_the_metrics_of_the_lab_that_the_page_says() -> None:
    subjects = {"link", "links", "queue", "bfd"}
    names = [metric.name.removeprefix("kuijia_boxes_").split("_")[0] for metric in shared("boxes")]
    assert set(names) == subjects
    assert "the lab's metrics of links, queues and BFD sessions" in " ".join(PAGE.split())


def test_no_other_metric_is_named() -> None:
    known = set().union(*map(series_of, PROGRAMS.values())) | {
        metric.name for metrics in PROGRAMS.values() for metric in metrics
    }
    assert set(re.findall(r"kuijia_(?:controller|scheduler|lab|boxes)_[a-z_]+", PAGE)) <= known
