from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import pairwise, permutations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kuijia_base.errors import InputError, UnsoundError
from te_solver.formats.plan_file import save_plan
from te_solver.model.demands import Demand
from te_solver.model.plan import WEIGHTS, PlanOptions, Weight
from te_solver.model.topology import Link, Topology
from te_solver.solve import require_feasible, solve, solve_like
from te_solver.tunnels.cost_graph import without_loops
from te_solver.tunnels.finder import TunnelFinder
from te_solver.tunnels.path_choice import PathFinder
from te_solver.tunnels.path_choices.file import load_paths
from te_solver.tunnels.path_choices.raeke import decompositions
from te_solver.tunnels.path_finders import finder_by, path_choice_names, require_path_choice
from tests.te_solver.random_networks import digraph, topologies

DELAYS = st.sampled_from([0.001, 0.002, 0.005])
DRAWN = ("ksp", "ecmp", "vlb", "raeke", "edge-disjoint-flow")
SQUARE = "a-b b-d a-c c-d a-d"


@st.composite
def networks(draw: st.DrawFn, *, directed: bool = True) -> Topology:
    """Draw a network whose links have delays, alike in both directions unless they are directed."""
    topology = draw(topologies(directed=directed, max_nodes=6))
    delay = {frozenset(edge): draw(DELAYS) for edge in topology.edges}
    links = tuple(Link(*link.ends, link.capacity, delay[frozenset(link.ends)]) for link in topology.links)
    return Topology(topology.name, topology.nodes, links)


def cables(text: str, capacity: float = 10.0) -> Topology:
    """Return the network of cables such as `a-b`, each with one delay."""
    ends = [tuple(word.split("-")) for word in text.split()]
    nodes = tuple(dict.fromkeys(node for pair in ends for node in pair))
    links = [Link(*way, capacity, 0.001) for a, b in ends for way in ((a, b), (b, a))]
    return Topology("cables", nodes, tuple(links))


def routes(topology: Topology, choice: str, weight: Weight = "hops", seed: int = 1) -> PathFinder:
    finder = finder_by(topology, choice, weight, seed)
    assert isinstance(finder, PathFinder)
    return finder


def found(
    topology: Topology, choice: str, pair: tuple[str, str], count: int = 64, weight: Weight = "hops"
) -> dict[tuple[str, ...], float]:
    """Return the paths of a pair with their shares."""
    finder = routes(topology, choice, weight=weight)
    (paths,) = finder.tunnels_of_pairs([pair], count)
    shares = finder.shares(pair)
    assert shares is not None
    return dict(zip(paths, shares, strict=True))


def cost(topology: Topology, path: tuple[str, ...], weight: Weight) -> tuple[float, int, tuple[int, ...]]:
    """Return what orders paths, from the definition: weight, hops, nodes."""
    links = [topology.link(*hop) for hop in pairwise(path)]
    total = {
        "hops": 0.0,
        "delay": round(sum(link.delay for link in links), 6),
        "inverse-capacity": float(sum(1 / Fraction(repr(link.capacity)) for link in links)),
    }
    return total[weight], len(links), tuple(topology.nodes.index(node) for node in path)


@given(networks(), st.integers(1, 5), st.sampled_from(["hops", "delay"]))
def test_k_shortest_paths_are_the_first_of_all_simple_paths_in_order(
    topology: Topology, count: int, weight: Weight
) -> None:
    graph = digraph(topology)
    for pair in permutations(topology.nodes, 2):
        every = sorted(map(tuple, nx.all_simple_paths(graph, *pair)), key=lambda path: cost(topology, path, weight))
        if every:
            assert list(found(topology, "ksp", pair, count, weight)) == every[:count]


