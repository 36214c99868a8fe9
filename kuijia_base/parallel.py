"""Work distributed over processes: results come in the order of the tasks for any number of processes."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from queue import Empty
from typing import Any, TypeVar

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

ResultsOf = Callable[[Callable[[Any, Any], Any], Iterable[Any]], Iterator[Any]]
"""Function that yields the results of a function of shared data and a task, for each of some tasks, in their order."""

Progress = Callable[[int, int], None]
"""Callback of progress, called with the amounts done and in total."""

_LOOK_SECONDS = 1.0
"""Seconds between two checks of a process, where the system does not report its end."""

AHEAD = 2
"""Tasks per process submitted in advance; more would only fill memory."""


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def in_processes(
    function: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task], processes: int
) -> Iterator[Result]:
    """Yield `function(shared, task)` for each task, in the order of the tasks.

    With one process the work is done in this one, otherwise in new interpreters. They end at once when the caller takes
    no more results, and when this process is gone, however that ended.

    Args:
        function: a function at the top level of a module.
        shared: data that every task needs; it is sent to each process once.
        tasks: the tasks, taken one by one as processes become free.
        processes: number of processes.
    """
    with workers(shared, processes) as results_of:
        yield from results_of(function, tasks)


@contextmanager
def workers(shared: Any, processes: int) -> Iterator[ResultsOf]:  # noqa: ANN401  # whatever tasks need
    """Give a block the function that does the work of `in_processes`, several times with the same processes."""
    if processes == 1:
        yield lambda function, tasks: (function(shared, task) for task in tasks)
        return
    with pool(shared, processes) as submit:
        yield partial(_results, submit, processes * AHEAD)


Submit = Callable[[Callable[[Any, Any], Any], Any], Future[Any]]
"""Function that hands a function of shared data, and a task, to a pool."""


@contextmanager
def pool(shared: Any, processes: int, env: Mapping[str, str] | None = None) -> Iterator[Submit]:  # noqa: ANN401  # whatever tasks need
    """Give a block the function that hands tasks to new processes, which end with it, and at once if it raises."""
    from loky import ProcessPoolExecutor  # noqa: PLC0415  # slow to import: loky

    # That of the standard library may wait for ever when its workers are killed while it hands them a task.
    executor = ProcessPoolExecutor(processes, initializer=_receive, initargs=(shared, os.getpid()), env=env)
    ended = False
    try:
        yield partial(_submit, executor)
        ended = True
    finally:
        if not ended:
            _take_back(executor)
        executor.shutdown(kill_workers=not ended)


def _submit(executor: Executor, function: Callable[[Any, Any], Any], task: object) -> Future[Any]:
    with no_interrupts():
        return executor.submit(_call, function, task)


def _results(submit: Submit, ahead: int, function: Callable[[Any, Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
    left = iter(tasks)
    waiting = deque(submit(function, task) for task in islice(left, ahead))
    while waiting:
        yield waiting.popleft().result()
        waiting.extend(submit(function, task) for task in islice(left, 1))


def _take_back(executor: Any) -> None:  # noqa: ANN401  # loky has no types
    # The pool's thread forgets all tasks before it kills the workers, then looks up those not yet handed to one.
    with suppress(Empty):
        while True:
            executor._work_ids.get(block=False)  # noqa: SLF001  (loky has no other way to them)


@contextmanager
def no_interrupts() -> Iterator[None]:
    """Block Ctrl-C for processes started in the block; this process ends them when it receives it after the block.

    A blocked signal goes to another thread, if there is one, and Python then interrupts the main thread: half-started
    workers would be forgotten, or the pool would wait for them for ever. So the main thread only takes note of it.
    """
    if sys.platform == "win32":  # where workers get no Ctrl-C of their own to hold back
        yield
        return
    from multiprocessing import resource_tracker  # noqa: PLC0415  # Windows lacks what it imports

    pressed: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()  # only this one is interrupted, or may set handlers
    handler = signal.signal(signal.SIGINT, lambda number, _frame: pressed.append(number)) if is_main else None
    try:
        resource_tracker.ensure_running()  # which lets Ctrl-C through again if the first process starts it
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finally:
        if is_main:
            signal.signal(signal.SIGINT, handler)
        if pressed:
            signal.raise_signal(pressed[0])


_received: list[Any] = []
"""The shared data, in a process of the pool."""


def end_with(process: int) -> None:
    """End this process as soon as `process`, which uses it, is gone; a worker calls this once."""
    threading.Thread(target=_end_after, args=(process,), daemon=True).start()


def _end_after(process: int) -> None:
    if sys.platform == "linux":
        try:
            alive = os.pidfd_open(process)
        except ProcessLookupError:
            os._exit(1)
        select.select([alive], [], [])
        os._exit(1)
    elif sys.platform != "win32":  # where a worker ends when it next asks for work
        while _lives(process):
            time.sleep(_LOOK_SECONDS)
        os._exit(1)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _receive(shared: object, parent: int) -> None:
    end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process receives it too, and ends the pool
    _received[:] = [shared]


def _call(function: Callable[[Any, Task], Result], task: Task) -> Result:
    return function(_received[0], task)
