"""Complaints of argparse, with the name that the user may have meant, and of unexpected exceptions."""

from __future__ import annotations

import argparse
import re
import traceback
from collections.abc import Sequence
from pathlib import Path

from kuijia.cli.parsers import actions_of, all_parsers
from kuijia_base.errors import one_line
from kuijia_base.suggestion import meant, similar

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
