"""Any packet lost without an excuse and any late takeover is reported."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace

import pytest

from experiments.results.exhibit import exhibit_text
from experiments.takeover.command import configure, options_from
from experiments.takeover.report import (
    CUT_REMOTE,
    FROZEN,
    HANDOVER,
    KILLED,
    LOCAL_LINK,
    REMOTE_LINK,
    TakeoverOptions,
    TakeoverPhase,
    exhibits,
)
from experiments.takeover.run import takeover_plan


def result(name: str, took: float, *, lost: int = 0, without: int = 0, told: tuple[float, ...] = ()) -> TakeoverPhase:
    return TakeoverPhase(name, 3.0, (took,), told, 1000, lost, without, ())


def missed(*results: TakeoverPhase) -> list[str]:
    (made,) = exhibits(list(map(asdict, results)))
    return [each.removeprefix("takeover (emulation): limit: ") for each in made.missed()]


def test_nothing_is_missed_when_only_packets_on_their_way_to_a_cut_are_lost() -> None:
    results = [result(HANDOVER, 0.1), result(KILLED, 1.4), result(CUT_REMOTE, 1.0, lost=300, told=(0.1,))]
    assert missed(TakeoverPhase("idle", 5.0, (), (), 1000, 0, 0, ()), *results) == []


def test_losses_and_late_takeovers_are_reported() -> None:
    assert missed(result(HANDOVER, 0.1, lost=1, without=1)) == [
        "packets lost without excuse, handover is 1, expected at most 0",
        "packets lost, handover is 1, expected at most 0",
    ]
    assert missed(result(KILLED, 1.6), result(FROZEN, 2.9)) == [
        "seconds until the other acts, killed is 1.6, expected at most 1.5"
    ]
    twice = replace(result(CUT_REMOTE, 1.0, lost=300, told=(0.1, 0.3)), took=(1.0, 1.0))
    assert missed(twice) == [f"seconds until ingresses are told, {CUT_REMOTE} is 0.3, expected at most 0.2"]


def test_a_cut_that_no_ingress_was_told_of_is_reported() -> None:
    assert missed(result(CUT_REMOTE, 1.0, lost=300)) == [
        f"cuts that no ingress was told of, {CUT_REMOTE} is 1, expected at most 0"
    ]


def test_what_is_not_to_be_believed_is_told() -> None:
    disturbed = TakeoverPhase(HANDOVER, 3.0, (0.1,), (), 1000, 0, 0, ("busy",))
    (made,) = exhibits([asdict(disturbed)])
    assert exhibit_text(made).splitlines()[-1] == "handover: busy"


def test_links_that_are_cut_are_those_of_tunnels() -> None:
    paths = {tunnel.nodes for tunnel in takeover_plan(20.0).tunnels}
    assert ("s1", *REMOTE_LINK) in paths
    assert any(path[:2] == LOCAL_LINK and path[-1] == "s4" for path in paths)


@pytest.mark.parametrize(
    ("arguments", "quick", "expected"),
    [
        ([], False, TakeoverOptions(100, 5)),
        ([], True, TakeoverOptions(5, 1)),
        (["--handovers", "3", "--failures", "2"], True, TakeoverOptions(3, 2)),
    ],
)
def test_what_is_given_goes_before_the_defaults(
    arguments: list[str], *, quick: bool, expected: TakeoverOptions
) -> None:
    parser = argparse.ArgumentParser()
    configure(parser)
    assert options_from(parser.parse_args(arguments), quick=quick) == expected
