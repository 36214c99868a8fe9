from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from loky.process_executor import _ExecutorManagerThread

from kuijia_base.parallel import in_processes, processors, workers


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


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_results_come_in_the_order_of_the_tasks(processes: int) -> None:
    assert list(in_processes(_sum, 10, range(20), processes)) == list(range(10, 30))
    assert list(in_processes(_slow_at_first, None, range(4), processes)) == list(range(4))


def test_one_process_is_this_one_and_more_are_others() -> None:
    assert set(in_processes(_process, None, range(3), 1)) == {os.getpid()}
    assert os.getpid() not in set(in_processes(_process, None, range(3), 2))


@pytest.mark.parametrize("processes", [1, 2])
def test_workers_do_several_lots_of_tasks(processes: int) -> None:
    with workers(10, processes) as results_of:
        assert list(results_of(_sum, range(3))) == [10, 11, 12]
        used = {*results_of(_process, range(6)), *results_of(_process, range(6))}
    assert len(used) <= processes


@pytest.mark.skipif(sys.platform == "win32", reason="workers get no Ctrl-C of their own")
def test_ctrl_c_is_still_blocked_after_the_first_process_has_started() -> None:
    """Python's resource tracker, which the first one starts, would let it through to workers that still import."""
    program = """
import signal
from multiprocessing import resource_tracker
from kuijia_base.parallel import no_interrupts
with no_interrupts():
    resource_tracker.ensure_running()
    print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_is_raised_where_its_result_would_come(processes: int) -> None:
    results = in_processes(_refuse, None, range(5), processes)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError):
        next(results)


def test_a_task_that_no_worker_has_got_when_results_end_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    shuts_down = _ExecutorManagerThread.is_shutting_down
    held, released = threading.Event(), threading.Event()

    def hold(manager: _ExecutorManagerThread) -> bool:
        held.set()
        while not (manager.executor_flags.shutdown or released.wait(0.001)):
            pass
        return bool(shuts_down(manager))

    def tasks() -> Iterator[int]:
        yield 0
        assert held.wait(60)
        yield 1
        raise StopAsyncIteration

    monkeypatch.setattr(_ExecutorManagerThread, "is_shutting_down", hold)
    with pytest.raises(StopAsyncIteration):
        next(in_processes(_sum, 0, tasks(), 2))
    released.set()


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


_PARENT = """
import sys, time
from kuijia_base.parallel import in_processes
from tests.kuijia_base.test_parallel import tell_and_wait

if __name__ == "__main__":
    list(in_processes(tell_and_wait, None, range(4), 2))
"""


def tell_and_wait(_: None, __: int) -> None:
    os.write(1, f"{os.getpid()}\n".encode())
    time.sleep(3600)


def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(_PARENT)
    root = Path(__file__).parents[2]
    command = [sys.executable, str(script)]
    surroundings = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(Path("/proc", str(worker)).exists() for worker in workers)
        parent.kill()
    deadline = time.monotonic() + 60
    while any(_runs(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _runs(process: int) -> bool:
    """Return whether a process is there and has not ended; nobody may be left to take its status."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _wait_from_the_second_on(_: None, task: int) -> int:
    if task:
        time.sleep(3600)
    return task


def test_results_that_nobody_waits_for_are_not_finished() -> None:
    results = in_processes(_wait_from_the_second_on, None, range(4), 2)
    assert next(results) == 0
    started = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 60


_INTERRUPTED = """
import os, signal, threading, time
from kuijia_base.parallel import no_interrupts

signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=time.sleep, args=(30,), daemon=True).start()  # does not block the signal, so it gets it
said = []
try:
    with no_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100_000):  # time in which the main thread would be interrupted
            pass
        said.append("begun")
        {then}
    said.append("went on")
except KeyboardInterrupt:
    said.append("interrupted")
except RuntimeError:
    said.append("failed")
said.append(str(signal.getsignal(signal.SIGINT) is signal.default_int_handler))
print(*said, flush=True)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="workers get no Ctrl-C of their own")
@pytest.mark.parametrize("then", ["pass", "raise RuntimeError"])
def test_ctrl_c_while_workers_start_comes_once_they_have_started(then: str) -> None:
    """Another thread takes the signal, and Python interrupts the main one, though that blocks it."""
    program = _INTERRUPTED.format(then=then)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["begun", "interrupted", "True"]
