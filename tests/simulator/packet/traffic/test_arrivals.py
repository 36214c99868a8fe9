"""Flows arrive at the right rate and with the right spread."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kuijia_base.errors import UnsoundError
from simulator.packet.traffic.arrivals import Arrivals, LogNormal, Poisson, arrival_times
from simulator.portable_random import Draws

COUNT = 100_000


@pytest.mark.parametrize(
    ("arrivals", "spread"),
    [(Poisson(), 1.0), (LogNormal(0.5), math.sqrt(math.exp(0.25) - 1)), (LogNormal(), math.sqrt(math.e - 1))],
)
def test_gaps_have_the_mean_and_the_spread_of_their_distribution(arrivals: Arrivals, spread: float) -> None:
    times = arrival_times(arrivals, 50.0, Draws(1), COUNT)
    gaps = np.diff(times, prepend=0)
    assert gaps.min() > 0
    assert gaps.mean() == pytest.approx(0.02, rel=0.02)
    assert gaps.std() / gaps.mean() == pytest.approx(spread, rel=0.1)


def test_at_twice_the_rate_the_same_flows_come_in_half_the_time() -> None:
    slow, fast = (arrival_times(LogNormal(), rate, Draws(3), 100) for rate in (50.0, 100.0))
    assert (fast * 2).tolist() == pytest.approx(slow.tolist())


@pytest.mark.parametrize("sigma", [0, -1, 6, math.nan])
def test_a_spread_that_makes_no_sense_is_refused(sigma: float) -> None:
    with pytest.raises(UnsoundError, match="sigma: is"):
        LogNormal(sigma)
