from __future__ import annotations

import tracemalloc
from collections import Counter
from itertools import combinations, pairwise, permutations

import networkx as nx
import pytest
from hypothesis import given

from kuijia_base.errors import UnsoundError
from te_solver.formats.topology_file import load_topology
from te_solver.model.connectivity import Reachability, connected_nodes, connected_parts, largest_part
from te_solver.model.topology import Link, Topology
from te_solver.model.topology_summary import DisjointPathCounter, DisjointPaths, hop_diameter, summarise
from te_solver.networks import shipped_network
from tests.cpu_time import at_most
from tests.te_solver.random_networks import digraph, topologies

pytestmark = pytest.mark.slow

GSCALE = load_topology(shipped_network("gscale"))


@given(topologies(directed=True))
def test_parts_are_what_edges_connect(topology: Topology) -> None:
    expected = nx.weakly_connected_components(digraph(topology))
    assert sorted(map(sorted, connected_parts(topology))) == sorted(map(sorted, expected))


@given(topologies(directed=True) | topologies())
def test_reachable_is_what_a_path_leads_to(topology: Topology) -> None:
    reachability, graph = Reachability(topology), digraph(topology)
    assert all(
        reachability.connects(source, target) == nx.has_path(graph, source, target)
        for source, target in permutations(topology.nodes, 2)
    )


def test_a_message_on_unconnected_nodes_counts_the_links_without_a_reverse() -> None:
    ends = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "a")]
    links = tuple(Link(*each, 1.0) for each in ends)
    both_ways = "demands between connected nodes of net"
    assert connected_nodes(Topology("net", ("a", "b", "c", "d"), links)) == f"{both_ways} (3 links without a reverse)"
    assert connected_nodes(Topology("net", ("a", "b"), links[:2])) == both_ways


@given(topologies())
def test_disjoint_paths_of_all_pairs_come_from_a_tree_of_cuts(topology: Topology) -> None:
    graph = nx.Graph(topology.edges)
    graph.add_nodes_from(topology.nodes)
    expected = Counter(int(nx.edge_connectivity(graph, *pair)) for pair in combinations(topology.nodes, 2))
    found = DisjointPathCounter(topology).of_all_pairs()
    assert found == DisjointPaths(dict(expected), ordered=False, exact=True)
    assert found.edge_connectivity == nx.edge_connectivity(graph)


@given(topologies(directed=True))
def test_with_one_way_links_pairs_are_counted_in_both_orders(topology: Topology) -> None:
    found = DisjointPathCounter(topology).of_all_pairs()
    graph = digraph(topology)
    if found.ordered:
        expected = Counter(int(nx.maximum_flow_value(graph, *pair)) for pair in permutations(topology.nodes, 2))
        assert found.pairs == dict(expected)
    assert found.exact
    assert sum(found.pairs.values()) * (1 if found.ordered else 2) == len(topology.nodes) * (len(topology.nodes) - 1)


def test_what_would_take_too_long_is_sampled() -> None:
    found = DisjointPathCounter(GSCALE).of_all_pairs(effort=1800, sample=40)
    assert not found.exact
    assert found.edge_connectivity is None
    assert sum(found.pairs.values()) == 40
    assert found.pairs.keys() == {2, 3, 4}


def test_all_pairs_are_counted_while_that_takes_no_more_steps_than_allowed() -> None:
    """Four nodes and five edges, ten ends: 14 x 10 steps by cuts where all links go both ways, else 12 x 10 x 2."""
    ends = (("s", "t"), ("s", "a"), ("a", "t"), ("s", "b"), ("b", "t"))
    one_way = Topology("one", ("s", "a", "b", "t"), tuple(Link(a, b, 1.0) for a, b in ends))
    both = Topology("both", one_way.nodes, tuple(Link(*each, 1.0) for a, b in ends for each in ((a, b), (b, a))))
    for topology, steps, ordered in ((one_way, 240, True), (both, 140, False)):
        counter = DisjointPathCounter(topology)
        exact, sampled = counter.of_all_pairs(effort=steps), counter.of_all_pairs(effort=steps - 1, sample=7)
        assert (exact.exact, exact.ordered, sum(exact.pairs.values())) == (True, ordered, 12 if ordered else 6)
        assert (sampled.exact, sampled.ordered, sum(sampled.pairs.values())) == (False, True, 7)
    lonely = DisjointPathCounter(Topology("lonely", tuple("abcdef"), (Link("a", "b", 1.0), Link("b", "a", 1.0))))
    assert lonely.of_all_pairs(effort=8 * 6).exact
    assert not lonely.of_all_pairs(effort=8 * 6 - 1).exact


