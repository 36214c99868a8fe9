"""A controller must act soon after the one that acted has died, if it was able to."""

from __future__ import annotations

import pytest

from testbed.chaos.faults import (
    CONTROLLER_FROZEN,
    CONTROLLER_KILLED,
    HANDOVER,
    PEER_KINDS,
    STANDBY_KILLED,
    SWITCHES_FROZEN,
)
from testbed.chaos.takeovers import takeovers
from testbed.chaos.timeline import FaultSpan, FaultTimeline

KILLED = FaultSpan(CONTROLLER_KILLED, (), 100.0, 106.0)


def late(*spans: FaultSpan, taken: float | None, stalled: tuple[tuple[float, float], ...] = ()) -> bool:
    (found,) = takeovers(FaultTimeline(spans, stalled=stalled), [] if taken is None else [taken])
    return found.is_late


@pytest.mark.parametrize(("taken", "expected"), [(99.0, True), (101.4, False), (101.6, True), (None, True)])
def test_another_controller_acts_in_time_or_is_found(taken: float | None, expected: bool) -> None:  # noqa: FBT001
    assert late(KILLED, taken=taken) is expected


def test_a_freeze_that_ends_before_anybody_has_to_act_is_none() -> None:
    assert takeovers(FaultTimeline((FaultSpan(CONTROLLER_FROZEN, (), 100.0, 100.5),)), []) == ()


def test_a_freeze_may_take_longer_and_stalls_do_not_count() -> None:
    assert not late(FaultSpan(CONTROLLER_FROZEN, (), 100.0, 108.0), taken=102.9)
    assert late(FaultSpan(CONTROLLER_FROZEN, (), 100.0, 108.0), taken=103.1)
    assert not late(KILLED, taken=101.9, stalled=((101.0, 101.45),))
    assert late(KILLED, taken=101.9, stalled=((101.0, 101.3), (101.1, 101.3), (102.0, 103.0)))


@pytest.mark.parametrize(
    "hindrance",
    [
        FaultSpan(STANDBY_KILLED, (), 90.0, 95.0),
        FaultSpan(CONTROLLER_KILLED, (), 90.0, 99.0),
        FaultSpan(SWITCHES_FROZEN, (), 100.5, 101.0),
    ],
)
def test_a_successor_that_cannot_reach_the_switches_is_not_judged(hindrance: FaultSpan) -> None:
    found = takeovers(FaultTimeline((hindrance, KILLED)), [])
    assert not found[-1].is_late


def test_a_handover_is_late_if_nobody_takes_over_though_asked() -> None:
    asked = FaultSpan(HANDOVER, (), 100.0, 100.0)
    assert not late(asked, taken=100.2)
    assert late(asked, taken=None)
    for kind in PEER_KINDS:
        assert not late(asked, FaultSpan(kind, (), 99.5, 101.0), taken=None)


def test_a_controller_takes_over_in_time_although_it_does_not_hear_the_one_that_died() -> None:
    for kind in PEER_KINDS:
        assert late(KILLED, FaultSpan(kind, (), 99.5, 101.0), taken=101.6)
