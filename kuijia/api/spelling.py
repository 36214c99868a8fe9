"""Options in error messages: written as in Python, or as on the command line, which has the same ones."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.suggestion import unknown

T = TypeVar("T")

_EXPECTED = ", expected "


@dataclass(frozen=True)
class Setting:
    """An option by its name in Python, with a value or without one."""

    option: str
    value: str | int | bool | None = None

    def __str__(self) -> str:
        return self.option if self.value is None else f"{self.option}={self.value!r}"

    @property
    def typed(self) -> str:
        """The setting as on the command line."""
        words = f"--{self.option.replace('_', '-')}"
        return words if self.value is None or self.value is True else f"{words} {self.value}"


Words = str | Setting
Phrase = Words | tuple[Words, ...]
"""Words of a message, to be joined."""


class OptionError(InputError):
    """An input that cannot be used, in a message that names options; by default their spelling is that of Python."""

    def __init__(self, source: str, place: Words | int, problem: Phrase, *expected: Words) -> None:
        super().__init__(source, str(place), in_python(problem), in_python(expected))
        self._words = place, problem, expected

    def typed(self) -> InputError:
        """Return the error with all options as on the command line."""
        place, problem, expected = self._words
        where = place.typed if isinstance(place, Setting) else place
        return InputError(self.source, where, typed(problem), typed(expected))


def bad_option(option: str, problem: Phrase, *expected: Words) -> OptionError:
    """Return the error that a value of an option cannot be used."""
    return OptionError("option", Setting(option), problem, *expected)


@contextmanager
def typed_options() -> Iterator[None]:
    """Write options in errors of the block as on the command line."""
    try:
        yield
    except OptionError as error:
        raise error.typed() from error


@contextmanager
def options_in_python() -> Iterator[None]:
    """Write the option at which an error of the block is placed as in Python."""
    try:
        yield
    except InputError as error:
        if isinstance(error, OptionError) or not error.place.startswith("--"):
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
    """Return the value of an option as the command line would read it; raises OptionError, with the same words."""
    try:
        return parse(_as_word(value))
    except argparse.ArgumentTypeError as error:
        problem, _, expected = str(error).partition(_EXPECTED)
        raise bad_option(option, problem, expected) from error


def parsed_or_none(option: str, value: object | None, parse: Callable[[str], T]) -> T | None:
    return None if value is None else parsed(option, value, parse)


def yes_or_no(option: str, value: object) -> bool:
    """Return the value of an option that is on or off; raises OptionError for any other."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise bad_option(option, quoted(str(value)), "True or False")


def require_known(option: str, value: object, known: Collection[str]) -> None:
    """Raise OptionError unless the value is one of those that an option has."""
    if not isinstance(value, str) or value not in known:
        raise bad_option(option, unknown(str(value), known), f"one of {', '.join(known)}")


def in_python(phrase: Phrase) -> str:
    """Return a phrase with options as in Python."""
    return "".join(map(str, _parts(phrase)))


def typed(phrase: Phrase) -> str:
    """Return a phrase with options as on the command line."""
    return "".join(each.typed if isinstance(each, Setting) else each for each in _parts(phrase))


def _parts(phrase: Phrase) -> tuple[Words, ...]:
    return phrase if isinstance(phrase, tuple) else (phrase,)


def _as_word(value: object) -> str:
    """Return a value as a user types it: entries of a list are separated by commas."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)
