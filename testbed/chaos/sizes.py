"""Sizes of processes over a run: tells what piles up from what comes and goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from testbed.machine.processes import PROC

_STATUS_MEMORY = "VmRSS:"

SAMPLE_SECONDS = 2.0
SETTLED_AFTER = 5
"""Samples of a process that are left out: it starts."""

WINDOW = 15
"""Samples at a time, of which the largest stands for the beginning and the smallest for the end."""

MOST_MORE_DESCRIPTORS = 8
MOST_MORE_THREADS = 4
"""Growth that is still an ordinary coming and going: pools of threads, connections."""

MOST_MORE_KB = 65_536
MOST_MORE_KB_LATER = 16_384
"""Growth of memory in all, and in the second half of a process's life: what fills up once does so early."""

_LEAST_SAMPLES = SETTLED_AFTER + 3 * WINDOW


@dataclass(frozen=True)
class ProcessSize:
    """A process: its threads, open descriptors and resident memory in kilobytes."""

    threads: int
    descriptors: int
    memory_kb: int


def size_of(pid: int) -> ProcessSize | None:
    """Return the size of a process, None if it has ended."""
    folder = PROC / str(pid)
    try:
        status = (folder / "status").read_text()
        memory = next(line for line in status.splitlines() if line.startswith(_STATUS_MEMORY))
        return ProcessSize(
            len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir())), int(memory.split()[1])
        )
    except (OSError, StopIteration):
        return None


@dataclass
class SizeWatch:
    """Samples of processes by name; a process that takes the place of another one, or has other work, begins again."""

    _samples: dict[tuple[str, int, int], list[ProcessSize]] = field(default_factory=dict)
    _looked_at: float = 0.0

    def look(self, processes: Callable[[], Mapping[str, int | None]], now: float, work: int = 0) -> None:
        """Take a sample of each process that runs, if it is time for one.

        Args:
            processes: returns their ids by name.
            now: seconds.
            work: number of things that they keep; samples are compared only with those for as many.
        """
        if now - self._looked_at < SAMPLE_SECONDS:
            return
        self._looked_at = now
        for name, pid in processes().items():
            size = None if pid is None else size_of(pid)
            if pid is not None and size is not None:
                self._samples.setdefault((name, pid, work), []).append(size)

    def growth(self) -> tuple[str, ...]:
        """Return in words what has piled up in a process that lived long enough to tell."""
        return tuple(line for (name, *_), samples in self._samples.items() for line in piled_up(name, samples))

    def largest(self) -> dict[str, tuple[ProcessSize, ProcessSize]]:
        """Return for each name the size at first and the largest of each kind."""
        found: dict[str, list[ProcessSize]] = {}
        for (name, *_), samples in self._samples.items():
            found.setdefault(name, []).extend(samples)
        return {name: (samples[0], _extreme(samples, max)) for name, samples in found.items()}


def piled_up(name: str, samples: Sequence[ProcessSize]) -> tuple[str, ...]:
    """Return in words what has piled up in one process; too few samples tell nothing."""
    if len(samples) < _LEAST_SAMPLES:
        return ()
    settled = samples[SETTLED_AFTER:]
    middle = (len(settled) - WINDOW) // 2
    first, half = (_extreme(settled[at : at + WINDOW], max) for at in (0, middle))
    last = _extreme(settled[-WINDOW:], min)
    rows = [
        ("threads", first.threads, last.threads, MOST_MORE_THREADS),
        ("descriptors", first.descriptors, last.descriptors, MOST_MORE_DESCRIPTORS),
        ("kB of memory", first.memory_kb, last.memory_kb, MOST_MORE_KB),
        ("kB of memory", half.memory_kb, last.memory_kb, MOST_MORE_KB_LATER),
    ]
    found = [f"{name} has {now:,} {what}, {then:,} before" for what, then, now, more in rows if now > then + more]
    return tuple(found)


def _extreme(samples: Sequence[ProcessSize], choose: Callable[[Iterable[int]], int]) -> ProcessSize:
    return ProcessSize(
        choose(each.threads for each in samples),
        choose(each.descriptors for each in samples),
        choose(each.memory_kb for each in samples),
    )
