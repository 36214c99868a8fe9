"""A failure on a machine that the hypervisor held back is repeated, then skipped; any other failure counts at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, cast

import pytest

from tests.busy_machine import ATTEMPTS, QuietRunner, Steal, watched_steal

QUIET, BUSY = 0.0, 0.2
Outcome = Literal["passed", "failed"]


@dataclass
class Item:
    """The parts of a test that the runner looks at."""

    nodeid: str = "tests/test_x.py::test_y"
    location: tuple[str, int, str] = ("tests/test_x.py", 7, "test_y")


@dataclass
class Machine:
    """Attempts as they are scripted: how the test ends, and what the hypervisor takes meanwhile."""

    attempts: list[tuple[Outcome, float]]
    seconds_each: float = 1.0
    now: float = 0.0
    rests: int = 0
    forgotten: int = 0
    left: list[tuple[Outcome, float]] = field(init=False)

    def __post_init__(self) -> None:
        self.left = list(self.attempts)

    @contextmanager
    def watch(self) -> Iterator[Steal]:
        yield Steal(self.left[0][1])

    def run(self, item: pytest.Item, _next_item: pytest.Item | None) -> Sequence[pytest.TestReport]:
        outcome, _ = self.left.pop(0)
        self.now += self.seconds_each
        return [pytest.TestReport(item.nodeid, item.location, {}, outcome, None, "call")]

    def rest(self) -> None:
        self.rests += 1

    def forget(self, _item: pytest.Item) -> None:
        self.forgotten += 1

    def runner(self, seconds_left: float = 100.0) -> QuietRunner:
        return QuietRunner(self.run, self.forget, self.rest, self.watch, lambda: self.now, seconds_left)


def ended(runner: QuietRunner, item: Item | None = None) -> str:
    (report,) = runner.reports(cast("pytest.Item", item or Item()), None)
    return report.outcome


@pytest.mark.parametrize(("attempt", "outcome"), [(("passed", BUSY), "passed"), (("failed", QUIET), "failed")])
def test_a_pass_and_a_failure_on_a_quiet_machine_count_at_once(attempt: tuple[Outcome, float], outcome: str) -> None:
    machine = Machine([attempt])
    assert ended(machine.runner()) == outcome
    assert machine.rests == 0


def test_a_disturbed_failure_is_repeated_with_new_fixtures_when_the_machine_rests() -> None:
    machine = Machine([("failed", BUSY), ("passed", QUIET)])
    assert ended(machine.runner()) == "passed"
    assert (machine.rests, machine.forgotten) == (1, 1)


def test_a_failure_that_stays_when_the_machine_is_quiet_is_a_failure() -> None:
    assert ended(Machine([("failed", BUSY), ("failed", QUIET)]).runner()) == "failed"


def test_what_is_disturbed_in_every_attempt_is_skipped_with_its_reason() -> None:
    machine = Machine([("failed", BUSY)] * ATTEMPTS)
    (report,) = machine.runner().reports(cast("pytest.Item", Item()), None)
    assert report.outcome == "skipped"
    assert machine.left == []
    assert isinstance(report.longrepr, tuple)
    assert "the hypervisor took 20% of the processors' time" in report.longrepr[2]


def test_a_test_that_judges_what_a_disturbed_fixture_measured_is_repeated() -> None:
    machine = Machine([("passed", BUSY), ("failed", QUIET), ("passed", QUIET)])
    runner = machine.runner()
    assert [ended(runner, Item("tests/test_x.py::test_a")), ended(runner)] == ["passed", "passed"]
    other = Machine([("passed", BUSY), ("failed", QUIET)])
    runner = other.runner()
    assert [ended(runner, Item("tests/test_z.py::test_a")), ended(runner)] == ["passed", "failed"]


def test_repetitions_end_when_their_time_is_used_up() -> None:
    machine = Machine([("failed", BUSY), ("failed", BUSY)], seconds_each=60)
    assert ended(machine.runner(seconds_left=50)) == "skipped"
    assert machine.left == []


def test_the_watch_sees_no_more_than_the_whole_of_the_processors() -> None:
    with watched_steal() as steal:
        pass
    assert 0 <= steal.worst <= 1
