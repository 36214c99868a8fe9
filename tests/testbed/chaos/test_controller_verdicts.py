"""A controller must act soon after the one that acted has died, if it was able to."""

from __future__ import annotations

import pytest

from testbed.chaos.controller_verdicts import SEEN_WITHIN, Alarm, false_alarms, takeovers
from testbed.chaos.faults import (
    CONTROLLER_FROZEN,
    CONTROLLER_KILLED,
    CUT,
    CUT_END,
    FLAP_DOWN,
    HANDOVER,
    PEER_KINDS,
    STANDBY_KILLED,
    SWITCH_WIPED,
    SWITCHES_FROZEN,
    FaultSpan,
    FaultTimeline,
)

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


ALARM = Alarm(100.0, "a", "b", "9 of 90 packets vanish between a and b")


@pytest.mark.parametrize(
    "span",
    [
        FaultSpan(CUT, ("a", "b"), 90.0, 96.0),
        FaultSpan(CUT_END, ("b", "a"), 99.0),
        FaultSpan(FLAP_DOWN, ("b", "a"), 96.0, 96.1),
        FaultSpan(SWITCH_WIPED, ("b",), 98.0, 98.0),
        FaultSpan(SWITCHES_FROZEN, (), 97.0, 98.0),
    ],
    ids=lambda span: span.kind,
)
def test_an_alarm_that_a_fault_explains_is_none_of_the_controller_s(span: FaultSpan) -> None:
    assert false_alarms([ALARM], [span]) == ()


@pytest.mark.parametrize(
    "span",
    [
        FaultSpan(CUT, ("a", "c"), 90.0, 99.0),
        FaultSpan(CUT, ("a", "b"), 90.0, 100.0 - SEEN_WITHIN - 0.1),
        FaultSpan(CUT, ("a", "b"), 100.1),
        FaultSpan(SWITCH_WIPED, ("c",), 98.0, 98.0),
        FaultSpan(CONTROLLER_KILLED, (), 97.0, 98.0),
    ],
    ids=["another link", "long before", "afterwards", "another switch", "no packet"],
)
def test_an_alarm_that_no_fault_explains_is_false(span: FaultSpan) -> None:
    assert false_alarms([ALARM], [span]) == (ALARM,)
