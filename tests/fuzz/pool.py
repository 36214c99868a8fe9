"""Hands cases of all targets to worker processes, replaces those that end, and tries suspected cases again alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.fuzz.contract import Broken, random_of
from tests.fuzz.report import KEPT, Report
from tests.fuzz.targets import CaseTarget
from tests.fuzz.worker import Job, Outcome, serve

BATCH = 20
"""Cases of a plain target in a job."""

LIFETIME = 5_000
"""Cases after which a worker is replaced, so that what it keeps does not add up."""

BLOCKED_SECONDS = 60.0
"""Wall time after which a case is ended that has taken no CPU time in it."""

ATTEMPTS = 3
"""Times that a case has to be too slow before it is called so: machines are busy with other things too."""

_LOOK_SECONDS = 1.0


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Any  # a Connection, whose type differs between Python's versions
    state: Any
    job: Job | None = None
    cases: int = 0
    ticks: int = 0
    moved: float = field(default_factory=time.monotonic)
    blocked: bool = False

    def look(self) -> None:
        """End the process when its case has taken no CPU time for long; a busy machine gives every case a little."""
        ticks, now = _ticks(self.process.pid), time.monotonic()
        if not self.state[0] or ticks != self.ticks:
            self.ticks, self.moved = ticks, now
        elif now - self.moved > BLOCKED_SECONDS:
            self.blocked = True
            self.process.kill()


@dataclass
class Pool:
    """Worker processes, forked from this one, that run cases of these targets.

    Attributes:
        retested: suspected cases that were tried again alone.
    """

    targets: Sequence[CaseTarget]
    seed: int
    report: Report
    processes: int = field(default_factory=lambda: os.cpu_count() or 1)
    retested: int = 0
    _next: Counter[int] = field(default_factory=Counter)
    _urgent: deque[Job] = field(default_factory=deque)
    _workers: list[_Worker] = field(default_factory=list)
    _started: int = 0

    def run(self, deadline: float) -> None:
        """Run cases until `time.monotonic()` passes `deadline` or there were enough; cases under way are finished."""
        for target in self.targets:
            target.prepare()
        self._attend(lambda: self._urgent.popleft() if self._urgent else self._more(deadline))

    def repeat(self, target: CaseTarget, content: bytes) -> None:
        """Run one case, as often as it takes to call it good or bad."""
        target.prepare()
        self._urgent.append(Job(self.targets.index(target), 0, 1, content))
        self._attend(lambda: self._urgent.popleft() if self._urgent else None)
        self.report.count(target.name)

    def _attend(self, next_job: Callable[[], Job | None]) -> None:
        with tempfile.TemporaryDirectory(prefix="kuijia-fuzz-", dir=_fast_folder()) as home:
            try:
                self._loop(Path(home), next_job)
            finally:
                for worker in list(self._workers):
                    self._end(worker)

    def _loop(self, home: Path, next_job: Callable[[], Job | None]) -> None:
        while True:
            self._employ(home, next_job)
            if not self._workers:
                return
            pipes = {worker.pipe: worker for worker in self._workers}
            for ready in connection.wait(list(pipes), timeout=_LOOK_SECONDS):
                self._hear(pipes[ready])
            for worker in self._workers:
                worker.look()

    def _employ(self, home: Path, next_job: Callable[[], Job | None]) -> None:
        """Give jobs to workers without one; a suspected case gets a worker of its own."""
        idle = [worker for worker in self._workers if worker.job is None]
        while idle or len(self._workers) < self.processes:
            job = next_job()
            if job is None:
                for worker in idle:
                    self._end(worker)
                return
            worker = idle.pop() if idle else self._start(home)
            if job.content is not None and worker.cases:
                self._end(worker)
                worker = self._start(home)
            worker.job = job
            worker.pipe.send(job)

    def _more(self, deadline: float) -> Job | None:
        """Return the next batch of the target that has had the fewest for its share; None when there were enough."""
        if time.monotonic() >= deadline:
            return None
        wanting = [
            (self._next[position] / target.share, position)
            for position, target in enumerate(self.targets)
            if self.report.most_cases is None or self._next[position] < self._quota(target)
        ]
        if not wanting:
            return None
        position = min(wanting)[1]
        target = self.targets[position]
        count = max(1, round(BATCH * target.share))
        if self.report.most_cases is not None:
            count = min(count, self._quota(target) - self._next[position])
        job = Job(position, self._next[position], count)
        self._next[position] += count
        return job

    def _quota(self, target: CaseTarget) -> int:
        """Return how many of all the cases asked for are this target's."""
        assert self.report.most_cases is not None
        return max(1, round(self.report.most_cases * target.share / sum(each.share for each in self.targets)))

    def _start(self, home: Path) -> _Worker:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        state = context.RawArray("q", 2)
        self._started += 1
        arguments = (theirs, self.targets, self.seed, state, home / str(self._started))
        kept = [ours, *(worker.pipe for worker in self._workers)]
        process = context.Process(target=_serve_alone, args=(kept, *arguments), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process, ours, state)
        self._workers.append(worker)
        return worker

    def _end(self, worker: _Worker) -> None:
        worker.pipe.close()
        worker.process.kill()
        worker.process.join()
        self._workers.remove(worker)

    def _hear(self, worker: _Worker) -> None:
        job = worker.job
        assert job is not None, "only workers with a job say something or end"
        try:
            outcome: Outcome = worker.pipe.recv()
        except (EOFError, ConnectionResetError):
            self._bury(worker, job)
            return
        worker.job = None
        worker.cases += outcome.done
        self._note(job, outcome)
        rest = job.count - outcome.done
        if rest:
            self._urgent.appendleft(replace(job, first=job.first + outcome.done, count=rest))
        if outcome.bloated or job.content is not None or worker.cases >= LIFETIME:
            self._end(worker)

    def _note(self, job: Job, outcome: Outcome) -> None:
        target = self.targets[job.target]
        if job.content is None:
            self.report.count(target.name, outcome.done)
        figures = self.report.figures.setdefault(target.name, {})
        figures["cpu_seconds"] = float(figures.get("cpu_seconds", 0.0)) + outcome.spent
        figures["slowest_seconds"] = max(float(figures.get("slowest_seconds", 0.0)), outcome.slowest)
        figures["peak_mb"] = max(float(figures.get("peak_mb", 0.0)), outcome.peak)
        for content, broken in outcome.broken:
            if outcome.bloated and broken.cause == "memory" and job.content is None:
                self._suspect(Job(job.target, 0, 1, content))
            else:
                self.report.failure(target.name, broken.symptom, content, target.suffix, broken.cause, broken.traceback)
        total = sum(self.report.cases.values())
        self.report.progress.show(f"{total:,} cases, {sum(self.report.causes.values()):,} failures, now {target.name}")

    def _bury(self, worker: _Worker, job: Job) -> None:
        """A worker has ended inside a case: judge that case, and go on with the others of its job."""
        number = int(worker.state[1])
        worker.process.join()
        status = worker.process.exitcode
        self._end(worker)
        target = self.targets[job.target]
        content = job.content
        if content is None:
            content = target.make(random_of(self.seed, target.name, number))
            self.report.count(target.name, number - job.first + 1)
            rest = job.first + job.count - number - 1
            if rest:
                self._urgent.append(replace(job, first=number + 1, count=rest))
        broken = _of_end(target, status, blocked=worker.blocked)
        known = self.report.causes[target.name, broken.cause] >= KEPT
        if status == -signal.SIGPROF and job.attempt + 1 < ATTEMPTS and not known:
            self._suspect(Job(job.target, 0, 1, content, job.attempt + 1))
            return
        self.report.failure(target.name, broken.symptom, content, target.suffix, broken.cause)

    def _suspect(self, job: Job) -> None:
        self.retested += 1
        self._urgent.append(job)


def _of_end(target: CaseTarget, status: int | None, *, blocked: bool) -> Broken:
    if status == -signal.SIGPROF:
        return Broken(f"more than {target.seconds:g} s of CPU time", "time")
    if blocked:
        return Broken(f"no end after {BLOCKED_SECONDS:g} s", "blocked")
    return Broken(f"ended the process with status {status}", f"status {status}")


def _serve_alone(kept: Sequence[Connection], *arguments: Any) -> None:  # noqa: ANN401  # those of `serve`
    """Close this process's copies of what is kept at the other end: a worker ends when that process does."""
    for each in kept:
        each.close()
    serve(*arguments)


def _ticks(pid: int | None) -> int:
    """Return the CPU time that a process has had, in ticks of the clock; proc(5), fields 14 and 15."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:  # it has ended, which its pipe tells
        return 0
    return int(fields[11]) + int(fields[12])


def _fast_folder() -> str | None:
    """Return the folder for the files of cases: in memory, where there is such."""
    memory = Path("/dev/shm")  # noqa: S108  # only the parent of a folder with a random name
    return str(memory) if memory.is_dir() and os.access(memory, os.W_OK) else None
