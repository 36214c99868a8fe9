"""Runs the cases of a sweep: on the processors of this machine, or on the workers of a dask scheduler."""

from __future__ import annotations

import logging
import pickle
import warnings
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from loky import BrokenProcessPool

from kuijia_base.additions import require_installed
from kuijia_base.errors import InputError, KuijiaError
from kuijia_base.parallel import AHEAD, pool
from kuijia_base.sweep.work import Answer, Assignment, answer

if TYPE_CHECKING:
    from distributed import Client


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


_CONNECT_SECONDS = 10
_WORKER_SECONDS = 60


class ClusterError(KuijiaError):
    """The cluster did not complete the work."""


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to the scheduler at `address`, such as `tcp://host:8786`.

    Raises:
        InputError: there is no scheduler.
        MissingPackageError: this machine lacks the package `distributed`.
    """
    expected = "the address of a running dask scheduler, such as tcp://host:8786"
    require_installed("distributed", "--cluster")
    from distributed import Client  # noqa: PLC0415  # optional, and slow to import

    _hush()
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError("option", "--cluster", f"{address} does not answer", expected) from error
    with client:
        yield client


def _hush() -> None:
    """Silence dask's messages, which have tracebacks; we report the reason why a sweep ends once."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)


def cluster_answers(
    client: Client, address: str, assignment: Assignment[Any, Any, Case], cases: Mapping[int, Case]
) -> Generator[Answer, None, None]:
    """Yield an answer for each case, in any order; cases of lost workers go to other workers.

    Raises:
        ClusterError: there are no workers, workers are lost repeatedly, or the scheduler is lost.
    """
    from distributed import KilledWorker, as_completed  # noqa: PLC0415  # optional, and slow to import
    from distributed import TimeoutError as NoWorkerError  # noqa: PLC0415  # in Python 3.10 not the built-in one
    from distributed.client import FutureCancelledError  # noqa: PLC0415  # optional, and slow to import

    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
        # As its own task it can be recomputed when all workers that hold it are lost.
        shared = client.submit(_unpickled, pickle.dumps(assignment))
        futures = client.map(_answer_there, *zip(*cases.items(), strict=True), assignment=shared, pure=False)
        for future in as_completed(futures, loop=client.loop):
            yield future.result()
    except NoWorkerError as error:
        raise ClusterError(f"the scheduler at {address} has no workers, expected at least one") from error
    except KilledWorker as error:
        raise ClusterError(f"workers of {address} were lost again and again, perhaps for lack of memory") from error
    except FutureCancelledError as error:
        raise ClusterError(f"the scheduler at {address} was lost") from error
    except ImportError as error:
        raise ClusterError(f"workers of {address} lack {error.name}, expected kuijia to be installed there") from error


def _unpickled(content: bytes) -> Assignment[Any, Any, Any]:
    assignment: Assignment[Any, Any, Any] = pickle.loads(content)  # noqa: S301  # comes from this module
    return assignment


def _answer_there(number: int, case: object, assignment: Assignment[Any, Any, Any]) -> Answer:
    return answer(assignment, number, case)
