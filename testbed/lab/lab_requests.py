"""Requests to the lab service: their one declared shape, and the reading of a line as one of them. Pure data.

Every request and every answer names the version of this protocol. Programs of another version get one clear refusal.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from kuijia_base.errors import InputError, quoted

VERSION = 1

LONGEST_NAME = 256
"""Characters of a node's name."""

LONGEST_SOURCE = 4096
"""Characters of the name of the file that demands come from: PATH_MAX of Linux."""

LONGEST_COMMAND = 1000
"""Characters of a command line that becomes an event."""

MOST_DEMANDS = 100_000
MOST_PRIORITY = 255
MOST_FLOW_RATE = 100_000.0
MOST_FLOW_SECONDS = 86_400
_FLOW_MEMBERS = {"source", "target", "kind", "rate", "seconds", "priority"}
_MOST_DIGITS = 20
_SHOWN_CHARACTERS = 200
_SOURCE = "lab"
_KNOWN = (
    "status, counters, topology, plan, log, watch, fail, heal, update, replace, withdraw, handover, start-flow,"
    " stop-flow, scheme, enter or down"
)
_ROW = "[SOURCE, TARGET, RATE, PRIORITY]"


@dataclass(frozen=True)
class Query:
    """A request that only reads: the state of the lab, its counters, its plan, or the plan's topology."""

    what: Literal["status", "counters", "topology", "plan"]


@dataclass(frozen=True)
class ReadEvents:
    """A request for the events with a number above `after`."""

    after: int


@dataclass(frozen=True)
class FollowEvents:
    """A request for events as they happen; with `after` also for earlier ones with a number above it."""

    after: int | None


@dataclass(frozen=True)
class SwitchLink:
    """A request to cut the link between two nodes, or to restore it."""

    what: Literal["fail", "heal"]
    a: str
    b: str


@dataclass(frozen=True)
class SwitchNode:
    """A request to cut all links of a node, or to restore them."""

    what: Literal["fail", "heal"]
    node: str


@dataclass(frozen=True)
class RequestedDemand:
    """A demand as users give it: `rate` in their unit, before the lab's factor is applied."""

    source: str
    target: str
    rate: float
    priority: int


@dataclass(frozen=True)
class Update:
    """A request to replace the plan by one for these demands; messages call them `source`."""

    demands: tuple[RequestedDemand, ...]
    source: str


@dataclass(frozen=True)
class ReplacePlan:
    """A request to replace the plan by this one, in its JSON form; messages call it `source`."""

    plan: dict[str, Any]
    source: str


@dataclass(frozen=True)
class Withdraw:
    """A request to take the plan out of force, or the update that is under way."""


@dataclass(frozen=True)
class HandOver:
    """A request that the active controller hands over to another one."""


@dataclass(frozen=True)
class FlowWish:
    """A request for an iperf3 flow between two hosts: by UDP at `rate` Mbit/s, or by TCP as fast as it can."""

    source: str
    target: str
    kind: Literal["udp", "tcp"]
    rate: float | None
    seconds: int
    priority: int = 0


@dataclass(frozen=True)
class EndFlow:
    """A request to end a flow before its time."""

    flow: str


@dataclass(frozen=True)
class ChooseScheme:
    """A request for another scheme."""

    scheme: str


@dataclass(frozen=True)
class Enter:
    """A request for what a program needs to run in a node's host; `command`, if given, becomes an event."""

    node: str
    command: str = ""


@dataclass(frozen=True)
class Down:
    """A request to take the lab down."""


Change = SwitchLink | SwitchNode | Update | ReplacePlan | Withdraw | HandOver | FlowWish | EndFlow | ChooseScheme
Request = Query | ReadEvents | FollowEvents | Change | Enter | Down


def parse_request(line: bytes) -> Request:
    """Return the request on a line of JSON.

    Raises:
        InputError: the line is no UTF-8, no JSON, of another version or no request; the place is the member at fault.
    """
    request = _json(line)
    if isinstance(request, dict) and "do" in request:
        _require_version(request.pop("version", None))
    found = _look(request) or _change(request)
    if found is None:
        raise InputError(_SOURCE, "", f"unknown request {_shown(request)}", _KNOWN)
    return found


