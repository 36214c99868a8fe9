"""Holds JSON data from files against a schema (draft 2020-12) whose descriptions say what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jsonschema import Draft202012Validator

from te_solver.errors import InputError, key_path
from te_solver.schemas.validation import first_faults


def refuse_fault(data: object, validator: Draft202012Validator, source: str | Path) -> None:
    """Raise InputError for the first place at which data break a schema; its source is `source`, its place the key."""
    fault = min(first_faults(validator, data), key=lambda error: error.json_path, default=None)
    if fault is not None:
        assert isinstance(fault.schema, Mapping), "a fault is found by the part of our schema for its place"
        place = key_path(tuple(fault.absolute_path))
        raise InputError(source, place, "breaks the schema", str(fault.schema.get("description", fault.message)))
