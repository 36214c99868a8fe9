from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kuijia_base.errors import UnsoundError
from te_solver.model.demand_generators import (
    bimodal,
    connected_pairs,
    gravity,
    random_pairs,
    scaled_to_total,
    scaled_to_utilisation,
    shortest_path_utilisation,
    uniform,
)
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from tests.te_solver.random_networks import digraph, topologies

STAR = Topology(
    "star",
    ("hub", "a", "b", "c"),
    tuple(
        each
        for leaf, capacity in (("a", 10.0), ("b", 20.0), ("c", 30.0))
        for each in (Link("hub", leaf, capacity), Link(leaf, "hub", capacity))
    ),
)


def drawn(model: str, topology: Topology, seed: int) -> tuple[Demand, ...]:
    random = np.random.default_rng(seed)
    if model == "gravity":
        return gravity(topology, random)
    if model == "uniform":
        return uniform(topology, random)
    if model == "bimodal":
        return bimodal(topology, random)
    return random_pairs(topology, random, 1, 5.0)


MODELS = st.sampled_from(["gravity", "uniform", "bimodal", "pairs"])


@given(topologies(directed=True) | topologies(), MODELS, st.integers(0, 2**32))
def test_the_same_seed_draws_the_same_demands(topology: Topology, model: str, seed: int) -> None:
    demands = drawn(model, topology, seed)
    assert demands == drawn(model, topology, seed)
    assert all(demand.rate > 0 for demand in demands)


@pytest.mark.parametrize("model", ["gravity", "uniform", "bimodal", "pairs"])
def test_another_seed_draws_others(model: str) -> None:
    assert len({drawn(model, STAR, seed) for seed in range(20)}) > 1


@given(topologies(directed=True), MODELS, st.integers(0, 99))
def test_only_connected_pairs_have_demands_each_pair_once(topology: Topology, model: str, seed: int) -> None:
    graph = digraph(topology)
    expected = [pair for pair in permutations(topology.nodes, 2) if nx.has_path(graph, *pair)]
    assert connected_pairs(topology) == expected
    pairs = [demand.pair for demand in drawn(model, topology, seed)]
    assert set(pairs) <= set(expected) if model == "pairs" else pairs == expected


@given(topologies(directed=True) | topologies(), MODELS, st.integers(0, 99), st.floats(1e-3, 1e9))
def test_rates_are_scaled_in_proportion_to_a_total(topology: Topology, model: str, seed: int, total: float) -> None:
    demands = drawn(model, topology, seed)
    scaled = scaled_to_total(demands, total)
    assert sum(demand.rate for demand in scaled) == pytest.approx(total)
    factor = scaled[0].rate / demands[0].rate
    assert [demand.rate for demand in scaled] == pytest.approx([demand.rate * factor for demand in demands])


@given(topologies(directed=True) | topologies(), MODELS, st.integers(0, 99), st.floats(1e-3, 1e3))
def test_rates_are_scaled_to_the_busiest_link(topology: Topology, model: str, seed: int, share: float) -> None:
    scaled = scaled_to_utilisation(topology, drawn(model, topology, seed), share)
    assert shortest_path_utilisation(topology, scaled) == pytest.approx(share)


@given(topologies(directed=True), st.integers(0, 99))
def test_on_the_only_shortest_paths_utilisation_is_load_over_capacity(topology: Topology, seed: int) -> None:
    graph = digraph(topology)
    demands = uniform(topology, np.random.default_rng(seed))
    paths = [list(nx.all_shortest_paths(graph, *demand.pair)) for demand in demands]
    assume(all(len(each) == 1 for each in paths))
    loads = dict.fromkeys((link.ends for link in topology.links), 0.0)
    for demand, (path,) in zip(demands, paths, strict=True):
        for hop in nx.utils.pairwise(path):
            loads[hop] += demand.rate
    busiest = max(load / topology.link(*ends).capacity for ends, load in loads.items())
    assert shortest_path_utilisation(topology, demands) == pytest.approx(busiest)


def test_gravity_goes_by_the_capacity_of_both_ends() -> None:
    rates = {demand.pair: demand.rate for demand in gravity(STAR)}
    assert rates["a", "b"] == pytest.approx(rates["b", "a"])
    assert rates["a", "c"] / rates["a", "b"] == pytest.approx(30 / 20)
    assert rates["hub", "c"] / rates["a", "c"] == pytest.approx(60 / 10)


def test_gravity_holds_for_extreme_capacities() -> None:
    links = (Link("a", "b", 1e300), Link("b", "a", 1e300), Link("b", "c", 1e-300), Link("c", "b", 1e-300))
    demands = gravity(Topology("t", ("a", "b", "c"), links))
    assert demands[0].rate == pytest.approx(1)


def test_bimodal_has_two_humps_of_the_sizes_asked_for() -> None:
    links = tuple(Link(str(a), str(b), 1) for a, b in permutations(range(60), 2))
    mesh = Topology("mesh", tuple(map(str, range(60))), links)
    rates = np.array([each.rate for each in bimodal(mesh, np.random.default_rng(1), 0.3, 10)])
    large = rates > 4
    assert large.mean() == pytest.approx(0.3, abs=0.03)
    assert rates[large].mean() == pytest.approx(10, rel=0.02)
    assert rates[~large].mean() == pytest.approx(1, rel=0.02)


def test_pairs_are_different_and_at_their_rate() -> None:
    demands = random_pairs(STAR, np.random.default_rng(3), 12, 800)
    assert len({demand.pair for demand in demands}) == 12
    assert {demand.rate for demand in demands} == {800}


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(UnsoundError) as raised:
        random_pairs(STAR, np.random.default_rng(3), 13, 800)
    assert str(raised.value) == "13 pairs are asked for, expected at most 12, the connected pairs"
    with pytest.raises(UnsoundError) as raised:
        scaled_to_total([Demand("a", "b", 0)], 5)
    assert str(raised.value) == "all demands are zero, expected one above zero to scale"
    apart = Topology("t", ("a", "b", "c"), (Link("a", "b", 1),))
    with pytest.raises(UnsoundError) as raised:
        shortest_path_utilisation(apart, [Demand("a", "c", 1)])
    assert str(raised.value) == "no path from a to c, expected demands between connected nodes"
    with pytest.raises(ValueError, match="share"):
        bimodal(STAR, np.random.default_rng(1), large_share=1.5)
    with pytest.raises(ValueError, match="times"):
        bimodal(STAR, np.random.default_rng(1), large_to_small=0)
