"""Checks data by a JSON Schema: data that plainly conform pass quickly, only the rest goes to the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError


_MOST_FAULTS = 1000
"""Most faults compared to find the first one; a broken file may have one in every second byte."""

Schema = Mapping[str, Any]
_Test = Callable[[object], bool]

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def make_validator(schema: Schema) -> Draft202012Validator:
    """Return the library's validator (draft 2020-12) for a schema; it skips data that plainly conform.

    It finds the same faults as the library alone: the library checks everything that is not known to conform.
    """
    from jsonschema import Draft202012Validator  # noqa: PLC0415  # slow to import, and not needed without data
    from jsonschema.validators import extend  # noqa: PLC0415  # as above

    quick = _QuickKeywords(schema)
    extended = extend(  # type: ignore[no-untyped-call]  # the stubs leave it open
        Draft202012Validator, {"items": quick.items, "properties": quick.properties}
    )
    validator: Draft202012Validator = extended(schema)
    return validator


class _QuickKeywords:
    """The keywords that lead from one level of data to the next; they continue only where a fault is possible."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._tests: dict[int, _Test] = {}

    def items(
        self, validator: Draft202012Validator, wanted: Schema, instance: object, _schema: Schema
    ) -> Iterator[ValidationError]:
        if isinstance(instance, list):
            test = self._test_of(wanted)
            for index, item in enumerate(instance):
                if not test(item):
                    yield from validator.descend(item, wanted, path=index)

    def properties(
        self, validator: Draft202012Validator, wanted: Mapping[str, Schema], instance: object, _schema: Schema
    ) -> Iterator[ValidationError]:
        if isinstance(instance, dict):
            for key, schema in wanted.items():
                if key in instance and not self._test_of(schema)(instance[key]):
                    yield from validator.descend(instance[key], schema, path=key, schema_path=key)

    def _test_of(self, schema: Schema) -> _Test:
        if id(schema) not in self._tests:  # a part lives as long as the whole schema, which the validator keeps
            self._tests[id(schema)] = _test(schema, self._root)
        return self._tests[id(schema)]


def first_faults(validator: Draft202012Validator, data: object) -> Iterator[ValidationError]:
    """Return the faults of data; if there are very many, only those found first."""
    return islice(validator.iter_errors(data), _MOST_FAULTS)


def _test(schema: Schema, root: Schema) -> _Test:
    """Return a test that passes only data that conform to a part of a schema; it may refuse conforming data, too."""
    tests: list[_Test] = []
    for keyword, wanted in schema.items():
        if keyword == "description":
            continue
        if keyword not in _TESTS:
            return lambda _value: False
        tests.append(_TESTS[keyword](wanted, schema, root))
    first, *others = tests or [lambda _value: True]
    return (lambda value: first(value) and all(test(value) for test in others)) if others else first


def _type_test(wanted: str | Sequence[str], _schema: Schema, _root: Schema) -> _Test:
    names = [wanted] if isinstance(wanted, str) else wanted
    kinds = tuple(_TYPES[name] for name in names)
    if "boolean" in names or not {"number", "integer"} & set(names):
        return lambda value: isinstance(value, kinds)
    return lambda value: isinstance(value, kinds) and not isinstance(value, bool)


def _items_test(wanted: Schema, _schema: Schema, root: Schema) -> _Test:
    test = _test(wanted, root)
    return lambda value: isinstance(value, list) and all(map(test, value))


def _properties_test(wanted: Mapping[str, Schema], _schema: Schema, root: Schema) -> _Test:
    tests = {key: _test(each, root) for key, each in wanted.items()}
    return lambda value: (
        isinstance(value, dict) and all(test(value[key]) for key, test in tests.items() if key in value)
    )


def _no_others_test(wanted: object, schema: Schema, _root: Schema) -> _Test:
    keys = schema["properties"].keys()
    return lambda value: wanted is False and isinstance(value, dict) and value.keys() <= keys


def _required_test(wanted: Sequence[str], _schema: Schema, _root: Schema) -> _Test:
    keys = set(wanted)
    return lambda value: isinstance(value, dict) and keys <= value.keys()


def _reference_test(wanted: str, _schema: Schema, root: Schema) -> _Test:
    return _test(root["$defs"][wanted.removeprefix("#/$defs/")], root)


_TESTS: Mapping[str, Callable[[Any, Schema, Schema], _Test]] = {
    "type": _type_test,
    "items": _items_test,
    "properties": _properties_test,
    "additionalProperties": _no_others_test,
    "required": _required_test,
    "$ref": _reference_test,
    "minItems": lambda least, *_: lambda value: isinstance(value, list) and len(value) >= least,
    "maxItems": lambda most, *_: lambda value: isinstance(value, list) and len(value) <= most,
    "minimum": lambda bound, *_: lambda value: isinstance(value, int | float) and value >= bound,
    "maximum": lambda bound, *_: lambda value: isinstance(value, int | float) and value <= bound,
    "exclusiveMinimum": lambda bound, *_: lambda value: isinstance(value, int | float) and value > bound,
}
