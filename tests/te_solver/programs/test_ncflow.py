"""NCFlow: feasible flows that more iterations only add to, and the literal programs of its extreme contractions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise, product

import networkx as nx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kuijia_base.errors import UnsoundError
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.ncflow import ContractedNetwork, Contraction, Ncflow, clusters_of, contracted_tunnels
from te_solver.programs.program import Options
from te_solver.solve import solve
from te_solver.tunnels.finder import TunnelFinder
from tests.te_solver.programs.problems import RHOMBUS, Case, Rows, cases, within_capacities, within_demands

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


@dataclass(frozen=True)
class Shares:
    """Most traffic of commodities, each over some sets of links, in which some of them have bounds together."""

    ways: list[list[set[tuple[str, str]]]]
    most: list[float]
    room: dict[tuple[str, str], float]
    together: list[tuple[set[int], float]]

    def rates(self) -> list[float]:
        """Return what each commodity gets in the only optimum; others are left out."""
        columns = [(number, way) for number, ways in enumerate(self.ways) for way in ways]
        if not columns:
            return [0.0] * len(self.most)
        unit = max(self.most)
        rows = Rows(len(columns))
        for number, most in enumerate(self.most):
            rows.at_most([float(each == number) for each, _ in columns], most / unit)
        for link, room in self.room.items():
            rows.at_most([float(link in way) for _, way in columns], room / unit)
        for group, bound in self.together:
            rows.at_most([float(each in group) for each, _ in columns], bound / unit)
        total = rows.maximum([1.0] * len(columns))
        rows.at_least([1.0] * len(columns), total - 1e-9)
        found = []
        for number in range(len(self.most)):
            own = [float(each == number) for each, _ in columns]
            least, greatest = rows.minimum(own), rows.maximum(own)
            assume(greatest - least <= 1e-6)
            found.append(greatest * unit)
        return found


def one_iteration(case: Case, cluster: dict[str, int], paths: int) -> float:
    """Return the traffic of an iteration, by the three steps of its paper, each of which has one optimum here."""
    room = {link.ends: link.capacity for link in case.topology.links}
    widest: dict[tuple[int, int], tuple[str, str]] = {}
    for ends in room:
        between = cluster[ends[0]], cluster[ends[1]]
        if between[0] != between[1] and room[ends] > room.get(widest.get(between, ("", "")), 0.0):
            widest[between] = ends
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_weighted_edges_from((*between, 1 / room[ends]) for between, ends in widest.items())
    inside: dict[int, list[tuple[str, str, float, int | None, int]]] = defaultdict(list)
    bundles: dict[tuple[int, int], list[Demand]] = defaultdict(list)
    for demand in case.demands:
        source, target = (cluster[node] for node in demand.pair)
        if source == target:
            inside[source].append((*demand.pair, demand.rate, None, 0))
        elif source in graph and target in graph and nx.has_path(graph, source, target):
            bundles[source, target].append(demand)
    assume(bundles)
    ways = []
    for ends in bundles:
        cost = {path: nx.path_weight(graph, path, "weight") for path in map(tuple, nx.all_simple_paths(graph, *ends))}
        best = [path for path in cost if cost[path] <= min(cost.values()) * (1 + 1e-9)]
        assume(len(best) == 1)
        ways.append(best[0])
    crossed = [[widest[hop] for hop in pairwise(way)] for way in ways]
    asked = [sum(each.rate for each in of_bundle) for of_bundle in bundles.values()]
    most = Shares([[set(links)] for links in crossed], asked, room, []).rates()
    for number, (of_bundle, way, links) in enumerate(zip(bundles.values(), ways, crossed, strict=True)):
        for role, place in enumerate(way):
            before = {links[role - 1][1]} if role else {each.source for each in of_bundle}
            after = {links[role][0]} if role < len(links) else {each.target for each in of_bundle}
            for a, b in product(sorted(before), sorted(after)):
                own = [each.rate for each in of_bundle if a == each.source or b == each.target]
                rate = most[number] if 0 < role < len(links) else sum(own)
                inside[place].append((a, b, rate, number, role))
    got: dict[tuple[int | None, int, str, str], float] = {}
    for place, commodities in inside.items():
        nodes = tuple(node for node in case.topology.nodes if cluster[node] == place)
        links = tuple(link for link in case.topology.links if {link.source, link.target} <= set(nodes))
        finder = TunnelFinder(Topology("part", nodes, links)) if links else None
        found = [
            [set()] if a == b else [set(pairwise(path)) for path in finder.tunnels(a, b, paths)] if finder else []
            for a, b, *_ in commodities
        ]
        roles = {(number, role) for *_, number, role in commodities if number is not None}
        groups = [({i for i, each in enumerate(commodities) if each[3:] == (n, r)}, most[n]) for n, r in sorted(roles)]
        rates = Shares(found, [each[2] for each in commodities], {each.ends: each.capacity for each in links}, groups)
        for (a, b, _, number, role), rate in zip(commodities, rates.rates(), strict=True):
            got[number, role, a, b] = got.get((number, role, a, b), 0.0) + rate
    whole = sum(rate for (number, *_), rate in got.items() if number is None)
    for number, (of_bundle, way, links) in enumerate(zip(bundles.values(), ways, crossed, strict=True)):
        rows = Rows(len(of_bundle))
        unit = max(each.rate for each in of_bundle)
        for place, each in enumerate(of_bundle):
            rows.at_most([float(place == other) for other in range(len(of_bundle))], each.rate / unit)
            out = got[number, 0, each.source, links[0][0]]
            rows.at_most([float(other.source == each.source) for other in of_bundle], out / unit)
            back = got[number, len(way) - 1, links[-1][1], each.target]
            rows.at_most([float(other.target == each.target) for other in of_bundle], back / unit)
        passed = [got[number, role, links[role - 1][1], links[role][0]] for role in range(1, len(links))]
        rows.at_most([1.0] * len(of_bundle), min([most[number], *passed]) / unit)
        whole += rows.maximum([1.0] * len(of_bundle)) * unit
    return whole


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much])
@given(cases(max_nodes=7), st.integers(2, 5), st.integers(1, 3))
def test_an_iteration_over_any_clusters_is_its_three_steps_one_by_one(case: Case, clusters: int, paths: int) -> None:
    assume((case.demand > 0).all())
    expected = one_iteration(case, clusters_of(case.topology, clusters), paths)
    assert carried(filled(case, clusters, 1, paths)) == pytest.approx(expected, rel=1e-4)


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


def test_a_pair_has_the_paths_of_its_flow_the_shorter_first_or_one_without_a_flow() -> None:
    demands = [Demand("s", "t", 25.0), Demand("s", "b", 0.0)]
    options = Options(settings={"clusters": 1, "iterations": 1, "paths": 3})
    assert contracted_tunnels(RHOMBUS, demands, options) == {
        ("s", "t"): (("s", "t"), ("s", "a", "t"), ("s", "b", "t")),
        ("s", "b"): (("s", "b"),),
    }
    silent = contracted_tunnels(RHOMBUS, [Demand("s", "t", 0.0)], options)
    assert silent == {("s", "t"): (("s", "t"),)}, "one of three that there are"


def test_several_classes_of_traffic_are_refused() -> None:
    topology = two_triangles(("a1", "b1", 4.0))
    with pytest.raises(UnsoundError, match=r"^objective: ncflow for demands of 2 priorities, expected those of one$"):
        solve(topology, [Demand("a1", "b1", 1.0), Demand("a1", "b2", 1.0, priority=1)], objective="ncflow")
