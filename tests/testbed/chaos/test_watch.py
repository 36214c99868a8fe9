"""Lost frames are the machine's fault only where it was busy; a switch is away until some controller has it again."""

from __future__ import annotations

from testbed.chaos.controller_verdicts import OwnEnd
from testbed.chaos.faults import CONTROLLER_FROZEN, CONTROLLER_KILLED, FROM_SWITCH_CUT, SWITCHES_FROZEN, FaultSpan
from testbed.chaos.watch import ChaosWatch, UnreadFrames, away, overloaded

BUSY, IDLE = UnreadFrames(10.0, 10.25, was_busy=True), UnreadFrames(10.0, 10.25, was_busy=False)


def test_frames_that_an_idle_switch_did_not_read_are_no_excuse() -> None:
    assert overloaded([BUSY], (), ()) == ((10.0, 10.25),)
    assert overloaded([IDLE], (), ()) == ()


def test_frames_that_were_lost_in_a_stall_of_the_machine_are_one() -> None:
    assert overloaded([IDLE], (), [(10.2, 10.3)]) == ((10.0, 10.25),)
    assert overloaded([IDLE], (), [(11.0, 11.3)]) == ()


def test_a_switch_that_was_made_to_stand_still_did_not_lose_them_by_the_machine() -> None:
    assert overloaded([BUSY], [FaultSpan(SWITCHES_FROZEN, (), 9.0, 10.1)], ()) == ()


def test_one_controller_is_away_until_it_has_read_the_switch_again() -> None:
    watch = ChaosWatch(ready=[(1.0, "a"), (13.0, "a")])
    assert away(["a"], [FaultSpan(CONTROLLER_KILLED, (), 10.0, 12.0)], watch, 20.0) == {
        "a": ((10.0, 12.0), (10.0, 13.0))
    }
    assert away(["a"], [FaultSpan(CONTROLLER_FROZEN, (), 10.0, 12.0)], watch, 20.0) == {"a": ((10.0, 12.0),)}


def test_a_controller_that_ends_by_itself_excuses_nothing_in_the_time_until_another_has_its_switches() -> None:
    watch = ChaosWatch(ready=[(1.0, "a"), (77.0, "a")], taken=[10.9], own_ends=[OwnEnd(10.2, 1, "it hangs")])
    assert away(["a"], [], watch, 80.0) == {}
    watch.own_ends.clear()
    assert away(["a"], [], watch, 80.0) == {"a": ((10.9, 77.0),)}


def test_with_a_pair_a_switch_is_away_until_the_other_controller_has_it() -> None:
    watch = ChaosWatch(ready=[(1.0, "a"), (10.91, "a")], taken=[0.9, 10.9])
    for kind in (CONTROLLER_KILLED, CONTROLLER_FROZEN, FROM_SWITCH_CUT):
        subject = ("a",) if kind == FROM_SWITCH_CUT else ()
        spans = away(["a"], [FaultSpan(kind, subject, 10.0, 16.0)], watch, 20.0)["a"]
        assert max(end for start, end in spans if start >= 10.0) == 10.91
