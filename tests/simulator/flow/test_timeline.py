"""Flows over time: events in order, and the ramp to a share."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from simulator.flow.model import FluidFlows, share
from simulator.flow.timeline import (
    Event,
    FlowArrives,
    FlowEnds,
    FlowsRerouted,
    History,
    LinksFail,
    LinksHeal,
    Ramp,
    play,
    stages,
)
from tests.simulator.flow.cases import Case, cases


def undelivered(history: History) -> NDArray[np.float64]:
    """Return the Mbit of each flow's finite offer that were not delivered, over the whole time, shape (F,)."""
    offered = np.stack([history.stages[number].flows.offered for number in history.stage])
    missing = np.where(np.isfinite(offered), offered - history.goodput, 0.0)
    return np.asarray((history.end - history.start) @ missing)


def settling_time(history: History, stage: int, tolerance: float = 0.05) -> float:
    """Return the seconds from a stage's start until all flows keep their steady rates to its end; infinite if never.

    The tolerance is a share of the steady rate.
    """
    own, aim = np.flatnonzero(history.stage == stage), history.steady[stage]
    scale = tolerance * aim + tolerance * 1e-6 * float(history.stages[stage].capacity.max(initial=0.0))
    off = (np.abs(history.goodput[own] - aim) > scale).any(axis=1)
    if not off.any():
        return 0.0
    last = int(own[np.flatnonzero(off)[-1]])
    return math.inf if last == own[-1] else float(history.end[last]) - history.stages[stage].start


TWO = FluidFlows.of([[0], [0]], [8.0, 8.0])
LINK = np.array([10.0])


class TestEvents:
    def test_flows_come_and_go(self) -> None:
        history = play(stages(LINK, TWO, [FlowArrives(2, 1), FlowEnds(5, 0)], end=8))
        assert history.start.tolist() == [0, 2, 5]
        assert history.end.tolist() == [2, 5, 8]
        assert history.goodput.tolist() == [[8, 0], [5, 5], [0, 8]]

    def test_links_fail_and_heal(self) -> None:
        history = play(stages(LINK, TWO, [LinksHeal(3, (0,)), LinksFail(1, (0,))], end=4))
        assert history.goodput.tolist() == [[5, 5], [0, 0], [5, 5]]
        assert undelivered(history).tolist() == [3 + 16 + 3] * 2

    def test_rerouted_flows_take_their_new_path(self) -> None:
        elsewhere = FluidFlows.of([[0], [1]], [8.0, 8.0])
        history = play(stages(np.array([10.0, 6.0]), TWO, [FlowsRerouted(1, elsewhere)], end=2))
        assert history.goodput.tolist() == [[5, 5], [8, 6]]

    def test_what_happens_at_the_same_time_makes_one_stage(self) -> None:
        found = stages(LINK, TWO, [FlowEnds(1, 0), FlowEnds(1, 1)], end=2)
        assert [(stage.start, stage.end, stage.name) for stage in found] == [
            (0, 1, "start"),
            (1, 2, "flow 0 ends, flow 1 ends"),
        ]

    def test_the_mean_counts_each_interval_by_its_length(self) -> None:
        history = play(stages(LINK, TWO, [FlowArrives(2, 1)], end=8))
        assert history.mean(1, 4) == pytest.approx([(8 + 5 + 5) / 3, 10 / 3])

    @pytest.mark.parametrize(
        "event",
        [
            FlowEnds(9, 0),
            FlowEnds(math.nan, 0),
            FlowEnds(1, 2),
            LinksFail(1, (1,)),
            FlowsRerouted(1, FluidFlows.of([], [])),
        ],
    )
    def test_impossible_events_are_refused(self, event: Event) -> None:
        with pytest.raises(ValueError, match="expected"):
            stages(LINK, TWO, [event], end=8)


