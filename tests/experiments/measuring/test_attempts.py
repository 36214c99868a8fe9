"""Runs on a busy machine are repeated; if they stay disturbed, all are measured again on slower links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from experiments.measuring.load import believable, runs_on_links_it_can_carry
from experiments.results.result import Result
from tests.experiments.sample_results import TABLE_2_KUIJIA, TABLE_2_RESCALING, result

GOOD = result("kuijia", TABLE_2_KUIJIA)
BUSY = replace(GOOD, invalid=("steal",))
SCHEMES = {"rescaling": TABLE_2_RESCALING, "kuijia": TABLE_2_KUIJIA}


def in_turn(*results: Result) -> Callable[[], Result]:
    return iter(results).__next__


def measuring(measured: list[tuple[float, str]], too_much: float) -> Callable[[float], Iterator[Result]]:
    """Return runs in which Kuijia's are disturbed on links of `too_much` Mbit/s or more."""

    def measure(capacity: float) -> Iterator[Result]:
        for scheme, goodput in SCHEMES.items():
            measured.append((capacity, scheme))
            invalid = ("steal",) if scheme == "kuijia" and capacity >= too_much else ()
            yield replace(result(scheme, goodput, invalid=invalid), capacity=capacity)

    return measure


def test_the_first_run_that_was_not_disturbed_counts() -> None:
    said: list[str] = []
    assert believable(in_turn(BUSY, GOOD), "cut 2", said.append) == GOOD
    assert said == ["cut 2, attempt 1 of 3, is not used: steal"]


def test_after_the_last_attempt_the_run_is_taken_as_it_is() -> None:
    said: list[str] = []
    assert believable(in_turn(BUSY, BUSY, BUSY), "cut 2", said.append) == BUSY
    assert len(said) == 2


def test_a_disturbed_run_is_followed_by_all_runs_on_slower_links() -> None:
    measured: list[tuple[float, str]] = []
    said: list[str] = []
    results = runs_on_links_it_can_carry((20.0, 5.0), measuring(measured, too_much=20.0), said.append)
    assert [(each.capacity, each.scheme, each.invalid) for each in results] == [
        (5.0, "rescaling", ()),
        (5.0, "kuijia", ()),
    ]
    assert measured == [(20.0, "rescaling"), (20.0, "kuijia"), (5.0, "rescaling"), (5.0, "kuijia")]
    assert said == ["steal: everything again on links of 5 Mbit/s"]


def test_nothing_is_measured_on_slower_links_without_need() -> None:
    measured: list[tuple[float, str]] = []
    results = runs_on_links_it_can_carry((20.0, 5.0), measuring(measured, too_much=30.0), print)
    assert [each.capacity for each in results] == [20.0, 20.0]
    assert len(measured) == 2


def test_links_of_the_only_capacity_are_measured_to_the_end() -> None:
    measured: list[tuple[float, str]] = []
    results = runs_on_links_it_can_carry((20.0,), measuring(measured, too_much=20.0), print)
    assert [each.invalid for each in results] == [(), ("steal",)]
