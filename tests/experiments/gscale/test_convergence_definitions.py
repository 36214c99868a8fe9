"""Table 4 under all definitions: the one of the table itself is among them, and they are all counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments.gscale.cases import LINKS, Case
from experiments.gscale.table4 import (
    FINALS,
    HOW,
    TOLERANCES,
    WHOSE,
    definitions_table,
    seconds_by_flow,
    stable_seconds,
)
from experiments.results.published import published_curves
from tests.experiments.gscale.results import committed_run, made_up

RUNS = [committed_run("gscale", f"tcp-1.6-7-9-{scheme}-1") for scheme in ("rescaling", "kuijia")]


def test_a_mean_outside_the_tolerance_ends_all_that_was_stable_before() -> None:
    means = np.array([10.0, 0.0, 10.0, 13.2, 10.0, 10.0, 10.0])
    found = dict(zip(TOLERANCES, stable_seconds(means, 3), strict=True))
    assert (found[0.3], found[0.35], found[0.4]) == (4.0, 2.0, 2.0)
    assert stable_seconds(np.full(7, 10.0), 3).tolist() == [1.0] * len(TOLERANCES)


def test_the_definition_of_the_table_is_one_of_those_that_are_tried() -> None:
    table = definitions_table(RUNS)
    ours = seconds_by_flow(RUNS[0])
    theirs = published_curves("table4").at("rescaling, 7-9", 1.6)
    assert ours is not None
    assert theirs is not None
    assert table.line("direct, mean of flows").at("30%").value == pytest.approx(abs(ours - theirs))
    assert len(table.lines) == len(WHOSE) * len(HOW)
    tried = len(WHOSE) * len(HOW) * len(TOLERANCES) * len(FINALS)
    assert table.remarks[0].startswith(f"{tried} definitions were tried")


def test_definitions_without_flows_are_left_out() -> None:
    cases = [Case("tcp", 1.2, LINKS[0], scheme, 1) for scheme in ("rescaling", "kuijia")]
    runs = [replace(made_up(case, {"direct": 0.9}), flows=RUNS[0].flows[:0]) for case in cases]
    assert not definitions_table(runs).lines
