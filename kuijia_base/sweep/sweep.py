"""Defines and runs sweeps: results come in the order of the cases, for any workers at any time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kuijia_base.errors import InterruptedWorkError, KuijiaError
from kuijia_base.option_values import is_page
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.checkpoint import Checkpoint
from kuijia_base.sweep.work import Answer, Assignment, Case, Context, Ready, code_version
from kuijia_base.sweep.workers import Workers

SHORTEST = 2.0
"""Seconds after the first case before a pace can be judged: processes finish their first cases all at once."""


class Pace:
    """Pace of `total` cases; the time until the first one is finished does not count, as workers have to start."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._first: tuple[int, float] | None = None

    def left(self, done: int, now: float) -> float | None:
        """Return the seconds until all cases are done, None if not known yet; to be called after each case.

        Args:
            done: number of finished cases.
            now: seconds from any origin.
        """
        if self._first is None:
            self._first = (done, now)
        first, since = self._first
        if done == first or now - since < SHORTEST:
            return None
        return (now - since) / (done - first) * (self._total - done)


def duration(seconds: float) -> str:
    """Return a time in words: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@dataclass(frozen=True)
class Sweep(Generic[Context, Ready, Case]):
    """The same work on many cases.

    A result may depend only on the context and its case, not on other cases that a process has worked on. Then it is
    the same for any number of workers, and whether or not the sweep was interrupted.

    Attributes:
        name: users' name for it, also the name of its checkpoint.
        settings: JSON data that the results depend on; a checkpoint with other settings is refused.
        context: data that all cases need; pickled and sent to every worker once.
        prepare: converts the context to the argument of `work`, once for each working thread; defined at module level.
        work: returns the result of a case as JSON data; defined at module level. A KuijiaError ends the sweep.
        cases: pickled one by one; worth some 10 ms each, as one process holds and hands out all of them.
    """

    name: str
    settings: Mapping[str, Any]
    context: Context
    prepare: Callable[[Context], Ready]
    work: Callable[[Ready, Case], Any]
    cases: Sequence[Case]


def no_preparation(context: Context) -> Context:
    """Return the context unchanged: cases share no preparation."""
    return context


class CaseError(KuijiaError):
    """One case of a sweep ended with an error for the user; carries its exit status."""

    def __init__(self, message: str, exit_status: int) -> None:
        super().__init__(message)
        self.exit_status = exit_status


@contextmanager
def swept(
    sweep: Sweep[Context, Ready, Case], workers: Workers, output: OutputFolder | None, progress: Progress
) -> Iterator[list[Any]]:
    """Yield the results of all cases in order, while the block writes the sweep's own files.

    Finished cases are kept in a checkpoint in `output`: a sweep run again with the same folder continues from there.
    The checkpoint is removed when the block ends without an error. Without a folder nothing is kept.

    Raises:
        InputError: the checkpoint belongs to another sweep or cannot be written, or the cluster cannot be reached.
        KuijiaError: a case ended with an error, or workers are killed repeatedly; finished cases are kept.
        InterruptedWorkError: the user pressed Ctrl-C; finished cases are kept.
    """
    code = code_version()
    checkpoint = None
    if output is not None:
        identity = {"sweep": sweep.name, "cases": len(sweep.cases), "code": code, **sweep.settings}
        checkpoint = Checkpoint(output.path / f"{output.page or sweep.name}.checkpoint", identity)
    try:
        assignment = Assignment(sweep.prepare, sweep.work, sweep.context, code)
        results = _results(sweep, assignment, workers, checkpoint, progress)
        try:
            yield results
        except KeyboardInterrupt as error:
            raise InterruptedWorkError(f"stopped; {_kept(sweep, len(results), checkpoint)}") from error
    except BaseException:
        if checkpoint is not None:
            checkpoint.close()
        raise
    if checkpoint is not None:
        checkpoint.remove()


def _results(
    sweep: Sweep[Context, Ready, Case],
    assignment: Assignment[Context, Ready, Case],
    workers: Workers,
    checkpoint: Checkpoint | None,
    progress: Progress,
) -> list[Any]:
    """Return the results in the order of the cases; those in the checkpoint need no work."""
    done = {} if checkpoint is None else checkpoint.done
    left = {number: case for number, case in enumerate(sweep.cases) if number not in done}
    try:
        with _answers(assignment, left, workers) as answers:
            show = _shower(sweep, len(done), workers, progress)
            for each in answers:
                if each.error_status is not None:
                    message = f"{sweep.name}, case {each.case + 1} of {len(sweep.cases):,}: {each.text}"
                    raise CaseError(message, each.error_status)
                if checkpoint is None:
                    done[each.case] = json.loads(each.text)
                else:
                    checkpoint.add(each.case, each.text)
                show(len(done))
    except KeyboardInterrupt as error:
        raise InterruptedWorkError(f"stopped; {_kept(sweep, len(done), checkpoint)}") from error
    except KuijiaError:
        if checkpoint is not None and done:
            progress.say(_kept(sweep, len(done), checkpoint))
        raise
    return [done[number] for number in range(len(sweep.cases))]


@contextmanager
def _answers(
    assignment: Assignment[Context, Ready, Case], cases: Mapping[int, Case], workers: Workers
) -> Iterator[Iterator[Answer]]:
    """Yield the answers as they come; work stops when the block ends."""
    if not cases:
        yield iter(())
        return
    from kuijia_base.sweep.pools import cluster_answers, connected, local_answers  # noqa: PLC0415  # slow: loky

    if workers.cluster is None:
        with closing(local_answers(assignment, cases, workers.processes)) as answers:
            yield answers
    else:
        with (
            connected(workers.cluster) as client,
            closing(cluster_answers(client, workers.cluster, assignment, cases)) as answers,
        ):
            yield answers


def _shower(sweep: Sweep[Any, Any, Any], before: int, workers: Workers, progress: Progress) -> Callable[[int], None]:
    """Return a function that shows the number of finished cases (`before` from an earlier run) and the time left.

    Fast work in this process shows nothing.
    """
    total = len(sweep.cases)
    show_late = progress.patiently()
    pace = Pace(total)
    if before:
        progress.say(f"{sweep.name}: {before:,} of {total:,} cases were finished by an earlier run")

    def show(done: int) -> None:
        left = pace.left(done, time.monotonic())
        rest = "" if left is None else f", {duration(left)} left"
        show_late(f"{sweep.name}: {done:,} of {total:,} cases{rest}", done, total)

    if before < total and workers != Workers(1):
        who = workers.cluster or f"{workers.processes} processes"
        progress.show(f"{sweep.name}: {before:,} of {total:,} cases, {who}", before, total)
    return show


def _kept(sweep: Sweep[Any, Any, Any], done: int, checkpoint: Checkpoint | None) -> str:
    cases = f"{done:,} of {len(sweep.cases):,} cases were finished"
    if checkpoint is None or not done:
        return f"{cases}, no results are kept"
    page = checkpoint.path.with_suffix("")
    output = page if is_page(page) else page.parent
    return f"{cases} and are kept: the same command with -o {output} resumes"


Key = TypeVar("Key")


@contextmanager
def swept_by_key(
    name: str,
    keyed: Mapping[Key, Sequence[Case]],
    work: Callable[[Case], Any],
    workers: Workers,
    output: OutputFolder,
    progress: Progress,
) -> Iterator[dict[Key, list[Any]]]:
    """Yield what `work` makes of each case, by key and in order, while the block writes the sweep's own files."""
    cases = [case for of_key in keyed.values() for case in of_key]
    sweep = Sweep(name, {"cases_of": [repr(case) for case in cases]}, work, no_preparation, _result_of, cases=cases)
    with swept(sweep, workers, output, progress) as found:
        left = iter(found)
        yield {key: [next(left) for _ in of_key] for key, of_key in keyed.items()}


def _result_of(work: Callable[[Case], Any], case: Case) -> Any:  # noqa: ANN401  # JSON
    return work(case)
