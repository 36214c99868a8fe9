"""The OpenAPI document, the schemas and the page of the documentation say what the live lab's server does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from testbed.web import app
from testbed.web.requests import ENDPOINTS, REFUSALS, message_schemas, openapi
from tests.testbed.web.documented import PAGE
from tests.testbed.web.memory_backend import MemoryBackend
from tests.testbed.web.serving import served


@pytest.fixture
def client() -> Iterator[TestClient]:
    with served(MemoryBackend()) as client:
        yield client


def test_the_openapi_document_describes_every_request() -> None:
    document = json.loads(json.dumps(openapi()))
    declared = {(each.path, each.method.lower()) for each in ENDPOINTS}
    assert {(path, method) for path, methods in document["paths"].items() for method in methods} == declared
    operations = [each for methods in document["paths"].values() for each in methods.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    used = {each.rpartition("/")[2] for each in references(document)}
    assert used == set(document["components"]["schemas"])


def references(data: Any) -> Iterator[str]:  # noqa: ANN401  # any part of a document
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        if key == "$ref":
            yield value
        else:
            yield from references(value)


def test_documents_are_served(client: TestClient) -> None:
    assert client.get("/openapi.json").json()["openapi"] == "3.1.0"
    for name in client.get("/schemas/index.json").json():
        schema = client.get(f"/schemas/{name}.json").json()
        assert schema == message_schemas()[name]
        Draft202012Validator.check_schema(schema)


def test_the_page_of_the_documentation_lists_every_request() -> None:
    page = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| ([A-Z]+) \| `(/api/[^`]*)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted((each.method, each.path) for each in ENDPOINTS)


def test_the_document_and_the_page_list_every_status_of_a_refusal() -> None:
    folder = Path(app.__file__).parent
    code = "".join((folder / f"{name}.py").read_text(encoding="utf-8") for name in ("access", "app", "bodies"))
    raised = re.findall(r"(?:refusal|Refused|BodyError)\((\d{3})(?: if .* else (\d{3}))?", code)
    assert {int(status) for pair in raised for status in pair if status} == set(REFUSALS)
    for methods in openapi()["paths"].values():
        for operation in methods.values():
            described = {status: each["description"] for status, each in operation["responses"].items()}
            assert described == {"200": "done", **{str(status): words for status, words in REFUSALS.items()}}
    page = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d{3}) \| ([^|]*) \|$", page, re.MULTILINE)
    assert {int(status): words for status, words in listed} == REFUSALS


@pytest.mark.parametrize(("name", "address"), [("a%b", "a%2525b"), ("..", "%252E%252E")])
def test_names_in_addresses_are_encoded_twice_as_documented(client: TestClient, name: str, address: str) -> None:
    assert f"`/api/nodes/{address}`" in PAGE.read_text(encoding="utf-8")
    done = client.patch(f"/api/nodes/{address}", json={"up": False}).json()
    assert [each["subject"] for each in done["log"]] == [{"node": name}]
