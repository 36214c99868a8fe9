"""Measurement of time and memory."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Generic, TypeVar

from kuijia_base.parallel import end_with, processors

Value = TypeVar("Value")
Argument = TypeVar("Argument")

_KIBIBYTES_PER_MEGABYTE = 1e6 / 1024


@dataclass(frozen=True)
class Timed(Generic[Value]):
    """The result of some work, and its seconds."""

    value: Value
    seconds: float


def timed(work: Callable[[], Value]) -> Timed[Value]:
    started = time.perf_counter()
    value = work()
    return Timed(value, time.perf_counter() - started)


def processor_timed(work: Callable[[], Value]) -> Timed[Value]:
    """Return the result of some work, and the seconds of a processor that it takes, whatever else the machine does."""
    started = time.process_time()
    value = work()
    return Timed(value, time.process_time() - started)


def processor_time(work: Callable[[], object]) -> float:
    """Return the seconds of a processor that the work takes."""
    return processor_timed(work).seconds


@dataclass(frozen=True)
class Apart(Generic[Value]):
    """The result of work in a process of its own, and the peak memory of it and its child processes."""

    value: Value
    peak_megabytes: float


def apart(work: Callable[[Argument], Value], argument: Argument) -> Apart[Value]:
    """Run `work`, a function at the top level of a module, in a process of its own.

    Its child processes count as one for each processor, each as large as the largest.
    """
    with ProcessPoolExecutor(1, get_context("spawn"), end_with, (os.getpid(),)) as pool:
        return pool.submit(_with_memory, work, argument).result()


def _with_memory(work: Callable[[Argument], Value], argument: Argument) -> Apart[Value]:
    value = work(argument)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    others = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * processors()
    return Apart(value, round((own + others) / _KIBIBYTES_PER_MEGABYTE))
