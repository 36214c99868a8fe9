"""Requests of the server's API, declared once: routes, reading of bodies and OpenAPI document follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kuijia_base.text import name_of_address
from simulator.live.states import LogEntry
from testbed.lab.shapes import schema_of
from testbed.web.backend import (
    VERSION,
    Action,
    Description,
    Finding,
    RunCommand,
    SetClock,
    SetDemands,
    SetLink,
    SetNetwork,
    SetNode,
    SetPlan,
    SetScheme,
    StartFlow,
    State,
    StopFlow,
    WithdrawPlan,
)

SMALL, LARGE = 64 * 1024, 32 * 1024 * 1024
"""Most bytes of the body of a request: of most, and of those with a plan or demands."""


@dataclass(frozen=True)
class Switch:
    """The wanted state of a link or node."""

    up: bool


@dataclass(frozen=True)
class Done:
    """A completed action: what the backend reports of it, and the log entries since it began."""

    done: dict[str, Any]
    log: tuple[LogEntry, ...]


@dataclass(frozen=True)
class Refusal:
    """The reason why a request was refused; `findings` if a plan breaks promises."""

    error: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The result of a verification: `sound` if there are no findings."""

    sound: bool
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class LinkLiveness:
    """A link, and True if it is up."""

    id: str
    up: bool


@dataclass(frozen=True)
class TunnelLiveness:
    """A tunnel of the plan in force, and True if it is alive."""

    path_id: int
    source: str
    target: str
    priority: int
    alive: bool


@dataclass(frozen=True)
class Liveness:
    """The parts of the network that work now, under the first scheme."""

    time: float
    links: tuple[LinkLiveness, ...]
    nodes_down: tuple[str, ...]
    tunnels: tuple[TunnelLiveness, ...]


REFUSALS: Mapping[int, str] = {
    400: "the request is malformed",
    401: "the token is missing or wrong",
    403: "a page of another origin sent the request, or the server runs with `--view`",
    404: "no such resource",
    405: "the address does not accept this method",
    408: "the body did not arrive within 20 s",
    409: "refused with a reason; `findings` has the broken promises of a plan",
    413: "the body is too large",
    415: "the type of the body is not `application/json`",
    421: "`Host` is none of the server's names",
    422: "body or query have another shape; the message names the key",
    429: "too many requests at once; `Retry-After` has the seconds to wait",
    431: "the request has more than 100 headers",
    500: "the server has a fault, which its standard error describes",
    503: "the network does not answer",
}
"""Statuses of refused requests, and what they mean."""

Read = Literal["lab", "state", "log", "events", "plan", "topology", "liveness", "verify"]
"""Requests that change nothing."""


@dataclass(frozen=True)
class Endpoint:
    """A request.

    Attributes:
        method, path: of HTTP; a part of the path in braces is the name of a thing.
        summary: what it does, in a sentence without a full stop.
        answer: shape of the JSON of the answer; None for any object.
        read: which reading it is; None for an action.
        body: shape of the JSON of its body, None if it has none; `dict` for a plan.
        action: makes the action from the name in the path and the body.
        largest: most bytes of the body.
        streams: True if the answer is a stream of events.
        query: whole numbers in the query, with their descriptions.
    """

    method: str
    path: str
    summary: str
    answer: Any
    read: Read | None = None
    body: Any = None
    action: Callable[[str, Any], Action] | None = None
    largest: int = SMALL
    streams: bool = False
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def named(self) -> str | None:
        """Name of the thing in the path, None if there is none."""
        _, brace, rest = self.path.partition("{")
        return rest.rstrip("}") if brace else None


FIRST_ENTRIES = 500
"""Log entries that a stream of events begins with, at most."""

_KNOWN = "number of the last log entry that is known"
_AFTER = {"after": f"{_KNOWN}; those above it follow"}
_STREAMED = {"after": f"{_KNOWN}; of those above it the last {FIRST_ENTRIES} follow; `GET /api/log` has more"}

