"""One declaration of each message, a frozen dataclass: from it come the JSON, the reading of JSON and the JSON Schema.

The type hints of a class may use texts, numbers, truth values, `None`, `Literal`, tuples, mappings by text, other such
classes, and `Annotated` with `ShapeLimits`. A field called `from_` is the member `from`.
"""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from kuijia_base.errors import InputError, quoted

Shape = TypeVar("Shape")

_SHOWN_CHARACTERS = 80


@dataclass(frozen=True)
class ShapeLimits:
    """Bounds of a value: `least` and `most` of a number, `above` excluded, and `longest` of a text or a list."""

    least: float | None = None
    above: float | None = None
    most: float | None = None
    longest: int | None = None


def to_json(value: Any) -> Any:  # noqa: ANN401  # any message, and JSON has no type
    """Return the JSON data of a message."""
    if not is_dataclass(value):
        return [to_json(each) for each in value] if isinstance(value, tuple | list) else value
    write = _writer(type(value))  # type: ignore[arg-type]  # a class is hashable
    return write(value) if write else value


def from_json(shape: type[Shape], data: object, source: str = "request") -> Shape:
    """Return the message that JSON data hold.

    Raises:
        InputError: the data do not have this shape; its place is the key.
    """
    found: Shape = _read(shape, data, source, "")
    return found


def schema_of(shape: Any) -> dict[str, Any]:  # noqa: ANN401  # a class or a type hint
    """Return the JSON Schema (draft 2020-12) of a message; other classes become references into `$defs`."""
    definitions: dict[str, dict[str, Any]] = {}
    schema = _schema(shape, definitions, at_top=True)
    return {**schema, "$defs": definitions} if definitions else schema


