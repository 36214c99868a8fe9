"""The scheduler in the model: flows begin, end, are polled and placed when they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.hedera.simulation import FlowTrace, FluidHistory, FluidSetting, FluidSimulation
from hedera.network.fabric import Ints
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import stride
from hedera.placement.interface import Placement
from hedera.placement.registry import EcmpPlacement, GlobalFirstFit
from hedera.placement.simulated_annealing import SimulatedAnnealing
from simulator.flow.timeline import Ramp
from tests.hedera.cases import all_to_all

TREE = FatTree(4)
ALONE = 0.7831 * TREE.nic_rate


def ints(*values: int) -> Ints:
    return np.array(values, np.int32)


def run(workload: FlowTrace, placement: Placement | None = None, setting: FluidSetting | None = None) -> FluidHistory:
    return FluidSimulation(TREE, placement or EcmpPlacement(), workload, setting or FluidSetting()).run()


def test_a_flow_ends_when_its_bytes_have_gone() -> None:
    seconds = 2.5
    workload = FlowTrace(ints(0), ints(8), np.array([1.0]), np.array([seconds * ALONE * 1e6 / 8]))
    history = run(workload)
    assert history.finished[0] == pytest.approx(1 + seconds, abs=0.01)
    assert history.mean_goodput(1.0, 1.0 + seconds) == pytest.approx(ALONE, rel=0.01)
    assert history.mean_goodput(10.0, 20.0) == 0


def test_flows_share_while_both_are_there() -> None:
    size = ALONE * 1e6 / 8
    workload = FlowTrace(ints(0, 0), ints(8, 9), np.zeros(2), np.array([size, 3 * size]))
    history = run(workload)
    assert history.finished[0] == pytest.approx(2 * 0.7831 / 0.872, rel=0.01)
    assert history.finished[1] == pytest.approx(history.finished[0] + 2, rel=0.01)


def test_a_short_flow_that_begins_late_is_not_finished_before_it_begins() -> None:
    workload = FlowTrace(ints(0, 1), ints(8, 9), np.array([0.0, 3.01]), np.array([np.inf, 1.0]))
    history = run(workload)
    assert 3.01 <= history.finished[1] <= 3.2
    assert history.finished[0] == np.inf


def test_placements_help_from_the_first_round_on() -> None:
    matrix = stride(16, 8)
    history = run(FlowTrace.endless(matrix.source, matrix.target), SimulatedAnnealing())
    assert history.mean_goodput(0, 5) < 0.9 * 16 * ALONE
    assert history.mean_goodput(5, 60) == pytest.approx(16 * ALONE, rel=1e-3)
    assert history.elephants == [16] * 11
    assert history.moves == [0] * 11


def test_mice_are_left_alone() -> None:
    matrix = all_to_all(16)  # 15 flows on each interface, each below a tenth of it
    history = run(
        FlowTrace.endless(matrix.source, matrix.target), GlobalFirstFit(), FluidSetting(end=11, blocking=False)
    )
    assert history.elephants == [0, 0]


def test_one_large_switch_blocks_nobody() -> None:
    matrix = stride(16, 8)
    history = run(FlowTrace.endless(matrix.source, matrix.target), setting=FluidSetting(blocking=False))
    assert history.mean_goodput(0, 60) == pytest.approx(16 * ALONE, rel=1e-3)


@pytest.mark.parametrize("round_trip", [0.001, 0.004])
def test_slow_start_costs_a_flow_alone_what_its_window_takes_to_open(round_trip: float) -> None:
    """Ten segments in the first round trip, twice as many in the next, until the interface is full."""
    workload = FlowTrace(ints(0), ints(8), np.array([1.0]), np.array([1e6]))
    history = run(workload, setting=FluidSetting(ramp=Ramp(round_trip)))
    first = 10 * 1460 * 8e-6 / round_trip
    doublings = np.log2(ALONE / first)
    opening = (ALONE - first) * round_trip / np.log(2)
    expected = doublings * round_trip + (8 - opening) / ALONE
    assert history.finished[0] == pytest.approx(1 + expected, abs=1e-4)


def test_flows_that_lose_packets_to_a_newcomer_climb_by_a_segment_in_each_round_trip() -> None:
    round_trip = 0.01
    workload = FlowTrace(ints(0, 0), ints(8, 9), np.array([0.0, 20.0]), np.array([np.inf, 1e6]))
    history = run(workload, setting=FluidSetting(end=40, period=100, ramp=Ramp(round_trip)))
    assert history.mean_goodput(10, 20) == pytest.approx(ALONE, rel=1e-3)
    ended = history.finished[1]
    increase = 1460 * 8e-6 / round_trip**2
    climbed = (ALONE - history.mean_goodput(ended + 0.06, ended + 0.16)) / increase
    assert climbed > 1.0
    assert history.mean_goodput(ended + climbed + 0.3, 40) == pytest.approx(ALONE, rel=1e-3)


@pytest.mark.slow
@given(st.integers(0, 2**32), st.sampled_from([None, Ramp(0.001), Ramp(0.02)]), st.sampled_from([0.01, 0.05]))
@settings(max_examples=15, deadline=None)
def test_whatever_comes_and_goes_all_bytes_arrive_and_no_interface_sends_more_than_it_can(
    seed: int, ramp: Ramp | None, step: float
) -> None:
    random = np.random.default_rng(seed)
    count = 60
    source = random.integers(0, 16, count).astype(np.int32)
    target = ((source + random.integers(1, 16, count)) % 16).astype(np.int32)
    workload = FlowTrace(source, target, np.sort(random.uniform(0, 5, count)), random.uniform(1e3, 5e7, count))
    history = run(workload, GlobalFirstFit(), FluidSetting(period=1.0, step=step, ramp=ramp))
    assert np.isfinite(history.finished).all()
    lasted = history.finished - workload.start
    assert (lasted >= workload.size * 8e-6 / TREE.nic_rate * (1 - 1e-9)).all()
    edges = np.diff([*history.times, history.end])
    assert np.dot(edges, history.goodput) == pytest.approx(workload.size.sum() * 8e-6)


def test_a_step_finer_than_the_usual_one_changes_little() -> None:
    random = np.random.default_rng(2)
    count = 150
    source = random.integers(0, 16, count).astype(np.int32)
    target = ((source + random.integers(1, 16, count)) % 16).astype(np.int32)
    workload = FlowTrace(source, target, np.sort(random.uniform(0, 10, count)), random.choice([1e6, 1e7, 1e8], count))
    for ramp in (None, Ramp(0.002)):
        coarse, fine = (run(workload, setting=FluidSetting(step=step, ramp=ramp)) for step in (0.05, 0.005))
        for size in (1e6, 1e7, 1e8):
            of_size = workload.size == size
            means = [float((each.finished - workload.start)[of_size].mean()) for each in (coarse, fine)]
            assert means[0] == pytest.approx(means[1], rel=0.12)


def test_hosts_that_are_slower_than_their_cables_send_at_their_own_rate() -> None:
    matrix = stride(16, 4)
    history = run(FlowTrace.endless(matrix.source, matrix.target), setting=FluidSetting(host_part=0.2))
    assert history.mean_goodput(0, 60) == pytest.approx(0.2 * 16 * ALONE, rel=1e-3)


def test_new_flows_are_not_placed_before_a_poll_can_see_them() -> None:
    workload = FlowTrace(ints(0, 1), ints(8, 9), np.array([0.0, 4.8]), np.full(2, np.inf))
    history = run(workload, GlobalFirstFit(), FluidSetting(end=11, unnoticed=0.5))
    assert history.elephants == [1, 2]


def test_a_run_is_the_same_again_and_another_one_with_another_hash() -> None:
    matrix = stride(16, 8)
    workload = FlowTrace.endless(matrix.source, matrix.target)
    first, again, other = (run(workload, setting=FluidSetting(seed=seed)).goodput for seed in (1, 1, 3))
    assert first == again != other
