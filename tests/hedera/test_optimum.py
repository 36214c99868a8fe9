"""The optimum is one: nothing carries more, and annealing carries nearly as much."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedera.network.fabric import HASHED, Fabric, Ints, Vector
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import authors_matrices
from hedera.placement.demand_estimation import estimate_demands
from hedera.placement.interface import Elephants
from hedera.placement.optimum import Optimum
from hedera.placement.registry import GlobalFirstFit
from hedera.placement.simulated_annealing import Annealing, SimulatedAnnealing
from simulator.flow.model import FluidFlows, share

TREE = FatTree(4)


def carried(fabric: Fabric, flows: Elephants, choice: Ints) -> float:
    """Return the Mbit/s of placed flows' demands that max-min fairness carries."""
    placed = flows.some(choice != HASHED)
    ways = fabric.flow_paths(placed.source, placed.target, choice[choice != HASHED])
    paths = [ways.links[a:b].tolist() for a, b in zip(ways.first[:-1], ways.first[1:], strict=True)]
    return float(share(fabric.capacity, FluidFlows.of(paths, placed.demand)).goodput.sum())


def estimated(name: str) -> Elephants:
    matrix = authors_matrices()[name]
    demand: Vector = estimate_demands(16, matrix.source, matrix.target, TREE.nic_rate).demand
    return Elephants.of(matrix.source, matrix.target, demand)


LIMITED = {"rand1", "hotspot"}
"""Matrices for which one label per host cannot carry as much as one label per flow."""


SLOW = "randx5"
"""Matrix whose integer program takes half a minute; its optimum is at most the sum of demands."""


@pytest.mark.parametrize("name", authors_matrices())
def test_annealing_carries_98_percent_of_the_optimum(name: str) -> None:
    flows = estimated(name)
    best = flows.demand.sum() if name == SLOW else carried(TREE, flows, Optimum().place(TREE, flows, TREE.capacity))
    for seed in (1, 2, 3):
        annealed = SimulatedAnnealing(Annealing(seed=seed)).place(TREE, flows, TREE.capacity)
        assert carried(TREE, flows, annealed) >= 0.98 * best


@pytest.mark.parametrize("name", sorted(LIMITED))
def test_with_one_label_for_each_host_even_the_optimum_carries_3_percent_less(name: str) -> None:
    flows = estimated(name)
    free, bound = (
        carried(TREE, flows, Optimum(per_host=per_host).place(TREE, flows, TREE.capacity)) for per_host in (False, True)
    )
    assert bound == pytest.approx(0.9722 * free, rel=1e-3)
    annealed = SimulatedAnnealing(Annealing(iterations=10_000, flow_iterations=0)).place(TREE, flows, TREE.capacity)
    assert 0.98 * bound <= carried(TREE, flows, annealed) <= bound + 1e-6


def test_the_optimum_of_a_small_case_is_the_best_of_all_choices() -> None:
    source, target = np.array([0, 1, 2], np.int32), np.array([8, 9, 10], np.int32)
    flows = Elephants.of(source, target, np.array([900.0, 600, 500]))
    found = carried(TREE, flows, Optimum().place(TREE, flows, TREE.capacity))
    every = [carried(TREE, flows, np.array(labels, np.int32)) for labels in product(range(4), repeat=3)]
    assert found == pytest.approx(max(every))


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32))
def test_first_fit_never_carries_more(seed: int) -> None:
    random = np.random.default_rng(seed)
    source = random.integers(0, 16, 10).astype(np.int32)
    target = ((source + random.integers(1, 16, 10)) % 16).astype(np.int32)
    flows = Elephants.of(source, target, estimate_demands(16, source, target, TREE.nic_rate).demand)
    best = carried(TREE, flows, Optimum().place(TREE, flows, TREE.capacity))
    assert carried(TREE, flows, GlobalFirstFit().place(TREE, flows, TREE.capacity)) <= best + 1e-3


def test_dead_links_are_not_used() -> None:
    capacity = TREE.capacity.copy()
    capacity[TREE.path(0, 8, 0)[2]] = capacity[TREE.path(0, 8, 2)[1]] = 0
    flows = Elephants.of(np.array([0], np.int32), np.array([8], np.int32), np.array([1000.0]))
    assert Optimum().place(TREE, flows, capacity).tolist() == [1]
    assert Optimum().place(TREE, flows.some(np.array([], np.int64)), capacity).size == 0
