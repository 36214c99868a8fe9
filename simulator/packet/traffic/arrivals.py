"""When flows come: at a rate, with gaps of one distribution or another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.portable_random import Draws, exp
from te_solver.errors import UnsoundError

_LARGEST_SIGMA = 5


@dataclass(frozen=True)
class Poisson:
    """Exponentially distributed gaps: whoever comes knows nothing of the others."""

    def gaps(self, draws: Draws, count: int) -> NDArray[np.float64]:
        """Of mean 1, shape (count,)."""
        return draws.exponential(count)


@dataclass(frozen=True)
class LogNormal:
    """Log-normally distributed gaps, which come in bursts.

    Attributes:
        sigma: standard deviation of the gaps' logarithm; their standard deviation is sqrt(exp(sigma^2) - 1) means.
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.sigma <= _LARGEST_SIGMA:
            raise UnsoundError(("sigma",), f"is {self.sigma:g}", f"more than 0, at most {_LARGEST_SIGMA}")

    def gaps(self, draws: Draws, count: int) -> NDArray[np.float64]:
        """Of mean 1, shape (count,)."""
        return exp(self.sigma * draws.normal(count) - self.sigma**2 / 2)


Arrivals = Poisson | LogNormal


def arrival_times(arrivals: Arrivals, rate: float, draws: Draws, count: int) -> NDArray[np.float64]:
    """Seconds at which so many come, `rate` per second in the mean, the first after one gap, shape (count,)."""
    return np.cumsum(arrivals.gaps(draws, count)) / rate
