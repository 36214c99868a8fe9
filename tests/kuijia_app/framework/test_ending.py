"""A process that is to end does so soon, with a status that a supervisor sees, whatever becomes of its last words."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kuijia_app.framework.ending import EXIT_STATUS, LAST_WORDS

PROGRAM = """
import sys, threading, time
from kuijia_app.framework.ending import end_process
threading.Thread(target=time.sleep, args=(600,)).start()
def say():
    {say}
end_process(say)
"""
SLOW = 30.0


def ended(say: str, *, in_thread: bool = False) -> subprocess.CompletedProcess[str]:
    """The program with another thread that would keep it alive, ended in the main thread or in a third one."""
    program = PROGRAM.format(say=say)
    if in_thread:
        program = program.replace("end_process(say)\n", "threading.Thread(target=end_process, args=(say,)).start()\n")
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=LAST_WORDS + SLOW,
        check=False,
    )


@pytest.mark.parametrize("in_thread", [False, True])
def test_it_says_why_and_ends_though_other_threads_go_on(*, in_thread: bool) -> None:
    process = ended("sys.stderr.write('so it ends')", in_thread=in_thread)
    assert (process.returncode, process.stderr) == (EXIT_STATUS, "so it ends")


def test_it_ends_though_its_last_words_raise() -> None:
    assert ended("raise RuntimeError").returncode == EXIT_STATUS


@pytest.mark.parametrize("in_thread", [False, True])
def test_it_ends_though_its_last_words_never_come_out(*, in_thread: bool) -> None:
    assert ended("time.sleep(600)", in_thread=in_thread).returncode == -signal.SIGALRM
