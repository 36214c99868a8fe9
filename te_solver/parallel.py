"""Work shared out over processes: the results come in the order of the tasks, however many processes there are."""

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
"""Is told how much of how much is done."""

_AHEAD = 2
"""Tasks per process that are handed out before they are needed; more would only fill memory."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


def in_processes(
    function: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task], processes: int
) -> Iterator[Result]:
    """`function(shared, task)` for each task, in the order of the tasks.

    With one process the work is done in this one. Others are new interpreters, which import the main module: a script
    that asks for them must do its work under `if __name__ == "__main__":`.

    Args:
        function: is at the top of a module.
        shared: what every task needs; it goes to each process once.
        tasks: are taken one by one as processes get free.
        processes: how many to use.
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
"""In a process of the pool: what is shared."""


def _receive(shared: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that shares the work out hears it too, and ends it
    _received[:] = [shared]


def _call(function: Callable[[Any, Task], Result], task: Task) -> Result:
    return function(_received[0], task)
