"""Ctrl-C ends a command even while compiled code works."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from te_solver.programs import solver
from te_solver.programs.solver import interruptible

# Nothing but the C library's sleep, which other signals' handlers do not end: one step of Python's.
_LONG = r"""
import ctypes, os, sys, time
from te_solver.programs.solver import interruptible

def work():
    os.write(1, b"begun\n")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        ctypes.CDLL(None).sleep(60)

try:
    interruptible(work)
except KeyboardInterrupt:
    sys.stderr.write("interrupted")
    sys.exit(130)
"""

_MANY = r"""
import random, signal, time
from te_solver.programs.solver import interruptible

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
random.seed(1)
ended = interrupted = 0
for _ in range(3000):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 3e-4))
        interruptible(lambda: time.sleep(1e-4))
        ended += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupted += 1
print(ended > 0, interrupted > 0)
"""


def test_work_returns_its_value_and_raises_its_errors() -> None:
    assert interruptible(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


def test_work_of_another_thread_stays_in_it() -> None:
    found: list[threading.Thread] = []
    thread = threading.Thread(target=lambda: found.append(interruptible(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]


def test_an_interrupt_ends_the_process_while_compiled_code_works() -> None:
    command = [sys.executable, "-c", _LONG]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert time.monotonic() - started < 10
    assert (process.returncode, errors) == (130, b"interrupted")


def test_an_interrupt_at_any_moment_is_an_interrupt() -> None:
    done = subprocess.run([sys.executable, "-c", _MANY], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("True True\n", "")
    assert done.returncode in (0, 130)  # the latter if the last work that was interrupted still goes on


def test_a_watch_is_called_while_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_WATCH_SECONDS", 0.01)
    done, seen = threading.Event(), list[float]()

    def watch(seconds: float) -> None:
        seen.append(seconds)
        if len(seen) == 3:
            done.set()

    assert interruptible(lambda: done.wait(5), watch)
    assert 0 < seen[0] < seen[1] < seen[2]
    assert interruptible(lambda: time.sleep(0.05)) is None
