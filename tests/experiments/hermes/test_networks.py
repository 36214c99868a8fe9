"""The networks, faults and schemes of the Hermes experiments."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.hermes.faults import Drops, Hole
from experiments.hermes.networks import CUT_TESTBED, SIMULATED, TESTBED, UNEQUAL, Fabric
from experiments.hermes.parameters import DEFAULTS
from experiments.hermes.runs import Case
from experiments.hermes.schemes import NAMES, ONE_WAY, SIMULATED_HERMES, Scheme
from simulator.packet.routing import Ecmp
from simulator.packet.traffic.load import capacity
from simulator.portable_random import Draws


def cables_of(fabric: Fabric, seed: int) -> dict[tuple[int, int], list[float]]:
    """Return the rates of the cables from each leaf to each spine."""
    network = fabric.network(seed)
    found: dict[tuple[int, int], list[float]] = {}
    for link in network.links:
        leaf, spine = link.source - fabric.hosts, link.target - fabric.hosts - fabric.leaves
        if 0 <= leaf < fabric.leaves and spine >= 0:
            found.setdefault((leaf, spine), []).append(link.rate)
    return found


def test_the_testbed_has_two_cables_between_switches_and_one_is_cut() -> None:
    assert cables_of(TESTBED, 1) == {(leaf, spine): [1000.0] * 2 for leaf in (0, 1) for spine in (0, 1)}
    assert cables_of(CUT_TESTBED, 1) == {**cables_of(TESTBED, 1), (1, 1): [1000.0]}


def test_a_fifth_of_the_links_is_slow_in_both_directions_and_the_seed_says_which() -> None:
    slow = {seed: {ends for ends, rates in cables_of(UNEQUAL, seed).items() if rates == [2000.0]} for seed in (1, 2)}
    assert len(slow[1]) == round(0.2 * 64)
    assert slow[1] != slow[2]
    rates = {(link.source, link.target): link.rate for link in UNEQUAL.network(1).links}
    assert all(rates[ends] == rates[ends[::-1]] for ends in rates)


@pytest.mark.parametrize(("fabric", "gigabits"), [(TESTBED, 8.0), (SIMULATED, 640.0)])
def test_load_one_fills_the_links_between_leaves_and_spines(fabric: Fabric, gigabits: float) -> None:
    load = fabric.load(1.0)
    network = fabric.network(1)
    assert load.part * capacity(network, fabric.pattern, load.of, Draws(1, 0)) / 1000 == pytest.approx(gigabits)
    assert fabric.offered(1.0) == gigabits * 1e9 / 8


def test_receivers_are_under_other_leaves_and_flows_are_the_same_under_every_scheme() -> None:
    network = SIMULATED.network(1)
    drawn = [Case(SIMULATED, Scheme.of(name, SIMULATED), "web-search", 0.5, 50, 3).drawn(network) for name in NAMES]
    first = drawn[0]
    assert np.all(first.source // SIMULATED.leaf_hosts != first.target // SIMULATED.leaf_hosts)
    for flows in drawn[1:]:
        for column in ("source", "target", "size", "start"):
            assert getattr(flows, column).tolist() == getattr(first, column).tolist()


def test_thresholds_of_figure_19_begin_at_those_of_all_other_runs() -> None:
    assert (DEFAULTS["high rtt"] - ONE_WAY) * 1e-6 == SIMULATED_HERMES.high
    one_way = sum(SIMULATED.network(1).links[link].delay for link in Ecmp(SIMULATED.network(1)).paths(0, 127)[0])
    assert one_way == pytest.approx(ONE_WAY * 1e-6)


def test_a_pair_of_hosts_has_a_path_over_each_spine_or_cable() -> None:
    assert len(Ecmp(SIMULATED.network(1)).paths(0, 127)) == 8
    assert len(Ecmp(TESTBED.network(1)).paths(0, 11)) == 8
    assert len(Ecmp(CUT_TESTBED.network(1)).paths(0, 11)) == 6


def test_a_fault_is_at_a_spine_that_the_seed_draws() -> None:
    spines = {Drops(0.02).of(SIMULATED, seed).switch for seed in range(20)}
    assert spines <= {SIMULATED.spine(place) for place in range(8)}
    assert len(spines) > 3


def test_a_black_hole_swallows_packets_from_half_of_a_rack_or_of_its_pairs_with_another() -> None:
    narrow, wide = (Hole(wide=wide).of(SIMULATED, 1) for wide in (False, True))
    assert len(set(narrow.pairs)) == 16 * 16 // 2
    assert len(set(wide.pairs)) == 16 * 112 // 2
    assert all(source < 16 and target >= 112 for source, target in narrow.pairs)
    assert all(source < 16 <= target for source, target in wide.pairs)
    assert len({source for source, _ in wide.pairs}) == 8


def full_at(seed: int, power: float) -> float:
    """Return the load at which a link between switches is full when packets take paths by rate to this power."""
    rates = np.array([rates for _, rates in sorted(cables_of(UNEQUAL, seed).items())]).reshape(8, 8)
    up, down = np.zeros((8, 8)), np.zeros((8, 8))
    for one in range(8):
        for other in range(8):
            if one != other:
                weights = np.minimum(rates[one], rates[other]) ** power
                sent = 80_000 / 7 * weights / weights.sum()
                up[one] += sent
                down[other] += sent
    return float(1 / np.maximum(up / rates, down / rates).max())


def test_spraying_by_capacity_fills_a_link_between_half_and_two_thirds_of_the_load() -> None:
    assert full_at(1, 0.0) == pytest.approx(0.2)
    mean = np.mean([full_at(seed, 1.0) for seed in range(1, 41)])
    assert 0.55 < mean < 0.6
