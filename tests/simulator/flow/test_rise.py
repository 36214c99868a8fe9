"""Rising flows: the amount sent in a time, and the time for an amount, agree with the rates in between."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.flow.timeline import Allowances, Ramp, Rise

RATES = st.floats(1e-3, 1e4)


def rises() -> st.SearchStrategy[Rise]:
    def made(begin: float, threshold: float, further: float, round_trip: float, increase: float) -> Rise:
        return Rise(np.array([begin]), np.array([threshold]), np.array([begin * further]), round_trip, increase)

    return st.builds(made, RATES, RATES, st.floats(1.0, 1e4), st.floats(1e-4, 1.0), st.floats(0.1, 1e5))


def test_doubling_then_climbing_then_staying() -> None:
    rise = Rise(np.array([10.0]), np.array([40.0]), np.array([60.0]), round_trip=1.0, increase=10.0)
    assert [rise.rates(np.array([t])).item() for t in (0.0, 1.0, 2.0, 3.0, 4.0, 9.0)] == [10, 20, 40, 50, 60, 60]
    doubling, climbing = 30 / np.log(2), 100.0
    assert rise.sent(np.array([2.0])) == pytest.approx(doubling)
    assert rise.sent(np.array([4.0])) == pytest.approx(doubling + climbing)
    assert rise.sent(np.array([9.0])) == pytest.approx(doubling + climbing + 5 * 60)


def test_flows_that_rise_to_nothing_send_nothing() -> None:
    rise = Rise.none(np.array([0.0, 8.0]))
    assert rise.sent(np.array([3.0, 3.0])).tolist() == [0, 24]
    assert rise.seconds_for(np.array([1.0, 24.0])).tolist() == [np.inf, 3]


@given(rises(), st.floats(0.0, 100.0))
def test_the_time_for_what_was_sent_is_the_time_that_it_took(rise: Rise, seconds: float) -> None:
    sent = rise.sent(np.array([seconds]))
    assert rise.seconds_for(sent) == pytest.approx(seconds, rel=1e-6, abs=1e-9)


@given(rises(), st.floats(1e-3, 10.0))
def test_what_is_sent_is_the_sum_of_the_rates(rise: Rise, seconds: float) -> None:
    """Rates rise, so the sum lies between the lower and the upper sums over the intervals."""
    edges = np.linspace(0.0, seconds, 400)
    rates = rise.rates(edges)
    width = seconds / 399
    lower, upper = rates[:-1].sum() * width, rates[1:].sum() * width
    assert lower * (1 - 1e-9) <= rise.sent(np.array([seconds])).item() <= upper * (1 + 1e-9)
    assert (np.diff(rates) >= -1e-9 * rates[:-1]).all()
    assert rise.begin <= rates[0] * (1 + 1e-12)
    assert rates[-1] <= rise.top


@given(st.lists(st.floats(1.0, 900.0), min_size=1, max_size=20), st.floats(1e-4, 0.01), st.floats(0.1, 1.0))
def test_allowances_never_exceed_what_flows_are_given_and_come_to_it(
    given_rates: list[float], round_trip: float, backoff: float
) -> None:
    allowances = Allowances(Ramp(round_trip, backoff=backoff), 1)
    flow, step = np.array([0]), np.array([0.02])
    for rate in given_rates:
        top = np.array([rate])
        allowances.lose(flow, np.minimum(top, allowances.now(flow)))
        could = allowances.after(flow, step)
        rise = allowances.rise(flow, np.minimum(top, could))
        assert (rise.sent(step) <= top * step * (1 + 1e-9)).all()
        allowances.advance(flow, rise, step, could)
        assert allowances.now(flow) <= rate
    top = np.array(given_rates[-1:])
    for _ in range(int(given_rates[-1] * round_trip**2 / 0.01168 / step.item()) + 20):
        could = allowances.after(flow, step)
        allowances.advance(flow, allowances.rise(flow, np.minimum(top, could)), step, could)
    assert allowances.now(flow) == pytest.approx(given_rates[-1])


def test_a_flow_begins_with_ten_segments_and_after_a_loss_climbs_by_one_in_each_round_trip() -> None:
    allowances = Allowances(Ramp(round_trip=0.001), 1)
    flow, segment = np.array([0]), 1460 * 8e-6 / 0.001
    assert allowances.now(flow) == pytest.approx(10 * segment)
    assert allowances.after(flow, np.array([0.002])) == pytest.approx(40 * segment)
    allowances.lose(flow, np.array([6 * segment]))
    assert allowances.now(flow) == pytest.approx(3 * segment)
    assert allowances.after(flow, np.array([0.002])) == pytest.approx(5 * segment)
