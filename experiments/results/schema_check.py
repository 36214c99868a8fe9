"""Checks JSON data from files against a schema (draft 2020-12) whose descriptions state the expected value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kuijia_base.errors import InputError, key_path, quoted
from kuijia_base.validation import first_faults

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


def refuse_fault(data: object, validator: Draft202012Validator, source: str | Path) -> None:
    """Raise InputError for the first violation of a schema; names `source` and the place of the fault as the key."""
    fault = min(first_faults(validator, data), key=lambda error: error.json_path, default=None)
    if fault is not None:
        assert isinstance(fault.schema, Mapping), "a fault is found by the part of our schema for its place"
        place = key_path(tuple(fault.absolute_path))
        expected = fault.schema.get("description") or quoted(fault.message)  # which has the value, however long
        raise InputError(source, place, "breaks the schema", str(expected))
