"""Guarantees of placements: room, stability, paths around dead links, and rounds that improve on earlier ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedera.network.fabric import HASHED, Fabric, Ints, Vector, crosses
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import authors_matrices, stride
from hedera.placement.demand_estimation import estimate_demands
from hedera.placement.interface import Elephants, Placement
from hedera.placement.registry import EcmpPlacement, GlobalFirstFit, hashed_labels, make_placement, placement_names
from hedera.placement.simulated_annealing import Annealing, AnnealingPerHost, Seats, SimulatedAnnealing
from kuijia_base.errors import InputError
from tests.hedera.cases import capacities, elephants, fabrics

TREE = FatTree(4)


def ints(*values: int) -> Ints:
    return np.array(values, np.int32)


def loads(fabric: Fabric, flows: Elephants, choice: Ints) -> Vector:
    placed = flows.some(choice != HASHED)
    paths = fabric.flow_paths(placed.source, placed.target, choice[choice != HASHED])
    load: Vector = np.bincount(paths.links, np.repeat(placed.demand, np.diff(paths.first)), fabric.links).astype(
        np.float64
    )
    return load


def estimated(fabric: Fabric, name: str) -> Elephants:
    matrix = authors_matrices()[name]
    demand = estimate_demands(fabric.hosts, matrix.source, matrix.target, fabric.nic_rate).demand
    return Elephants.of(matrix.source, matrix.target, demand)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_nothing_is_placed_on_dead_links(data: st.DataObject) -> None:
    fabric = data.draw(fabrics())
    flows = data.draw(elephants(fabric, placed=True, priorities=3))
    capacity = data.draw(capacities(fabric))
    for name in set(placement_names()) - {"optimum"}:  # slow, so tested by itself
        choice = make_placement(name).place(fabric, flows, capacity)
        placed = choice != HASHED
        paths = fabric.flow_paths(flows.source[placed], flows.target[placed], choice[placed])
        assert not crosses(paths, capacity <= 0).any()


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_first_fit_never_fills_links_beyond_their_capacity(data: st.DataObject) -> None:
    fabric = data.draw(fabrics())
    flows = data.draw(elephants(fabric, priorities=3))
    choice = GlobalFirstFit().place(fabric, flows, fabric.capacity)
    inner = fabric.inner
    rounding = 1e-3 * fabric.nic_rate  # each of up to 20 demands is rounded down to a part in 2^16
    assert (loads(fabric, flows, choice)[inner] <= fabric.capacity[inner] + rounding).all()


def test_first_fit_fills_a_link_to_the_last_bit() -> None:
    flows = Elephants.of(ints(0, 1), ints(8, 9), np.full(2, TREE.nic_rate))
    assert GlobalFirstFit().place(TREE, flows, TREE.capacity).tolist() == [0, 2]


def test_first_fit_leaves_what_fits_nowhere_to_the_hash() -> None:
    flows = Elephants.of(ints(0, 0, 1), ints(8, 9, 10), np.full(3, TREE.nic_rate))
    assert GlobalFirstFit().place(TREE, flows, TREE.capacity).tolist() == [0, 2, HASHED]


def test_first_fit_serves_higher_priorities_first() -> None:
    flows = Elephants(ints(0, 0, 1), ints(8, 9, 10), np.full(3, TREE.nic_rate), ints(-1, -1, -1), ints(1, 1, 0))
    assert GlobalFirstFit().place(TREE, flows, TREE.capacity).tolist() == [2, HASHED, 0]


def test_first_fit_does_not_move_what_is_placed() -> None:
    flows = Elephants.of(ints(0, 1), ints(8, 9), np.full(2, TREE.nic_rate), ints(-1, 1))
    assert GlobalFirstFit().place(TREE, flows, TREE.capacity).tolist() == [2, 1]


def test_first_fit_moves_a_flow_whose_link_died() -> None:
    capacity = TREE.capacity.copy()
    capacity[TREE.path(0, 8, 0)[2]] = 0
    flows = Elephants.of(ints(0), ints(8), np.full(1, TREE.nic_rate), ints(0))
    assert GlobalFirstFit().place(TREE, flows, capacity).tolist() == [1]


@pytest.mark.parametrize("name", ["stride4", "stride8", "randbij0", "randbij3", "stag2(.2,.3)"])
def test_annealing_finds_bijections_a_place_each(name: str) -> None:
    flows = estimated(TREE, name)
    choice = SimulatedAnnealing().place(TREE, flows, TREE.capacity)
    assert (choice != HASHED).all()
    assert loads(TREE, flows, choice).max() <= TREE.nic_rate + 1e-6


def test_flows_to_one_host_have_one_label_in_the_search_of_the_paper() -> None:
    flows = estimated(TREE, "randx4")
    choice = AnnealingPerHost().place(TREE, flows, TREE.capacity)
    for host in range(TREE.hosts):
        assert len(set(choice[flows.target == host].tolist())) <= 1


def test_the_search_of_the_paper_is_ours_without_the_search_of_single_flows() -> None:
    flows = estimated(TREE, "randx4")
    without = SimulatedAnnealing(Annealing(flow_iterations=0, seed=5)).place(TREE, flows, TREE.capacity)
    assert AnnealingPerHost(Annealing(seed=5)).place(TREE, flows, TREE.capacity).tolist() == without.tolist()


def test_first_states_put_hosts_of_a_switch_below_one_aggregation_switch_or_several() -> None:
    seats = Seats.of(TREE)
    of_host = [seats.labels_of(seats.filled(TREE, spread=spread), TREE.hosts)[:4].tolist() for spread in (False, True)]
    assert of_host == [[0, 1, 2, 3], [0, 2, 1, 3]]  # the second aggregation switch has labels 2 and 3


def test_annealing_begins_where_it_ended() -> None:
    placement = SimulatedAnnealing(Annealing(iterations=2000))
    flows = estimated(TREE, "randbij0")
    first = placement.place(TREE, flows, TREE.capacity)
    assert placement.place(TREE, flows.choosing(first), TREE.capacity).tolist() == first.tolist()


def test_annealing_serves_higher_priorities_as_if_alone() -> None:
    matrix = authors_matrices()["rand0"]
    priority = np.arange(matrix.source.size, dtype=np.int32) % 2
    flows = estimated(TREE, "rand0")
    mixed = Elephants(flows.source, flows.target, flows.demand, flows.choice, priority)
    alone = SimulatedAnnealing().place(TREE, flows.some(priority == 0), TREE.capacity)
    assert SimulatedAnnealing().place(TREE, mixed, TREE.capacity)[priority == 0].tolist() == alone.tolist()


@pytest.mark.parametrize("kind", [SimulatedAnnealing, AnnealingPerHost])
def test_fees_keep_flows_where_they_are(kind: type[SimulatedAnnealing]) -> None:
    tree = FatTree(8)
    random = np.random.default_rng(3)
    matrix = stride(tree.hosts, tree.hosts // 2)
    moves = {}
    for usual, annealing in ((True, Annealing()), (False, Annealing(movement_fee=0.5))):
        placement = kind(replace(annealing, iterations=500, greed=1.0))
        choice = np.full(tree.hosts, HASHED, np.int32)
        moves[usual] = 0
        for _ in range(10):
            demand = random.uniform(0.2, 1.0, tree.hosts) * tree.nic_rate
            flows = Elephants.of(matrix.source, matrix.target, demand, choice)
            found = placement.place(tree, flows, tree.capacity)
            moves[usual] += int(((found != choice) & (choice != HASHED)).sum())
            choice = found
    assert moves[False] < moves[True] / 2


@pytest.mark.parametrize("label", range(4))
def test_a_flow_that_could_not_be_better_placed_stays_without_a_fee(label: int) -> None:
    flows = Elephants.of(ints(0), ints(8), np.full(1, TREE.nic_rate), ints(label))
    assert SimulatedAnnealing().place(TREE, flows, TREE.capacity).tolist() == [label]


def test_a_network_that_cannot_be_crossed_leaves_flows_to_the_hash() -> None:
    flows = Elephants.of(ints(0), ints(8), np.full(1, TREE.nic_rate), ints(2))
    for placement in (GlobalFirstFit(), SimulatedAnnealing(), EcmpPlacement()):
        assert placement.place(TREE, flows, np.zeros(TREE.links)).tolist() == [HASHED]


@pytest.mark.parametrize("placement", [GlobalFirstFit(), SimulatedAnnealing(), EcmpPlacement()])
def test_without_flows_there_is_nothing_to_place(placement: Placement) -> None:
    assert placement.place(TREE, Elephants.of(ints(), ints(), np.empty(0)), TREE.capacity).size == 0


def test_hashes_spread_over_labels_and_differ_by_seed() -> None:
    tree = FatTree(8)
    keys = np.arange(16_000, dtype=np.uint64)
    labels = hashed_labels(tree, keys, seed=1)
    counts = np.bincount(labels, minlength=tree.labels)
    assert counts.size == 16
    assert abs(counts - 1000).max() < 150
    assert (labels == hashed_labels(tree, keys, seed=2)).mean() < 0.1
    assert (labels == hashed_labels(tree, keys, seed=1)).all()


def test_a_hash_is_the_number_that_splitmix64_draws() -> None:
    """The first three from seed 0, as published; labels take their upper 31 bits."""
    tree = FatTree(2)
    tree.labels = 2**31
    labels = [int(hashed_labels(tree, np.zeros(1, np.uint64), seed)[0]) for seed in range(3)]
    assert labels == [number >> 33 for number in (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)]


def test_placements_are_made_by_name() -> None:
    for name in placement_names():
        assert make_placement(name).name == name
    with pytest.raises(InputError, match="placement:best: is unknown, expected one of ecmp"):
        make_placement("best")
