"""Requests to the lab service: their one declared shape, and the reading of a line as one of them. Pure data."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Literal, NoReturn

from kuijia_base.errors import InputError, quoted

LONGEST_NAME = 256
"""Characters of a node's name."""

LONGEST_SOURCE = 4096
"""Characters of the name of the file that demands come from: PATH_MAX of Linux."""

MOST_DEMANDS = 100_000
MOST_PRIORITY = 255
_MOST_DIGITS = 20
_SHOWN_CHARACTERS = 200
_SOURCE = "lab"
_KNOWN = "status, fail, heal, update, enter or down"
_ROW = "[SOURCE, TARGET, RATE, PRIORITY]"


@dataclass(frozen=True)
class Look:
    """A request that only reads: the state of the lab, or the topology of its plan."""

    what: Literal["status", "topology"]


@dataclass(frozen=True)
class Switch:
    """A request to cut the link between two nodes, or to restore it."""

    what: Literal["fail", "heal"]
    a: str
    b: str


@dataclass(frozen=True)
class Row:
    """A demand as users give it: `rate` in their unit, before the lab's factor is applied."""

    source: str
    target: str
    rate: float
    priority: int


@dataclass(frozen=True)
class Update:
    """A request to replace the plan by one for these demands; messages call them `source`."""

    demands: tuple[Row, ...]
    source: str


@dataclass(frozen=True)
class Enter:
    """A request for what a program needs to run in a node's host."""

    node: str


@dataclass(frozen=True)
class Down:
    """A request to take the lab down."""


Request = Look | Switch | Update | Enter | Down


def parse_request(line: bytes) -> Request:
    """Return the request on a line of JSON.

    Raises:
        InputError: the line is no UTF-8, no JSON or no request; the place is the member at fault.
    """
    request = _json(line)
    match request:
        case {"do": "status" | "topology" as look, **rest} if not rest:
            return Look(look)
        case {"do": "fail" | "heal" as what, "a": a, "b": b, **rest} if not rest:
            return Switch(what, _name(a, "a"), _name(b, "b"))
        case {"do": "update", "demands": demands, "source": source, **rest} if not rest:
            return Update(_rows(demands), _text(source, "source", LONGEST_SOURCE))
        case {"do": "enter", "node": node, **rest} if not rest:
            return Enter(_name(node, "node"))
        case {"do": "down", **rest} if not rest:
            return Down()
    raise InputError(_SOURCE, "", f"unknown request {_shown(request)}", _KNOWN)


def _json(line: bytes) -> object:
    expected = "a JSON object on a line"
    try:
        return json.loads(line.decode(), parse_int=_whole_number)
    except UnicodeDecodeError as error:
        raise InputError(_SOURCE, "", f"byte {line[error.start]:#04x} is not UTF-8", expected) from error
    except json.JSONDecodeError as error:
        problem = f"the request is not JSON ({error.msg} at character {error.pos + 1})"
        raise InputError(_SOURCE, "", problem, expected) from error
    except RecursionError as error:
        raise InputError(_SOURCE, "", "the request is nested too deep", expected) from error


def _whole_number(text: str) -> int:
    # The time that int() takes grows with the square of the digits.
    if len(text) > _MOST_DIGITS:
        raise InputError(_SOURCE, "", f"a number of {len(text)} digits", f"at most {_MOST_DIGITS}")
    return int(text)


def _rows(demands: object) -> tuple[Row, ...]:
    if not isinstance(demands, list):
        _refuse("demands", demands, f"a list of {_ROW}")
    if len(demands) > MOST_DEMANDS:
        raise InputError(_SOURCE, "demands", f"{len(demands)} demands", f"at most {MOST_DEMANDS}")
    return tuple(_row(row, f"demands[{at}]") for at, row in enumerate(demands))


def _row(row: object, place: str) -> Row:
    if not isinstance(row, list) or len(row) != 4:
        _refuse(place, row, _ROW)
    source, target, rate, priority = row
    return Row(
        _name(source, f"{place}[0]"),
        _name(target, f"{place}[1]"),
        _rate(rate, f"{place}[2]"),
        _priority(priority, f"{place}[3]"),
    )


def _rate(value: object, place: str) -> float:
    # True and False are numbers to Python.
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        _refuse(place, value, "a finite number of Mbit/s, zero or more")
    return float(value)


def _priority(value: object, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_PRIORITY:
        _refuse(place, value, f"a whole number from 0 to {MOST_PRIORITY}")
    return value


def _name(value: object, place: str) -> str:
    return _text(value, place, LONGEST_NAME)


def _text(value: object, place: str, longest: int) -> str:
    # Messages repeat it, on one line each.
    if not isinstance(value, str) or len(value) > longest or not value.isprintable():
        _refuse(place, value, f"text of at most {longest} characters that can be printed")
    return value


def _refuse(place: str, value: object, expected: str) -> NoReturn:
    raise InputError(_SOURCE, place, f"found {_shown(value)}", expected)


def _shown(value: object) -> str:
    """Return a value as messages show it: shortened when it is long."""
    if isinstance(value, str):
        return quoted(value)
    try:
        text = repr(value)
    except RecursionError:
        return "data nested too deeply to be shown"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
