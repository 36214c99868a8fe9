from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise, permutations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from te_solver.topology import Link, Topology
from te_solver.tunnels import TunnelFinder, tunnels_for
from tests.te_solver.random_networks import digraph, topologies

any_topology = st.booleans().flatmap(lambda directed: topologies(directed=directed))
Path = tuple[str, ...]


def edges_of(path: Path) -> set[frozenset[str]]:
    return {frozenset(hop) for hop in pairwise(path)}


def cables(*ends: str) -> Topology:
    pairs = [(each[0], each[1]) for each in ends]
    nodes = tuple(sorted({node for pair in pairs for node in pair}))
    links = [Link(a, b, 1.0) for a, b in pairs] + [Link(b, a, 1.0) for a, b in pairs]
    return Topology("cables", nodes, tuple(links))


@given(any_topology, st.integers(1, 5))
def test_tunnels_are_different_simple_paths_over_links_in_order_of_hops(topology: Topology, count: int) -> None:
    finder = TunnelFinder(topology)
    for source, target in permutations(topology.nodes, 2):
        tunnels = finder.tunnels(source, target, count)
        assert len(set(tunnels)) == len(tunnels) <= count
        assert list(tunnels) == sorted(tunnels, key=lambda path: (len(path), path))
        for path in tunnels:
            assert (path[0], path[-1]) == (source, target)
            assert len(set(path)) == len(path)
            assert all(topology.has_link(a, b) for a, b in pairwise(path))


@given(any_topology, st.integers(1, 4))
def test_as_many_tunnels_are_edge_disjoint_as_a_maximum_flow_allows_and_no_shorter_set_is(
    topology: Topology, count: int
) -> None:
    graph = digraph(topology)
    for source, target in permutations(topology.nodes, 2):
        possible = min(count, int(nx.maximum_flow_value(graph, source, target)))
        assert TunnelFinder(topology).count_disjoint(source, target, count) == possible
        if possible == 0:
            assert tunnels_for(topology, source, target, count) == ()
            continue
        tunnels = tunnels_for(topology, source, target, possible)
        used = Counter(edge for path in tunnels for edge in edges_of(path))
        assert set(used.values()) == {1}
        limited = graph.copy()
        limited.add_edge("before", source, capacity=possible, weight=0)
        cheapest = nx.max_flow_min_cost(limited, "before", target)
        assert used.total() == nx.cost_of_flow(limited, cheapest)


@given(topologies(), st.integers(1, 4))
def test_in_an_undirected_network_the_edge_connectivity_says_how_many_are_disjoint(
    topology: Topology, count: int
) -> None:
    graph = digraph(topology).to_undirected()
    for source, target in combinations(topology.nodes, 2):
        tunnels = tunnels_for(topology, source, target, count)
        largest = max(
            (
                size
                for size in range(len(tunnels) + 1)
                for chosen in combinations(tunnels, size)
                if all(edges_of(a).isdisjoint(edges_of(b)) for a, b in combinations(chosen, 2))
            ),
        )
        assert largest == min(count, nx.edge_connectivity(graph, source, target))


@given(any_topology.filter(lambda topology: len(topology.nodes) <= 6), st.integers(1, 3))
def test_each_further_tunnel_shares_the_least_and_is_the_shortest_of_these(topology: Topology, extra: int) -> None:
    finder, graph = TunnelFinder(topology), digraph(topology)
    for source, target in permutations(topology.nodes, 2):
        disjoint = finder.count_disjoint(source, target, 5)
        if disjoint in {0, 5}:
            continue
        before = finder.tunnels(source, target, disjoint + extra - 1)
        after = finder.tunnels(source, target, disjoint + extra)
        left = [path for path in map(tuple, nx.all_simple_paths(graph, source, target)) if path not in before]
        if not left:
            assert after == before
            continue

        def sharing(path: Path, before: tuple[Path, ...] = before) -> tuple[int, int, Path]:
            return sum(len(edges_of(path) & edges_of(other)) for other in before), len(path), path

        assert set(after) - set(before) == {min(left, key=sharing)}
        assert len(after) == len(before) + 1


@given(any_topology, st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_order_of_the_links_does_not_matter(topology: Topology, count: int, random: object) -> None:
    shuffled = list(topology.links)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    same = Topology(topology.name, topology.nodes, tuple(shuffled))
    for source, target in permutations(topology.nodes, 2):
        assert tunnels_for(topology, source, target, count) == tunnels_for(same, source, target, count)


def test_the_shortest_path_gives_way_where_it_would_block_a_second_one() -> None:
    trap = cables("sa", "ab", "bt", "sc", "ce", "eb", "ad", "df", "ft")
    assert tunnels_for(trap, "s", "t", 1) == (("s", "a", "b", "t"),)
    assert tunnels_for(trap, "s", "t", 2) == (("s", "a", "d", "f", "t"), ("s", "c", "e", "b", "t"))


def test_a_bridge_is_shared_when_there_is_no_way_around_it() -> None:
    network = cables("sm", "ma", "at", "mb", "bt")
    assert tunnels_for(network, "s", "t", 3) == (("s", "m", "a", "t"), ("s", "m", "b", "t"))


def test_a_pair_without_a_path_has_no_tunnel() -> None:
    assert tunnels_for(cables("ab", "cd"), "a", "c", 3) == ()


@pytest.mark.parametrize(("target", "count"), [("b", 0), ("b", -1), ("a", 3)])
def test_what_cannot_be_asked_for_is_refused(target: str, count: int) -> None:
    with pytest.raises(ValueError, match="tunnel"):
        tunnels_for(cables("ab"), "a", target, count)
