"""Flows that cross more full links get less; with at most one bottleneck nothing changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.flow import model
from simulator.flow.model import FluidFlows, NoFixedPointError, share, share_by_round_trips


def test_of_two_full_links_in_a_row_the_long_flow_gets_half_of_what_short_ones_get() -> None:
    flows = FluidFlows.of([[0, 1], [0], [1]], np.inf)
    assert share([30.0, 30.0], flows).goodput == pytest.approx([15, 15, 15])
    assert share_by_round_trips([30.0, 30.0], flows).goodput == pytest.approx([10, 20, 20], rel=1e-2)


def test_flows_of_one_bottleneck_share_alike_and_keep_what_they_offer() -> None:
    flows = FluidFlows.of([[0, 1], [0, 2], [0]], [5.0, np.inf, np.inf])
    assert share_by_round_trips([30.0, 100.0, 100.0], flows).goodput == pytest.approx([5, 12.5, 12.5])


def test_a_link_that_less_important_traffic_fills_delays_nobody_above_it() -> None:
    flows = FluidFlows.of([[0, 1], [0], [1]], [20.0, 30.0, np.inf], level=[0, 0, 1])
    assert share_by_round_trips([30.0, 30.0], flows).goodput == pytest.approx([15, 15, 15], rel=1e-2)


@given(
    paths=st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4, unique=True), min_size=1, max_size=8),
    seed=st.integers(0, 2**32 - 1),
)
def test_links_are_never_overloaded_and_flows_never_get_more_than_they_offer(paths: list[list[int]], seed: int) -> None:
    random = np.random.default_rng(seed)
    capacity, offered = random.uniform(1, 20, 5), random.uniform(0.1, 20, len(paths))
    shares = share_by_round_trips(capacity, FluidFlows.of(paths, offered))
    assert (shares.load <= capacity * (1 + 1e-9)).all()
    assert (shares.goodput <= offered * (1 + 1e-9)).all()
    full = shares.load >= capacity * (1 - 1e-9)
    for path, goodput, asked in zip(paths, shares.goodput, offered, strict=True):
        assert goodput >= asked * (1 - 1e-9) or full[path].any()


def test_a_full_link_in_the_way_of_acknowledgements_counts_as_one_in_the_way_of_data() -> None:
    flows = FluidFlows.of([[0], [0], [1]], np.inf)
    assert share_by_round_trips([30.0, 30.0], flows, [[1], [], []]).goodput == pytest.approx([10, 20, 30])
    assert share_by_round_trips([30.0, 30.0], flows, [[], [], []]).goodput == pytest.approx([15, 15, 30])


def test_acknowledgements_of_important_traffic_wait_for_no_other() -> None:
    flows = FluidFlows.of([[0], [0], [1], [1]], [np.inf, np.inf, 8.0, np.inf], level=[0, 0, 0, 1])
    assert share_by_round_trips([20.0, 20.0], flows, [[1], [], [], []]).goodput == pytest.approx([10, 10, 8, 12])


def test_shares_that_do_not_settle_are_told_instead_of_given(monkeypatch: pytest.MonkeyPatch) -> None:
    flows = FluidFlows.of([[0, 1], [0], [1]], [20.0, 30.0, 16.0])
    share_by_round_trips([30.0, 30.0], flows)
    monkeypatch.setattr(model, "_MOST_ROUNDS", 60)
    with pytest.raises(NoFixedPointError, match="do not settle"):
        share_by_round_trips([30.0, 30.0], flows)


def test_ten_times_the_rounds_change_little(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    cases = []
    for _ in range(40):
        paths = [random.choice(5, int(random.integers(1, 5)), replace=False).tolist() for _ in range(6)]
        cases.append((random.uniform(1, 20, 5), FluidFlows.of(paths, random.uniform(0.1, 20, 6))))
    found = [share_by_round_trips(*case).goodput for case in cases]
    monkeypatch.setattr(model, "_FIRST_LOOK", 500)
    for (capacity, flows), goodput in zip(cases, found, strict=True):
        later = share_by_round_trips(capacity, flows).goodput
        assert np.abs(later - goodput).max() <= 0.05 * capacity.max()
