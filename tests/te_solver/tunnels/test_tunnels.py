from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, islice, pairwise, permutations
from random import Random
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from te_solver.formats.topology_file import load_topology
from te_solver.model.plan import WEIGHTS, Weight
from te_solver.model.topology import Link, Topology
from te_solver.networks import shipped_network
from te_solver.tunnels.arc_graph import ArcGraph
from te_solver.tunnels.finder import TunnelFinder, link_costs
from tests.te_solver.random_networks import digraph, topologies

Path = tuple[str, ...]

DELAYS = (0.0, 0.001, 0.002, 0.005)
CAPACITIES = (1.0, 2.0, 4.0, 5.0, 10.0)


@dataclass(frozen=True)
class Choice:
    """A network, and the requirements of its tunnels."""

    topology: Topology
    weight: Weight
    node_disjoint: bool

    @property
    def finder(self) -> TunnelFinder:
        return TunnelFinder(self.topology, self.weight, node_disjoint=self.node_disjoint)

    def cost(self, path: Path) -> tuple[float, int]:
        """Return weight, then hops, from the definition."""
        links = [self.topology.link(*hop) for hop in pairwise(path)]
        if self.weight == "delay":
            return round(sum(link.delay for link in links), 6), len(links)
        if self.weight == "inverse-capacity":
            return round(sum(1 / link.capacity for link in links), 6), len(links)
        return 0.0, len(links)

    def parts(self, path: Path) -> set[object]:
        """Return the elements that tunnels should not share."""
        return edges_of(path) | (set(path[1:-1]) if self.node_disjoint else set())

    def shared(self, path: Path, others: Iterable[Path]) -> int:
        return sum(len(self.parts(path) & self.parts(other)) for other in others)

    def flow_network(self) -> nx.DiGraph[tuple[str, str]]:
        """Return a network whose minimum-cost flows are sets of disjoint paths, with an entry and exit per node."""
        graph: nx.DiGraph[tuple[str, str]] = nx.DiGraph()
        for node in self.topology.nodes:
            through = {"capacity": 1} if self.node_disjoint else {}
            graph.add_edge((node, "in"), (node, "out"), weight=0, **through)
        for link in self.topology.links:
            weight, hops = self.cost(link.ends)
            graph.add_edge(
                (link.source, "out"), (link.target, "in"), capacity=1, weight=round(weight * 1e6) * 1000 + hops
            )
        return graph


@st.composite
def choices(draw: st.DrawFn, max_nodes: int = 7, *, symmetric: bool | None = None) -> Choice:
    symmetric = draw(st.booleans()) if symmetric is None else symmetric
    topology = draw(topologies(directed=not symmetric, max_nodes=max_nodes))
    weights = st.tuples(st.sampled_from(CAPACITIES), st.sampled_from(DELAYS))
    of_edge = {frozenset(edge): draw(weights) for edge in topology.edges}
    links = []
    for link in topology.links:
        capacity, delay = of_edge[frozenset(link.ends)] if symmetric else draw(weights)
        links.append(replace(link, capacity=capacity, delay=delay))
    return Choice(replace(topology, links=tuple(links)), draw(st.sampled_from(WEIGHTS)), draw(st.booleans()))


@st.composite
def wide_areas(draw: st.DrawFn) -> Choice:
    """Larger networks shaped like real ones: long chains, trees and rings on a few meshed nodes."""
    names = [f"n{number}" for number in range(draw(st.integers(8, 24)))]
    edges = {(names[draw(st.integers(0, number - 1))], names[number]) for number in range(1, len(names))}
    spare = [pair for pair in combinations(names, 2) if pair not in edges]
    edges |= set(draw(st.lists(st.sampled_from(spare), max_size=8)))
    order = draw(st.permutations(names))
    links = [
        Link(*ends, capacity=draw(st.sampled_from(CAPACITIES)), delay=draw(st.sampled_from(DELAYS)))
        for ends in sorted(edges)
    ]
    links += [replace(link, source=link.target, target=link.source) for link in links]
    return Choice(
        Topology("wide area", tuple(order), tuple(links)), draw(st.sampled_from(WEIGHTS)), draw(st.booleans())
    )


def edges_of(path: Path) -> set[object]:
    return {frozenset(hop) for hop in pairwise(path)}


def cables(*ends: str) -> Topology:
    pairs = [(each[0], each[1]) for each in ends]
    nodes = tuple(sorted({node for pair in pairs for node in pair}))
    links = [Link(a, b, 1.0) for a, b in pairs] + [Link(b, a, 1.0) for a, b in pairs]
    return Topology("cables", nodes, tuple(links))


