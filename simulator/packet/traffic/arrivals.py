"""Arrivals of flows: their rate and the distribution of gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from simulator.portable_random import Draws, exp

_LARGEST_SIGMA = 5


@dataclass(frozen=True)
class Poisson:
    """Exponentially distributed gaps: arrivals are independent of each other."""

    def gaps(self, draws: Draws, count: int) -> NDArray[np.float64]:
        """Draw gaps of mean 1, shape (count,)."""
        return draws.exponential(count)


@dataclass(frozen=True)
class LogNormal:
    """Log-normally distributed gaps: arrivals come in bursts.

    Attributes:
        sigma: standard deviation of the gaps' logarithm; that of the gaps is sqrt(exp(sigma^2) - 1) times their mean.
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.sigma <= _LARGEST_SIGMA:
            raise UnsoundError(("sigma",), f"is {self.sigma:g}", f"more than 0, at most {_LARGEST_SIGMA}")

    def gaps(self, draws: Draws, count: int) -> NDArray[np.float64]:
        """Draw gaps of mean 1, shape (count,)."""
        return exp(self.sigma * draws.normal(count) - self.sigma**2 / 2)


Arrivals = Poisson | LogNormal


def arrival_times(arrivals: Arrivals, rate: float, draws: Draws, count: int) -> NDArray[np.float64]:
    """Return the times in seconds of `count` arrivals, `rate` per second on average, the first after one gap."""
    with np.errstate(over="ignore"):  # times beyond all numbers are infinite
        return np.cumsum(arrivals.gaps(draws, count)) / rate
