"""Parts of senders' path selection, against cases worked out by hand and slow references."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.packet import _core
from simulator.packet.load_balancing import CloveEcn, FlowBender, Hermes
from simulator.packet.scenario import core_rules

MICROSECOND = 10**6
BASE = 60 * MICROSECOND
HERMES = core_rules(Hermes(low=20e-6, high=140e-6))


def sensed(delay: int, *, marked: bool) -> _core.SensedPath:
    """Return a path with one sample, the delay in microseconds."""
    path = _core.SensedPath()
    path.probed(HERMES, delay * MICROSECOND, marked)
    return path


@pytest.mark.parametrize(
    ("marks", "delay", "kind"),
    [
        ("many", 201, "congested"),
        ("many", 199, "gray"),
        ("many", 100, "gray"),
        ("many", 79, "gray"),
        ("few", 201, "gray"),
        ("few", 100, "gray"),
        ("few", 81, "gray"),
        ("few", 79, "good"),
    ],
)
def test_a_path_is_judged_by_marks_and_delays_as_in_table_5(marks: str, delay: int, kind: str) -> None:
    assert sensed(delay, marked=marks == "many").kind(HERMES, BASE) == kind


@pytest.mark.parametrize(("delay", "kind"), [(201, "congested"), (100, "gray"), (79, "good")])
def test_without_ecn_the_delay_alone_judges_a_path(delay: int, kind: str) -> None:
    rules = core_rules(Hermes(uses_ecn=False))
    assert {sensed(delay, marked=marked).kind(rules, BASE) for marked in (True, False)} == {kind}


def test_a_path_of_which_nothing_is_known_is_gray() -> None:
    assert _core.SensedPath().kind(HERMES, BASE) == "gray"


def test_means_of_a_path_give_the_newest_sample_one_half() -> None:
    path = _core.SensedPath()
    means = []
    for sample in (100, 200, 50):
        path.acknowledged(HERMES, sample * MICROSECOND, False)
        means.append(path.delay / MICROSECOND)
    assert means == [100, 150, 100]


def test_an_acknowledgement_without_a_delay_counts_with_its_mark() -> None:
    path = sensed(100, marked=False)
    for _ in range(10):
        path.acknowledged(HERMES, None, True)
    assert (path.delay, path.marked) == (100 * MICROSECOND, 0.5)


def test_ten_acknowledgements_are_one_sample_of_marks_and_so_is_a_probe() -> None:
    path = _core.SensedPath()
    marks = []
    for count in (4, 8):  # of ten: shares 0.4 and 0.8
        for place in range(10):
            path.acknowledged(HERMES, BASE, place < count)
            marks.append(path.marked)
    path.probed(HERMES, BASE, True)
    assert marks == [0] * 9 + [0.4] * 10 + [pytest.approx(0.6)]
    assert path.marked == pytest.approx(0.8)


def lossy_count(path: _core.SensedPath, packets: int, again: int) -> bool:
    """Send packets over 10 ms, the first ones again; return True if the path is found failed then."""
    found = [path.sent(HERMES, BASE, number * 10**10 // packets) for number in range(packets)]
    found += [path.sent_again(HERMES, BASE, 9_999 * MICROSECOND) for _ in range(again)]
    assert not any(found)
    return path.sent(HERMES, BASE, 10_000 * MICROSECOND)


@pytest.mark.parametrize(("packets", "most"), [(99, 1), (300, 3)])
def test_a_path_has_failed_when_more_than_a_hundredth_is_sent_again(packets: int, most: int) -> None:
    for again in (most, most + 1):
        path = sensed(100, marked=False)
        assert lossy_count(path, packets, again) == (again > most)
        assert path.failed(10_001 * MICROSECOND) == (again > most)


def test_a_congested_path_that_loses_packets_has_not_failed() -> None:
    path = sensed(300, marked=True)
    assert not lossy_count(path, 100, 50)


def test_losses_are_not_judged_before_there_are_enough_packets() -> None:
    path = sensed(100, marked=False)
    assert not lossy_count(path, 50, 25)
    assert [path.sent(HERMES, BASE, 20_000 * MICROSECOND) for _ in range(49)] == [False] * 48 + [True]


def test_a_sum_loses_a_fifth_after_each_period() -> None:
    sum_, period = _core.DiscountedBytes(), 30 * MICROSECOND
    sum_.add(1000, 0, period, 0.2)
    assert sum_.at(period - 1, period, 0.2) == 1000
    assert sum_.at(period, period, 0.2) == pytest.approx(800)
    sum_.add(200, 2 * period - 1, period, 0.2)
    assert sum_.at(3 * period, period, 0.2) == pytest.approx(640)


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 9000), st.booleans()), min_size=1),
    st.sampled_from([0.1, 0.2, 1.0]),
)
def test_the_sum_of_flows_is_the_sum_of_their_sums(sent: list[tuple[int, int, bool]], gain: float) -> None:
    sums = [_core.DiscountedBytes() for _ in range(3)]
    period = 30 * MICROSECOND
    for time, size, which in sorted(sent):
        for place in (2, int(which)):
            sums[place].add(size, time * MICROSECOND, period, gain)
    one, other, both = (each.at(401 * MICROSECOND, period, gain) for each in sums)
    exact = sum(size * (1 - Fraction(gain)) ** (401 // 30 - time // 30) for time, size, _ in sent)
    assert one + other == pytest.approx(both, abs=1e-6)
    assert both == pytest.approx(float(exact), abs=1e-6)


def test_a_marked_path_loses_a_third_of_its_weight_to_the_others() -> None:
    rules = core_rules(CloveEcn(kept=0.67, pause=40e-6))
    weights = _core.PathWeights(4)
    weights.marked(0, 0, rules)
    assert weights.all() == pytest.approx([0.67, 1.11, 1.11, 1.11])
    weights.marked(0, 39 * MICROSECOND, rules)  # too early
    assert weights.all() == pytest.approx([0.67, 1.11, 1.11, 1.11])
    weights.marked(0, 40 * MICROSECOND, rules)  # 0.67 * 0.33 / 3 = 0.0737
    assert weights.all() == pytest.approx([0.4489, 1.1837, 1.1837, 1.1837])
    weights.marked(2, 41 * MICROSECOND, rules)  # 1.1837 * 0.33 / 3 = 0.130207
    assert weights.all() == pytest.approx([0.579107, 1.313907, 0.793079, 1.313907])


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 60)), max_size=60))
def test_weights_stay_positive_and_their_sum_the_number_of_paths(paths: int, marks: list[tuple[int, int]]) -> None:
    weights, now = _core.PathWeights(paths), 0
    for path, later in marks:
        now += later * MICROSECOND
        weights.marked(path % paths, now, core_rules(CloveEcn()))
    assert sum(weights.all()) == pytest.approx(paths)
    assert min(weights.all()) > 0


def moves(rules: FlowBender, window: int, marked: list[int]) -> list[int]:
    """Return after which round trips a flow moves that always has so many segments on their way.

    Args:
        rules: parameters.
        window: segments.
        marked: marked acknowledgements of each round trip.
    """
    count, found = _core.MarkCount(), []
    first = 0
    for number, marks in enumerate(marked):
        count.sent(first + window)
        answers = [count.acknowledged(first + 1 + place, place < marks, core_rules(rules)) for place in range(window)]
        first += window
        assert not any(answers[:-1])
        found += [number] * answers[-1]
    return found


def test_flows_move_after_a_round_trip_with_more_than_a_twentieth_marked() -> None:
    assert moves(FlowBender(), 20, [0, 1, 2, 0, 20]) == [2, 4]  # 1 of 20 is not more than 0.05


def test_flows_move_after_several_such_round_trips_in_a_row() -> None:
    assert moves(FlowBender(round_trips=2), 10, [5, 0, 5, 5, 5, 5, 0]) == [3, 5]


def test_a_round_of_weights_is_the_one_worked_out_by_hand() -> None:
    """Weights 10, 10 and 2 are 5, 5 and 1; always the one furthest behind is next, the first one if they are equal."""
    assert _core.weighted_round([10, 10, 2]) == [0, 1, 0, 1, 2, 0, 1, 0, 1, 0, 1]
    assert _core.weighted_round([7, 7, 7]) == [0, 1, 2]


def test_a_round_in_rows_has_each_place_in_proportion_and_at_least_once() -> None:
    assert _core.round_in_rows([10, 10, 2], 10) == [0] * 10 + [1] * 10 + [2] * 2
    assert _core.round_in_rows([1000, 1], 10) == [0] * 10 + [1]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=9))
def test_each_place_of_a_round_comes_as_often_as_its_weight_and_evenly(weights: list[int]) -> None:
    round_ = np.array(_core.weighted_round(weights))
    reduced = np.array(weights) // np.gcd.reduce(weights)
    assert np.bincount(round_, minlength=len(weights)).tolist() == reduced.tolist()
    turns = np.arange(1, round_.size + 1)
    for place, weight in enumerate(reduced):
        served = np.cumsum(round_ == place)
        assert (np.abs(served - turns * weight / reduced.sum()) < len(weights)).all()


def test_rounds_of_awkward_weights_stay_short() -> None:
    round_ = _core.weighted_round([9_999_999_967, 10_000_000_000, 2_000_000_011])
    counts = np.bincount(round_)
    assert len(round_) <= 4096
    assert counts / counts.max() == pytest.approx([1, 1, 0.2], abs=0.001)
