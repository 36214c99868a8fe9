"""Repeats tests on real packets that failed while the hypervisor held the processors, and skips what it never lets run.

A test that fails on processors of its own fails at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

import pytest
from _pytest.runner import runtestprotocol  # pytest-rerunfailures repeats tests by it, too

from experiments.measuring.load import MAX_STEAL, LoadWatch, load_at_rest

WINDOW_SECONDS = 5.0
"""Shorter than what any experiment averages over, and long enough for the ticks of /proc/stat."""

ATTEMPTS = 3
REPEATING_SECONDS = 600.0
"""Limit on the time that repetitions take in one session; afterwards a disturbed test is skipped at once."""


@dataclass
class Steal:
    """The largest share of the processors' time, in any window, that the hypervisor took."""

    worst: float = 0.0


@contextmanager
def watched_steal() -> Iterator[Steal]:
    """Watch in the block; the last window ends with the block, however short it is."""
    steal, ended, watch = Steal(), Event(), LoadWatch(None)

    def look() -> None:
        steal.worst = max(steal.worst, watch.load().steal)

    def look_until_ended() -> None:
        while not ended.wait(WINDOW_SECONDS):
            look()

    thread = Thread(target=look_until_ended, name="steal watch", daemon=True)
    thread.start()
    try:
        yield steal
    finally:
        ended.set()
        thread.join()
        look()


def run_with_fixtures(item: pytest.Item, next_item: pytest.Item | None) -> Sequence[pytest.TestReport]:
    """Run a test once, without reporting it to the terminal."""
    return runtestprotocol(item, log=False, nextitem=next_item)


def tear_down_all_fixtures(item: pytest.Item) -> None:
    item.session._setupstate.teardown_exact(None)  # pytest has no public way to measure anew


def wait_for_rest() -> None:
    load_at_rest(LoadWatch(None))


@dataclass
class QuietRunner:
    """Runs tests, each of them again if it failed on a disturbed machine.

    Attributes:
        run: runs a test with its fixtures and returns its reports.
        forget: tears down all fixtures, so that a repeated test measures anew.
        rest: returns when the machine is quiet, or after a while.
        watch: watches the hypervisor in a block.
        clock: returns seconds.
        seconds_left: for repetitions.
        worst_of_module: worst window so far of each file, as tests judge what a fixture measured before another one.
    """

    run: Callable[[pytest.Item, pytest.Item | None], Sequence[pytest.TestReport]] = run_with_fixtures
    forget: Callable[[pytest.Item], None] = tear_down_all_fixtures
    rest: Callable[[], None] = wait_for_rest
    watch: Callable[[], AbstractContextManager[Steal]] = watched_steal
    clock: Callable[[], float] = time.monotonic
    seconds_left: float = REPEATING_SECONDS
    worst_of_module: dict[str, float] = field(default_factory=dict)

    def reports(self, item: pytest.Item, next_item: pytest.Item | None) -> Sequence[pytest.TestReport]:
        """Return the reports of the test's last attempt, or that it is skipped because every attempt was disturbed."""
        reports, worst = self._attempt(item, next_item)
        for _ in range(1, ATTEMPTS):
            if self.seconds_left <= 0 or not _is_disturbed(reports, worst):
                break
            began = self.clock()
            self.forget(item)
            self.worst_of_module.pop(_module_of(item), None)
            self.rest()
            reports, worst = self._attempt(item, next_item)
            self.seconds_left -= self.clock() - began
        return _skipped(item, reports, worst) if _is_disturbed(reports, worst) else reports

    def _attempt(self, item: pytest.Item, next_item: pytest.Item | None) -> tuple[Sequence[pytest.TestReport], float]:
        with self.watch() as steal:
            reports = self.run(item, next_item)
        module = _module_of(item)
        worst = self.worst_of_module[module] = max(steal.worst, self.worst_of_module.get(module, 0.0))
        return reports, worst


def _module_of(item: pytest.Item) -> str:
    return item.nodeid.split("::", 1)[0]


def _is_disturbed(reports: Sequence[pytest.TestReport], worst: float) -> bool:
    return worst > MAX_STEAL and any(report.failed for report in reports)


def _skipped(item: pytest.Item, reports: Sequence[pytest.TestReport], worst: float) -> list[pytest.TestReport]:
    path, line, _ = item.location
    reason = f"Skipped: failed while the hypervisor took {worst:.0%} of the processors' time, more than {MAX_STEAL:.0%}"
    for report in reports:
        if report.failed:
            report.outcome, report.longrepr = "skipped", (path, line or 0, reason)
    return list(reports)
