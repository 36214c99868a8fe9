"""Verbs on systems other than Linux: they work, or say in one line that they do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# A process that has what Windows and macOS lack taken away, after the standard library has chosen its own ways.
PROGRAM = """
import asyncio, concurrent.futures, multiprocessing.connection, multiprocessing.resource_tracker, os, signal, socket
import ssl, subprocess, sys, types

system, *words = sys.argv[1:]
gone = [(os, "pidfd_open"), (os, "sched_getaffinity")]
if system == "win32":
    gone += [(os, name) for name in ("fork", "geteuid", "getuid", "killpg", "mkfifo", "setsid", "uname")]
    gone += [(signal, name) for name in ("SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "pthread_sigmask")]
    sys.modules["msvcrt"] = types.ModuleType("msvcrt")
for module, name in gone:
    delattr(module, name)

class Missing:
    def find_spec(self, name, path, target=None):
        if name in ("fcntl", "grp", "pty", "pwd", "resource", "termios") and system == "win32":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
sys.platform = system
from kuijia.cli.main import main
from kuijia_base import progress
progress.PATIENCE_SECONDS = float("inf")
sys.exit(main(words))
"""


@pytest.mark.parametrize("system", ["win32", "darwin"])
@pytest.mark.parametrize("command", ["solve fig1", "doctor", "list", "completion bash"])
def test_verbs_without_switches_work(system: str, command: str, tmp_path: Path) -> None:
    outcome = run(system, command, tmp_path)
    assert (outcome.returncode, outcome.stderr) == (0, "")


@pytest.mark.parametrize(
    ("system", "command", "reason"),
    [
        (
            "win32",
            "controller plan.json",
            "controllers need the signals SIGHUP, SIGUSR1, SIGUSR2, which this system lacks",
        ),
        ("win32", "lab up fig1 fig1", "this command runs only on Linux (fcntl is missing)"),
        ("win32", "crosscheck", "this command runs only on Linux (fcntl is missing)"),
        ("darwin", "crosscheck", "this command runs only on Linux, and this is darwin"),
    ],
)
def test_verbs_that_need_linux_say_so_in_one_line(system: str, command: str, reason: str, tmp_path: Path) -> None:
    outcome = run(system, command, tmp_path)
    assert (outcome.returncode, outcome.stderr) == (2, f"error: {reason}\n")


def run(system: str, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", PROGRAM, system, *command.split()]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
