"""A run is tried again only where the machine had a part in every loss, and with the faults about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.chaos.faults import CUT, FLAP, ChaosFault, FaultTimeline
from testbed.chaos.oracle import Loss, ProbeFlow, UnexcusedLoss
from testbed.chaos.run import ChaosResult
from tests.testbed.chaos.trying_again import faults_again, was_disturbed

FLOW = ProbeFlow(0, "s1", "s4", 0, ("s1", "s4"))
QUIET = 3.0


def result(*lost_at: float, stalled: tuple[tuple[float, float], ...] = (), errors: tuple[str, ...] = ()) -> ChaosResult:
    losses = tuple(Loss(0, at, at + 0.1, 50) for at in lost_at)
    faults = tuple(ChaosFault(at, kind, ("s1", "s4"), 2.0) for at, kind in ((5.0, CUT), (40.0, FLAP), (60.0, CUT)))
    return ChaosResult(
        faults=faults,
        flows=(FLOW,),
        counts=(),
        streams=(),
        load=(),
        losses=losses,
        timeline=FaultTimeline((), stalled=stalled),
        began=100.0,
        seconds=80.0,
        lost_without_excuse=tuple(UnexcusedLoss(FLOW, loss, ()) for loss in losses),
        owed_to_the_machine=(),
        takeovers=(),
        false_alarms=(),
        own_ends=(),
        tables=(),
        leaks=(),
        sizes={},
        errors=errors,
    )


def test_a_loss_on_a_machine_that_never_stalled_is_not_tried_again() -> None:
    assert not was_disturbed(result(110.0))
    assert was_disturbed(result(110.0, stalled=((109.5, 109.6),)))
    assert not was_disturbed(result(110.0, 120.0, stalled=((109.5, 109.6),)))


def test_a_command_that_was_not_answered_is_tried_again_with_everything_after_a_long_stall() -> None:
    assert not was_disturbed(result(110.0, stalled=((109.5, 109.6),), errors=("x",)))
    slow = result(110.0, stalled=((130.0, 130.5),), errors=("x",))
    assert was_disturbed(slow)
    assert faults_again(slow, QUIET) == slow.faults


def test_what_may_not_be_owed_to_the_machine_is_never_tried_again() -> None:
    stalled = ((100.0, 200.0),)
    assert not was_disturbed(replace(result(110.0, stalled=stalled), leaks=("x",)))
    assert not was_disturbed(replace(result(110.0, stalled=stalled), tables=("x",)))


@pytest.mark.parametrize(
    ("lost_at", "expected"),
    [
        ((145.0,), [(0.0, FLAP)]),
        ((165.0,), [(0.0, CUT)]),
        ((145.0, 165.0), [(0.0, FLAP), (20.0, CUT)]),
        ((135.0,), []),
    ],
)
def test_faults_shortly_before_a_loss_are_made_again(
    lost_at: tuple[float, ...], expected: list[tuple[float, str]]
) -> None:
    assert [(fault.at, fault.kind) for fault in faults_again(result(*lost_at), QUIET)] == expected
