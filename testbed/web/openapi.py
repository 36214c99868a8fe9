"""The OpenAPI document (3.1) of the server's API and the JSON Schemas of its messages, from the declared requests."""

from __future__ import annotations

from typing import Any

from simulator.live.states import LogEntry
from testbed.lab.shapes import schema_of
from testbed.web.backend import VERSION, Description, State
from testbed.web.requests import ENDPOINTS, REFUSALS, Done, Endpoint, Liveness, Refusal, Switch, Verdict

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
