"""Errors that end a command with one line for the user, whichever part raises them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

_SHOWN_CHARACTERS = 60
_LONGEST_QUOTE = 2 * _SHOWN_CHARACTERS
"""Most characters of a quoted text; several of them may stand for one unprintable character."""

_LONGEST_MESSAGE = 500
"""Most characters of a message about an input; in a longer one each part loses its middle."""

_LONGEST_SOURCE, _LONGEST_PLACE, _LONGEST_PROBLEM = 160, 60, 140
"""Characters for each part of a message that is too long; the rest is for the expected input."""

_LONGEST_NAME = 320
"""Most characters of a source: the path of a file with the longest possible name."""

LONGEST_FAILURE = 2000
"""Most characters of a message about failed work."""


class PortableError(Exception):
    """An error that goes from a process to another whole, however it is made.

    By default the class is called with the message, which fails where it takes something else: a pool of
    processes then breaks, instead of raising the error.
    """

    def __reduce__(self) -> tuple[Callable[..., PortableError], tuple[object, ...]]:
        return _copy_of, (type(self), self.args, vars(self).copy())


def _copy_of(kind: type[PortableError], args: tuple[object, ...], attributes: dict[str, object]) -> PortableError:
    copy = kind.__new__(kind, *args)
    vars(copy).update(attributes)
    return copy


class KuijiaError(PortableError):
    """A failure that the user sees in one line, without a traceback; the command exits with `exit_status`."""

    exit_status = 1


class InputError(KuijiaError, ValueError):
    """Input or surroundings that cannot be used: the command exits with status 2 and has changed nothing.

    `place` is a line number or a key within `source`; it is empty when the whole source is meant.
    """

    exit_status = 2

    def __init__(self, source: str | Path, place: str | int, problem: str, expected: str) -> None:
        self.source = str(source)
        self.place = one_line(str(place))
        self.problem = one_line(problem)
        self.expected = one_line(expected)
        super().__init__(_complaint(self.source, self.place, self.problem, self.expected))


class InterruptedWorkError(KeyboardInterrupt):
    """The user pressed Ctrl-C: the message says in one line which results are kept and how to resume."""


class SolverError(KuijiaError):
    """The optimiser gave no usable answer: the message contains its answer."""


class TestbedError(KuijiaError):
    """A command, switch, interface or measurement failed; the command exits with status 1."""

    __test__ = False  # pytest collects classes named Test*


class UnsoundError(PortableError, ValueError):
    """A value that breaks the rules of its type.

    `where` leads from the value to the fault: keys and positions, outermost first, empty for the value as a whole.
    The reader of a file turns this into an `InputError` that names the file and the line or key.
    """

    def __init__(self, where: tuple[str | int, ...], problem: str, expected: str) -> None:
        self.where = where
        self.problem = problem
        self.expected = expected
        place = key_path(where)
        super().__init__(f"{place}: {problem}, expected {expected}" if place else f"{problem}, expected {expected}")


def key_path(where: tuple[str | int, ...]) -> str:
    """Return the path to a value inside nested data as users read it: `pairs[0].tunnels[1].nodes`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in where).removeprefix(".")


def quoted(text: str) -> str:
    """Return text from outside for a message: in quotes, on one line, shortened if it is long."""
    start = text[:_SHOWN_CHARACTERS]
    while len(repr(start)) > _LONGEST_QUOTE:
        start = start[: len(start) // 2]
    return repr(start) if len(start) == len(text) else f"{start!r}..."


def shown(name: str) -> str:
    """Return a name from outside unchanged if it is short and printable, otherwise as `quoted` does."""
    return name if name.isprintable() and len(name) <= _SHOWN_CHARACTERS else quoted(name)


def one_line(text: str, most: int | None = None) -> str:
    """Return a message as one printable line: line ends become spaces, unprintable characters are escaped as in Python.

    A text of more than `most` characters loses its middle.
    """
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else _escaped(letter) for letter in " ".join(text.splitlines()))
    return text if most is None or len(text) <= most else _cut(text, most)


def _cut(text: str, most: int) -> str:
    tail = most // 3
    return f"{text[: most - tail - len(_GAP)]}{_GAP}{text[len(text) - tail :]}"


_GAP = " ... "


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def _complaint(source: str, place: str, problem: str, expected: str) -> str:
    """Return the line for the user, of at most `_LONGEST_MESSAGE` characters."""
    whole = _joined(_shown_source(source, _LONGEST_NAME), place, problem, expected)
    if len(whole) <= _LONGEST_MESSAGE:
        return whole
    where = _shown_source(source, _LONGEST_SOURCE)
    start = _joined(where, one_line(place, _LONGEST_PLACE), one_line(problem, _LONGEST_PROBLEM), "")
    return f"{start}{one_line(expected, _LONGEST_MESSAGE - len(start))}"


def _joined(where: str, place: str, problem: str, expected: str) -> str:
    return f"{where}:{place}: {problem}, expected {expected}" if place else f"{where}: {problem}, expected {expected}"


def _shown_source(source: str, most: int) -> str:
    """Return the path or name of an input unchanged; in quotes and cut if it would spoil the line."""
    if source.isprintable() and len(source) <= most:
        return source
    return f"'{one_line(source, most - 2)}'"
