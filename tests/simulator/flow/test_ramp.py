"""The ramp of TCP flows, step by step by hand: a segment in each round trip of 0.1 s is 0.1 Mbit/s."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.flow.model import FluidFlows, Vector
from simulator.flow.timeline import Allowances, Climb, Ramp, Stage

RAMP = Ramp(round_trip=0.1, segment=1250.0)
"""An initial window is 1 Mbit/s; from its threshold on a flow climbs by 1 Mbit/s in a second."""


def stage(start: float, capacity: float, *offered: float, weight: float = 1.0) -> Stage:
    """Flows over one link."""
    flows = FluidFlows.of([[0]] * len(offered), np.array(offered), weight=weight)
    return Stage(start, start + 1, "stage", np.array([capacity]), flows)


def allowances(climb: Climb, at: Stage) -> list[float]:
    return [round(float(each), 9) for each in climb.offer(at.flows.offering(np.full(at.flows.size, 1e9))).offered]


def numbers(*values: float) -> Vector:
    return np.array(values, dtype=np.float64)


def test_a_flow_that_loses_keeps_half_of_what_it_got_and_climbs_from_there() -> None:
    before, after = stage(0, 10, 8), stage(1, 4, 8)
    climb = Climb(RAMP, before)
    climb.enter(before, numbers(8))
    assert allowances(climb, before) == [8]
    climb.enter(after, numbers(4))
    assert allowances(climb, after) == [2]
    climb.grow(after.flows, numbers(2), 0.1)
    assert allowances(climb, after) == [2.1]
    climb.grow(after.flows, numbers(2.1), 0.5)
    assert allowances(climb, after) == [2.6]


def test_a_flow_doubles_up_to_its_threshold_and_no_further_than_it_offers() -> None:
    before, after = stage(0, 10, 0, 0), stage(1, 100, 50, 3)
    climb = Climb(RAMP, before)
    climb.enter(after, numbers(50, 3))
    assert allowances(climb, after) == [1, 1]
    climb.grow(after.flows, numbers(1, 1), 0.1)
    assert allowances(climb, after) == [2, 2]
    climb.grow(after.flows, numbers(2, 2), 0.1)
    assert allowances(climb, after) == [4, 3]
    # Held back at 3: that ends the slow start of the first.
    climb.grow(after.flows, numbers(3, 3), 0.1)
    assert allowances(climb, after) == [3.1, 3]
    climb.grow(after.flows, numbers(3.1, 3), 0.1)
    assert allowances(climb, after) == [3.2, 3]


@pytest.mark.parametrize(("silence", "resumed", "next_step"), [(0.15, 1.3, 1.4), (0.25, 1.0, 1.3)])
def test_a_flow_that_was_silent_backs_off_or_after_the_timeout_begins_again(
    silence: float, resumed: float, next_step: float
) -> None:
    """From 2.6 Mbit/s: half of it while the timer of 0.2 s runs, else an initial window with half as threshold."""
    before, cut, healed = stage(0, 10, 2.6), stage(1, 0, 2.6), stage(1 + silence, 10, 2.6)
    climb = Climb(RAMP, before)
    climb.enter(cut, numbers(0))
    assert allowances(climb, cut) == [0]
    climb.grow(cut.flows, numbers(0), 0.1)
    assert allowances(climb, cut) == [0]
    climb.enter(healed, numbers(2.6))
    assert allowances(climb, healed) == [resumed]
    climb.grow(healed.flows, numbers(resumed), 0.1)
    assert allowances(climb, healed) == [next_step]


def test_a_flow_of_less_than_a_megabit_resumes_too() -> None:
    before, cut, healed = stage(0, 10, 0.5), stage(1, 0, 0.5), stage(1.15, 10, 0.5)
    climb = Climb(RAMP, before)
    climb.enter(cut, numbers(0))
    climb.enter(healed, numbers(0.5))
    assert allowances(climb, healed) == [0.25]


def test_a_flow_that_stands_for_several_climbs_as_several() -> None:
    before, after = stage(0, 10, 0, weight=3), stage(1, 100, 50, weight=3)
    climb = Climb(RAMP, before)
    climb.enter(after, numbers(50))
    assert allowances(climb, after) == [3]
    climb.grow(after.flows, numbers(2), 0.1)
    assert allowances(climb, after) == [2.3]
    climb.settle(after.flows, numbers(7))
    assert allowances(climb, after) == [7]


def test_udp_has_no_ramp() -> None:
    flows = FluidFlows.of([[0]], numbers(8), elastic=False)
    at = Stage(0, 1, "stage", numbers(4), flows)
    climb = Climb(RAMP, at)
    climb.enter(at, numbers(4))
    climb.grow(flows, numbers(4), 0.1)
    assert climb.offer(flows).offered.tolist() == [8]


def test_allowances_double_lose_and_climb() -> None:
    ramp, flows = Allowances(RAMP, 2), np.array([0, 1])
    assert ramp.now(flows).tolist() == pytest.approx([1, 1])
    assert ramp.after(flows, numbers(0.1, 0.2)).tolist() == pytest.approx([2, 4])
    ramp.lose(flows, numbers(0.5, 1))
    assert ramp.now(flows).tolist() == pytest.approx([0.25, 1])
    # The first climbs by 1 Mbit/s in a second, the second doubles until it has 2, which is less than it could send.
    rise = ramp.rise(flows, numbers(9, 2))
    ramp.advance(flows, rise, numbers(0.2, 0.2), ramp.after(flows, numbers(0.2, 0.2)))
    assert ramp.now(flows).tolist() == pytest.approx([0.45, 2])
    assert ramp.after(flows, numbers(0.1, 0.1)).tolist() == pytest.approx([0.55, 2.1])


def test_a_step_is_a_quarter_of_the_shortest_round_trip_unless_given() -> None:
    assert Ramp(round_trip=[0.2, 0.1]).step_seconds == 0.025
    assert Ramp(step=0.5).step_seconds == 0.5
    assert Ramp(round_trip=[0.2, 0.1], segment=1250.0).segment_rate.tolist() == pytest.approx([0.05, 0.1])


@pytest.mark.parametrize("wrong", [{"round_trip": 0.0}, {"backoff": 0.0}, {"backoff": 1.1}, {"step": 0.0}])
def test_impossible_ramps_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected more than 0"):
        Ramp(**wrong)


def test_a_loss_ends_the_slow_start() -> None:
    before, after, narrow = stage(0, 10, 0), stage(1, 100, 50), stage(2, 1, 50)
    climb = Climb(RAMP, before)
    climb.enter(after, numbers(50))
    climb.grow(after.flows, numbers(1), 0.1)
    climb.enter(narrow, numbers(1))
    assert allowances(climb, narrow) == [0.5]
    climb.grow(narrow.flows, numbers(0.5), 0.1)
    assert allowances(climb, narrow) == [0.6]
