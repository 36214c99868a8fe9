"""A forked process that runs cases; the kernel ends it when a case takes too much time."""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from tests.fuzz.contract import Broken, examine, random_of
from tests.fuzz.guard import Guard
from tests.fuzz.targets import CaseTarget

ADDRESS_SPACE = 8 * 2**30
"""Bytes; more than any case may have, so that a runaway one ends before the machine swaps."""


@dataclass(frozen=True)
class Job:
    """Cases for a worker: `count` of a target from number `first`, or the one whose `content` is given.

    Attributes:
        attempt: how often this case has been suspected before.
    """

    target: int
    first: int
    count: int
    content: bytes | None = None
    attempt: int = 0


@dataclass
class Outcome:
    """A worker's report on a job.

    Attributes:
        done: cases that were run.
        broken: how cases broke the contract, with their content.
        peak: resident memory of the process at most so far, in MB.
        slowest: CPU seconds of the slowest case.
        spent: CPU seconds of all cases.
        bloated: True when the last case has taken so much memory that the worker has to be replaced.
    """

    done: int = 0
    broken: list[tuple[bytes, Broken]] = field(default_factory=list)
    peak: float = 0.0
    slowest: float = 0.0
    spent: float = 0.0
    bloated: bool = False


def serve(
    connection: Connection, targets: Sequence[CaseTarget], seed: int, state: MutableSequence[int], home: Path
) -> None:
    """Run the jobs that come over a connection until it is closed.

    `state` holds 1 while a case is under way and else 0, and the number of that case.
    """
    folder = _settle(home)
    guard = Guard()
    try:
        while True:
            connection.send(_work(connection.recv(), targets, seed, state, folder, guard))
    except (EOFError, BrokenPipeError):
        return


def _settle(home: Path) -> Path:
    """Make this process fit for hostile cases; return the folder that they get."""
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_IGN)  # the parent process says when it is over
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = home / "case"
    folder.mkdir(parents=True)
    os.chdir(folder)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  # stays open as long as the process lives
    gc.freeze()
    return folder


def _work(
    job: Job, targets: Sequence[CaseTarget], seed: int, state: MutableSequence[int], folder: Path, guard: Guard
) -> Outcome:
    target = targets[job.target]
    outcome = Outcome()
    for number in range(job.first, job.first + job.count):
        content = job.content
        if content is None:
            content = target.make(random_of(seed, target.name, number))
        state[0], state[1] = 1, number
        signal.setitimer(signal.ITIMER_PROF, target.seconds)
        began = time.process_time()
        broken = examine(target, content, folder, guard)
        spent = time.process_time() - began
        signal.setitimer(signal.ITIMER_PROF, 0)
        state[0] = 0
        _empty(folder)
        outcome.done += 1
        outcome.spent += spent
        outcome.slowest = max(outcome.slowest, spent)
        outcome.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        if broken is None and outcome.peak > target.megabytes:
            broken = Broken(f"{outcome.peak:.0f} MB of memory", "memory")
            outcome.bloated = True
        if broken is not None:
            outcome.broken.append((content, broken))
        if outcome.bloated:
            break
    return outcome


def _empty(folder: Path) -> None:
    os.chdir(folder)
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)  # noqa: PTH108  # of an entry that was scanned, for speed
