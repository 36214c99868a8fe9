"""Hypothesis strategies for small networks and demands, and the same networks as networkx graphs."""

from __future__ import annotations

from itertools import combinations, permutations

import networkx as nx
from hypothesis import strategies as st

from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology


@st.composite
def topologies(draw: st.DrawFn, *, directed: bool = False, max_nodes: int = 7) -> Topology:
    """A network of 2 to `max_nodes` nodes, connected or not; in a directed one some edges have one direction only."""
    names = tuple(f"n{number}" for number in range(draw(st.integers(2, max_nodes))))
    possible = list((permutations if directed else combinations)(names, 2))
    ends = draw(st.lists(st.sampled_from(possible), min_size=1, unique=True))
    capacities = draw(st.lists(st.floats(0.01, 1e5), min_size=len(ends), max_size=len(ends)))
    links = [Link(a, b, capacity) for (a, b), capacity in zip(ends, capacities, strict=True)]
    if not directed:
        links += [Link(link.target, link.source, link.capacity) for link in links]
    return Topology("random", names, tuple(links))


@st.composite
def demands_on(draw: st.DrawFn, topology: Topology) -> tuple[Demand, ...]:
    """Demands of connected pairs, each pair once; empty when no pair is connected."""
    graph = digraph(topology)
    pairs = [(a, b) for a, b in permutations(topology.nodes, 2) if nx.has_path(graph, a, b)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=8)) if pairs else []
    return tuple(Demand(a, b, draw(st.just(0.0) | st.floats(0.01, 1e5))) for a, b in chosen)


def digraph(topology: Topology) -> nx.DiGraph[str]:
    """Return every link as an arc that one path may use, at the cost of one hop."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(topology.nodes)
    graph.add_edges_from((link.ends for link in topology.links), capacity=1, weight=1)
    return graph
