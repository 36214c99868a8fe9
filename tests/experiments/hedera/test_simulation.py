"""The scheduler at work in the model: flows begin, end, are polled and placed when they should."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.hedera.simulation import History, Setting, Simulation, Workload
from hedera.fabric import Ints
from hedera.fat_tree import FatTree
from hedera.matrices import all_to_all, stride
from hedera.placement.ecmp import Ecmp
from hedera.placement.global_first_fit import GlobalFirstFit
from hedera.placement.interface import Placement
from hedera.placement.simulated_annealing import SimulatedAnnealing

TREE = FatTree(4)
ALONE = 0.7831 * TREE.nic_rate


def ints(*values: int) -> Ints:
    return np.array(values, np.int32)


def run(workload: Workload, placement: Placement | None = None, setting: Setting | None = None) -> History:
    return Simulation(TREE, placement or Ecmp(), workload, setting or Setting()).run()


def test_a_flow_ends_when_its_bytes_have_gone() -> None:
    seconds = 2.5
    workload = Workload(ints(0), ints(8), np.array([1.0]), np.array([seconds * ALONE * 1e6 / 8]))
    history = run(workload)
    assert history.finished[0] == pytest.approx(1 + seconds, abs=0.01)
    assert history.mean_goodput(1.0, 1.0 + seconds) == pytest.approx(ALONE, rel=0.01)
    assert history.mean_goodput(10.0, 20.0) == 0


def test_flows_share_while_both_are_there() -> None:
    size = ALONE * 1e6 / 8
    workload = Workload(ints(0, 0), ints(8, 9), np.zeros(2), np.array([size, 3 * size]))
    history = run(workload)
    assert history.finished[0] == pytest.approx(2 * 0.7831 / 0.872, rel=0.01)
    assert history.finished[1] == pytest.approx(history.finished[0] + 2, rel=0.01)


def test_a_short_flow_that_begins_late_is_not_finished_before_it_begins() -> None:
    workload = Workload(ints(0, 1), ints(8, 9), np.array([0.0, 3.01]), np.array([np.inf, 1.0]))
    history = run(workload)
    assert 3.01 <= history.finished[1] <= 3.2
    assert history.finished[0] == np.inf


def test_placements_help_from_the_first_round_on() -> None:
    matrix = stride(16, 8)
    history = run(Workload.endless(matrix.source, matrix.target), SimulatedAnnealing())
    assert history.mean_goodput(0, 5) < 0.9 * 16 * ALONE
    assert history.mean_goodput(5, 60) == pytest.approx(16 * ALONE, rel=1e-3)
    assert history.elephants == [16] * 11
    assert history.moves == [0] * 11


def test_mice_are_left_alone() -> None:
    matrix = all_to_all(16)  # 15 flows on each interface, of which none has a tenth
    history = run(Workload.endless(matrix.source, matrix.target), GlobalFirstFit(), Setting(end=11, blocking=False))
    assert history.elephants == [0, 0]


def test_one_large_switch_blocks_nobody() -> None:
    matrix = stride(16, 8)
    history = run(Workload.endless(matrix.source, matrix.target), setting=Setting(blocking=False))
    assert history.mean_goodput(0, 60) == pytest.approx(16 * ALONE, rel=1e-3)


def test_a_run_is_the_same_again_and_another_one_with_another_hash() -> None:
    matrix = stride(16, 8)
    workload = Workload.endless(matrix.source, matrix.target)
    first, again, other = (run(workload, setting=Setting(seed=seed)).goodput for seed in (1, 1, 3))
    assert first == again != other
