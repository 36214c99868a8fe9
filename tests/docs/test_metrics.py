"""The page on metrics has exactly the metrics that our programs export."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hedera.scheduling.events import PREFIX
from kuijia_app.control.switch_metrics import switch_metrics
from tests.metrics_of_programs import PROGRAMS, series_of, table

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_table_of_a_program_is_that_of_its_code(program: str) -> None:
    assert table(program) in PAGE


def test_the_page_counts_the_metrics_that_the_scheduler_shares() -> None:
    assert f"first {len(switch_metrics(PREFIX))} metrics" in " ".join(PAGE.split())


def test_no_other_metric_is_named() -> None:
    known = set().union(*map(series_of, PROGRAMS.values())) | {
        metric.name for metrics in PROGRAMS.values() for metric in metrics
    }
    assert set(re.findall(r"kuijia_(?:controller|scheduler|lab|boxes)_[a-z_]+", PAGE)) <= known
