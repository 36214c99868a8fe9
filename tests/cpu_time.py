"""Bounds on CPU time, in seconds of the machine that the limits are meant for: a slower one gets more in proportion."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

REFERENCE_SECONDS = 0.022
"""CPU time of the yardstick there: one core at 2.5 GHz of a shared machine, Python 3.11."""

MARGIN = 2.0
"""Fuzzing and benchmarks hold the limits themselves; a test notices what grows faster than its input."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Assert that the block takes at most this CPU time, all threads together, within the margin."""
    before = _yardstick()
    started = time.process_time()
    yield
    taken = time.process_time() - started
    slowness = max(before, _yardstick()) / REFERENCE_SECONDS
    assert taken <= MARGIN * seconds * max(1.0, slowness), f"{taken:.2f} s of CPU time, expected at most {seconds:g} s"


def _yardstick() -> float:
    """Return the CPU seconds of a fixed piece of work of the kind that readers do."""
    started = time.process_time()
    counts: dict[str, int] = {}
    for number in range(100_000):
        key = str(number % 997)
        counts[key] = counts.get(key, 0) + len(key)
    return time.process_time() - started
