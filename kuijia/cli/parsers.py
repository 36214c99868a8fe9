"""Options of every verb, the parsers of all together, and complaints about what they do not have."""

from __future__ import annotations

import argparse
import re
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from kuijia.cli.verbs import DESCRIPTION, VERBS, load_verb
from kuijia_base.additions import UnfitSystemError, missing_package
from kuijia_base.errors import one_line
from kuijia_base.option_values import whole_number
from kuijia_base.suggestion import meant, similar


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


def whole_parser() -> argparse.ArgumentParser:
    """Return the parser with every verb and its options; verbs that cannot run here have only the common ones."""
    parser = argparse.ArgumentParser(prog="kuijia", description=DESCRIPTION)
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for name, what in VERBS.items():
        verb = verbs.add_parser(name, help=what, description=what)
        try:
            load_verb(name).configure(verb)
        except UnfitSystemError:
            pass
        except ImportError as error:
            if missing_package(error) is None:
                raise
        add_common_options(verb)
    return parser


def actions_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments and options that `--help` shows, without the parsers below."""
    for action in parser._actions:  # noqa: SLF001  # argparse has no public way to list them
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            yield action


def parsers_below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of verbs or actions by their names."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            found |= action.choices
    return found


def all_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and all below it."""
    yield parser
    for each in parsers_below(parser).values():
        yield from all_parsers(each)


def help_of(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return the help of an argument with its default filled in."""
    values = {name: value for name, value in vars(action).items() if value is not argparse.SUPPRESS}
    if action.choices is not None:
        values["choices"] = ", ".join(map(str, action.choices))
    return (action.help or "") % {**values, "prog": parser.prog}


_INVALID = re.compile(
    r"(?P<start>.*invalid choice: )'(?P<given>[^']*)'(?P<rest> \(choose from (?P<known>.*)\))", re.DOTALL
)

_MOST_LISTED = 10
"""Most names listed in addition to the one that was meant."""

_LONGEST_FAULT = 300
"""Most characters of the message of an unexpected exception."""


def complaint(message: str) -> str:
    """Return a message of argparse; one about an unknown name asks whether a similar one was meant."""
    found = _INVALID.fullmatch(message)
    if found is None:
        return message
    known = [name.strip().strip("'") for name in found["known"].split(",")]
    hint = meant(found["given"], known)
    rest = "" if hint and len(known) > _MOST_LISTED else found["rest"]
    return f"{found['start']}'{found['given']}'{hint}{rest}"


def unrecognized(arguments: Sequence[str], parser: argparse.ArgumentParser) -> str:
    """Return the complaint about arguments that a parser does not have; one about an option names a similar one."""
    option = arguments[0].partition("=")[0]
    found = similar(option[2:], _long_options(parser)) if option.startswith("--") else None
    hint = "" if found is None else f" (did you mean --{found}?)"
    return f"unrecognized arguments: {' '.join(arguments)}{hint}"


def fault(error: BaseException) -> str:
    """Return one line on a fault of the program itself: the exception, and where it was raised."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {one_line(str(error), _LONGEST_FAULT)}".removesuffix(": ")
    return f"kuijia has a fault: {what} ({Path(at.filename).name}:{at.lineno}; PYTHONDEVMODE=1 shows more)"


def _long_options(parser: argparse.ArgumentParser) -> list[str]:
    """Return the long options without their dashes, which would make short ones look alike."""
    actions = [action for each in all_parsers(parser) for action in actions_of(each)]
    return [name[2:] for action in actions for name in action.option_strings if name.startswith("--")]
