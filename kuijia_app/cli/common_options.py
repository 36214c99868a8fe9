"""The options that every verb has, wherever on the command line they stand."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from te_solver.errors import quoted
from te_solver.text import parse_whole


def add_common_options(parser: argparse.ArgumentParser, *, below_another: bool = False) -> None:
    """Add --json, -v and --seed; `below_another` when a parser above has them too, whose values are then kept."""

    def default(value: object) -> object:
        return argparse.SUPPRESS if below_another else value

    parser.add_argument("--json", action="store_true", default=default(False), help="print the result as JSON")
    parser.add_argument("-v", "--verbose", action="count", default=default(0), help="say more on what is being done")
    parser.add_argument(
        "--seed",
        type=whole_number(0, expected="a whole number, zero or more"),
        default=default(1),
        help="seed of every random choice (default: 1)",
    )


def whole_number(
    first: int, last: int | None = None, *, of: str = "", expected: str | None = None
) -> Callable[[str], int]:
    """For `type=` of argparse: a number from `first` to `last`; errors say what it is a number `of`."""

    def number(text: str) -> int:
        value = parse_whole(text)
        if value is None or value < first or (last is not None and value > last):
            wanted = expected or f"a whole number from {first} to {last}"
            raise argparse.ArgumentTypeError(f"{quoted(text)}{of}, expected {wanted}")
        return value

    return number