@given(networks(), st.sampled_from(["hops", "delay"]))
def test_ecmp_splits_evenly_at_each_hop_over_all_shortest_paths(topology: Topology, weight: Weight) -> None:
    graph = digraph(topology)
    for link in topology.links:
        graph.edges[link.ends]["metric"] = 1 if weight == "hops" else round(link.delay * 1000)
    for source, target in permutations(topology.nodes, 2):
        if not nx.has_path(graph, source, target):
            continue
        expected: Counter[tuple[str, ...]] = Counter()
        shortest = [tuple(path) for path in nx.all_shortest_paths(graph, source, target, weight="metric")]
        for path in shortest:
            share = Fraction(1)
            for at in range(len(path) - 1):
                ways = {other[at + 1] for other in shortest if other[: at + 1] == path[: at + 1]}
                share /= len(ways)
            expected[path] = float(share)  # type: ignore[assignment]
        assert found(topology, "ecmp", (source, target), weight=weight) == pytest.approx(dict(expected))


def test_ecmp_keeps_the_largest_shares_and_says_what_it_leaves_out() -> None:
    # Of two next hops one has two ways on: shares of 1/2, 1/4, 1/4.
    network = cables("s-a s-b a-c b-d b-e c-t d-t e-t")
    notes: list[str] = []
    finder = finder_by(network, "ecmp", note=notes.append)
    (paths,) = finder.tunnels_of_pairs([("s", "t")], 2)
    assert paths == (("s", "a", "c", "t"), ("s", "b", "d", "t"))
    assert finder.shares(("s", "t")) == pytest.approx((2 / 3, 1 / 3))
    assert notes == [
        "1 pair has more paths than 2: those with the largest shares are kept, with 75.0% of a pair's traffic or more"
    ]


def test_ecmp_by_inverse_capacity_takes_paths_of_one_metric_and_different_lengths() -> None:
    nodes = ("s", "a", "t")
    ends = (("s", "t", 5.0), ("s", "a", 10.0), ("a", "t", 10.0))
    links = tuple(Link(*way, capacity) for a, b, capacity in ends for way in ((a, b), (b, a)))
    expected = {("s", "t"): 0.5, ("s", "a", "t"): 0.5}
    assert found(Topology("metric", nodes, links), "ecmp", ("s", "t"), weight="inverse-capacity") == expected


def test_valiant_routes_pass_each_node_by_the_same_share_without_loops() -> None:
    # Over a, and d itself: a-d directly. Over b: a-b-d. Over c: a-c-d. Over e: a-d-e-d, without the loop a-d.
    network = cables(f"{SQUARE} d-e")
    expected = {("a", "d"): 3 / 5, ("a", "b", "d"): 1 / 5, ("a", "c", "d"): 1 / 5}
    assert found(network, "vlb", ("a", "d")) == pytest.approx(expected)


def test_paths_of_a_maximum_flow_are_edge_disjoint_and_the_shortest_come_first() -> None:
    assert list(found(cables(SQUARE), "edge-disjoint-flow", ("a", "d"))) == [
        ("a", "d"),
        ("a", "b", "d"),
        ("a", "c", "d"),
    ]


@given(networks())
def test_paths_of_a_maximum_flow_are_those_of_networkx(topology: Topology) -> None:
    position = {node: number for number, node in enumerate(topology.nodes)}
    links: nx.DiGraph[int] = nx.DiGraph()
    links.add_nodes_from(position.values())
    links.add_edges_from((position[link.source], position[link.target]) for link in topology.links)
    for pair in permutations(topology.nodes, 2):
        source, target = (position[node] for node in pair)
        walks = nx.edge_disjoint_paths(links, source, target) if nx.has_path(links, source, target) else []
        paths = [tuple(topology.nodes[node] for node in without_loops(walk)) for walk in walks]
        paths.sort(key=lambda path: cost(topology, path, "delay")[:2])
        assert list(found(topology, "edge-disjoint-flow", pair, weight="delay")) == paths


def test_a_maximum_flow_takes_back_what_blocks_a_further_path() -> None:
    # s-a-b-t comes first. A second path needs a to itself, and leaves no way from b to a for a third one.
    ways = "sa ab bt sc cf fb ad de et sg gi ib ah hj jt"
    network = Topology("ways", tuple("sabtcfdeghij"), tuple(Link(way[0], way[1], 10.0) for way in ways.split()))
    assert list(found(network, "edge-disjoint-flow", ("s", "t"))) == [tuple("sadet"), tuple("scfbt")]


