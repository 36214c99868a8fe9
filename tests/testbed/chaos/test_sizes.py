"""What piles up in a process is told from what comes and goes, and from what fills up once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from testbed.chaos.sizes import (
    MOST_MORE_DESCRIPTORS,
    SAMPLE_SECONDS,
    SETTLED_AFTER,
    WINDOW,
    ProcessSize,
    SizeWatch,
    piled_up,
)

HOUR = round(3600 / SAMPLE_SECONDS)


def life(memory: Callable[[float], float], samples: int = HOUR) -> tuple[str, ...]:
    """Return what is found in a process that has this memory in MB at each share of its life."""
    return piled_up("x", [ProcessSize(5, 20, round(1024 * memory(at / samples))) for at in range(samples)])


def test_memory_that_grows_all_the_time_is_found() -> None:
    assert life(lambda at: 50 + 100 * at)
    assert life(lambda at: 50 + 45 * at)


def test_a_cache_that_fills_up_and_noise_are_not() -> None:
    assert life(lambda at: 50 + 60 * min(at * 4, 1)) == ()
    assert life(lambda at: 50 + 30 * (round(at * HOUR) % 7 == 0)) == ()
    assert life(lambda at: 50 + 20 * at) == ()


def test_a_start_is_no_growth() -> None:
    assert life(lambda at: 5 if at * HOUR < SETTLED_AFTER else 90) == ()


def test_a_short_life_tells_nothing() -> None:
    assert life(lambda at: 50 + 500 * at, SETTLED_AFTER + 3 * WINDOW - 1) == ()
    assert life(lambda at: 50 + 500 * at, SETTLED_AFTER + 3 * WINDOW)


@pytest.mark.parametrize(
    ("size", "words"),
    [(ProcessSize(12, 20, 50_000), "12 threads, 5 before"), (ProcessSize(5, 40, 50_000), "40 descriptors, 20 before")],
)
def test_threads_and_descriptors_that_stay_are_found(size: ProcessSize, words: str) -> None:
    usual = ProcessSize(5, 20, 50_000)
    assert piled_up("x", [usual] * 60 + [size] * WINDOW) == (f"x has {words}",)
    assert piled_up("x", [usual] * 60 + [size] * WINDOW + [usual]) == ()


def test_a_process_that_was_started_anew_is_another_one() -> None:
    watch = SizeWatch()
    now = 1000.0
    own = int(Path("/proc/self").readlink().name)
    for _ in range(3):
        watch.look(lambda: {"x": own, "gone": None}, now)
        watch.look(lambda: {"y": own}, now + SAMPLE_SECONDS / 2)  # too soon
        now += SAMPLE_SECONDS
    assert watch.growth() == ()
    (name,) = watch.largest()
    first, largest = watch.largest()[name]
    assert name == "x"
    assert 0 < first.memory_kb <= largest.memory_kb


def test_what_more_work_takes_is_no_growth() -> None:
    watch = SizeWatch()
    own = int(Path("/proc/self").readlink().name)
    with ExitStack() as held:
        for number in range(4 * WINDOW):
            if number == 2 * WINDOW:
                for _ in range(2 * MOST_MORE_DESCRIPTORS):
                    held.enter_context(Path("/dev/null").open())
            watch.look(lambda: {"x": own}, 1000.0 + number * SAMPLE_SECONDS, work=number // (2 * WINDOW))
    assert watch.growth() == ()
