from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from kuijia_base.parallel import in_processes, processors


def _sum(shared: int, task: int) -> int:
    return shared + task


def _slow_at_first(_: None, task: int) -> int:
    if task == 0:
        time.sleep(0.2)  # so that others finish first
    return task


def _process(_: None, __: int) -> int:
    return os.getpid()


def _refuse(_: None, task: int) -> int:
    if task == 3:
        raise KeyError(task)
    return task


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_results_come_in_the_order_of_the_tasks(processes: int) -> None:
    assert list(in_processes(_sum, 10, range(20), processes)) == list(range(10, 30))
    assert list(in_processes(_slow_at_first, None, range(4), processes)) == list(range(4))


def test_one_process_is_this_one_and_more_are_others() -> None:
    assert set(in_processes(_process, None, range(3), 1)) == {os.getpid()}
    assert os.getpid() not in set(in_processes(_process, None, range(3), 2))


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_is_raised_where_its_result_would_come(processes: int) -> None:
    results = in_processes(_refuse, None, range(5), processes)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError):
        next(results)


@pytest.mark.parametrize("processes", [1, 2])
def test_tasks_are_taken_as_they_are_needed(processes: int) -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for task in range(100):
            taken.append(task)
            yield task

    results = in_processes(_sum, 0, tasks(), processes)
    next(results)
    assert len(taken) <= 3 * processes
    results.close()  # type: ignore[attr-defined]


def test_there_is_a_processor() -> None:
    assert processors() >= 1
