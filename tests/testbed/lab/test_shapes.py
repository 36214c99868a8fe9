"""Messages of the live lab: their JSON, its reading, and its schema say the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kuijia_base.errors import InputError
from simulator.live.states import LogEntry
from testbed.lab.shapes import from_json, schema_of, to_json
from testbed.web.backend import Description, SetClock, SetDemands, SetLink, StartFlow, State
from tests.testbed.web.memory_backend import MemoryBackend


def test_messages_keep_their_content_through_json() -> None:
    backend = MemoryBackend()
    backend.act(SetLink("s1~s3", up=False))
    for message in (backend.describe(), backend.state(), *backend.events(0)):
        data = json.loads(json.dumps(to_json(message)))
        Draft202012Validator(schema_of(type(message))).validate(data)
        assert from_json(type(message), data) == message


def test_a_direction_is_from_one_node_to_another() -> None:
    link = to_json(MemoryBackend().state())["views"][0]["links"][0]
    assert [(each["from"], each["to"]) for each in link["directions"]] == [("s1", "s2"), ("s2", "s1")]


@pytest.mark.parametrize(
    ("shape", "data", "complaint"),
    [
        (SetLink, [], "found a list of 0, expected an object"),
        (SetLink, {"id": "a~b"}, "there is no up, expected an object with id, up"),
        (SetLink, {"id": "a~b", "up": 1}, "request:up: found 1, expected true or false"),
        (SetLink, {"id": "a" * 300, "up": True}, "request:id: its length is 300, expected at most 256"),
        (SetLink, {"id": "a\n", "up": True}, "expected text that can be printed"),
        (SetLink, {"id": "a", "up": True, "no": 1}, "unknown member 'no', expected id, up"),
        (SetDemands, {"demands": [["a", "b", -1, 0]]}, "request:demands[0][2]: found -1.0, expected at least 0"),
        (SetDemands, {"demands": [["a", "b", 1]]}, "request:demands[0]: found a list of 3, expected a list of 4"),
        (SetDemands, {"demands": [["a", "b", 10**400, 0]]}, "found a huge number, expected a finite number"),
        (SetDemands, {"demands": [["a", "b", float("nan"), 0]]}, "found nan, expected a finite number"),
        (SetDemands, {"demands": {"a": 1}}, "request:demands: found an object of 1, expected a list"),
        (StartFlow, {"source": "a", "target": "b", "rate": 0}, "request:rate: found 0.0, expected more than 0"),
        (StartFlow, {"source": "a", "target": "b", "rate": 1, "kind": "x"}, "found 'x', expected udp or tcp"),
        (SetClock, {"speed": 5000}, "request:speed: found 5000.0, expected at most 1000"),
    ],
)
def test_other_shapes_are_refused_by_reader_and_schema(shape: type[Any], data: object, complaint: str) -> None:
    with pytest.raises(InputError, match=r".") as refusal:
        from_json(shape, data)
    assert complaint in str(refusal.value)
    if "printed" not in complaint and "nan" not in complaint and "huge" not in complaint:
        assert not Draft202012Validator(schema_of(shape)).is_valid(data)


@pytest.mark.parametrize("shape", [Description, State, LogEntry, SetDemands, SetClock, StartFlow])
def test_schemas_are_schemas(shape: type[Any]) -> None:
    Draft202012Validator.check_schema(schema_of(shape))
