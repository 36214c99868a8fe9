"""An alarm about packets that vanish is false unless a fault on that link, or at its ends, can have cost them."""

from __future__ import annotations

import pytest

from testbed.chaos.alarms import SEEN_WITHIN, Alarm, false_alarms
from testbed.chaos.faults import CONTROLLER_KILLED, CUT, CUT_END, FLAP_DOWN, SWITCH_WIPED, SWITCHES_FROZEN
from testbed.chaos.timeline import FaultSpan

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