def test_a_maximum_flow_follows_the_order_of_links() -> None:
    # Two equal detours from a to d, one place for them: the order in the file decides, as it does for NCFlow and POP.
    for first, other in (("b", "c"), ("c", "b")):
        network = cables(f"a-{first} a-{other} {first}-e {other}-e e-d")
        assert list(found(network, "edge-disjoint-flow", ("a", "d"))) == [("a", first, "e", "d")]


@given(networks(directed=False), st.sampled_from(DRAWN), st.integers(1, 4), st.sampled_from(WEIGHTS))
def test_every_choice_gives_different_simple_paths_that_share_a_whole(
    topology: Topology, choice: str, count: int, weight: Weight
) -> None:
    finder = routes(topology, choice, weight=weight)
    graph = digraph(topology)
    pairs = list(permutations(topology.nodes, 2))
    for pair, paths in zip(pairs, finder.tunnels_of_pairs(pairs, count), strict=True):
        assert bool(paths) == nx.has_path(graph, *pair)
        assert len(paths) == len(set(paths)) <= count
        assert all(nx.is_simple_path(graph, path) and (path[0], path[-1]) == pair for path in paths)
        if paths:
            shares = finder.shares(pair)
            assert shares is not None
            assert sum(shares) == pytest.approx(1)
            assert list(shares) == sorted(shares, reverse=True)


@given(networks(directed=False), st.integers(0, 3))
def test_trees_share_all_traffic_and_load_edges_little_more_than_the_best_routing(
    topology: Topology, seed: int
) -> None:
    graph = nx.Graph(topology.edges)
    assume(len(graph) == len(topology.nodes) and nx.is_connected(graph))
    place = {node: at for at, node in enumerate(topology.nodes)}
    edges = np.array([(place[a], place[b]) for a, b in topology.edges])
    capacity = np.array([topology.link(*edge).capacity for edge in topology.edges])
    trees = decompositions(capacity, edges, len(topology.nodes), seed)
    assert sum(tree.share for tree in trees) == pytest.approx(1)
    # Räcke's bound: demands that fill every edge by itself load none more than O(log n) times; n is 6 at most here.
    load = np.zeros(len(edges))
    number = {frozenset(edge): at for at, edge in enumerate(edges.tolist())}
    for (a, b), own in zip(edges.tolist(), capacity, strict=True):
        for tree in trees:
            for hop in pairwise(tree.path(a, b)):
                load[number[frozenset(hop)]] += own * tree.share
    assert (load / capacity).max() <= 8 * np.log2(len(topology.nodes) + 1)


def test_a_seed_gives_the_same_trees_and_another_seed_other_ones() -> None:
    ring = cables(" ".join(f"n{at}-n{(at + 1) % 9}" for at in range(9)))
    pairs = list(permutations(ring.nodes, 2))

    def shares(seed: int) -> list[tuple[float, ...] | None]:
        finder = routes(ring, "raeke", seed=seed)
        list(finder.tunnels_of_pairs(pairs, 4))
        return [finder.shares(pair) for pair in pairs]

    assert shares(1) == shares(1)
    assert shares(1) != shares(2)


def test_paths_of_shared_risks_avoid_a_duct_and_a_trap(tmp_path: Path) -> None:
    # The shortest path, a-b-c-d, lies in the way of both others; a-e and c-f are in one duct.
    network = cables("a-b b-c c-d a-e e-c b-f f-d")
    risks = tmp_path / "risks.csv"
    risks.write_text("failure,a,b\nduct,e,c\nduct,c,d\n", encoding="utf-8")
    assert list(found(network, f"srlg-disjoint:{risks}", ("a", "d"), 2)) == [("a", "b", "f", "d"), ("a", "e", "c", "d")]
    square = cables("a-b b-d a-c c-d a-e e-d")
    risks.write_text("failure,a,b\nduct,a,b\nduct,c,d\n", encoding="utf-8")
    assert list(found(square, f"srlg-disjoint:{risks}", ("a", "d"), 2)) == [("a", "b", "d"), ("a", "e", "d")]


