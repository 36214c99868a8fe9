"""Iterations of annealing: readings change what they name, and shares stand beside the published table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.hedera.iterations import OURS, READINGS, IterationReading, carried, published, targets
from experiments.reporting.report import report_of
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix
from kuijia.cli.main import main

TREE = FatTree(4)
ALONE = Matrix.of("", [[4], [5]])
"""Two hosts of an edge switch send to two of another one."""


def part(reading: IterationReading, matrix: Matrix = ALONE, iterations: int = 0) -> float:
    return carried(TREE, matrix, reading, iterations, seed=1)[0]


def test_the_first_state_decides_without_iterations() -> None:
    """Hosts 4 and 5 have one aggregation switch in order, and two if spread: half of all uplinks, or all."""
    assert part(IterationReading(start="spread")) == pytest.approx(1.0)
    used = 1 - 1 / (3.2 * 2 + 1.41), 1 - 1 / (3.2 + 1.41)  # of a link by two flows, and by one
    assert part(IterationReading(start="in order")) == pytest.approx(used[0] / (2 * used[1]))


def test_links_are_full_in_ideal_sharing() -> None:
    assert part(IterationReading(start="in order", sharing="ideal")) == pytest.approx(0.5)


def test_iterations_rounds_and_exchanges_in_every_pod_improve_a_bad_first_state() -> None:
    bad = IterationReading(start="in order")
    assert part(bad, iterations=200) == pytest.approx(1.0)
    few = 5
    reached = [
        part(each, targets(TREE, 2, 1), few) for each in (bad, replace(bad, rounds=40), replace(bad, in_every_pod=True))
    ]
    assert reached[1] > reached[0]
    assert reached[2] >= reached[0]


def test_every_host_has_as_many_flows_as_the_reading_says() -> None:
    one, three = targets(TREE, 1, seed=2), targets(TREE, 3, seed=2)
    assert np.bincount(three.source).tolist() == [3] * 16
    assert three.target[:16].tolist() == one.target.tolist()


def test_the_readings_change_one_thing_each_but_the_last_three() -> None:
    ours = READINGS[OURS]
    for name, reading in READINGS.items():
        changed = sum(getattr(reading, field) != getattr(ours, field) for field in vars(ours))
        assert changed == (0 if name == OURS else name.count(",") + 1)


def test_the_published_table_is_whole() -> None:
    theirs = published()
    assert {len(row) for row in theirs["percent"].values()} == {len(theirs["iterations"])}
    assert list(theirs["percent"]) == list(theirs["non-blocking"])


def test_shares_are_written_beside_the_published(tmp_path: Path) -> None:
    main(["run", "hedera-iterations", "--quick", "-o", str(tmp_path)])
    rows = json.loads((tmp_path / "hedera-iterations.json").read_text())["rows"]
    assert {row["ports"] for row in rows} == {16}
    exhibits = {exhibit.name: exhibit for exhibit in report_of(tmp_path).exhibits}
    point = exhibits["hedera-iterations"].line("16 ports").at(1000)
    assert point.published == pytest.approx(100 * 78.73 / 81.24)
    assert exhibits["hedera-iterations-control"].line("16 ports").at(OURS).published == 81.24
    assert len(exhibits["hedera-iterations-readings"].line("16 ports").points) == len(READINGS)
