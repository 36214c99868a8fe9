"""The contract of readers: any fault of an input ends in one InputError that names it."""

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
"""Exceptions by which libraries, and unforeseen rules, refuse the content of a file.

The warnings are numpy's of meaningless numbers; code that draws the content turns them into exceptions."""


@contextmanager
def reading(source: str | Path, expected: str) -> Iterator[None]:
    """Turn every failure to read `source`, in the block, into an InputError with the `expected` input.

    Readers find the faults of their files themselves and name the place. This is the safety net: it catches
    exceptions of libraries. The cause stays attached; interrupts and our own errors pass unchanged.
    Cyclic garbage is not collected meanwhile.
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
        raise InputError(source, "", "needs more memory than is available", expected) from error
    except _UNREADABLE as error:
        problem = f"cannot be read ({type(error).__name__}: {one_line(str(error), _LONGEST_REASON)})"
        raise InputError(source, "", problem, expected) from error


@contextmanager
def uncollected(*, for_good: bool = False) -> Iterator[None]:
    """Switch the garbage collector off while many objects are made: its repeated searches take a third of the time.

    `for_good` excludes all present objects from later searches as well: one through millions of objects stops all
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
    """Return the reason why a file cannot be used, in the system's words if it has some."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
