"""Notices from a separate thread that a loop of the application or of the gate hangs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOOK = 0.1
"""Seconds between two looks."""

LIMIT = 2.0
"""Seconds within which a loop must turn; a clock gives each loop something to do many times a second."""

LONG_LIMIT = 120.0
"""The same during work that is known to take long."""


_LEAST = LIMIT / LONG_LIMIT
"""Part of a look that always counts: a loop that hangs is noticed within `LONG_LIMIT`, however busy the machine is."""

_THREADS = Path("/proc/self/task")


class Stall:
    """Counts looks without progress since the one before; pure.

    Time is counted in looks, not read from a clock: when the whole process stands still, as after SIGSTOP or on a
    machine that swaps, there are no looks either, and no loop is to blame. Neither is one whose process waits for a
    processor: it can only turn in the time that is left.
    """

    def __init__(self) -> None:
        self._beats = 0
        self._still = 0.0
        self._still_in_long_work = 0

    def look(self, beats: int, *, in_long_work: bool, waited: float = 0.0) -> float | None:
        """Take one look; return the limit in seconds once `beats` has not changed for so long, else None.

        `waited` are the seconds since the look before in which a thread waited for a processor.
        """
        if beats != self._beats:
            self._beats, self._still, self._still_in_long_work = beats, 0.0, 0
        elif in_long_work:
            self._still, self._still_in_long_work = 0.0, self._still_in_long_work + 1
        else:
            self._still += max(1.0 - waited / LOOK, _LEAST)
        if self._still * LOOK >= LIMIT:
            return LIMIT
        return LONG_LIMIT if self._still_in_long_work * LOOK >= LONG_LIMIT else None


class ProcessorWaits:
    """Time that threads of this process wait for a processor, as Linux tells (proc(5), `schedstat`); else none."""

    def __init__(self, threads: Path = _THREADS) -> None:
        self._threads = threads
        self._before: dict[str, int] = {}

    def since_last(self) -> float:
        """Return the seconds that the thread which waited most has waited since the last call."""
        before, self._before = self._before, dict(self._now())
        grown = (waited - before.get(thread, waited) for thread, waited in self._before.items())
        return max(grown, default=0) / 1e9

    def _now(self) -> Iterator[tuple[str, int]]:
        """Yield the nanoseconds that each thread has waited since its start."""
        for thread in self._threads.glob("*/schedstat"):
            with suppress(OSError, ValueError, IndexError):  # it has ended, or the kernel does not count
                yield thread.parent.name, int(thread.read_text().split()[1])


class Watchdog:
    """Calls `stalled` with the name of a loop and a number of seconds once it has not called `beat` for so long.

    `watch` is the body of a thread. The thread and `sleep` must be the operating system's: a green thread would
    stand still together with the loop.
    """

    def __init__(
        self,
        stalled: Callable[[str, float], None],
        sleep: Callable[[float], None],
        waited: Callable[[], float] | None = None,
    ) -> None:
        """Begin with no loop; `waited` is as of `ProcessorWaits.since_last`."""
        self._stalled = stalled
        self._sleep = sleep
        self._waited = waited or ProcessorWaits().since_last
        self._beats: dict[str, int] = {}
        self._long_works = 0

    def expect(self, loop: str) -> None:
        """Watch a loop from now on, even if it never turns."""
        self._beats[loop] = 0

    def beat(self, loop: str) -> None:
        """Note that a loop has turned, and watch it from now on. One thread for each loop may call this."""
        self._beats[loop] = self._beats.get(loop, 0) + 1

    @contextmanager
    def long_work(self) -> Iterator[None]:
        """Allow all loops `LONG_LIMIT` while the block runs: one may wait for another."""
        self._long_works += 1
        try:
            yield
        finally:
            self._long_works -= 1

    def watch(self) -> None:
        """Look at regular intervals; never return."""
        stalls: defaultdict[str, Stall] = defaultdict(Stall)
        before: dict[str, int] = {}
        while True:
            self._sleep(LOOK)
            now = dict(self._beats)
            is_still = any(before.get(loop) == beats for loop, beats in now.items())
            waited = self._waited() if is_still else 0.0  # it takes a fifth of a millisecond
            for loop, beats in now.items():
                limit = stalls[loop].look(beats, in_long_work=self._long_works > 0, waited=waited)
                if limit is not None:
                    self._stalled(loop, limit)
            before = now
