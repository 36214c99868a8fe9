"""Traffic matrices: the authors' and those made by rule match their names."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

from hedera.network.fat_tree import FatTree
from hedera.network.matrices import (
    Matrix,
    authors_matrices,
    authors_matrix,
    random_bijection,
    random_targets,
    staggered,
    stride,
)
from kuijia_base.errors import InputError

TREE = FatTree(8)


def locality(tree: FatTree, matrix: Matrix) -> list[int]:
    """Return the number of flows that stay at their edge switch, stay in their pod, and leave it."""
    counts = [tree.path_count(*pair) for pair in zip(matrix.source.tolist(), matrix.target.tolist(), strict=True)]
    return [counts.count(paths) for paths in (1, tree.half, tree.labels)]


def test_nobody_sends_to_himself() -> None:
    assert all((matrix.source != matrix.target).all() for matrix in authors_matrices().values())


@pytest.mark.parametrize(
    ("name", "expected"),
    [("stride1", [8, 4, 4]), ("stride2", [0, 8, 8]), ("stride4", [0, 0, 16]), ("stag(1,0)", [16, 0, 0])],
)
def test_the_authors_patterns_are_as_local_as_they_should_be(name: str, expected: list[int]) -> None:
    assert locality(FatTree(4), authors_matrix(name)) == expected


@pytest.mark.parametrize(
    "name", [name for name in authors_matrices() if name.startswith(("randbij", "stag", "stride"))]
)
def test_bijections_are_bijections(name: str) -> None:
    assert sorted(authors_matrix(name).target.tolist()) == list(range(16))


def test_randx_has_as_many_flows_as_its_name_says() -> None:
    for flows in (2, 3, 4, 5):
        assert np.bincount(authors_matrix(f"randx{flows}").source).tolist() == [flows] * 16


def test_the_authors_numbers_are_copied_without_a_mistake() -> None:
    """Nothing but a digest can tell: most of them were drawn."""
    numbers = [(name, matrix.source.tolist(), matrix.target.tolist()) for name, matrix in authors_matrices().items()]
    assert crc32(repr(sorted(numbers)).encode()) == 4208153209


def test_a_matrix_that_there_is_not_is_named() -> None:
    with pytest.raises(InputError, match="matrix:rand9: is unknown, expected one of rand0"):
        authors_matrix("rand9")


def test_staggered_probabilities_are_kept_roughly() -> None:
    matrix = staggered(FatTree(16), 0.5, 0.3, np.random.default_rng(1))
    edge, pod, rest = (count / 1024 for count in locality(FatTree(16), matrix))
    assert (edge, pod, rest) == pytest.approx((0.5, 0.3, 0.2), abs=0.05)


def test_random_matrices_are_what_they_are_called() -> None:
    random = np.random.default_rng(2)
    bijection, anywhere = random_bijection(128, random), random_targets(128, random)
    assert sorted(bijection.target.tolist()) == list(range(128))
    assert (bijection.target != bijection.source).all()
    assert (anywhere.target != anywhere.source).all()
    assert len(set(anywhere.target.tolist())) < 128
    assert random_targets(2, random).target.tolist() == [1, 0]


def test_strides_go_round() -> None:
    assert stride(8, 3).target.tolist() == [3, 4, 5, 6, 7, 0, 1, 2]
