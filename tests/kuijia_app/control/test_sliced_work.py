"""Long work is done in slices, so that an event loop handles its events between them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from kuijia_app.control.sliced_work import SLICE, SlicedWork, at_once

STEPS = 5
"""Steps of each task."""


class Rig:
    """SlicedWork with a clock on which each look takes a part of a slice, and hardly more."""

    def __init__(self, looks_per_slice: int) -> None:
        looks = count()
        self.wakes = 0
        self.done: list[str] = []
        self.work = SlicedWork(lambda: next(looks) * 1.0001 * SLICE / looks_per_slice, self._wake)

    def _wake(self) -> None:
        self.wakes += 1

    def task(self, name: str) -> Iterator[None]:
        for _ in range(STEPS):
            self.done.append(name)
            yield


def test_work_that_fits_into_a_slice_is_done_at_once_and_wakes_nobody() -> None:
    rig = Rig(looks_per_slice=100)
    rig.work.add(rig.task("a"))
    rig.work.add(rig.task("b"))
    assert rig.done == ["a"] * STEPS + ["b"] * STEPS
    assert rig.wakes == 0


def test_more_work_goes_on_slice_by_slice_in_order() -> None:
    rig = Rig(looks_per_slice=2)
    rig.work.add(rig.task("a"))
    assert rig.done == ["a", "a"]
    rig.work.add(rig.task("b"))
    assert rig.done == ["a", "a"]
    slices = 0
    while len(rig.done) < 2 * STEPS:
        assert rig.wakes == slices + 1
        before = len(rig.done)
        rig.work.work()
        assert before < len(rig.done) <= before + 2
        slices += 1
    assert rig.done == ["a"] * STEPS + ["b"] * STEPS


def test_tasks_that_are_gathered_have_one_slice_together() -> None:
    rig = Rig(looks_per_slice=2)
    with rig.work.gathered():
        for name in "abc":
            rig.work.add(rig.task(name))
        assert rig.done == []
    assert rig.done == ["a", "a"]


def test_gathering_takes_no_second_slice_while_something_is_left() -> None:
    rig = Rig(looks_per_slice=2)
    rig.work.add(rig.task("a"))
    with rig.work.gathered():
        rig.work.add(rig.task("b"))
    with rig.work.gathered():
        pass
    assert rig.done == ["a", "a"]
    assert rig.wakes == 1


def test_what_a_task_adds_comes_after_what_waits() -> None:
    rig = Rig(looks_per_slice=100)

    def first() -> Iterator[None]:
        rig.work.add(rig.task("added"))
        yield

    with rig.work.gathered():
        rig.work.add(first())
        rig.work.add(rig.task("waits"))
    assert rig.done == ["waits"] * STEPS + ["added"] * STEPS


def test_a_task_that_raises_is_not_hidden_and_what_comes_after_it_is_not_lost() -> None:
    rig = Rig(looks_per_slice=100)

    def raises() -> Iterator[None]:
        yield
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        rig.work.add(raises())
    assert rig.wakes == 1
    rig.work.work()
    rig.work.add(rig.task("a"))
    assert rig.done == ["a"] * STEPS


def test_without_an_owner_a_task_is_run_to_its_end() -> None:
    rig = Rig(looks_per_slice=1)
    at_once(rig.task("a"))
    assert rig.done == ["a"] * STEPS
