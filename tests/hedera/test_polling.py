from __future__ import annotations

from ipaddress import IPv4Address

from hypothesis import given
from hypothesis import strategies as st

from hedera.scheduling.polling import CounterReading, FiveTuple, Polls

LEAST_PATIENCE, TCP, WINDOW = 2.0, 6, 1.0

NIC_RATE = 10.0
FLOW = FiveTuple(IPv4Address("10.0.0.2"), IPv4Address("10.1.0.2"), TCP, 20000, 5001)
OTHER = FiveTuple(IPv4Address("10.0.0.3"), IPv4Address("10.1.0.2"), TCP, 20000, 5001)


def megabits(amount: float) -> int:
    return round(amount * 1e6 / 8)


def answer(polls: Polls, at: float, *readings: CounterReading, switch: str = "edge", more: bool = False) -> None:
    polls.ask(switch, at)
    polls.answered(switch, at, readings, more=more)


def test_a_flow_seen_for_the_first_time_has_its_mean_rate_so_far() -> None:
    polls = Polls(NIC_RATE)
    answer(polls, 100.0, CounterReading(FLOW, megabits(6), age=2.0))
    assert polls.rates()[FLOW] == 3.0


def test_a_flow_that_has_just_begun_does_not_count_as_fast() -> None:
    polls = Polls(NIC_RATE)
    answer(polls, 100.0, CounterReading(FLOW, megabits(0.5), age=0.01))
    assert polls.rates()[FLOW] == 0.5 / WINDOW


def test_rates_are_those_of_the_last_moments_whatever_the_period() -> None:
    polls = Polls(NIC_RATE)
    sent = 0.0
    for tick in range(100):
        now = tick / 10
        sent += 0.4 if now < 5 else 0.2
        answer(polls, now, CounterReading(FLOW, megabits(sent), age=now))
    assert abs(polls.rates()[FLOW] - 2.0) < 0.01


def test_counters_that_stand_still_between_two_updates_of_the_switch_are_averaged() -> None:
    polls = Polls(NIC_RATE)
    for tick in range(40):
        updated_at = tick // 5 * 0.5
        answer(polls, tick / 10, CounterReading(FLOW, megabits(4 * updated_at), age=tick / 10))
        if tick > 20:
            assert 2.0 <= polls.rates()[FLOW] <= 6.0


def test_a_counter_that_jumps_back_keeps_the_rate_until_there_is_a_new_one() -> None:
    polls = Polls(NIC_RATE)
    answer(polls, 0.0, CounterReading(FLOW, 0, age=0.0))
    answer(polls, 2.0, CounterReading(FLOW, megabits(8), age=2.0))
    answer(polls, 4.0, CounterReading(FLOW, megabits(1), age=0.1))
    assert polls.rates()[FLOW] == 4.0
    answer(polls, 6.0, CounterReading(FLOW, megabits(5), age=2.1))
    assert polls.rates()[FLOW] == 2.0


def test_flows_missing_from_two_whole_answers_are_forgotten_and_those_of_parts_are_put_together() -> None:
    polls = Polls(NIC_RATE)
    polls.ask("edge", 1.0)
    polls.answered("edge", 1.0, [CounterReading(FLOW, megabits(1), age=1.0)], more=True)
    assert not polls.rates()
    polls.answered("edge", 1.0, [CounterReading(OTHER, megabits(1), age=1.0)], more=False)
    assert polls.rates().keys() == {FLOW, OTHER}
    answer(polls, 2.0, CounterReading(OTHER, megabits(2), age=2.0))
    assert polls.rates()[FLOW] == 1.0, "it was deleted, perhaps, and will be learned again"
    answer(polls, 3.0, CounterReading(OTHER, megabits(3), age=3.0), CounterReading(FLOW, 0, age=0.0))
    answer(polls, 4.0, CounterReading(OTHER, megabits(4), age=4.0))
    assert polls.rates()[FLOW] == 1.0
    answer(polls, 5.0, CounterReading(OTHER, megabits(5), age=5.0))
    assert polls.rates().keys() == {OTHER}


def test_a_switch_that_stops_answering_is_named_and_its_flows_are_forgotten_until_it_answers_again() -> None:
    polls = Polls(NIC_RATE)
    answer(polls, 0.0, CounterReading(FLOW, megabits(2), age=1.0))
    answer(polls, 0.0, CounterReading(OTHER, megabits(2), age=1.0), switch="well")
    assert polls.ask("edge", 1.0)
    assert not polls.ask("edge", 1.0 + LEAST_PATIENCE)
    assert FLOW in polls.rates()
    assert not polls.silent
    assert polls.ask("edge", 1.1 + LEAST_PATIENCE)
    assert polls.rates().keys() == {OTHER}
    assert polls.silent == {"edge"}
    assert not polls.ask("edge", 1.2 + LEAST_PATIENCE)
    answer(polls, 9.0, CounterReading(FLOW, megabits(9), age=9.0))
    assert not polls.silent
    assert FLOW in polls.rates()


def test_a_disconnected_switch_is_neither_silent_nor_has_it_flows() -> None:
    polls = Polls(NIC_RATE)
    answer(polls, 0.0, CounterReading(FLOW, megabits(2), age=1.0))
    polls.gone("edge")
    assert not polls.rates()
    assert not polls.silent


@given(st.lists(st.tuples(st.floats(0, 3), st.integers(0, 2**63), st.floats(0, 100)), min_size=1, max_size=30))
def test_no_counters_make_a_rate_below_zero_or_above_the_interface(steps: list[tuple[float, int, float]]) -> None:
    polls = Polls(NIC_RATE)
    now = 0.0
    for passed, count, age in steps:
        now += passed
        answer(polls, now, CounterReading(FLOW, count, age))
        assert 0 <= polls.rates()[FLOW] <= NIC_RATE
