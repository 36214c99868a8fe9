"""NCFlow: feasible flows that more iterations only add to, and the literal programs of its extreme contractions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kuijia_base.errors import UnsoundError
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.ncflow import ContractedNetwork, Contraction, Ncflow, clusters_of
from te_solver.programs.program import Options
from te_solver.solve import solve
from tests.te_solver.programs.problems import Case, Rows, cases, within_capacities, within_demands

FULL = 1e-6


def filled(case: Case, clusters: int, iterations: int = 6, paths: int = 4) -> ContractedNetwork:
    how = Contraction(clusters, iterations, paths)
    pairs = [each.pair for each in case.demands]
    network = ContractedNetwork(case.topology, case.capacity, pairs, case.demand, how)
    network.fill()
    return network


def carried(network: ContractedNetwork) -> float:
    return sum(sum(of_pair.values()) for of_pair in network.flows)


def both_ways(ends: Iterable[tuple[str, str, float]]) -> tuple[Link, ...]:
    return tuple(Link(*way, rate) for a, b, rate in ends for way in ((a, b), (b, a)))


def two_triangles(*between: tuple[str, str, float], inside: float = 100.0) -> Topology:
    """Return two clusters of three nodes each with links between them."""
    triangles = [(a + x, a + y, inside) for a in "ab" for x, y in ("12", "23", "13")]
    return Topology("two triangles", ("a1", "a2", "a3", "b1", "b2", "b3"), both_ways([*triangles, *between]))


@pytest.mark.slow
@settings(max_examples=40)
@given(cases(max_nodes=7), st.integers(0, 4))
def test_flows_keep_capacities_and_demands_on_simple_paths_and_more_iterations_add_to_them(
    case: Case, clusters: int
) -> None:
    assume((case.demand > 0).any())
    sums = []
    for iterations in (1, 2, 6):
        network = filled(case, clusters, iterations)
        sums.append(carried(network))
        load = dict.fromkeys((link.ends for link in case.topology.links), 0.0)
        for demand, of_pair in zip(case.demands, network.flows, strict=True):
            assert sum(of_pair.values()) <= demand.rate * (1 + FULL)
            for path, rate in of_pair.items():
                assert (path[0], path[-1]) == demand.pair
                assert len(set(path)) == len(path)
                assert rate > 0
                for hop in pairwise(path):
                    load[hop] += rate
        largest = case.demand.max()
        assert all(load[link.ends] <= link.capacity * (1 + FULL) + FULL * largest for link in case.topology.links)
    assert sums == sorted(sums)


@pytest.mark.slow
@settings(max_examples=40)
@given(cases(max_nodes=6))
def test_one_cluster_is_the_most_throughput_over_its_paths(case: Case) -> None:
    assume((case.demand > 0).any())
    over = Case.of(case.topology, case.demands, 3)
    rows = Rows(len(over.paths))
    within_capacities(over, rows)
    within_demands(over, rows)
    assume(nx.is_connected(nx.Graph(case.topology.edges)) and len(case.topology.neighbours) > 1)
    assume(all(case.topology.neighbours.values()))
    found = carried(filled(case, 1, 1, 3))
    assert found == pytest.approx(rows.maximum([1.0] * len(over.paths)), rel=1e-5)


@pytest.mark.slow
@settings(max_examples=40)
@given(cases(max_nodes=6))
def test_a_cluster_for_each_node_is_the_most_throughput_over_one_path_for_each_pair(case: Case) -> None:
    assume((case.demand > 0).any())
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_weighted_edges_from((*link.ends, 1 / link.capacity) for link in case.topology.links)
    paths = []
    for demand in case.demands:
        cost = {
            path: nx.path_weight(graph, path, "weight") for path in map(tuple, nx.all_simple_paths(graph, *demand.pair))
        }
        best = [path for path in cost if cost[path] <= min(cost.values()) * (1 + 1e-9)]
        assume(len(best) == 1)
        paths.append((best[0],))
    alone = Case(case.topology, case.demands, tuple(paths))
    rows = Rows(len(paths))
    within_capacities(alone, rows)
    within_demands(alone, rows)
    found = carried(filled(case, len(case.topology.nodes), 1))
    assert found == pytest.approx(rows.maximum([1.0] * len(paths)), rel=1e-5)


def test_each_iteration_takes_one_link_between_two_clusters_the_one_with_most_room() -> None:
    topology = two_triangles(("a1", "b1", 4.0), ("a2", "b2", 6.0))
    case = Case.of(topology, [Demand("a3", "b3", 20.0)], 1)
    assert [carried(filled(case, 2, iterations)) for iterations in (1, 2, 3)] == pytest.approx([6, 10, 10])


def test_what_a_cluster_cannot_pass_on_is_not_sent_by_the_others() -> None:
    """Links in the second cluster have less room than the one to it: both ways in it together carry what arrives."""
    topology = Topology(
        "narrow",
        ("a1", "a2", "b1", "b2", "b3"),
        both_ways([("a1", "a2", 50.0), ("a2", "b1", 10.0), ("b1", "b2", 3.0), ("b2", "b3", 2.0), ("b1", "b3", 1.0)]),
    )
    network = filled(Case.of(topology, [Demand("a1", "b3", 20.0)], 1), 2, 1)
    assert network.flows == [{("a1", "a2", "b1", "b2", "b3"): 2.0, ("a1", "a2", "b1", "b3"): 1.0}]


def test_clusters_are_neighbours_and_as_many_as_asked_for() -> None:
    topology = two_triangles(("a1", "b1", 4.0), ("a2", "b2", 6.0))
    division = clusters_of(topology, 2)
    assert [{node for node in division if division[node] == each} for each in (0, 1)] == [
        {"a1", "a2", "a3"},
        {"b1", "b2", "b3"},
    ]
    assert len(set(clusters_of(topology, 6).values())) == 6
    apart = Topology("apart", ("a", "b", "c", "d"), both_ways([("a", "b", 1.0), ("c", "d", 1.0)]))
    assert clusters_of(apart, 1) == {"a": 0, "b": 0, "c": 1, "d": 1}


def test_its_settings_reach_the_tunnels_and_the_rates_of_a_plan() -> None:
    topology = two_triangles(("a1", "b1", 4.0), ("a2", "b2", 6.0))
    demands = [Demand("a3", "b3", 20.0)]
    once = solve(topology, demands, objective="ncflow:clusters=2,iterations=1")
    assert once.allocated == pytest.approx(6)
    assert len(once.pairs[0].tunnels) == 1
    assert solve(topology, demands, objective="ncflow:clusters=2").allocated == pytest.approx(10)


def test_other_demands_on_the_same_tunnels_stay_within_them() -> None:
    topology = two_triangles(("a1", "b1", 4.0), ("a2", "b2", 6.0))
    case = Case(topology, (Demand("a3", "b3", 20.0),), ((("a3", "a2", "b2", "b3"),),))
    program = Ncflow(case.incidence, Options(settings={"clusters": 2}))
    assert program.solve(case.capacity, case.demand).granted.tolist() == pytest.approx([6])
    assert program.solve(case.capacity, case.demand * 0).granted.tolist() == [0]


def test_several_classes_of_traffic_are_refused() -> None:
    topology = two_triangles(("a1", "b1", 4.0))
    with pytest.raises(UnsoundError, match=r"^objective: ncflow for demands of 2 priorities, expected those of one$"):
        solve(topology, [Demand("a1", "b1", 1.0), Demand("a1", "b2", 1.0, priority=1)], objective="ncflow")