ENDPOINTS = (
    Endpoint("GET", "/api/lab", "Describe the network, its queues and tunnels", Description, "lab"),
    Endpoint("GET", "/api/state", "Return the state of now", State, "state"),
    Endpoint("GET", "/api/log", "Return the log", tuple[LogEntry, ...], "log", query=_AFTER),
    Endpoint(
        "GET",
        "/api/events",
        "Follow descriptions, states and log entries",
        None,
        "events",
        streams=True,
        query=_STREAMED,
    ),
    Endpoint("GET", "/api/plan", "Return the plan in force", None, "plan"),
    Endpoint("GET", "/api/topology", "Return the topology, as in a plan", None, "topology"),
    Endpoint("GET", "/api/liveness", "Return which links, nodes and tunnels work", Liveness, "liveness"),
    Endpoint("POST", "/api/verify", "Verify a plan without applying it", Verdict, "verify", body=dict, largest=LARGE),
    Endpoint(
        "PATCH",
        "/api/links/{id}",
        "Cut or restore a link",
        Done,
        body=Switch,
        action=lambda name, body: SetLink(name, body.up),
    ),
    Endpoint(
        "PATCH",
        "/api/nodes/{name}",
        "Take a node down, or restore it",
        Done,
        body=Switch,
        action=lambda name, body: SetNode(name_of_address(name), body.up),
    ),
    Endpoint(
        "PUT",
        "/api/demands",
        "Solve for other demands, and put the plan in force",
        Done,
        body=SetDemands,
        action=lambda _, body: body,
        largest=LARGE,
    ),
    Endpoint(
        "PUT",
        "/api/plan",
        "Verify a plan and put it in force",
        Done,
        body=dict,
        action=lambda _, body: SetPlan(body),
        largest=LARGE,
    ),
    Endpoint("DELETE", "/api/plan", "Withdraw the plan", Done, action=lambda *_: WithdrawPlan()),
    Endpoint("POST", "/api/flows", "Start a flow", Done, body=StartFlow, action=lambda _, body: body),
    Endpoint("DELETE", "/api/flows/{id}", "Stop a started flow", Done, action=lambda name, _: StopFlow(name)),
    Endpoint("PUT", "/api/scheme", "Choose the failure schemes", Done, body=SetScheme, action=lambda _, body: body),
    Endpoint(
        "PATCH",
        "/api/clock",
        "Set or hold the clock of a model or a recording",
        Done,
        body=SetClock,
        action=lambda _, body: body,
    ),
    Endpoint(
        "PUT",
        "/api/network",
        "Show another network in a model",
        Done,
        body=SetNetwork,
        action=lambda _, body: body,
        largest=LARGE,
    ),
    Endpoint(
        "POST",
        "/api/console",
        "Run a command on a host of a real lab, and follow its output",
        None,
        body=RunCommand,
        action=lambda _, body: body,
        streams=True,
    ),
)
"""All requests of the API."""


MESSAGES = {
    shape.__name__: shape
    for shape in (
        Description,
        State,
        LogEntry,
        Done,
        Refusal,
        Verdict,
        Liveness,
        Switch,
        *(each.body for each in ENDPOINTS if each.body not in {None, dict, Switch}),
    )
}
"""Messages by name."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def message_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each message, by its name."""
    return {
        name: {"$schema": _DIALECT, "$id": f"/schemas/{name}.json", **schema_of(shape)}
        for name, shape in MESSAGES.items()
    }


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document."""
    components: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    for each in ENDPOINTS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, components)
    _reference(Refusal, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Kuijia's live lab",
            "version": str(VERSION),
            "description": "Rates are in Mbit/s and times in seconds. The printed link has the token.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(each: Endpoint, components: dict[str, Any]) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "query", "description": what, "schema": {"type": "integer", "minimum": 0}}
        for name, what in each.query.items()
    ]
    if each.named is not None:
        parameters.append({"name": each.named, "in": "path", "required": True, "schema": {"type": "string"}})
    content_type = "text/event-stream" if each.streams else "application/json"
    schema = (
        {"type": "string"}
        if each.streams
        else {"type": "object"}
        if each.answer is None
        else _reference(each.answer, components)
    )
    found: dict[str, Any] = {
        "operationId": _identifier(each),
        "summary": each.summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": "done", "content": {content_type: {"schema": schema}}},
            **{str(status): _refusal(words) for status, words in REFUSALS.items()},
        },
    }
    if each.body is not None:
        schema = {"type": "object"} if each.body is dict else _reference(each.body, components)
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return found


def _identifier(each: Endpoint) -> str:
    words = each.path.removeprefix("/api/").partition("/")[0]
    return f"{each.method.lower()}_{words}"


def _refusal(words: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Refusal"}
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _reference(shape: Any, components: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401  # a class or a type hint
    """Return a reference to a message's schema, which is put among the components with all that it refers to."""
    schema = _moved(schema_of(shape))
    components.update(schema.pop("$defs", {}))
    if "title" not in schema:
        return dict(schema)
    components[schema["title"]] = schema
    return {"$ref": f"#/components/schemas/{schema['title']}"}


def _moved(schema: Any) -> Any:  # noqa: ANN401  # any part of a schema
    """Return a schema whose references lead into the components of the document."""
    if isinstance(schema, list):
        return [_moved(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.replace("#/$defs/", "#/components/schemas/") if key == "$ref" else _moved(value)
        for key, value in schema.items()
    }
