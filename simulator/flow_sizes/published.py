"""The distributions that come with the package, each a file with its source in `data/`."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.reading import reading
from kuijia_base.text import read_text, require_number
from simulator.flow_sizes.distribution import FlowSizes, Interpolation

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