def test_a_ring_of_fifteen_hundred_nodes_is_more_than_is_counted_exactly() -> None:
    """3,000 ends and 1,500 nodes are 13.5 million steps, of 12 million allowed."""
    nodes = tuple(f"n{number}" for number in range(1500))
    ring = pairwise([*nodes, nodes[0]])
    links = tuple(Link(*ends, 1.0) for a, b in ring for ends in ((a, b), (b, a)))
    found = DisjointPathCounter(Topology("ring", nodes, links)).of_all_pairs(sample=3)
    assert (found.exact, found.pairs) == (False, {2: 3})


@pytest.mark.parametrize(("steps", "size"), [(9, 1), (10, 2), (39, 4), (40, 5), (999, 5)])
def test_a_sample_is_smaller_where_each_search_takes_longer(
    steps: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("te_solver.model.topology_summary._SAMPLE_STEPS", steps)
    ring = Topology("ring", tuple("abcde"), tuple(Link(a, b, 1.0) for a, b in pairwise("abcdea")))
    assert sum(DisjointPathCounter(ring).of_all_pairs(effort=0, sample=5).pairs.values()) == size


@given(topologies(directed=True))
def test_the_diameter_is_the_longest_shortest_path(topology: Topology) -> None:
    lengths = dict(nx.all_pairs_shortest_path_length(digraph(topology)))
    assert hop_diameter(topology) == max(hops for by_target in lengths.values() for hops in by_target.values())


def test_the_diameter_of_a_large_network_is_left_out() -> None:
    assert hop_diameter(GSCALE, most_steps=100) is None


def test_a_summary_counts_what_there_is() -> None:
    links = (Link("a", "b", 10, 0.25), Link("b", "a", 10), Link("b", "c", 40), Link("d", "e", 10))
    summary = summarise(Topology("t", ("a", "b", "c", "d", "e", "f"), links))
    assert (summary.nodes, summary.edges, summary.links, summary.one_way_links) == (6, 3, 4, 2)
    assert (summary.capacities, summary.total_capacity) == ({40: 1, 10: 3}, 70)
    assert summary.delays == pytest.approx((0, 0, 0.25))
    assert (summary.least_degree, summary.mean_degree, summary.greatest_degree) == (0, 1, 2)
    assert (summary.parts, summary.diameter) == ([3, 2, 1], 2)
    assert summary.disjoint_paths.pairs == {0: 25, 1: 5}


def test_paths_of_a_network_with_very_many_parts_are_sampled_in_time() -> None:
    nodes = tuple(f"n{number}" for number in range(20_000))
    topology = Topology("parts", nodes, (Link("n0", "n1", 1.0), Link("n1", "n0", 1.0)))
    with at_most(2.5):
        paths = DisjointPathCounter(topology).of_all_pairs()
    assert not paths.exact


@pytest.mark.parametrize(
    "edges",
    [
        list(combinations(range(240), 2)),
        [(number, number + 1) for number in range(25_000)],
        [(end, number) for number in range(2, 14_000) for end in (0, 1)],
    ],
    ids=["clique", "path", "two hubs"],
)
def test_paths_of_a_large_network_are_sampled_in_time(edges: list[tuple[int, int]]) -> None:
    links = [Link(str(a), str(b), 1.0) for each in edges for a, b in (each, each[::-1])]
    nodes = tuple(map(str, sorted({end for edge in edges for end in edge})))
    counter = DisjointPathCounter(Topology("large", nodes, tuple(links)))
    with at_most(1.5):
        found = counter.of_all_pairs()
    assert not found.exact
    assert found.pairs.keys() <= {1, 2, 239}
    assert sum(found.pairs.values()) > 50


def test_reachability_along_a_long_way_takes_little_time_and_memory() -> None:
    nodes = tuple(map(str, range(20_000)))
    reachability = Reachability(Topology("way", nodes, tuple(Link(a, b, 1.0) for a, b in pairwise(nodes))))
    tracemalloc.start()
    with at_most(5):
        assert all(reachability.connects("7", node) == (int(node) >= 7) for node in nodes)
        assert not any(reachability.connects(node, "0") for node in nodes[1:])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6


def test_the_largest_part_keeps_its_links_and_places() -> None:
    links = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "c")]
    network = Topology(
        "net",
        tuple("abcde"),
        tuple(Link(*ends, 1.0) for ends in links),
        {"a": (0, 0), "d": (1, 2)},
        {frozenset("cd"): 0.1},
    )
    part = largest_part(network)
    assert part.nodes == ("c", "d", "e")
    assert [link.ends for link in part.links] == [("c", "d"), ("d", "e"), ("e", "c")]
    assert (part.positions, part.down) == ({"d": (1, 2)}, {frozenset("cd"): 0.1})


def test_a_network_without_a_way_back_has_no_largest_part() -> None:
    with pytest.raises(UnsoundError, match="no two nodes of net reach each other"):
        largest_part(Topology("net", ("a", "b"), (Link("a", "b", 1.0),)))
