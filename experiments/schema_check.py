"""Checks JSON data from files against a schema (draft 2020-12) whose descriptions state the expected value."""

from __future__ import annotations

from pathlib import Path

from jsonschema import Draft202012Validator

from te_solver.errors import InputError, key_path


def refuse_fault(data: object, validator: Draft202012Validator, source: str | Path) -> None:
    """Raise InputError for the first violation of a schema; names `source` and the place of the fault as the key."""
    fault = min(validator.iter_errors(data), key=lambda error: error.json_path, default=None)
    if fault is not None:
        place = key_path(tuple(fault.absolute_path))
        raise InputError(source, place, "breaks the schema", str(fault.schema.get("description", fault.message)))