def _require_version(version: object) -> None:
    if type(version) is not int or version != VERSION:
        problem = "a request without a version" if version is None else f"a request of version {_shown(version)}"
        expected = f"version {VERSION}, which this lab speaks: use the Kuijia that started it"
        raise InputError(_SOURCE, "", problem, expected)


def _look(request: object) -> Request | None:
    match request:
        case {"do": "status" | "counters" | "topology" | "plan" as look, **rest} if not rest:
            return Query(look)
        case {"do": "log", "after": after, **rest} if not rest:
            return ReadEvents(_whole(after, "after"))
        case {"do": "watch", **rest} if not rest.keys() - {"after"}:
            after = rest.get("after")
            return FollowEvents(None if after is None else _whole(after, "after"))
        case {"do": "enter", "node": node, **rest} if not rest.keys() - {"command"}:
            return Enter(_name(node, "node"), _text(rest.get("command", ""), "command", LONGEST_COMMAND))
        case {"do": "down", **rest} if not rest:
            return Down()
    return None


def _change(request: object) -> Change | None:  # noqa: PLR0911  # one branch a request
    match request:
        case {"do": "fail" | "heal" as what, "a": a, "b": b, **rest} if not rest:
            return SwitchLink(what, _name(a, "a"), _name(b, "b"))
        case {"do": "fail" | "heal" as what, "node": node, **rest} if not rest:
            return SwitchNode(what, _name(node, "node"))
        case {"do": "update", "demands": demands, "source": source, **rest} if not rest:
            return Update(_rows(demands), _text(source, "source", LONGEST_SOURCE))
        case {"do": "replace", "plan": plan, "source": source, **rest} if not rest:
            if not isinstance(plan, dict):
                _refuse("plan", plan, "a plan in JSON")
            return ReplacePlan(plan, _text(source, "source", LONGEST_SOURCE))
        case {"do": "withdraw" | "handover" as what, **rest} if not rest:
            return Withdraw() if what == "withdraw" else HandOver()
        case {"do": "start-flow", **wish} if wish.keys() == _FLOW_MEMBERS:
            return _flow(wish)
        case {"do": "stop-flow", "flow": flow, **rest} if not rest:
            return EndFlow(_name(flow, "flow"))
        case {"do": "scheme", "scheme": scheme, **rest} if not rest:
            return ChooseScheme(_name(scheme, "scheme"))
    return None


def _flow(request: dict[Any, Any]) -> FlowWish:
    kind, rate = request["kind"], request["rate"]
    if kind not in ("udp", "tcp"):
        _refuse("kind", kind, "udp or tcp")
    if kind == "tcp" and rate is not None:
        _refuse("rate", rate, "null for TCP, which sends as fast as it can")
    if kind == "udp" and not 0 < _rate(rate, "rate") <= MOST_FLOW_RATE:
        _refuse("rate", rate, f"more than 0 and at most {MOST_FLOW_RATE:g} Mbit/s")
    seconds = request["seconds"]
    if type(seconds) is not int or not 1 <= seconds <= MOST_FLOW_SECONDS:
        _refuse("seconds", seconds, f"a whole number from 1 to {MOST_FLOW_SECONDS}")
    return FlowWish(
        _name(request["source"], "source"),
        _name(request["target"], "target"),
        kind,
        None if kind == "tcp" else float(rate),
        seconds,
        _priority(request["priority"], "priority"),
    )


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


def _rows(demands: object) -> tuple[RequestedDemand, ...]:
    if not isinstance(demands, list):
        _refuse("demands", demands, f"a list of {_ROW}")
    if len(demands) > MOST_DEMANDS:
        raise InputError(_SOURCE, "demands", f"{len(demands)} demands", f"at most {MOST_DEMANDS}")
    return tuple(_row(row, f"demands[{at}]") for at, row in enumerate(demands))


def _row(row: object, place: str) -> RequestedDemand:
    if not isinstance(row, list) or len(row) != 4:
        _refuse(place, row, _ROW)
    source, target, rate, priority = row
    return RequestedDemand(
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


def _whole(value: object, place: str) -> int:
    if type(value) is not int or value < 0:
        _refuse(place, value, "a whole number, zero or more")
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