class TestRamp:
    def test_slow_start_doubles_in_each_round_trip(self) -> None:
        # 10 segments of 1250 bytes in 0.1 s are 1 Mbit/s.
        ramp = Ramp(round_trip=0.1, segment=1250, step=0.1)
        history = play(stages(np.array([100.0]), FluidFlows.of([[0]], 20.0), [FlowArrives(1, 0)], end=3), ramp)
        arrived = history.start >= 1 - 1e-9
        assert history.goodput[arrived, 0] == pytest.approx([1, 2, 4, 8, 16, 20])

    @pytest.mark.parametrize(("end", "last"), [(1.3, 0.1), (1.35, 0.05)])
    def test_a_stage_ends_with_the_step_that_reaches_its_end(self, end: float, last: float) -> None:
        ramp = Ramp(round_trip=0.1, segment=1250, step=0.1)
        history = play(stages(np.array([100.0]), FluidFlows.of([[0]], 20.0), [FlowArrives(1, 0)], end=end), ramp)
        assert (history.end - history.start)[1:] == pytest.approx([0.1] * round((end - 1 - last) / 0.1) + [last])

    def test_a_flow_yields_as_another_one_comes(self) -> None:
        ramp = Ramp(round_trip=0.1, segment=1250, step=0.1)
        history = play(stages(LINK, TWO, [FlowArrives(1, 1)], end=8), ramp)
        arrived = history.start >= 1 - 1e-9
        assert history.goodput[arrived].tolist() == [pytest.approx(rates) for rates in ([8, 1], [8, 2], [6, 4], [5, 5])]

    def test_a_flow_that_lost_packets_needs_as_long_as_additive_increase_takes(self) -> None:
        ramp = Ramp(round_trip=0.1, segment=1250, step=0.1)
        rerouted = FlowsRerouted(1, FluidFlows.of([[1], [1]], [8.0, 8.0]))
        history = play(stages(np.array([16.0, 10.0]), TWO, [rerouted], end=9), ramp)
        assert history.goodput[history.start >= 1 - 1e-9][:3, 0] == pytest.approx([2.5, 2.6, 2.7])
        assert settling_time(history, 1, tolerance=0.05) == pytest.approx((5 * 0.95 - 2.5) / 1.0, abs=0.1)

    def test_without_a_loss_nothing_is_to_settle(self) -> None:
        history = play(stages(np.array([100.0]), TWO, [FlowEnds(1, 0)], end=2), Ramp())
        assert settling_time(history, 1) == 0

    @pytest.mark.parametrize(("outage", "expected"), [(0.1, 4.0), (1.0, 1.0)])
    def test_a_short_outage_costs_the_backoff_and_a_long_one_slow_start(self, outage: float, expected: float) -> None:
        ramp = Ramp(round_trip=0.1, segment=1250, step=0.05, timeout=0.2)
        events: list[Event] = [LinksFail(1, (0,)), LinksHeal(1 + outage, (0,))]
        history = play(stages(LINK, FluidFlows.of([[0]], 8.0), events, end=9), ramp)
        assert history.goodput[history.start >= 1 + outage - 1e-9][0, 0] == pytest.approx(expected)

    def test_what_does_not_settle_before_the_next_event_never_does(self) -> None:
        events: list[Event] = [LinksFail(1, (0,)), LinksHeal(1.1, (0,))]
        history = play(stages(LINK, FluidFlows.of([[0]], 8.0), events, end=1.5), Ramp(round_trip=0.1, segment=1250))
        assert settling_time(history, 2) == math.inf

    def test_a_backoff_of_nothing_is_refused(self) -> None:
        with pytest.raises(ValueError, match="expected more than 0"):
            Ramp(backoff=0)

    @given(cases(max_flows=5), st.sampled_from([0.5, 0.7, 1.0]))
    def test_flows_come_to_the_shares_that_the_model_gives_them(self, case: Case, backoff: float) -> None:
        flows = case.flows.offering(np.minimum(case.flows.offered, 50.0))
        capacity = np.minimum(case.capacity, 50.0)
        flows = FluidFlows(flows.first, flows.links, flows.offered, flows.level, flows.elastic, np.ones(flows.size))
        ramp = Ramp(round_trip=0.1, segment=12500, backoff=backoff, step=0.05)
        start = [FlowArrives(1, flow) for flow in range(flows.size)]
        history = play(stages(capacity, flows, start, end=60), ramp)
        assert_allclose(history.goodput[-1], share(capacity, flows).goodput, rtol=0.05, atol=1.0)
