"""Patterns pair the right hosts, as often as they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_base.errors import UnsoundError
from simulator.packet.traffic.patterns import AllToAll, Incast, Pattern, Permutation, Random, Stride
from simulator.portable_random import Draws

pytestmark = pytest.mark.slow

PATTERNS: list[Pattern] = [Random(), Random(apart=3), Permutation(), Stride(2), AllToAll(), Incast(4)]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(PATTERNS), st.integers(5, 40), st.integers(0, 2**32), st.integers(0, 50))
def test_nobody_sends_to_himself_or_beyond_the_hosts(pattern: Pattern, hosts: int, seed: int, count: int) -> None:
    pattern.require_hosts(hosts)
    drawn = pattern.drawn(hosts, Draws(seed), count)
    assert drawn.shape == (count * pattern.together, 2)
    for pairs in (drawn, pattern.at_once(hosts, Draws(seed))):
        assert np.all((pairs >= 0) & (pairs < hosts))
        assert np.all(pairs[:, 0] != pairs[:, 1])


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("hosts", [5, 6])
def test_shares_are_those_of_what_is_drawn(pattern: Pattern, hosts: int) -> None:
    count = 60_000 // pattern.together
    pairs = pattern.drawn(hosts, Draws(1), count)
    seen = np.zeros((hosts, hosts))
    np.add.at(seen, (pairs[:, 0], pairs[:, 1]), 1 / len(pairs))
    assert pattern.shares(hosts, Draws(1)) == pytest.approx(seen, abs=0.006)


def test_hosts_apart_do_not_send_within_their_group() -> None:
    pairs = Random(apart=4).drawn(10, Draws(1), 2000)
    assert np.all(pairs[:, 0] // 4 != pairs[:, 1] // 4)
    assert set(map(tuple, pairs.tolist())) == {(a, b) for a in range(10) for b in range(10) if a // 4 != b // 4}


def test_a_permutation_gives_everybody_one_sender_and_another_for_another_seed() -> None:
    pairs = Permutation().at_once(16, Draws(1))
    assert sorted(pairs[:, 0]) == sorted(pairs[:, 1]) == list(range(16))
    assert pairs.tolist() != Permutation().at_once(16, Draws(2)).tolist()


def test_a_stride_goes_round() -> None:
    assert Stride(3).at_once(4, Draws(1)).tolist() == [[0, 3], [1, 0], [2, 1], [3, 2]]


def test_all_to_all_has_every_pair_once() -> None:
    pairs = AllToAll().at_once(3, Draws(1))
    assert pairs.tolist() == [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]


def test_an_incast_has_different_senders_and_one_target() -> None:
    pairs = Incast(5).drawn(8, Draws(1), 100).reshape(100, 5, 2)
    assert all(len(set(group[:, 0].tolist())) == 5 for group in pairs)
    assert all(len(set(group[:, 1].tolist())) == 1 for group in pairs)


@pytest.mark.parametrize(
    ("pattern", "hosts"),
    [
        *((Random(), 1), (Random(0), 9), (Random(8), 8), (Permutation(), 1), (Stride(0), 4), (Stride(8), 4)),
        *((AllToAll(), 1), (Incast(0), 4), (Incast(4), 4)),
    ],
)
def test_patterns_that_so_many_hosts_cannot_have_are_refused(pattern: Pattern, hosts: int) -> None:
    with pytest.raises(UnsoundError):
        pattern.require_hosts(hosts)
