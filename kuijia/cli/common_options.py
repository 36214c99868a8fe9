"""The options of every verb, at any place on the command line."""

from __future__ import annotations

import argparse

from kuijia_base.option_values import whole_number


def add_alias(parser: argparse._ActionsContainer, alias: str, option: str) -> None:
    """Let an option also be given by an earlier name, which `--help` does not show.

    Args:
        parser: parser or group that has the option.
        alias: the earlier name.
        option: the present name of an option with a value.
    """
    action = next(each for each in parser._actions if option in each.option_strings)  # noqa: SLF001  # no public way
    kind = "append" if isinstance(action, argparse._AppendAction) else "store"  # noqa: SLF001
    parser.add_argument(
        alias,
        dest=action.dest,
        action=kind,
        type=action.type or str,
        choices=action.choices,
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )


def add_common_options(parser: argparse.ArgumentParser, *, below_another: bool = False) -> None:
    """Add --json, -v and --seed; with `below_another`, keep the values of the parser above, which has them too."""

    def default(value: object) -> object:
        return argparse.SUPPRESS if below_another else value

    parser.add_argument("--json", action="store_true", default=default(False), help="print the result as JSON")
    parser.add_argument("-v", "--verbose", action="count", default=default(0), help="print more about progress")
    parser.add_argument(
        "--seed",
        type=whole_number(0, expected="a whole number, zero or more"),
        default=default(1),
        help="seed of every random choice (default: 1)",
    )
