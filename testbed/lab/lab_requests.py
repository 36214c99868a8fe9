"""Requests to the lab service: their one declared shape, and the reading of a line as one of them. Pure data.

Every request and every answer names the version of this protocol. Programs of another version get one clear refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from kuijia_base.errors import InputError, quoted
from kuijia_base.json_document import json_data
from kuijia_base.reading import reading
from testbed.lab.shapes import ShapeLimits, from_json

VERSION = 1

MOST_PRIORITY = 255
MOST_FLOW_SECONDS = 86_400
_SOURCE = "lab"

Name = Annotated[str, ShapeLimits(longest=256)]
Priority = Annotated[int, ShapeLimits(least=0, most=MOST_PRIORITY)]
FileName = Annotated[str, ShapeLimits(longest=4096)]  # PATH_MAX of Linux
EventNumber = Annotated[int, ShapeLimits(least=0)]

RequestedDemand: TypeAlias = tuple[Name, Name, Annotated[float, ShapeLimits(least=0)], Priority]
"""Source, target, rate in the user's unit, before the lab's factor is applied, and priority."""


@dataclass(frozen=True)
class Query:
    """A request that only reads: the state of the lab, its counters, its plan, or the plan's topology."""

    do: Literal["status", "counters", "topology", "plan"]


@dataclass(frozen=True)
class ReadEvents:
    """A request for the events with a number above `after`."""

    after: EventNumber


@dataclass(frozen=True)
class FollowEvents:
    """A request for events as they happen; with `after` also for earlier ones with a number above it."""

    after: EventNumber | None = None


@dataclass(frozen=True)
class SwitchLink:
    """A request to cut the link between two nodes, or to restore it."""

    do: Literal["fail", "heal"]
    a: Name
    b: Name


@dataclass(frozen=True)
class SwitchNode:
    """A request to cut all links of a node, or to restore them."""

    do: Literal["fail", "heal"]
    node: Name


@dataclass(frozen=True)
class Update:
    """A request to replace the plan by one for these demands; messages call them `source`."""

    demands: Annotated[tuple[RequestedDemand, ...], ShapeLimits(longest=100_000)]
    source: FileName


@dataclass(frozen=True)
class ReplacePlan:
    """A request to replace the plan by this one, in its JSON form; messages call it `source`."""

    plan: dict[str, Any]
    source: FileName


@dataclass(frozen=True)
class Withdraw:
    """A request to take the plan out of force, or the update that is under way."""


@dataclass(frozen=True)
class HandOver:
    """A request that the active controller hands over to another one."""


@dataclass(frozen=True)
class FlowWish:
    """A request for an iperf3 flow between two hosts: by UDP at `rate` Mbit/s, or by TCP as fast as it can."""

    source: Name
    target: Name
    kind: Literal["udp", "tcp"]
    rate: Annotated[float, ShapeLimits(above=0, most=100_000)] | None
    seconds: Annotated[int, ShapeLimits(least=1, most=MOST_FLOW_SECONDS)]
    priority: Priority = 0


@dataclass(frozen=True)
class EndFlow:
    """A request to end a flow before its time."""

    flow: Name


@dataclass(frozen=True)
class ChooseScheme:
    """A request for another scheme."""

    scheme: Name


@dataclass(frozen=True)
class Enter:
    """A request for what a program needs to run in a node's host; `command`, if given, becomes an event."""

    node: Name
    command: Annotated[str, ShapeLimits(longest=1000)] = ""


@dataclass(frozen=True)
class Down:
    """A request to take the lab down."""


Change = SwitchLink | SwitchNode | Update | ReplacePlan | Withdraw | HandOver | FlowWish | EndFlow | ChooseScheme
Request = Query | ReadEvents | FollowEvents | Change | Enter | Down


_REQUESTS: Mapping[str, type[Request]] = {
    **dict.fromkeys(("status", "counters", "topology", "plan"), Query),
    "log": ReadEvents,
    "watch": FollowEvents,
    **dict.fromkeys(("fail", "heal"), SwitchLink),
    "update": Update,
    "replace": ReplacePlan,
    "withdraw": Withdraw,
    "handover": HandOver,
    "start-flow": FlowWish,
    "stop-flow": EndFlow,
    "scheme": ChooseScheme,
    "enter": Enter,
    "down": Down,
}


def parse_request(line: bytes) -> Request:
    """Return the request on a line of JSON.

    Raises:
        InputError: the line is no UTF-8, no JSON, of another version or no request; the place is the member at fault.
    """
    expected = "a JSON object on a line"
    with reading(_SOURCE, expected):
        request = json_data(line.decode(), _SOURCE, expected)
    if not isinstance(request, dict) or not isinstance(do := request.pop("do", None), str):
        raise InputError(_SOURCE, "", "no request", "an object whose member `do` says what to do")
    _require_version(request.pop("version", None))
    if do not in _REQUESTS:
        raise InputError(_SOURCE, "", f"unknown request {quoted(do)}", ", ".join(_REQUESTS))
    shape: type[Request] = SwitchNode if _REQUESTS[do] is SwitchLink and "node" in request else _REQUESTS[do]
    keeps_do = shape in (Query, SwitchLink, SwitchNode)
    found: Request = from_json(shape, {"do": do, **request} if keeps_do else request, _SOURCE)
    if isinstance(found, FlowWish) and (found.kind == "tcp") != (found.rate is None):
        raise InputError(_SOURCE, "rate", f"found {found.rate}", "Mbit/s of UDP, null of TCP, which sends what it can")
    return found


def _require_version(version: object) -> None:
    if type(version) is not int or version != VERSION:
        problem = "a request without a version" if version is None else f"a request of version {quoted(str(version))}"
        expected = f"version {VERSION}, which this lab speaks: use the Kuijia that started it"
        raise InputError(_SOURCE, "", problem, expected)
