from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, permutations

import networkx as nx
import pytest

from kuijia_base.errors import InputError
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from te_solver.networks import shipped_demands, shipped_names, shipped_network
from te_solver.solve import solve
from te_solver.tunnels.finder import TunnelFinder

PUBLISHED_FAILURES = (("2", "3"), ("7", "9"), ("10", "11"))


@pytest.fixture(scope="module")
def gscale() -> Topology:
    return load_topology(shipped_network("gscale"))


@pytest.mark.parametrize("name", shipped_names())
def test_every_shipped_network_has_demands_and_a_plan(name: str) -> None:
    topology = load_topology(shipped_network(name))
    assert topology.name == name
    assert solve(topology, load_demands(shipped_demands(name), topology)).objective_value > 0


def test_gscale_is_the_network_of_the_paper(gscale: Topology) -> None:
    assert len(gscale.nodes) == 12
    assert len(gscale.edges) == 19
    assert [len(gscale.neighbours[node]) for node in gscale.nodes] == [3, 2, 2, 4, 3, 4, 4, 4, 4, 4, 2, 2]
    assert {link.capacity for link in gscale.links} == {1000.0}
    graph = nx.Graph(gscale.edges)
    assert nx.diameter(graph) == 5
    assert nx.edge_connectivity(graph) == 2


def test_gscale_has_three_edge_disjoint_tunnels_for_16_of_66_pairs(gscale: Topology) -> None:
    finder = TunnelFinder(gscale)
    counts = Counter(finder.count_disjoint(a, b, 12) for a, b in combinations(gscale.nodes, 2))
    assert counts == {2: 50, 3: 9, 4: 7}
    assert all(len(finder.tunnels(a, b, 3)) == 3 for a, b in permutations(gscale.nodes, 2))


def test_the_demands_on_gscale_are_the_seeded_draw_that_the_file_says(gscale: Topology) -> None:
    pairs = list(permutations(gscale.nodes, 2))

    def draw(seed: int) -> tuple[Demand, ...]:
        return tuple(Demand(a, b, 800) for a, b in random.Random(seed).sample(pairs, 5))

    def loads_the_published_failures(demands: tuple[Demand, ...]) -> bool:
        loads = solve(gscale, demands).link_loads
        return all(loads[a, b] + loads[b, a] > 0 for a, b in PUBLISHED_FAILURES)

    first = next(seed for seed in range(1, 100) if loads_the_published_failures(draw(seed)))
    assert first == 37
    assert load_demands(shipped_demands("gscale"), gscale) == draw(first)


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError) as raised:
        shipped_network("abilene")
    assert str(raised.value) == ("abilene: no such file or shipped network, expected a file or one of fig1, gscale")
