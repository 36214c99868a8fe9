"""The document of the server's requests is valid by the official meta-schema of OpenAPI 3.1."""

from __future__ import annotations

import json

import pytest

validation = pytest.importorskip(
    "openapi_spec_validator", reason="no openapi-spec-validator, which ./run test installs"
)

from testbed.web.requests import openapi  # noqa: E402  # after the package that may be missing


def test_the_document_is_valid_by_the_official_meta_schema() -> None:
    document = json.loads(json.dumps(openapi()))
    assert [error.message for error in validation.OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_a_document_that_breaks_the_meta_schema_is_noticed() -> None:
    document = json.loads(json.dumps(openapi()))
    del document["paths"]["/api/lab"]["get"]["responses"]["200"]["description"]
    assert list(validation.OpenAPIV31SpecValidator(document).iter_errors())
