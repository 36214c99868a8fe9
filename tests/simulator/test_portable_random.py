"""Portable random numbers are the same everywhere and have the right distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.portable_random import Draws, exp, log

COUNT = 200_000

KNOWN = (
    *("0x1.060d7be6f245cp-1", "0x1.e6a32d7782a55p-1"),
    *("0x1.3ed0a36ec7a9fp-3", "0x1.7c0accaf4d33cp+1"),
    *("-0x1.c1eee203b7962p+0", "-0x1.6eabc42e8b8d5p-1"),
)
"""Draws of seed 1, uniform, exponential and normal, on every machine."""


def test_the_first_numbers_of_a_seed_are_known() -> None:
    draws = Draws(1)
    numbers = np.concatenate([draws.uniform(2), draws.exponential(2), draws.normal(2)])
    assert tuple(map(float.hex, numbers.tolist())) == KNOWN


def test_streams_of_one_seed_differ() -> None:
    first, second = Draws(1, 0).uniform(COUNT), Draws(1, 1).uniform(COUNT)
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(COUNT)


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_as_many_come_as_were_asked_for(count: int) -> None:
    draws = Draws(1)
    for drawn in (draws.uniform(count), draws.whole(3, count), draws.exponential(count), draws.normal(count)):
        assert drawn.shape == (count,)
    assert sorted(draws.shuffled(count)) == list(range(count))


def test_moments_are_those_of_the_distributions() -> None:
    draws = Draws(2)
    normal, exponential, whole = draws.normal(COUNT), draws.exponential(COUNT), draws.whole(10, COUNT)
    assert normal.mean() == pytest.approx(0, abs=0.01)
    assert (normal**2).mean() == pytest.approx(1, rel=0.02)
    assert (normal**4).mean() == pytest.approx(3, rel=0.05)
    assert exponential.mean() == pytest.approx(1, rel=0.01)
    assert exponential.var() == pytest.approx(1, rel=0.03)
    assert np.bincount(whole) == pytest.approx(COUNT / 10, rel=0.03)


@given(st.floats(1e-300, 1e300))
def test_logarithms_are_right_to_the_last_digits(value: float) -> None:
    assert float(log(value)) == pytest.approx(math.log(value), rel=1e-15, abs=1e-300)


@given(st.floats(-500, 500))
def test_exponentials_are_right_to_the_last_digits(value: float) -> None:
    assert float(exp(value)) == pytest.approx(math.exp(value), rel=1e-15)
