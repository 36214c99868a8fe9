"""Runs a sweep on the processors of this machine, through joblib."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Mapping
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import BrokenProcessPool

from kuijia_base.errors import KuijiaError
from kuijia_base.parallel import end_with, no_interrupts
from kuijia_base.sweep.work import Answer, Assignment, answer

Case = TypeVar("Case")

_ATTEMPTS = 3
"""How often in a row workers may be killed without finishing a case in between."""


class WorkersKilledError(KuijiaError):
    """Processes of this sweep are killed repeatedly."""


def local_answers(
    assignment: Assignment[Any, Any, Case], cases: Mapping[int, Case], processes: int
) -> Generator[Answer, None, None]:
    """Yield an answer for each case, in any order; with one process the work is done in this one.

    Cases of killed workers go to other workers.

    Raises:
        WorkersKilledError: workers are killed repeatedly.
    """
    if processes == 1:
        yield from (answer(assignment, number, case) for number, case in cases.items())
        return
    left = dict(cases)
    attempts = 0
    while left:
        try:
            for each in _pool_answers(assignment, dict(left), min(processes, len(left))):
                del left[each.case]
                attempts = 0
                yield each
        except BrokenProcessPool as error:
            attempts += 1
            if attempts == _ATTEMPTS:
                problem = f"workers were killed {attempts} times in a row, perhaps for lack of memory"
                raise WorkersKilledError(f"{problem}, expected room for {processes} or fewer --workers") from error


def _pool_answers(
    assignment: Assignment[Any, Any, Case], cases: Mapping[int, Case], processes: int
) -> Generator[Answer, None, None]:
    settings = parallel_config(
        backend="loky",
        n_jobs=max(processes, 2),
        inner_max_num_threads=1,
        max_nbytes=None,
        initializer=_start,
        initargs=(assignment, os.getpid()),
    )
    with settings, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        tasks = (delayed(_answer)(number, case) for number, case in cases.items())
        with no_interrupts():
            # In batches, an answer would have to wait for others, and would be lost with them.
            answers = Parallel(return_as="generator_unordered", batch_size=1)(tasks)
        try:
            yield from answers
        finally:
            answers.close()  # kills the workers unless all is done
            get_reusable_executor(reuse=True).shutdown(wait=True)


_assigned: list[Assignment[Any, Any, Any]] = []
"""Assignment of this worker process."""


def _start(assignment: Assignment[Any, Any, Any], parent: int) -> None:
    _assigned[:] = [assignment]
    end_with(parent)


def _answer(number: int, case: object) -> Answer:
    return answer(_assigned[0], number, case)
