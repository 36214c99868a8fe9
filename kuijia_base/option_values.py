"""Values of command-line options, for `type=` of argparse: numbers within bounds and lists of known names."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from kuijia_base.errors import quoted
from kuijia_base.quantities import RATE_EXPECTED, parse_rate
from kuijia_base.text import parse_number, parse_whole

T = TypeVar("T")


def positive_number(text: str) -> float:
    """Return a finite number greater than zero; raise ArgumentTypeError, as all functions here do."""
    value = parse_number(text)
    if value is None or not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected a finite number greater than zero")
    return value


def path_name(text: str) -> Path:
    """Return the path of a file or folder; the empty text would be the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("an empty name, expected that of a file or folder")
    return Path(text)


PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
_PAGE_SUFFIXES = (".html", ".htm")
_FILE_SUFFIXES = (*_PAGE_SUFFIXES, ".md", ".json", ".csv", *PICTURE_SUFFIXES)


def folder_name(text: str) -> Path:
    """Return the path of a folder; a new one with the suffix of a file is a file that the user expects in vain."""
    path = path_name(text)
    if path.suffix.lower() in _FILE_SUFFIXES and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{quoted(text)} is the name of a file, expected that of a folder")
    return path


def folder_or_page(text: str) -> Path:
    """Return the path of a folder, or of an HTML page (`is_page`)."""
    path = path_name(text)
    return path if is_page(path) else folder_name(text)


def is_page(path: Path) -> bool:
    return path.suffix.lower() in _PAGE_SUFFIXES and not path.is_dir()


def positive_rate(text: str) -> float:
    """Return the Mbit/s of a rate greater than zero: a number, or one with a unit such as 10G."""
    value = parse_rate(text)
    if value is None or not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected {RATE_EXPECTED}")
    return value


def positive_number_within(
    least: float, most: float, expected: str, parse: Callable[[str], float] = positive_number
) -> Callable[[str], float]:
    """Return a parser of positive numbers, or of rates by `parse`, from `least` to `most`; errors end in `expected`."""

    def number(text: str) -> float:
        value = parse(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{quoted(text)}, expected {expected}")
        return value

    return number


def whole_number(
    first: int, last: int | None = None, *, of: str = "", expected: str | None = None
) -> Callable[[str], int]:
    """Return a parser of whole numbers from `first` to `last`; errors name their unit `of`."""

    def number(text: str) -> int:
        value = parse_whole(text)
        if value is None or value < first or (last is not None and value > last):
            bounds = f"from {first} on" if last is None else f"from {first} to {last}"
            raise argparse.ArgumentTypeError(f"{quoted(text)}{of}, expected {expected or f'a whole number {bounds}'}")
        return value

    return number


MOST_COUNTED = 1_000_000
"""Most repetitions, and limit of similar numbers; more would never end."""

positive_count = whole_number(1, MOST_COUNTED)


def different_ones(
    known: Sequence[T], parse: Callable[[str], object] = str, name: Callable[[T], str] = str
) -> Callable[[str], tuple[T, ...]]:
    """Return a parser of comma-separated words, each for another of the known values.

    Args:
        known: accepted values.
        parse: returns the value of a word; unknown values are refused.
        name: returns the word for a value.
    """

    def chosen(text: str) -> tuple[T, ...]:
        values = [parse(word) for word in text.split(",")]
        found = tuple(next(value for value in known if value == each) for each in values if each in known)
        if len(set(found)) < len(values):
            names = ", ".join(map(name, known))
            raise argparse.ArgumentTypeError(f"{quoted(text)}, expected different ones among {names}")
        return found

    return chosen


def picture_path(text: str) -> Path:
    """Return the path of a picture to be drawn, whose suffix tells its format."""
    path = Path(text)
    if path.suffix not in PICTURE_SUFFIXES:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected a name that ends in {', '.join(PICTURE_SUFFIXES)}")
    return path