FILES = {
    "csv": "source,target,path,share\na,d,a b d,0.25\na,d,a d,0.75\n",
    "csv-with-commas": 'source,target,path\na,d,"a, d"\na,d,"a, b, d"\n',
    "yates": "h1 -> h4 :\n[(h1,s1), (s1,s2), (s2,s4), (s4,h4)] @ 0.25\n[(h1,s1), (s1,s4), (s4,h4)] @ 0.75\n",
    "figret": "0 3:0-3,0-1-3\n",
    "flexile": "s t k edges\n0 3 0 0-3\n0 3 1 0-1,1-3\n",
    "flexile-of-two-classes": "s t k edges\n0 3 0 0-3 1.0\n0 3 1 0-1,1-3 2.0\n",
}


@pytest.mark.parametrize("form", FILES)
def test_paths_are_read_from_each_form_of_file(form: str, tmp_path: Path) -> None:
    network = cables("a-b b-c c-d a-d b-d")
    file = tmp_path / "paths"
    file.write_text(FILES[form], encoding="utf-8")
    share = 0.75 if form in ("csv", "yates") else 0.5
    expected = {("a", "d"): share, ("a", "b", "d"): 1 - share}
    notes: list[str] = []
    assert dict(load_paths(file, network, notes.append)["a", "d"]) == expected
    assert len(notes) == (0 if form.startswith("csv") else 1)
    assert found(network, f"file:{file}", ("a", "d")) == expected


@pytest.mark.parametrize("form", ["figret", "flexile"])
def test_numbers_of_paths_are_places_if_one_of_them_is_no_name(form: str, tmp_path: Path) -> None:
    network = cables("1-2 2-3 3-4 1-4 2-4")
    file = tmp_path / "paths"
    file.write_text(FILES[form], encoding="utf-8")
    assert dict(load_paths(file, network, lambda _: None)["1", "4"]) == {("1", "4"): 0.5, ("1", "2", "4"): 0.5}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("source,target,path\n", "there is no path"),
        ("source,target,path\na,d,a x d\n", "unknown node 'x'"),
        ("source,target,path\na,d,a c d\n", "there is no link a-c"),
        ("source,target,path\na,d,a b a d\n", "meets a node twice"),
        ("source,target,path\na,d,a b\n", "does not join the pair"),
        ("source,target,path\na,d,a d\na,d,a d\n", "is given twice"),
        ("source,target,path,share\na,d,a d,1.5\n", "share '1.5'"),
        ("h1 -> h4 :\n[(h1,s1), (s2,s4), (s4,h4)] @ 1\n", "does not begin where"),
        ("h1 -> h4 :\n[(h1,s1)] @ 1\n", "found '[(h1,s1)] @ 1'"),
        ("0 3:0-1\n", "path '0-1'"),
        ("0 3:0-9-3\n", "unknown node '9'"),
        ("s t k edges\n0 3 0 0-1,2-3\n", "links '0-1,2-3'"),
        ("s t k edges\n0 3 0\n", "3 columns"),
        ("s t k edges\n0 3 0 0-3 1 1\n", "6 columns"),
    ],
)
def test_a_fault_of_a_file_is_named_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "paths"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_paths(file, cables("a-b b-c c-d a-d b-d"), lambda _: None)
    assert said in str(caught.value)


def test_a_plan_is_a_file_of_paths(tmp_path: Path) -> None:
    network = cables(SQUARE)
    plan = solve(network, [Demand("a", "d", 25.0)])
    save_plan(plan, tmp_path / "plan.json")
    expected = {tunnel.nodes: tunnel.weight for tunnel in plan.tunnels}
    assert found(network, f"file:{tmp_path / 'plan.json'}", ("a", "d")) == pytest.approx(expected)


