"""Distributions of flow sizes by points of their cumulative function: those in `data/`, and those of users' files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from importlib.resources import files
from math import fsum
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.quantities import exact
from kuijia_base.reading import reading
from kuijia_base.text import read_text, require_number
from simulator.portable_random import Draws, exp, log


class Interpolation(Enum):
    """Interpolation between two points: linear in sizes, or in their logarithms."""

    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"


@dataclass(frozen=True, eq=False)
class FlowSizes:
    """Flows have a size of at most `sizes[i]` bytes with probability `probabilities[i]`.

    Two points of one size are a step: that share of flows has exactly this size. Two points of one probability are a
    gap: no flow has a size in between.
    A first probability above zero is that of the first size.

    Attributes:
        sizes: bytes, shape (K,), never falling.
        probabilities: shape (K,), never falling, the last one 1.
        interpolation: between the points.

    Raises:
        UnsoundError: the points are not a cumulative distribution function; `where` is the position of the point.
    """

    sizes: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    interpolation: Interpolation = Interpolation.LINEAR

    def __post_init__(self) -> None:
        sizes, probabilities = self.sizes, self.probabilities
        if sizes.shape != probabilities.shape or sizes.ndim != 1 or sizes.size == 0:
            raise UnsoundError((), "has no points", "as many sizes as probabilities")
        logarithmic = self.interpolation is Interpolation.LOGARITHMIC
        least = "a size above zero, which has a logarithm" if logarithmic else "a size of zero or more bytes"
        _require(np.isfinite(sizes) & (sizes > 0 if logarithmic else sizes >= 0), sizes, "size", least)
        _require((probabilities >= 0) & (probabilities <= 1), probabilities, "probability", "0 to 1")
        for what, values in (("size", sizes), ("probability", probabilities)):
            falls = np.flatnonzero(np.diff(values) < 0) + 1
            if falls.size:
                place = int(falls[0])
                before = f"{exact(values[place - 1])} or more, as the point before"
                raise UnsoundError(
                    (place,), f"{what} {exact(values[place])} is less than that of the point before", before
                )
        if probabilities[-1] != 1:
            place = len(probabilities) - 1
            raise UnsoundError((place,), f"the last probability is {exact(probabilities[-1])}", "1")
        if sizes[-1] < 1:
            raise UnsoundError((len(sizes) - 1,), f"the largest size is {exact(sizes[-1])}", "at least a byte")

    @classmethod
    def of_one(cls, size: float) -> FlowSizes:
        """Return the distribution in which all flows have this size, bytes."""
        return cls(np.array([size], np.float64), np.ones(1))

    def above(self, size: float) -> FlowSizes:
        """Return the distribution of flows larger than `size` bytes, which has to be below the largest size."""
        larger = self.sizes > size
        least = float(self.probability(size))
        probabilities = np.append(0.0, (self.probabilities[larger] - least) / (1 - least))
        return FlowSizes(np.append(float(size), self.sizes[larger]), probabilities, self.interpolation)

    @cached_property
    def mean(self) -> float:
        """Mean in bytes, exact for sizes before they are rounded to whole bytes."""
        low, high, mass = self.sizes[:-1], self.sizes[1:], np.diff(self.probabilities)
        means = (low + high) / 2
        if self.interpolation is Interpolation.LOGARITHMIC:
            wide = high > low
            means[wide] = (high - low)[wide] / log(high[wide] / low[wide])
        return fsum([float(self.sizes[0] * self.probabilities[0]), *(mass * means).tolist()])

    def quantile(self, probability: ArrayLike) -> NDArray[np.float64]:
        """Return the least sizes that flows do not exceed with these probabilities, 0 to 1."""
        wanted = np.asarray(probability, np.float64)
        after = np.searchsorted(self.probabilities, wanted)
        before = np.maximum(after - 1, 0)
        mass = self.probabilities[after] - self.probabilities[before]
        part = (wanted - self.probabilities[before]) / np.where(mass > 0, mass, 1)
        low, high = self.sizes[before], self.sizes[after]
        if self.interpolation is Interpolation.LOGARITHMIC:
            return np.clip(low * exp(part * log(high / low)), low, high)
        return np.clip(low + part * (high - low), low, high)

    def probability(self, size: ArrayLike) -> NDArray[np.float64]:
        """Return the probabilities that a flow has at most these sizes, bytes."""
        asked = np.asarray(size, np.float64)
        after = np.searchsorted(self.sizes, asked, side="right")
        before, last = np.maximum(after - 1, 0), self.sizes.size - 1
        low, high = self.sizes[before], self.sizes[np.minimum(after, last)]
        inside = (after > 0) & (after <= last)
        at, low, high = (np.where(inside, values, place) for values, place in ((asked, 1), (low, 1), (high, 2)))
        part = (at - low) / (high - low)
        if self.interpolation is Interpolation.LOGARITHMIC:
            part = log(at / low) / log(high / low)
        here = self.probabilities[before]
        there = self.probabilities[np.minimum(after, last)]
        return np.where(after == 0, 0.0, np.where(inside, here + part * (there - here), 1.0))

    def sample(self, draws: Draws, count: int) -> NDArray[np.int64]:
        """Draw the sizes of `count` flows in whole bytes, at least one each, shape (count,)."""
        return np.maximum(np.rint(self.quantile(draws.uniform(count))), 1).astype(np.int64)


def _require(good: NDArray[np.bool_], values: NDArray[np.float64], what: str, expected: str) -> None:
    bad = np.flatnonzero(~good)
    if bad.size:
        place = int(bad[0])
        raise UnsoundError((place,), f"{what} {exact(values[place])}", expected)


_FOLDER = files(__package__).joinpath("data")


@cache
def published_names() -> tuple[str, ...]:
    """Return the names of the distributions in alphabetical order."""
    return tuple(sorted(Path(each.name).stem for each in _FOLDER.iterdir() if each.name.endswith(".cdf")))


@cache
def published_flow_sizes(name: str) -> FlowSizes:
    """Return the distribution of this name.

    Raises:
        InputError: the name is unknown.
    """
    if name not in published_names():
        raise InputError("flow sizes", name, "unknown", f"one of {', '.join(published_names())}")
    return parse_flow_sizes(_FOLDER.joinpath(f"{name}.cdf").read_text(encoding="utf-8"), name)


def find_flow_sizes(name_or_path: str) -> FlowSizes:
    """Return a published distribution by its name, or the one in a file.

    Raises:
        InputError: there is neither, or the file does not hold a distribution.
    """
    if name_or_path in published_names():
        return published_flow_sizes(name_or_path)
    path = Path(name_or_path)
    expected = f"a file of flow sizes, or one of {', '.join(published_names())}"
    with reading(name_or_path, expected):
        if not path.exists():
            raise InputError(name_or_path, "", "there is no such file", expected)
    return read_flow_sizes(path)


_EXPECTED = "a file of flow sizes"
_LINE = "a size in bytes and the probability of at most this size, such as 10000 0.15"
_INTERPOLATION = re.compile(r"#\s*interpolation\s*:\s*(\S*)", re.IGNORECASE)
_NS2_COLUMNS = 3
LARGEST_BYTES = 16 * 2**20
"""A distribution of a hundred thousand points has some 3 MB."""

LARGEST_SIZE = 10**12
"""Bytes of a flow: sums of all flows of a study stay exact."""

_PERCENT = 100


def read_flow_sizes(path: Path) -> FlowSizes:
    """Return the distribution in a file; `parse_flow_sizes` documents the format.

    Raises:
        InputError: the file cannot be read, or does not hold a distribution.
    """
    with reading(path, _EXPECTED):
        return parse_flow_sizes(read_text(path, _EXPECTED, LARGEST_BYTES), path)


def parse_flow_sizes(text: str, source: str | Path) -> FlowSizes:
    """Return the distribution in a text of lines such as `10000 0.15`, separated by blanks, tabs or commas.

    A line of three numbers is ns-2's format; the count in the middle is ignored. If the last probability is 100, all of
    them are percentages. A `#` starts a comment; the comment `# interpolation: logarithmic` interpolates between points
    in the logarithms of sizes instead of the sizes.

    Raises:
        InputError: the text is not a distribution; the error names `source` and the line.
    """
    lines: list[int] = []
    points: list[tuple[float, float]] = []
    interpolation = Interpolation.LINEAR
    for number, line in enumerate(text.split("\n"), start=1):
        if named := _INTERPOLATION.match(line.strip()):
            interpolation = _interpolation(named[1], source, number)
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        if len(words) not in (2, _NS2_COLUMNS):
            raise InputError(source, number, f"{len(words)} values in a line", _LINE)
        size = require_number(words[0], source, number, "size", _LINE)
        if size > LARGEST_SIZE:
            raise InputError(source, number, f"size {size:.15g}", f"at most {LARGEST_SIZE} bytes")
        points.append((size, require_number(words[-1], source, number, "probability", _LINE)))
        lines.append(number)
    if not points:
        raise InputError(source, "", "there are no points in it", _LINE)
    sizes, probabilities = np.array(points, np.float64).T
    if probabilities[-1] == _PERCENT:
        probabilities = probabilities / _PERCENT
    try:
        return FlowSizes(sizes, probabilities, interpolation)
    except UnsoundError as error:
        place = lines[int(error.where[0])] if error.where else ""
        raise InputError(source, place, error.problem, error.expected) from error


def _interpolation(word: str, source: str | Path, line: int) -> Interpolation:
    for each in Interpolation:
        if each.value == word:
            return each
    expected = " or ".join(each.value for each in Interpolation)
    raise InputError(source, line, f"interpolation {quoted(word)} is unknown", expected)
