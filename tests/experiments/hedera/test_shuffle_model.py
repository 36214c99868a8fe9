"""The shuffle in the flow model: everybody sends everything, and placements help as they should."""

from __future__ import annotations

import numpy as np

from experiments.hedera.matrices_run import NIC_RATE, PLACEMENTS
from experiments.hedera.shuffle_model import (
    published_shuffle,
    run_shuffle,
    shuffle,
    shuffle_text,
)
from experiments.hedera.simulation import Setting, Simulation
from experiments.hedera.testbed import NON_BLOCKING, ONE_TREE
from hedera.fat_tree import FatTree
from hedera.placement.ecmp import Ecmp

TREE = FatTree(4, NIC_RATE)


def test_each_host_sends_to_each_other_one_in_an_order_of_its_own() -> None:
    workload = shuffle(16, 1e6, 2, seed=1)
    pairs = set(zip(workload.source.tolist(), workload.target.tolist(), strict=True))
    assert len(pairs) == 240
    assert all(a != b for a, b in pairs)
    orders = {tuple(((workload.target - workload.source) % 16)[workload.source == host]) for host in range(16)}
    assert len(orders) == 16


def test_a_host_sends_so_many_flows_at_a_time() -> None:
    workload = shuffle(4, 125e6, 1, seed=1)
    finished = Simulation(FatTree(4, NIC_RATE), Ecmp(), workload, Setting(blocking=False)).run().finished
    assert np.isfinite(finished).all()
    for host in range(4):
        ended = finished[workload.source == host]
        assert np.diff(ended).min() > 1.0  # a second at the rate of the interface


def test_placements_stand_between_one_tree_and_no_blocking() -> None:
    told = run_shuffle(TREE, {name: make(1) for name, make in PLACEMENTS.items()}, seed=1)
    bisection = {name: figures["bisection_gbps"] for name, figures in told.items()}
    assert bisection[ONE_TREE] < bisection["ecmp"] < bisection["simulated-annealing"] <= bisection[NON_BLOCKING]
    assert bisection["simulated-annealing"] >= 1.3 * bisection[ONE_TREE]
    assert "one-tree" in shuffle_text(told, published_shuffle())
