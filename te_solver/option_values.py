"""Values of command-line options, for `type=` of argparse: numbers within bounds and lists of known names."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from te_solver.text import parse_number

T = TypeVar("T")


def positive_number(text: str) -> float:
    """Return a finite number greater than zero; raises ArgumentTypeError, as all functions here do."""
    value = parse_number(text)
    if value is None or not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r}, expected a finite number greater than zero")
    return value


def positive_number_within(least: float, most: float, expected: str) -> Callable[[str], float]:
    """Return a parser of positive numbers from `least` to `most`; errors end in `expected`."""

    def number(text: str) -> float:
        value = positive_number(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r}, expected {expected}")
        return value

    return number


def whole_number(
    first: int, last: int | None = None, *, of: str = "", expected: str | None = None
) -> Callable[[str], int]:
    """Return a parser of whole numbers from `first` to `last`; errors say that they count `of`."""

    def number(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and first <= int(text) and (last is None or int(text) <= last)):
            bounds = f"from {first} on" if last is None else f"from {first} to {last}"
            raise argparse.ArgumentTypeError(f"{text!r}{of}, expected {expected or f'a whole number {bounds}'}")
        return int(text)

    return number


positive_count = whole_number(1)


def different_ones(
    known: Sequence[T], parse: Callable[[str], object] = str, name: Callable[[T], str] = str
) -> Callable[[str], tuple[T, ...]]:
    """Return a parser of comma-separated words, each for another of the known values.

    Args:
        known: accepted values.
        parse: returns the value of a word; anything unknown is refused.
        name: returns the word for a value.
    """

    def chosen(text: str) -> tuple[T, ...]:
        values = [parse(word) for word in text.split(",")]
        found = tuple(next(value for value in known if value == each) for each in values if each in known)
        if len(set(found)) < len(values):
            raise argparse.ArgumentTypeError(f"{text!r}, expected different ones among {', '.join(map(name, known))}")
        return found

    return chosen
