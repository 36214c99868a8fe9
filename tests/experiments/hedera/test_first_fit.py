"""Readings of first fit: ours is the placement's own, others differ as their names say, and all are written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.hedera.matrices import (
    KINDS,
    OURS,
    READINGS,
    FirstFitReading,
    detected,
    first_fit_labels,
    part_of,
    published,
    row_of,
)
from experiments.hedera.schemes import FIRST_FIT
from experiments.reporting.report import report_of
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix, authors_matrices
from hedera.placement.registry import hashed_labels
from kuijia.cli.main import main

TREE = FatTree(4)
SEED = 3


@pytest.mark.parametrize("name", ["rand0", "randx3", "stag0(.2,.3)"])
def test_ours_is_the_placement_upon_detection(name: str) -> None:
    matrix = authors_matrices()[name]
    (part,) = row_of(TREE, matrix, range(SEED, SEED + 1)).parts[FIRST_FIT]
    assert part_of(TREE, matrix, READINGS[OURS], SEED) == pytest.approx(part, rel=1e-9)


def labels(matrix: Matrix, reading: FirstFitReading) -> list[int]:
    found: list[int] = first_fit_labels(TREE, matrix, reading, SEED).tolist()
    return found


def test_flows_try_paths_in_the_order_of_the_reading() -> None:
    """Hosts 0 and 1 share an edge switch with two uplinks: labels 0 and 1 take the first of them."""
    both = Matrix.of("", [[4], [8]])
    assert labels(both, FirstFitReading()) == [0, 2]
    apart = Matrix.of("", [[4], [], [8]])  # host 2 has another edge switch below the same aggregation switches
    assert labels(apart, FirstFitReading()) == [0, 1]
    assert labels(apart, FirstFitReading(first="columns in turn")) == [0, 2]
    hashed = hashed_labels(TREE, np.arange(1, dtype=np.uint64), SEED).tolist()
    assert labels(Matrix.of("", [[4]]), FirstFitReading(first="hashed")) == hashed


def test_links_that_may_not_be_full_leave_whole_demands_to_the_hash() -> None:
    matrix = authors_matrices()["stride8"]
    hashed = hashed_labels(TREE, np.arange(16, dtype=np.uint64), SEED).tolist()
    assert labels(matrix, FirstFitReading(fills=False)) == hashed


def test_flows_reserve_the_demand_of_the_reading() -> None:
    """The first of two flows to host 4 reserves all of its interface, or the half that it will get."""
    matrix = Matrix.of("", [[4], [4], [], []])
    assert labels(matrix, FirstFitReading()) == [0, 2]
    assert labels(matrix, FirstFitReading(demand="all known")) == [0, 0]


def test_flows_that_collide_may_stay_together_if_they_reserve_what_they_get() -> None:
    """Each of two flows on one uplink gets less than half of it."""
    matrix = Matrix.of("", [[4], [8]])
    keys = np.arange(2, dtype=np.uint64)
    colliding = next(seed for seed in range(50) if hashed_labels(TREE, keys, seed).max() < 2)
    reading = FirstFitReading(demand="measured")
    assert first_fit_labels(TREE, matrix, reading, colliding).tolist() == [0, 0]
    apart = next(seed for seed in range(50) if hashed_labels(TREE, keys, seed).tolist() == [0, 2])
    assert first_fit_labels(TREE, matrix, reading, apart).tolist() == [0, 2]


def test_flows_are_detected_in_the_order_of_the_reading() -> None:
    matrix = Matrix.of("", [[5], [4], [6]])
    assert detected(matrix, "by sender", SEED).source.tolist() == [0, 1, 2]
    assert detected(matrix, "by receiver", SEED).source.tolist() == [1, 0, 2]
    assert sorted(detected(matrix, "random", SEED).source.tolist()) == [0, 1, 2]


def test_the_kinds_are_the_published_matrices_that_may_block() -> None:
    assert {name for kind in KINDS.values() for name in kind} == set(published()["rows"]) - {"stag(1,0)", "stride1"}


def test_every_reading_is_written_beside_what_was_published(tmp_path: Path) -> None:
    main(["run", "hedera-first-fit", "--quick", "-o", str(tmp_path)])
    data = json.loads((tmp_path / "hedera-first-fit.json").read_text())
    assert list(data["parts"]) == list(READINGS)
    (exhibit,) = report_of(tmp_path).exhibits
    assert exhibit.line(OURS).at("stride2-8").value == pytest.approx(100)
    published_part = np.mean([11490, 11064, 11439]) / 12533
    assert exhibit.line(OURS).at("stride2-8").published == pytest.approx(100 * published_part)