def test_a_plan_gives_the_paths_of_all_pairs_with_the_shares_of_their_most_important_class(tmp_path: Path) -> None:
    network = cables(SQUARE)
    demands = [Demand("a", "d", 25.0, 1), Demand("a", "d", 5.0, 0), Demand("a", "b", 5.0, 2)]
    plan = solve(network, demands)
    save_plan(plan, tmp_path / "plan.json")
    paths = load_paths(tmp_path / "plan.json", network, lambda _: None)
    first, last = plan.pairs[1], plan.pairs[2]
    assert dict(paths["a", "d"]) == pytest.approx({tunnel.nodes: tunnel.weight for tunnel in first.tunnels})
    assert dict(paths["a", "b"]) == pytest.approx({tunnel.nodes: tunnel.weight for tunnel in last.tunnels})


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            "shortest",
            "one of disjoint, node-disjoint, ecmp, edge-disjoint-flow, file:FILE, ksp, raeke, srlg-disjoint:FILE, vlb",
        ),
        ("file", "file:FILE, which holds paths"),
        ("ksp:paths.csv", "ksp"),
    ],
)
def test_a_choice_that_cannot_be_used_is_refused(word: str, said: str) -> None:
    for refuses in (require_path_choice, partial(finder_by, cables(SQUARE))):
        with pytest.raises(UnsoundError) as caught:
            refuses(word)
        assert caught.value.expected == said


def test_trees_need_links_in_both_directions() -> None:
    one_way = Topology("one way", ("a", "b", "c"), (Link("a", "b", 1.0), Link("b", "c", 1.0), Link("c", "a", 1.0)))
    with pytest.raises(UnsoundError, match="a link has no opposite"):
        list(finder_by(one_way, "raeke").tunnels_of_pairs([("a", "b")], 1))


def test_a_pair_without_a_path_in_the_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "paths.csv"
    file.write_text("source,target,path\na,b,a b\n", encoding="utf-8")
    network = cables(SQUARE)
    with pytest.raises(UnsoundError, match="file has no path from a to d"):
        solve(network, [Demand("a", "d", 1.0)], finder=finder_by(network, f"file:{file}"))


@given(networks(directed=False), st.sampled_from(DRAWN), st.data())
def test_static_splits_send_each_demand_by_the_shares_of_its_choice(
    topology: Topology, choice: str, data: st.DataObject
) -> None:
    graph = digraph(topology)
    connected = [pair for pair in permutations(topology.nodes, 2) if nx.has_path(graph, *pair)]
    pairs = data.draw(st.lists(st.sampled_from(connected), min_size=1, max_size=4, unique=True))
    demands = [Demand(*pair, rate) for pair, rate in zip(pairs, (10.0, 20.0, 5.0, 1.0), strict=False)]
    finder = finder_by(topology, choice)
    plan = solve(topology, demands, 4, "static-splits", finder=finder)
    require_feasible(plan)
    for pair in plan.pairs:
        assert pair.allocated == pytest.approx(pair.demand)
        shares = finder.shares((pair.source, pair.target))
        assert [tunnel.rate for tunnel in pair.tunnels] == pytest.approx([pair.demand * each for each in shares or ()])
    busiest = max(plan.link_loads[link.ends] / link.capacity for link in topology.links)
    assert plan.objective_value == pytest.approx(busiest)
    assert plan.options == PlanOptions(4, paths=choice)


def test_a_plan_solved_again_has_its_paths_by_the_same_choice() -> None:
    network = cables(SQUARE)
    demands = [Demand("a", "d", 12.0), Demand("b", "c", 3.0)]
    plan = solve(network, demands, 2, "max-min", finder=finder_by(network, "ksp", "delay"))
    again = solve_like(plan, network, demands)
    assert again.options == plan.options
    assert [tunnel.nodes for tunnel in again.tunnels] == [tunnel.nodes for tunnel in plan.tunnels]
    default = solve(network, demands, 2, finder=TunnelFinder(network))
    assert default.options is not None
    assert default.options.paths == "disjoint"


def test_every_choice_is_known_by_the_name_of_its_file() -> None:
    for name in path_choice_names()[2:]:
        finder = finder_by(cables(SQUARE), f"{name}:paths" if name in ("file", "srlg-disjoint") else name)
        assert finder.choice == name
