"""Conversion of Mbit/s and seconds to the core's whole numbers and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kuijia_base import quantities
from kuijia_base.errors import UnsoundError
from simulator.packet import _core

PICOSECONDS = 10**12
LONGEST = _core.LONGEST / PICOSECONDS
"""Longest time that can be simulated, in seconds: 26 days."""

SLOWEST = 0.01
"""Smallest rate of a link or a token bucket in the core, in Mbit/s."""

FASTEST = 1e6
"""Largest rate of a link in the core, in Mbit/s."""


def bits_per_second(rate: float) -> int:
    """Return a rate of Mbit/s in bit/s.

    Raises:
        UnsoundError: the rate is negative, not finite, or larger than `FASTEST`.
    """
    if not 0 <= rate <= FASTEST:
        raise UnsoundError((), f"a rate of {quantities.rate(rate)}", f"0 to {quantities.rate(FASTEST)}")
    return round(rate * 1e6)


def picoseconds(time: ArrayLike) -> NDArray[np.int64]:
    """Return seconds in picoseconds.

    Raises:
        UnsoundError: a time is negative, not finite, or more than 26 days.
    """
    values = np.asarray(time, np.float64)
    if not np.all((values >= 0) & (values <= LONGEST)):
        raise UnsoundError((), "a time is negative or too long", f"0 to {LONGEST:.0f} s")
    return np.rint(values * PICOSECONDS).astype(np.int64)


def seconds(time: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return picoseconds in seconds; infinite for events that never happened."""
    return np.where(time == _core.NEVER, np.inf, time / PICOSECONDS)
