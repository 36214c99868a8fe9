"""Long calls into compiled code that Ctrl-C ends at once."""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

Value = TypeVar("Value")


_WATCH_SECONDS = 1.0
"""Time between two calls of `watch`."""


def interruptible(work: Callable[[], Value], watch: Callable[[float], None] | None = None) -> Value:
    """Return what `work` returns, or raise what it raises; Ctrl-C raises KeyboardInterrupt here without waiting for it.

    Python acts on signals between two steps of the main thread, and compiled code is one step. So the work is done in
    another thread, which cannot be stopped: after an interrupt, the process ends without waiting for it.

    Args:
        work: the call.
        watch: called every second with the seconds since the beginning; only in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    future: Future[Value] = Future()
    working = _thread.allocate_lock()
    working.acquire()
    begun = time.monotonic()
    # Nothing here waits on a Condition, as Thread.start and Future.result do: Ctrl-C between two of its steps leaves it
    # without its lock, and then it raises RuntimeError.
    _thread.start_new_thread(copy_context().run, (_settle, future, work, working))
    try:
        while not working.acquire(timeout=_WATCH_SECONDS):
            if watch is not None:
                watch(time.monotonic() - begun)
        return future.result()
    except KeyboardInterrupt:
        if not future.done():
            atexit.register(_leave, future)
        raise


def _settle(future: Future[Value], work: Callable[[], Value], working: _thread.LockType) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001  # it is raised in the thread that waits
        future.set_exception(error)
    finally:
        working.release()


def _leave(future: Future[Value]) -> None:
    """End the process under a thread that still works: ending libraries beside it could crash."""
    if not future.done():
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(128 + signal.SIGINT)
