"""The parsers of all verbs together, for what is made from them: completion of shells and man pages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from kuijia.cli.common_options import add_common_options
from kuijia.cli.verbs import DESCRIPTION, VERBS, load_verb
from kuijia_base.extras import UnfitSystemError, missing_package


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
