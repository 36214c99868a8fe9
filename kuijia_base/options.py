"""Options that a study declares once, as fields of a frozen data class: from them follow its command line, the checks
of its keywords in Python, and how messages spell an option for users of either.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, Field, dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import numpy as np

from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.suggestion import unknown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Study = TypeVar("Study", bound=DataclassInstance)

T = TypeVar("T")

_EXPECTED = ", expected "


@dataclass(frozen=True)
class Option:
    """Option as users know it: `field: Annotated[type, Option(…)] = default` in the data class of a study.

    Attributes:
        help: for the command line, where `%(default)s` stands for the default.
        value: returns the value of a word; raises ArgumentTypeError.
        metavar: the word for a value in the help.
        choices: all values, if they are few.
        group: title of the group in the help.
        apart: name of a set of options of which a command line has only one.
        keyword: name in Python, if it is not that of the field.
        common: every verb has it, and adds it by itself.
    """

    help: str
    value: Callable[[str], Any] = str
    metavar: str | None = None
    choices: Collection[str] | None = None
    group: str = ""
    apart: str = ""
    keyword: str = ""
    common: bool = False


def declared(study: type[Study]) -> Iterator[tuple[Field[Any], Option]]:
    """Yield the fields of a study that are options."""
    hints = get_type_hints(study, include_extras=True)
    for field in fields(study):
        for each in getattr(hints[field.name], "__metadata__", ()):
            if isinstance(each, Option):
                yield field, each


def add_options(parser: argparse.ArgumentParser, study: type[Study]) -> None:
    """Add the options of a study, in their groups; a field that is on or off, and by default off, takes no value."""
    groups: dict[tuple[str, str], argparse._ActionsContainer] = {("", ""): parser}
    for field, option in declared(study):
        if option.common:
            continue
        if (option.group, "") not in groups:
            groups[option.group, ""] = parser.add_argument_group(option.group)
        if (key := (option.group, option.apart)) not in groups:
            groups[key] = groups[option.group, ""].add_mutually_exclusive_group()
        how: dict[str, Any] = {"action": "store_true"}
        if field.default is not False:
            how = {"type": option.value, "metavar": option.metavar, "choices": option.choices, "default": field.default}
        groups[key].add_argument(f"--{field.name.replace('_', '-')}", help=option.help, **how)


def from_arguments(study: type[Study], args: argparse.Namespace) -> Study:
    """Return the study of parsed arguments."""
    return study(**{field.name: getattr(args, field.name) for field in fields(study)})


def from_keywords(study: type[Study], given: Mapping[str, Any]) -> Study:
    """Return the study of the keywords of a function, checked as the words of the command line are.

    Raises:
        InputError: a value cannot be used.
    """
    values: dict[str, Any] = {}
    for field, option in declared(study):
        name = option.keyword or field.name
        value = given[name]
        if field.default is False:
            values[field.name] = yes_or_no(name, value)
        elif value is None and field.default in {None, MISSING}:
            values[field.name] = None
        else:
            if option.choices is not None:
                require_known(name, value, option.choices)
            values[field.name] = parsed(name, value, option.value)
    return study(**values)


_typed = ContextVar("_typed", default=False)


@contextmanager
def typed_options() -> Iterator[None]:
    """Write the options in messages of the block as on the command line; everywhere else they are as in Python."""
    token = _typed.set(True)
    try:
        yield
    finally:
        _typed.reset(token)


def spelled(option: str, value: object = None) -> str:
    """Return an option, with a value or without one, as the user writes it."""
    if not _typed.get():
        return option if value is None else f"{option}={value!r}"
    words = f"--{option.replace('_', '-')}"
    return words if value is None or value is True else f"{words} {value}"


def bad_option(option: str, problem: str, expected: str) -> InputError:
    """Return the error that a value of an option cannot be used."""
    return InputError("option", spelled(option), problem, expected)


@contextmanager
def options_spelled() -> Iterator[None]:
    """Spell the option at which an error of the block is placed as the user writes it; rooms below type them."""
    try:
        yield
    except InputError as error:
        if not error.place.startswith("--"):
            raise
        raise bad_option(error.place[2:].replace("-", "_"), error.problem, error.expected) from error


@contextmanager
def options_named(other_names: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Report an UnsoundError of the block as an error of the option with which its place begins, or of another one."""
    try:
        yield
    except UnsoundError as error:
        if not error.where:
            raise
        option = str(error.where[0])
        raise bad_option(other_names.get(option, option), error.problem, error.expected) from error


def parsed(option: str, value: object, parse: Callable[[str], T]) -> T:
    """Return the value of an option as the command line would read it; raises InputError, with the same words."""
    try:
        return parse(_as_word(value))
    except argparse.ArgumentTypeError as error:
        problem, _, expected = str(error).partition(_EXPECTED)
        raise bad_option(option, problem, expected) from error


def parsed_or_none(option: str, value: object | None, parse: Callable[[str], T]) -> T | None:
    return None if value is None else parsed(option, value, parse)


def yes_or_no(option: str, value: object) -> bool:
    """Return the value of an option that is on or off; raises InputError for any other."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise bad_option(option, quoted(str(value)), "True or False")


def require_known(option: str, value: object, known: Collection[str]) -> None:
    """Raise InputError unless the value is one of those that an option has."""
    if not isinstance(value, str) or value not in known:
        raise bad_option(option, unknown(str(value), known), f"one of {', '.join(known)}")


def _as_word(value: object) -> str:
    """Return a value as a user types it: entries of a list are separated by commas."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)
