"""Work distributed over processes: results come in the order of the tasks for any number of processes."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

Progress = Callable[[int, int], None]
"""Callback of progress, called with the amounts done and in total."""

_AHEAD = 2
"""Tasks per process that are submitted in advance; more would only fill memory."""


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def in_processes(
    function: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task], processes: int
) -> Iterator[Result]:
    """Yield `function(shared, task)` for each task, in the order of the tasks.

    With one process the work is done in this one. Otherwise new interpreters import the main module: a script that uses
    them must do its work under `if __name__ == "__main__":`.

    Args:
        function: a function at the top level of a module.
        shared: data that every task needs; it is sent to each process once.
        tasks: the tasks, taken one by one as processes become free.
        processes: number of processes.
    """
    if processes == 1:
        for task in tasks:
            yield function(shared, task)
        return
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _receive, (shared,))
    try:
        left = iter(tasks)
        waiting: deque[Future[Result]] = deque()
        waiting.extend(pool.submit(_call, function, task) for task in islice(left, processes * _AHEAD))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(_call, function, task) for task in islice(left, 1))
    finally:
        pool.shutdown(cancel_futures=True)


_received: list[Any] = []
"""The shared data, in a process of the pool."""


def _receive(shared: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process receives it too, and ends the pool
    _received[:] = [shared]


def _call(function: Callable[[Any, Task], Result], task: Task) -> Result:
    return function(_received[0], task)
