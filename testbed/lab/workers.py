"""Threads that carry out jobs next to the main thread, in the network namespace of the thread that makes them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue


class LabWorkers:
    """Some threads that take jobs in their order; with one thread, one job ends before the next begins.

    They do not keep the process from ending. A job must not raise.
    """

    def __init__(self, name: str, count: int) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._work, name=f"{name}-{at}", daemon=True) for at in range(count)]
        for thread in self._threads:
            thread.start()

    def do(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)

    def end(self, seconds: float) -> None:
        """Let the threads end after the jobs given so far; wait at most so long for each."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(seconds)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
