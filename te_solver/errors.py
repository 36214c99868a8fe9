"""Errors that end a command with one line for the user, whichever part raises them."""

from __future__ import annotations

from pathlib import Path

_SHOWN_CHARACTERS = 60


class KuijiaError(Exception):
    """A failure the user is told of in one line, without a traceback; the command exits with `exit_status`."""

    exit_status = 1


class InputError(KuijiaError, ValueError):
    """Input or surroundings that cannot be used: the command exits with status 2 and has changed nothing.

    `place` is a line number or a key within `source`; it is empty when the whole source is meant.
    """

    exit_status = 2

    def __init__(self, source: str | Path, place: str | int, problem: str, expected: str) -> None:
        self.source = str(source)
        self.place = str(place)
        self.problem = problem
        self.expected = expected
        where = f"{self.source}:{self.place}" if self.place else self.source
        super().__init__(f"{where}: {problem}, expected {expected}")


class InterruptedWorkError(KeyboardInterrupt):
    """Somebody pressed Ctrl-C: the message says in one line what is kept of the work and how it goes on."""


class SolverError(KuijiaError):
    """The optimiser gave no usable answer: the message says what it answered instead."""


class UnsoundError(ValueError):
    """A value that breaks the rules of its type.

    `where` leads from the value to the fault: keys and positions, outermost first, empty for the value as a whole.
    Whoever read the value from a file turns this into an `InputError` that names the file and the line or key.
    """

    def __init__(self, where: tuple[str | int, ...], problem: str, expected: str) -> None:
        self.where = where
        self.problem = problem
        self.expected = expected
        place = key_path(where)
        super().__init__(f"{place}: {problem}, expected {expected}" if place else f"{problem}, expected {expected}")


def key_path(where: tuple[str | int, ...]) -> str:
    """The way to a value inside nested data as users read it: `pairs[0].tunnels[1].nodes`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in where).removeprefix(".")


def quoted(text: str) -> str:
    """Text from outside as a message shows it: in quotes, on one line, shortened when it is long."""
    return repr(text) if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]!r}..."
