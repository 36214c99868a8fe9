"""Runs external programs, the only module that starts one and waits for its end; finds our own program."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from kuijia_base.bounded_output import exchange, one_line
from kuijia_base.errors import TestbedError

COMMAND_TIMEOUT = 30.0
"""Seconds; every program run here ends within milliseconds unless its peer is dead."""

MODULES = Path(__file__).resolve().parents[1]
"""Folder of our packages, where `python -m` must run: it looks for modules in the working directory first, and files in
a user's folder, or in one that anybody may write to, must not be taken for our modules."""

_FAILED_BATCH_LINE = re.compile(r"Command failed -:(\d+)")


def search_path() -> str:
    """Return PATH with the administrator's folders, which the PATH of a plain user or of `su` lacks on Debian."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([*folders, *(folder for folder in ("/usr/sbin", "/sbin") if folder not in folders)])


def find_program(name: str) -> str | None:
    """Return the path of a program, None if it is not installed."""
    return shutil.which(name, path=search_path())


def located(argv: Sequence[str]) -> list[str]:
    """Return `argv` with the path of its program if it is installed.

    Starting a program by name tries one folder of PATH after the other. In user-mode Linux each attempt costs 0.05 s,
    as much as a successful start, since the kernel creates a process of the machine for it.
    """
    return [find_program(argv[0]) or argv[0], *argv[1:]]


def run_command(argv: Sequence[str], *, stdin: str | None = None, timeout: float = COMMAND_TIMEOUT) -> str:
    """Run `argv` to its end and return what it wrote to standard output.

    Raises:
        TestbedError: the program is missing, takes longer than `timeout` seconds or exits with a status other than 0;
            the message holds the command and its standard error.
    """
    completed = _finish(argv, stdin, timeout)
    if completed.returncode != 0:
        raise TestbedError(f"`{shlex.join(argv)}` failed: {_complaint(completed)}")
    return completed.stdout


def run_batch(program: Literal["ip", "tc"], commands: Sequence[list[str]], *, to_the_end: bool = False) -> None:
    """Run many commands of `ip` or `tc` in one process.

    Args:
        program: its name.
        commands: their arguments.
        to_the_end: True to run all of them, whether or not some fail.

    Raises:
        TestbedError: a command failed, which is not `to_the_end`; the message names the first one.
    """
    if not commands:
        return
    text = "".join(" ".join(command) + "\n" for command in commands)
    completed = _finish([program, *(["-force"] if to_the_end else []), "-batch", "-"], text, COMMAND_TIMEOUT)
    if completed.returncode == 0 or to_the_end:
        return
    failed = _FAILED_BATCH_LINE.search(completed.stderr)
    command = shlex.join([program, *commands[int(failed[1]) - 1]]) if failed else f"{program} -batch"
    raise TestbedError(f"`{command}` failed: {_complaint(completed)}")


def _finish(argv: Sequence[str], stdin: str | None, timeout: float) -> subprocess.CompletedProcess[str]:
    try:
        return run_bounded(located(argv), stdin or "", timeout, {**os.environ, "PATH": search_path()})
    except (FileNotFoundError, PermissionError) as error:
        raise TestbedError(f"`{argv[0]}` cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise TestbedError(f"`{shlex.join(argv)}` did not end within {timeout:g} s") from error


def run_bounded(
    argv: Sequence[str], stdin: str, timeout: float, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, whatever its exit status; bytes that are no text are replaced.

    Raises:
        OSError: it cannot be started.
        OutputTooLongError: it writes more than `LONGEST_OUTPUT`.
        subprocess.TimeoutExpired: it takes longer than `timeout` seconds.
    """
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
    output, errors = (_text(data) for data in exchange(process, stdin.encode(), timeout))
    return subprocess.CompletedProcess(list(argv), process.returncode, output, errors)


def _text(data: bytes) -> str:
    return data.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _complaint(completed: subprocess.CompletedProcess[str]) -> str:
    """Return the program's own error output in one line, else its exit status and how its output begins."""
    lines = [line for line in completed.stderr.splitlines() if line and not _FAILED_BATCH_LINE.search(line)]
    complaint = "; ".join(line.strip() for line in lines[-3:])
    if not complaint:
        status, output = f"exit status {completed.returncode}", completed.stdout.splitlines()[:3]
        complaint = ": ".join([status, *filter(None, ["; ".join(line.strip() for line in output)])])
    return one_line(complaint)


PACKAGE = "kuijia"
"""Package of the command line."""


def kuijia_command(verb: str, *arguments: str) -> list[str]:
    """Return the command that runs a verb under this Python; start it in the folder of our packages."""
    return [sys.executable, "-m", PACKAGE, verb, *arguments]


def source_folder(package: str) -> Path:
    """Return the folder of one of our packages: next to this one in a clone, inside `kuijia` once installed."""
    root = Path(__file__).resolve().parents[1]
    return root / package if (root / package).is_dir() else root / PACKAGE / package