@cache
def members(shape: type) -> dict[str, tuple[str, Any, bool]]:
    """Return for each member of the JSON its field, its type hint, and True if it must be given."""
    hints = get_type_hints(shape, include_extras=True)
    return {
        field.name.rstrip("_"): (
            field.name,
            hints[field.name],
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(shape)
    }


@cache
def _writer(hint: Any) -> Callable[[Any], Any] | None:  # noqa: ANN401  # a type hint
    """Return the function that makes JSON of such values; None if they are JSON already."""
    if is_dataclass(hint):
        parts = [(name, field, _writer(of)) for name, (field, of, _) in members(hint).items()]  # type: ignore[arg-type]

        def write(value: object) -> dict[str, Any]:
            return {
                name: getattr(value, field) if inner is None else inner(getattr(value, field))
                for name, field, inner in parts
            }

        return write
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _writer(arguments[0])
    if origin is tuple:
        each_of = _writer(arguments[0]) if arguments[-1] is Ellipsis else None
        return list if each_of is None else lambda values: list(map(each_of, values))
    if origin in (Union, types.UnionType):
        inner = next(filter(None, (_writer(each) for each in arguments)), None)
        return None if inner is None else lambda value: None if value is None else inner(value)
    return None


def _read(hint: Any, data: Any, source: str, place: str) -> Any:  # noqa: ANN401, PLR0911  # one branch a kind
    origin, arguments = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return _read_class(hint, data, source, place)  # type: ignore[arg-type]
    if origin is Annotated:
        return _within(_read(arguments[0], data, source, place), arguments[1], source, place)
    if origin is Literal:
        # True equals 1 to Python.
        if not any(type(each) is type(data) and each == data for each in arguments):
            _refuse(data, source, place, " or ".join(map(str, arguments)))
        return data
    if origin is tuple:
        return _read_list(arguments, data, source, place)
    if origin in (Union, types.UnionType):
        if data is None and type(None) in arguments:
            return None
        return _read(next(each for each in arguments if each is not type(None)), data, source, place)
    if origin is dict:
        if not isinstance(data, dict):
            _refuse(data, source, place, "an object")
        return {key: _read(arguments[1], each, source, _inside(place, quoted(key))) for key, each in data.items()}
    return _read_plain(hint, data, source, place)


def _read_plain(hint: Any, data: Any, source: str, place: str) -> Any:  # noqa: ANN401  # whatever JSON holds
    if hint is Any:
        return data
    if hint is float:
        if isinstance(data, bool) or not isinstance(data, int | float) or not _is_finite(data):
            _refuse(data, source, place, "a finite number")
        return float(data)
    if type(data) is not hint:
        _refuse(data, source, place, {str: "a text", int: "a whole number", bool: "true or false"}[hint])
    if hint is str and not data.isprintable():
        _refuse(data, source, place, "text that can be printed")
    return data


def _read_class(shape: type, data: object, source: str, place: str) -> object:
    if not isinstance(data, dict):
        _refuse(data, source, place, "an object")
    known = members(shape)
    for key in data:
        if key not in known:
            raise InputError(source, place, f"unknown member {quoted(key)}", ", ".join(known) or "none")
    values = {}
    for name, (field, hint, needed) in known.items():
        if name in data:
            values[field] = _read(hint, data[name], source, _inside(place, name))
        elif needed:
            raise InputError(source, place, f"there is no {name}", f"an object with {', '.join(known)}")
    return shape(**values)


def _read_list(arguments: tuple[Any, ...], data: object, source: str, place: str) -> tuple[object, ...]:
    if not isinstance(data, list):
        _refuse(data, source, place, "a list")
    if arguments[-1] is Ellipsis:
        arguments = (arguments[0],) * len(data)
    if len(data) != len(arguments):
        _refuse(data, source, place, f"a list of {len(arguments)}")
    return tuple(
        _read(hint, each, source, f"{place}[{at}]") for at, (hint, each) in enumerate(zip(arguments, data, strict=True))
    )


def _within(value: Any, limits: ShapeLimits, source: str, place: str) -> Any:  # noqa: ANN401  # a number, text or list
    if isinstance(value, str | tuple):
        if limits.longest is not None and len(value) > limits.longest:
            raise InputError(source, place, f"its length is {len(value)}", f"at most {limits.longest}")
        return value
    if value is None:
        return None
    for bound, is_broken, words in (
        (limits.least, operator.lt, "at least"),
        (limits.above, operator.le, "more than"),
        (limits.most, operator.gt, "at most"),
    ):
        if bound is not None and is_broken(value, bound):
            _refuse(value, source, place, f"{words} {bound:g}")
    return value


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number larger than any float
        return False


def _refuse(data: object, source: str, place: str, expected: str) -> NoReturn:
    if isinstance(data, str):
        shown = quoted(data)
    elif isinstance(data, list | dict):
        shown = f"{'a list' if isinstance(data, list) else 'an object'} of {len(data)}"
    else:
        text = "null" if data is None else str(data) if not abs(data) >= 1e300 else "a huge number"  # type: ignore[arg-type]
        shown = text[:_SHOWN_CHARACTERS]
    raise InputError(source, place, f"found {shown}", expected)


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _schema(hint: Any, definitions: dict[str, Any], *, at_top: bool = False) -> dict[str, Any]:  # noqa: ANN401
    origin, arguments = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        shape: type = hint  # type: ignore[assignment]
        if at_top:
            return _class_schema(shape, definitions)
        if shape.__name__ not in definitions:
            definitions[shape.__name__] = {}
            definitions[shape.__name__] = _class_schema(shape, definitions)
        return {"$ref": f"#/$defs/{shape.__name__}"}
    if origin in _COMPOUND:
        return _COMPOUND[origin](arguments, definitions)
    if hint is Any:
        return {}
    names = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    return {"type": names[hint]}


def _tuple_schema(arguments: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    if arguments[-1] is Ellipsis:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    items = [_schema(each, definitions) for each in arguments]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def _either_schema(arguments: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [_schema(each, definitions) for each in arguments]}


_COMPOUND: Mapping[Any, Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]] = {
    Annotated: lambda arguments, definitions: {**_schema(arguments[0], definitions), **_bounds(arguments[1])},
    Literal: lambda arguments, _: {"enum": list(arguments)},
    tuple: _tuple_schema,
    Union: _either_schema,
    types.UnionType: _either_schema,
    dict: lambda arguments, definitions: {
        "type": "object",
        "additionalProperties": _schema(arguments[1], definitions),
    },
}


def _class_schema(shape: type, definitions: dict[str, Any]) -> dict[str, Any]:
    known = members(shape)
    return {
        "type": "object",
        "title": shape.__name__,
        "description": " ".join((shape.__doc__ or "").partition("\n\n")[0].split()),
        "properties": {name: _schema(hint, definitions) for name, (_, hint, _) in known.items()},
        "required": [name for name, (_, _, needed) in known.items() if needed],
        "additionalProperties": False,
    }


def _bounds(limits: ShapeLimits) -> Mapping[str, float]:
    found = {
        "minimum": limits.least,
        "exclusiveMinimum": limits.above,
        "maximum": limits.most,
        "maxLength": limits.longest,
        "maxItems": limits.longest,
    }
    return {key: value for key, value in found.items() if value is not None}
