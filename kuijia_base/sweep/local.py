"""Runs a sweep on the processors of this machine."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping
from concurrent.futures import FIRST_COMPLETED, wait
from itertools import islice
from typing import Any, TypeVar

from loky import BrokenProcessPool

from kuijia_base.errors import KuijiaError
from kuijia_base.parallel import AHEAD, pool
from kuijia_base.sweep.work import Answer, Assignment, answer

Case = TypeVar("Case")

_ATTEMPTS = 3
"""How often in a row workers may be killed without finishing a case in between."""

_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("BLIS", "MKL", "OMP", "OPENBLAS", "VECLIB_MAXIMUM")}
"""Environment in which linear algebra takes one processor, as the other ones have workers too."""


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
    left = iter(cases.items())
    with warnings.catch_warnings(), pool(assignment, processes, _ONE_THREAD) as submit:
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        waiting = {submit(_answer, case) for case in islice(left, AHEAD * processes)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            # Where workers were killed, what others have finished comes first and is kept.
            yield from (each.result() for each in sorted(done, key=lambda each: each.exception() is not None))
            waiting |= {submit(_answer, case) for case in islice(left, len(done))}


def _answer(assignment: Assignment[Any, Any, Case], case: tuple[int, Case]) -> Answer:
    return answer(assignment, *case)
