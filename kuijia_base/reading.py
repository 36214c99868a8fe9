"""The contract of readers: whatever is wrong with an input ends in one InputError that names it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kuijia_base.errors import InputError, KuijiaError, UnsoundError, key_path, one_line

DEEPEST = 100
"""Levels of brackets in a file of any format."""

_LONGEST_REASON = 200

_UNREADABLE = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeWarning, TypeError, ValueError)
"""Exceptions by which libraries, and rules that nobody thought of, refuse what a file holds.

The warnings are numpy's of numbers without meaning; whoever draws what was read has them raised."""


@contextmanager
def reading(source: str | Path, expected: str) -> Iterator[None]:
    """Turn every failure to read `source`, in the block, into an InputError that says what was `expected`.

    Readers find the faults of their files themselves and name the place. This is the net below them: it catches what
    a library raises of its own accord. The cause stays attached; interrupts and errors of ours pass unchanged.
    Cycles of garbage are not collected meanwhile.
    """
    try:
        with uncollected():
            yield
    except UnsoundError as error:
        raise InputError(source, key_path(error.where), error.problem, error.expected) from error
    except KuijiaError:
        raise
    except OSError as error:
        raise InputError(source, "", f"cannot be read ({reason_of(error)})", expected) from error
    except RecursionError as error:
        raise InputError(source, "", "nested too deeply", expected) from error
    except MemoryError as error:
        raise InputError(source, "", "takes more memory than there is", expected) from error
    except _UNREADABLE as error:
        problem = f"cannot be read ({type(error).__name__}: {one_line(str(error), _LONGEST_REASON)})"
        raise InputError(source, "", problem, expected) from error


@contextmanager
def uncollected(*, for_good: bool = False) -> Iterator[None]:
    """Keep the garbage collector from walking again and again over much that is made: it takes a third of the time.

    `for_good` leaves all there is out of later searches as well: one through millions of objects that stay stops all
    threads for half a second.
    """
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if for_good:
            gc.freeze()
        if collected:
            gc.enable()


def reason_of(error: OSError | RuntimeError | ValueError) -> str:
    """Return why a file cannot be used, in the words of the system where it has some."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