@given(choices(), st.integers(1, 5))
def test_tunnels_are_different_simple_paths_over_links_in_order_of_cost(choice: Choice, count: int) -> None:
    for source, target in permutations(choice.topology.nodes, 2):
        tunnels = choice.finder.tunnels(source, target, count)
        assert len(set(tunnels)) == len(tunnels) <= count
        assert [choice.cost(path) for path in tunnels] == sorted(choice.cost(path) for path in tunnels)
        for path in tunnels:
            assert (path[0], path[-1]) == (source, target)
            assert len(set(path)) == len(path)
            assert all(choice.topology.has_link(a, b) for a, b in pairwise(path))


@given(choices(symmetric=True), st.integers(1, 5))
def test_the_way_back_has_the_same_tunnels_where_links_go_both_ways_at_the_same_cost(
    choice: Choice, count: int
) -> None:
    finder = choice.finder
    for source, target in combinations(choice.topology.nodes, 2):
        back = finder.tunnels(target, source, count)
        assert tuple(path[::-1] for path in back) == finder.tunnels(source, target, count)


@pytest.mark.slow
@given(choices() | wide_areas(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_as_many_tunnels_are_disjoint_as_a_maximum_flow_allows_and_no_cheaper_set_is(
    choice: Choice, count: int, random: Random
) -> None:
    graph, finder = choice.flow_network(), choice.finder
    pairs = list(permutations(choice.topology.nodes, 2))
    for source, target in random.sample(pairs, min(len(pairs), 20)):
        limited: nx.DiGraph[Any] = graph.copy()
        limited.add_edge("before", (source, "out"), capacity=count, weight=0)
        flow = nx.max_flow_min_cost(limited, "before", (target, "in"))
        possible = sum(flow["before"].values())
        assert finder.count_disjoint(source, target, count) == possible
        if possible == 0:
            assert finder.tunnels(source, target, count) == ()
            continue
        tunnels = finder.tunnels(source, target, possible)
        assert len(tunnels) == possible
        assert set(Counter(part for path in tunnels for part in choice.parts(path)).values()) <= {1}
        weight, hops = (sum(part) for part in zip(*map(choice.cost, tunnels), strict=True))
        assert round(weight * 1e6) * 1000 + hops == nx.cost_of_flow(limited, flow)


@given(topologies(), st.integers(1, 4))
def test_in_an_undirected_network_the_connectivity_says_how_many_are_disjoint(topology: Topology, count: int) -> None:
    graph = digraph(topology).to_undirected()
    for source, target in combinations(topology.nodes, 2):
        of_edges = nx.edge_connectivity(graph, source, target)
        assert TunnelFinder(topology).count_disjoint(source, target, count) == min(count, of_edges)
        if not graph.has_edge(source, target):
            of_nodes = nx.node_connectivity(graph, source, target)
            finder = TunnelFinder(topology, node_disjoint=True)
            assert finder.count_disjoint(source, target, count) == min(count, of_nodes)


@given(choices(max_nodes=6), st.integers(1, 3))
def test_each_further_tunnel_shares_the_least_and_is_the_cheapest_and_first_of_these(
    choice: Choice, extra: int
) -> None:
    finder, graph = choice.finder, digraph(choice.topology)
    rank = {node: position for position, node in enumerate(choice.topology.nodes)}
    # The order of nodes decides for the direction that comes first in it; the other direction follows.
    pairs = (combinations if finder.symmetric else permutations)(choice.topology.nodes, 2)
    for source, target in pairs:
        disjoint = finder.count_disjoint(source, target, 5)
        if disjoint in {0, 5}:
            continue
        before = finder.tunnels(source, target, disjoint + extra - 1)
        after = finder.tunnels(source, target, disjoint + extra)
        left = [path for path in map(tuple, nx.all_simple_paths(graph, source, target)) if path not in before]
        if not left:
            assert after == before
            continue

        def order(path: Path, before: tuple[Path, ...] = before) -> tuple[object, ...]:
            return choice.shared(path, before), choice.cost(path), [rank[node] for node in path]

        assert set(after) - set(before) == {min(left, key=order)}
        assert len(after) == len(before) + 1


@settings(max_examples=60)
@given(wide_areas(), st.randoms(use_true_random=False))
def test_in_larger_networks_too_a_further_tunnel_shares_the_least_and_is_the_cheapest_of_these(
    choice: Choice, random: Random
) -> None:
    choice = replace(choice, node_disjoint=False)
    finder, graph = choice.finder, digraph(choice.topology)
    for source, target in random.sample(list(permutations(choice.topology.nodes, 2)), 12):
        disjoint = finder.count_disjoint(source, target, len(choice.topology.nodes))
        before, after = (finder.tunnels(source, target, count) for count in (disjoint, disjoint + 1))
        for tail, head in graph.edges:
            weight, hops = choice.cost((tail, head))
            graph.edges[tail, head]["weight"] = (
                choice.shared((tail, head), before) * 10**12 + round(weight * 1e6) * 1000 + hops
            )
        # Yen's algorithm of networkx: the cheapest paths in order; sharing is the first part of their cost.
        cheapest = islice(nx.shortest_simple_paths(graph, source, target, weight="weight"), len(before) + 1)
        best = next((path for path in map(tuple, cheapest) if path not in before), None)
        further = set(after) - set(before)
        assert len(further) == (best is not None)
        for path in further:
            assert best is not None
            assert choice.shared(path, before) == choice.shared(best, before)
            assert choice.cost(path) == pytest.approx(choice.cost(best))


@given(choices(), st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_order_of_the_links_does_not_matter(choice: Choice, count: int, random: Random) -> None:
    links = list(choice.topology.links)
    random.shuffle(links)
    same = replace(choice, topology=replace(choice.topology, links=tuple(links)))
    finders = choice.finder, same.finder
    for source, target in permutations(choice.topology.nodes, 2):
        first, second = (finder.tunnels(source, target, count) for finder in finders)
        assert first == second


@given(choices(), st.randoms(use_true_random=False))
def test_what_was_asked_before_does_not_matter(choice: Choice, random: Random) -> None:
    pairs = list(permutations(choice.topology.nodes, 2))
    shuffled = random.sample(pairs, len(pairs))
    one, other = choice.finder, choice.finder
    assert {pair: one.tunnels(*pair, 3) for pair in pairs} == {pair: other.tunnels(*pair, 3) for pair in shuffled}


def test_the_shortest_path_gives_way_where_it_would_block_a_second_one() -> None:
    trap = cables("sa", "ab", "bt", "sc", "ce", "eb", "ad", "df", "ft")
    assert TunnelFinder(trap).tunnels("s", "t", 1) == (("s", "a", "b", "t"),)
    assert TunnelFinder(trap).tunnels("s", "t", 2) == (("s", "a", "d", "f", "t"), ("s", "c", "e", "b", "t"))


def by_delay(nodes: str, delays: str) -> TunnelFinder:
    """Return the finder for cables such as `st3`: of 3 ms between s and t."""
    ways = [(way[0], way[1], int(cable[2]) / 1000) for cable in delays.split() for way in (cable, cable[1::-1])]
    links = [Link(tail, head, 1.0, delay) for tail, head, delay in ways]
    return TunnelFinder(Topology("delays", tuple(nodes), tuple(links)), "delay")


def test_a_third_disjoint_path_turns_two_others_round_where_that_is_cheapest() -> None:
    # By hand: 1 + 5 + 6 ms. The cheapest second path, over a, leaves a third of 7 ms over b and a.
    finder = by_delay("stdcab", "st1 sa1 sb1 td1 ta5 dc2 ca1 cb1 ab1")
    assert set(finder.tunnels("s", "t", 3)) == {("s", "t"), ("s", "b", "c", "d", "t"), ("s", "a", "t")}


def test_of_further_tunnels_that_share_as_much_at_the_same_cost_the_first_in_node_order_is_taken() -> None:
    # By hand: s-a-b-t and s-b-c-t share each of their cables once, and both take 4 ms.
    finder = by_delay("stabc", "st3 sa1 sb1 tb2 tc1 ab1 bc2")
    disjoint = {("s", "t"), ("s", "b", "t"), ("s", "a", "b", "c", "t")}
    assert set(finder.tunnels("s", "t", 3)) == disjoint
    assert set(finder.tunnels("s", "t", 4)) == disjoint | {("s", "a", "b", "t")}


def test_edge_disjoint_tunnels_may_meet_at_a_node_where_node_disjoint_ones_go_around_it() -> None:
    network = cables("sa", "am", "sb", "bm", "mc", "ct", "md", "dt", "ax", "xy", "yz", "zt")
    assert TunnelFinder(network).tunnels("s", "t", 2) == (("s", "a", "m", "c", "t"), ("s", "b", "m", "d", "t"))
    apart = TunnelFinder(network, node_disjoint=True).tunnels("s", "t", 2)
    assert apart == (("s", "b", "m", "c", "t"), ("s", "a", "x", "y", "z", "t"))


def test_the_weight_decides_and_hops_among_equal_weights() -> None:
    links = [
        Link("s", "t", capacity=1, delay=0.004),
        Link("s", "a", capacity=10, delay=0.001),
        Link("a", "t", capacity=10, delay=0.001),
        Link("s", "b", capacity=2, delay=0.002),
        Link("b", "t", capacity=2, delay=0.002),
    ]
    network = Topology("weights", ("s", "a", "b", "t"), tuple(links))
    direct, by_a, by_b = ("s", "t"), ("s", "a", "t"), ("s", "b", "t")
    assert TunnelFinder(network, "hops").tunnels("s", "t", 3) == (direct, by_a, by_b)
    assert TunnelFinder(network, "delay").tunnels("s", "t", 3) == (by_a, direct, by_b)
    assert TunnelFinder(network, "inverse-capacity").tunnels("s", "t", 3) == (by_a, direct, by_b)


def test_decimal_delays_tie_as_they_do_on_paper() -> None:
    links = [Link("s", "t", 1, 0.3), Link("s", "a", 1, 0.1), Link("a", "t", 1, 0.2)]
    network = Topology("thirds", ("s", "a", "t"), tuple(links))
    assert sum(link.delay for link in links[1:]) != links[0].delay
    assert TunnelFinder(network, "delay").tunnels("s", "t", 2) == (("s", "t"), ("s", "a", "t"))


def test_a_bridge_is_shared_when_there_is_no_way_around_it() -> None:
    network = cables("sm", "ma", "at", "mb", "bt")
    assert TunnelFinder(network).tunnels("s", "t", 3) == (("s", "m", "a", "t"), ("s", "m", "b", "t"))


def test_in_a_tree_there_is_one_tunnel() -> None:
    tree = cables("ab", "bc", "bd", "de")
    assert TunnelFinder(tree).tunnels("a", "e", 4) == (("a", "b", "d", "e"),)
    assert TunnelFinder(tree).tunnels("e", "d", 4) == (("e", "d"),)


def test_in_a_ring_there_are_two_tunnels() -> None:
    ring = cables("ab", "bc", "cd", "de", "ea")
    assert TunnelFinder(ring).tunnels("b", "d", 4) == (("b", "c", "d"), ("b", "a", "e", "d"))


def test_a_pair_without_a_path_has_no_tunnel() -> None:
    assert TunnelFinder(cables("ab", "cd")).tunnels("a", "c", 3) == ()


@pytest.mark.parametrize(("target", "count"), [("b", 0), ("b", -1), ("a", 3)])
def test_what_cannot_be_asked_for_is_refused(target: str, count: int) -> None:
    with pytest.raises(ValueError, match="tunnel"):
        TunnelFinder(cables("ab")).tunnels("a", target, count)


def test_costs_of_a_large_network_are_not_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = load_topology(shipped_network("gscale"))
    pairs = list(permutations(topology.nodes, 2))
    expected = list(TunnelFinder(topology).tunnels_of_pairs(pairs, 3))
    monkeypatch.setattr("te_solver.tunnels.finder._MOST_COSTS", 2 * len(topology.nodes))
    finder = TunnelFinder(topology)
    assert list(finder.tunnels_of_pairs(pairs, 3)) == expected
    assert len(finder._costs_from) <= 2


PRECISE: dict[str, tuple[Weight, st.SearchStrategy[float]]] = {
    "delays far below a nanosecond": ("delay", st.integers(0, 20).map(lambda number: number * 1e-10)),
    "decimal delays": ("delay", st.sampled_from((0.0, 0.1, 0.2, 0.3))),
    "prime capacities": ("inverse-capacity", st.sampled_from((1.0, 3.0, 7.0, 11.0))),
    "capacities far apart": ("inverse-capacity", st.sampled_from((0.01, 9.1e4, 9.11e4, 9.12e4, 4.55e4, 4.56e4))),
    "decimal capacities": ("inverse-capacity", st.sampled_from((0.1, 2.5, 155.52, 622.08, 1e4))),
}


@pytest.mark.parametrize("kind", PRECISE)
@settings(max_examples=30)
@given(data=st.data())
def test_a_further_tunnel_is_the_cheapest_to_the_last_digit(kind: str, data: st.DataObject) -> None:
    """Costs were rounded to billionths: a path that was dearer could come before, or one that cost the same."""
    weight, values = PRECISE[kind]
    drawn = data.draw(topologies(directed=True, max_nodes=5))
    links = tuple(
        replace(link, delay=value) if weight == "delay" else replace(link, capacity=value)
        for link in drawn.links
        for value in [data.draw(values)]
    )
    topology = replace(drawn, links=links)
    finder, graph = TunnelFinder(topology, weight), digraph(topology)

    def cost(path: Path) -> tuple[Fraction, int]:
        links = [topology.link(*hop) for hop in pairwise(path)]
        exact = [Fraction(repr(link.delay if weight == "delay" else link.capacity)) for link in links]
        return sum((each if weight == "delay" else 1 / each for each in exact), Fraction()), len(links)

    for source, target in permutations(topology.nodes, 2):
        disjoint = finder.count_disjoint(source, target, 5)
        before = finder.tunnels(source, target, disjoint) if disjoint else ()
        left = [path for path in map(tuple, nx.all_simple_paths(graph, source, target)) if path not in before]
        if not left:
            continue

        def order(path: Path, before: tuple[Path, ...] = before) -> tuple[object, ...]:
            return sum(len(edges_of(path) & edges_of(other)) for other in before), *cost(path)

        (further,) = set(finder.tunnels(source, target, disjoint + 1)) - set(before)
        assert order(further) == min(map(order, left))


def test_three_links_of_a_third_cost_as_much_as_one_and_the_fewer_hops_decide() -> None:
    ends = [("a", "d", 1.0), ("a", "b", 3.0), ("b", "c", 3.0), ("c", "d", 3.0)]
    topology = Topology("thirds", ("a", "b", "c", "d"), tuple(Link(a, b, capacity) for a, b, capacity in ends))
    assert TunnelFinder(topology, "inverse-capacity").tunnels("a", "d", 1) == (("a", "d"),)


@pytest.mark.parametrize(("nodes_once", "size"), [(False, 3), (True, 5)])
def test_tunnels_on_one_chain_share_its_links_and_where_nodes_count_its_inner_nodes(
    size: int, *, nodes_once: bool
) -> None:
    chain = (0, 1, 2, 3)
    graph = ArcGraph(4, dict.fromkeys(permutations(chain, 2), 1), nodes_once=nodes_once)
    graph.add_chain(chain)
    assert graph.size == [size, size]


ODD = (17.981, 19.300263, 100.7012, 110.55914, 205.149146, 181.861696)
"""Capacities whose least common multiple with 30, 70 and 21 has 190 bits."""


@pytest.mark.parametrize("others", [ODD, tuple(math.pi * number for number in range(1, 60))])
def test_equal_sums_tie_whatever_the_capacities_of_other_links(others: tuple[float, ...]) -> None:
    """1/30 + 1/70 is 1/21: rounded to parts of the greatest, the longer path was the cheaper one."""
    ends = [("a", "d", 21.0), ("a", "b", 30.0), ("b", "d", 70.0), ("d", "z", 1.0)]
    leaves = [("d", f"leaf {number}", capacity) for number, capacity in enumerate(others)]
    links = tuple(Link(a, b, capacity) for a, b, capacity in ends + leaves)
    topology = Topology("odd", ("a", "b", "d", "z", *(b for _, b, _ in leaves)), links)
    assert TunnelFinder(topology, "inverse-capacity").tunnels("a", "d", 2) == (("a", "d"), ("a", "b", "d"))
    assert TunnelFinder(topology, "inverse-capacity").tunnels("a", "z", 1) == (("a", "d", "z"),)


def test_what_no_common_multiple_makes_whole_is_rounded_to_parts_of_the_greatest() -> None:
    """So the length of costs, which memory depends on, does not grow with how far capacities are apart."""
    capacities = [1e-3, *(math.pi * 1e4 * number for number in range(1, 400))]
    links = [Link("a", f"leaf {number}", capacity) for number, capacity in enumerate(capacities)]
    topology = Topology("apart", ("a", *(link.target for link in links)), tuple(links))
    assert max(link_costs(topology, "inverse-capacity").values()) == 10**15 * len(topology.nodes) + 1


def test_delays_are_exact_below_a_femtosecond() -> None:
    ends = [("a", "d", 0.3 + 4e-17), ("a", "b", 0.1), ("b", "d", 0.2)]
    links = tuple(Link(a, b, 1.0, delay) for a, b, delay in ends)
    topology = Topology("close", ("a", "b", "d"), links)
    assert TunnelFinder(topology, "delay").tunnels("a", "d", 1) == (("a", "b", "d"),)


def test_long_costs_are_kept_in_as_much_memory_as_short_ones() -> None:
    short = TunnelFinder(cables("ab", "bc"), "inverse-capacity")
    links = tuple(Link("a", f"leaf {number}", math.pi * number) for number in range(1, 60))
    long = TunnelFinder(Topology("odd", ("a", *(link.target for link in links)), links), "inverse-capacity")
    assert long._most_costs < short._most_costs / 20
