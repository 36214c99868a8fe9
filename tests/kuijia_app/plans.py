"""Plans shared by several tests, and hypothesis strategies for any plan."""

from __future__ import annotations

import networkx as nx
from hypothesis import strategies as st

from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology


def both_ways(name: str, nodes: str, edges: str, capacity: float = 1000.0) -> Topology:
    links = []
    for edge in edges.split():
        a, b = edge.split("-")
        links += [Link(a, b, capacity), Link(b, a, capacity)]
    return Topology(name, tuple(nodes.split()), tuple(links))


def plan_of(topology: Topology, *tunnels_of_pairs: str) -> Plan:
    """Return a plan with equal weights; a pair is given by its tunnels, such as "a-b-c a-c"."""
    pairs = []
    label = 16
    for tunnels_of_pair in tunnels_of_pairs:
        paths = [tuple(path.split("-")) for path in tunnels_of_pair.split()]
        weight = 1 / len(paths)
        tunnels = tuple(Tunnel(label + number, path, 10 * weight, weight) for number, path in enumerate(paths))
        label += len(paths)
        pairs.append(PairPlan(paths[0][0], paths[0][-1], 10.0, 10.0, tunnels))
    return Plan(topology, tuple(pairs), "any", 10.0 * len(pairs), "none", 0.0)


def motivation_plan(weights: tuple[float, float, float] = (0.5, 0.3, 0.2)) -> Plan:
    """Return figure 1 of the paper: s1 to s4 over T1 = s1-s2-s4, T2 = s1-s4, T3 = s1-s3-s4."""
    topology = both_ways("fig1", "s1 s2 s3 s4", "s1-s2 s2-s4 s1-s4 s1-s3 s3-s4")
    paths = (("s1", "s2", "s4"), ("s1", "s4"), ("s1", "s3", "s4"))
    tunnels = tuple(
        Tunnel(16 + position, path, weight * 100, weight)
        for position, (path, weight) in enumerate(zip(paths, weights, strict=True))
    )
    pair = PairPlan("s1", "s4", 100.0, 100.0, tunnels)
    return Plan(topology, (pair,), "max-throughput", 100.0, "none", 0.0)


@st.composite
def class_plans(draw: st.DrawFn, class_count: int) -> Plan:
    """Draw networks of 3 to 5 switches with up to 3 pairs, each in one or more classes with its own weights.

    Path ids count from 16, as required by the code points of tagging dscp-ecn.
    """
    size = draw(st.integers(3, 5))
    graph = nx.gnp_random_graph(size, draw(st.floats(0.2, 1.0)), seed=draw(st.integers(0, 2**16)))
    nx.add_path(graph, range(size))
    topology = both_ways("any", " ".join(f"n{i}" for i in range(size)), " ".join(f"n{a}-n{b}" for a, b in graph.edges))
    ends = st.permutations(range(size)).map(lambda order: (order[0], order[1]))
    pairs = []
    label = 16
    for source, target in draw(st.lists(ends, min_size=1, max_size=3, unique=True)):
        paths = sorted(nx.all_simple_paths(graph, source, target), key=lambda path: (len(path), path))
        paths = paths[: draw(st.integers(1, min(3, len(paths))))]
        for priority in draw(st.sets(st.integers(0, class_count - 1), min_size=1)):
            shares = draw(st.lists(st.integers(0, 9), min_size=len(paths), max_size=len(paths)).filter(any))
            tunnels = tuple(
                Tunnel(label + number, tuple(f"n{node}" for node in path), float(share), share / sum(shares))
                for number, (path, share) in enumerate(zip(paths, shares, strict=True))
            )
            pairs.append(PairPlan(f"n{source}", f"n{target}", 10.0, 10.0, tunnels, priority))
        label += len(paths)
    return Plan(topology, tuple(pairs), "any", 10.0 * len(pairs), "none", 0.0)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw connected networks of 3 to 8 switches, up to 4 pairs with up to 4 simple tunnels of any weights."""
    size = draw(st.integers(3, 8))
    graph = nx.gnp_random_graph(size, draw(st.floats(0.2, 1.0)), seed=draw(st.integers(0, 2**16)))
    nx.add_path(graph, range(size))
    topology = both_ways("any", " ".join(f"n{i}" for i in range(size)), " ".join(f"n{a}-n{b}" for a, b in graph.edges))
    ends = st.permutations(range(size)).map(lambda order: (order[0], order[1]))
    pairs = []
    label = draw(st.integers(16, 1000))
    for source, target in draw(st.lists(ends, min_size=1, max_size=4, unique=True)):
        paths = sorted(nx.all_simple_paths(graph, source, target), key=lambda path: (len(path), path))
        count = draw(st.integers(1, min(4, len(paths))))
        shares = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count).filter(any))
        tunnels = []
        for path, share in zip(paths, shares, strict=False):
            weight = share / sum(shares)
            tunnels.append(Tunnel(label, tuple(f"n{node}" for node in path), 10 * weight, weight))
            label += 1
        pairs.append(PairPlan(f"n{source}", f"n{target}", 10.0, 10.0, tuple(tunnels)))
    return Plan(topology, tuple(pairs), "any", 10.0 * len(pairs), "none", 0.0)
