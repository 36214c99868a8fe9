"""A round of the scheduler: its decisions, and its handling of odd counters and answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedera import _core
from hedera.network.fabric import HASHED
from hedera.network.fat_tree import FatTree
from hedera.placement.interface import Placement
from hedera.placement.registry import EcmpPlacement, GlobalFirstFit
from hedera.placement.scheduling_round import Changes, PollReply, SchedulingRound
from tests.hedera.reference import scheduling_round as reference

TREE = FatTree(4)
MEGABYTE = 1_000_000
Flow = tuple[int, int, int, int]
"""Key, source, target and bytes of a flow."""


def poll(time: float, answers: dict[int, list[Flow]], age: float = 100.0) -> PollReply:
    flows = [flow for each in answers.values() for flow in each]
    key, source, target, sent = np.array(flows, np.int64).reshape(-1, 4).T
    return PollReply(
        time,
        np.array(list(answers), np.int32),
        np.cumsum([0, *map(len, answers.values())], dtype=np.int64),
        key.astype(np.uint64),
        source.astype(np.int32),
        target.astype(np.int32),
        sent.astype(np.uint64),
        np.full(key.size, age),
    )


def first_fit() -> SchedulingRound:
    return SchedulingRound(TREE, GlobalFirstFit())


def placed(changes: Changes) -> dict[int, int]:
    return dict(zip(changes.placed.tolist(), changes.labels.tolist(), strict=True))


def test_elephants_are_placed_once_and_mice_never() -> None:
    rounds = first_fit()
    elephant, mouse = 500 * MEGABYTE, MEGABYTE
    first = rounds.run(poll(5, {0: [(1, 0, 8, elephant), (2, 1, 9, mouse)]}, age=5))
    assert first.rates.tolist() == pytest.approx([800.0, 1.6])
    assert placed(first) == {0: 0}
    second = rounds.run(poll(10, {0: [(2, 1, 9, 2 * mouse), (1, 0, 8, 2 * elephant)]}))
    assert second.rates.tolist() == pytest.approx([1.6, 800.0])
    assert (placed(second), second.released.tolist()) == ({}, [])


def test_a_flow_that_becomes_a_mouse_is_released() -> None:
    rounds = first_fit()
    rounds.run(poll(5, {0: [(1, 0, 8, 500 * MEGABYTE)]}, age=5))
    changes = rounds.run(poll(10, {0: [(1, 0, 8, 501 * MEGABYTE)]}))
    assert (placed(changes), changes.released.tolist()) == ({}, [0])


def test_a_counter_that_jumps_back_has_begun_anew() -> None:
    rounds = first_fit()
    rounds.run(poll(5, {0: [(1, 0, 8, 900 * MEGABYTE)]}, age=5))
    changes = rounds.run(poll(10, {0: [(1, 0, 8, 100 * MEGABYTE)]}, age=1))
    assert changes.rates.tolist() == pytest.approx([800.0])
    assert changes.released.size == 0


def test_a_flow_that_ended_is_forgotten() -> None:
    rounds = first_fit()
    rounds.run(poll(5, {0: [(1, 0, 8, 500 * MEGABYTE)]}, age=5))
    assert rounds.run(poll(10, {0: []})).rates.size == 0
    again = rounds.run(poll(15, {0: [(1, 0, 8, 500 * MEGABYTE)]}, age=5))
    assert placed(again) == {0: 0}


def test_a_switch_that_does_not_answer_is_left_as_it_was() -> None:
    rounds = first_fit()
    rounds.run(poll(5, {0: [(1, 0, 8, 500 * MEGABYTE)], 1: [(1, 2, 10, 500 * MEGABYTE)]}, age=5))
    silent = rounds.run(poll(10, {1: [(1, 2, 10, 1000 * MEGABYTE)]}))
    assert (placed(silent), silent.released.tolist()) == ({}, [])
    back = rounds.run(poll(15, {0: [(1, 0, 8, 1500 * MEGABYTE)], 1: [(1, 2, 10, 1500 * MEGABYTE)]}))
    assert back.rates.tolist() == pytest.approx([800.0, 800.0])
    assert placed(back) == {}


def test_flows_of_unknown_hosts_are_named_and_left_alone() -> None:
    flows = [(1, 0, 8, 500 * MEGABYTE), (2, 99, 8, 500 * MEGABYTE), (3, 0, -1, 500 * MEGABYTE)]
    changes = first_fit().run(poll(5, {0: flows}, age=5))
    assert placed(changes) == {0: 0}
    assert changes.strangers.tolist() == [1, 2]


def test_a_flow_whose_link_died_goes_another_way() -> None:
    rounds = first_fit()
    flow = (1, 0, 8, 500 * MEGABYTE)
    rounds.run(poll(5, {0: [flow]}, age=5))
    capacity = TREE.capacity.copy()
    capacity[TREE.path(0, 8, 0)[2]] = 0
    assert placed(rounds.run(poll(10, {0: [(*flow[:3], 2 * flow[3])]}), capacity)) == {0: 1}


@pytest.mark.parametrize("placement", [EcmpPlacement(), GlobalFirstFit()])
def test_a_poll_without_flows_changes_nothing(placement: Placement) -> None:
    changes = SchedulingRound(TREE, placement).run(poll(5, {}))
    assert changes.placed.size == changes.released.size == changes.rates.size == 0


@pytest.mark.parametrize(
    ("answers", "time", "problem"),
    [
        ({8: []}, 10.0, r"switches\[0\]: expected an existing number"),
        ({0: []}, 5.0, r"switches\[0\]: expected a time later than that of the switch's last poll"),
        ({0: []}, np.nan, r"switches\[0\]: expected a time later"),
    ],
)
def test_polls_that_cannot_be_are_refused(answers: dict[int, list[Flow]], time: float, problem: str) -> None:
    rounds = first_fit()
    rounds.run(poll(5, {0: []}))
    with pytest.raises(ValueError, match=problem):
        rounds.run(poll(time, answers))


@st.composite
def polls(draw: st.DrawFn) -> list[PollReply]:
    """Polls of three switches, with few keys and counters that go up and down."""
    made = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        switches = draw(st.lists(st.integers(0, 2), unique=True))
        keys = [draw(st.lists(st.integers(0, 40), unique=True, max_size=12)) for _ in switches]
        counter = st.integers(0, 10**9)
        answers = {
            switch: [(key, 0, 8, draw(counter)) for key in of_switch]
            for switch, of_switch in zip(switches, keys, strict=True)
        }
        made.append(poll(float(number), answers, age=draw(st.floats(0, 10))))
    return made


@settings(deadline=None, max_examples=60)
@given(polls())
def test_the_book_of_flows_is_its_reference(made: list[PollReply]) -> None:
    fast, slow = _core.FlowBook(3), reference.FlowBook()
    for number, each in enumerate(made):
        rates, labels = fast.read(each.time, each.switches, each.first, each.key, each.sent, each.age)
        slow_rates, slow_labels = slow.read(each)
        assert rates.tolist() == pytest.approx(slow_rates.tolist())
        assert labels.tolist() == slow_labels.tolist()
        noted = np.where(np.arange(labels.size) % 3 == number % 3, number, HASHED).astype(np.int32)
        fast.note(noted)
        slow.note(noted)


@pytest.mark.parametrize("time", [0.0, 0.5, 5.0, 10.0, 1e6])
def test_the_first_poll_of_a_switch_divides_by_the_ages_of_flows_whatever_the_clock_says(time: float) -> None:
    """A mouse of 50 Mbit/s for 10 s: 62.5 MB. A host's interface has 1,000 Mbit/s, an elephant above 100."""
    changes = first_fit().run(poll(time, {0: [(1, 0, 8, 62 * MEGABYTE + MEGABYTE // 2)]}, age=10))
    assert changes.rates.tolist() == pytest.approx([50.0])
    assert placed(changes) == {}


def test_a_flow_that_a_known_switch_reports_for_the_first_time_is_averaged_over_its_age() -> None:
    rounds = first_fit()
    rounds.run(poll(5, {0: []}))
    assert rounds.run(poll(6, {0: [(1, 0, 8, 25 * MEGABYTE)]}, age=2)).rates.tolist() == pytest.approx([100.0])


def test_a_counter_that_restarted_counts_at_most_since_the_last_poll() -> None:
    rounds = first_fit()
    rounds.run(poll(5, {0: [(1, 0, 8, 900 * MEGABYTE)]}, age=5))
    changes = rounds.run(poll(7, {0: [(1, 0, 8, 100 * MEGABYTE)]}, age=7))
    assert changes.rates.tolist() == pytest.approx([400.0])


def test_a_flow_younger_than_a_second_has_its_full_rate() -> None:
    """1.25 MB in 10 ms are 1,000 Mbit/s; below 1 ms a rate counts over 1 ms."""
    assert first_fit().run(poll(1, {0: [(1, 0, 8, 1_250_000)]}, age=0.01)).rates.tolist() == pytest.approx([1000.0])
    assert first_fit().run(poll(1, {0: [(1, 0, 8, 125_000)]}, age=0.0)).rates.tolist() == pytest.approx([1000.0])


def test_an_elephant_sends_more_than_a_tenth_of_its_interface() -> None:
    """12.5 MB in a second are 100 Mbit/s, a tenth of 1,000, and so no elephant yet."""
    rounds = first_fit()
    flows = [(1, 0, 8, 12 * MEGABYTE + MEGABYTE // 2), (2, 1, 9, 13 * MEGABYTE)]
    assert placed(rounds.run(poll(1, {0: flows}, age=1))).keys() == {1}
