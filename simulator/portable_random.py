"""Random numbers that depend on the seed only: identical on every machine and NumPy version, to the last digit.

They use only a bit generator's raw stream (which NumPy never changes) and IEEE 754's four operations and square roots,
because logarithms of C libraries and vector units differ in the last digit between machines.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]

_LN2 = 0.6931471805599453
_LN2_HIGH = 0.693145751953125
"""The first 19 bits of ln 2, so that its product with an exponent is exact."""
_LN2_LOW = 1.42860682030941723212e-6
_LOG_TERMS = 11
_EXP_TERMS = 14


class Draws:
    """A stream of random numbers.

    Args:
        seed: the seed of the stream.
        stream: further numbers that distinguish independent streams of one seed.
    """

    def __init__(self, seed: int, *stream: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, *stream]))

    def uniform(self, count: int) -> Vector:
        """Draw uniformly from [0, 1), in multiples of 2^-53, shape (count,)."""
        raw = self._bits.random_raw(count)
        evenly: Vector = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return evenly

    def whole(self, below: int, count: int) -> NDArray[np.int64]:
        """Draw whole numbers from 0 to `below` - 1, shape (count,)."""
        return (self.uniform(count) * below).astype(np.int64)

    def exponential(self, count: int) -> Vector:
        """Draw from the exponential distribution with mean 1, shape (count,)."""
        return -log(1.0 - self.uniform(count))

    def normal(self, count: int) -> Vector:
        """Draw from the normal distribution with mean 0 and variance 1, shape (count,): Marsaglia's polar method."""
        found: list[Vector] = [np.empty(0)]
        missing = count
        while missing > 0:
            pair = 2.0 * self.uniform(2 * (missing // 2 + 1)).reshape(-1, 2) - 1.0
            square = pair[:, 0] * pair[:, 0] + pair[:, 1] * pair[:, 1]
            inside = (square > 0) & (square < 1)
            kept = square[inside]
            found.append((pair[inside] * np.sqrt(-2.0 * log(kept) / kept)[:, None]).ravel())
            missing -= found[-1].size
        return np.concatenate(found)[:count]

    def shuffled(self, count: int) -> NDArray[np.int64]:
        """Return 0 to `count` - 1 in random order."""
        return np.argsort(self.uniform(count), kind="stable")


def log(value: ArrayLike) -> Vector:
    """Return the natural logarithm of positive numbers, to about two units in the last digit."""
    mantissa, exponent = np.frexp(np.asarray(value, np.float64))
    low = mantissa < np.sqrt(0.5)
    mantissa, exponent = np.where(low, 2.0 * mantissa, mantissa), exponent - low
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    total = np.zeros_like(square)
    for term in range(_LOG_TERMS, -1, -1):
        total = total * square + 1.0 / (2 * term + 1)
    return np.asarray(exponent * _LN2_HIGH + (2.0 * ratio * total + exponent * _LN2_LOW), np.float64)


def exp(value: ArrayLike) -> Vector:
    """Return the exponential function, to about two units in the last digit, except for huge and tiny results."""
    values = np.asarray(value, np.float64)
    whole = np.rint(values / _LN2)
    rest = (values - whole * _LN2_HIGH) - whole * _LN2_LOW
    total = np.ones_like(rest)
    for term in range(_EXP_TERMS, 0, -1):
        total = total * rest / term + 1.0
    return np.asarray(np.ldexp(total, whole.astype(np.int64)), np.float64)
