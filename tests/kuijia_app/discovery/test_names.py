"""Switches are named by the cables between them, also where all have as many links."""

from __future__ import annotations

import random
from collections import Counter

import networkx as nx
import pytest

from kuijia_app.discovery.names import Cable, match_names
from kuijia_base.errors import UnsoundError
from te_solver.topology import Link, Topology

NODES = 200


def regular(seed: int) -> nx.Graph[int]:
    """Return a random network in which each switch has four links."""
    graph: nx.Graph[int] = nx.random_regular_graph(4, NODES, seed)
    return graph


def topology_of(graph: nx.Graph[int]) -> Topology:
    links = (Link(f"n{one}", f"n{other}", 100.0, 0.0) for edge in graph.edges for one, other in (edge, edge[::-1]))
    return Topology("net", tuple(f"n{node}" for node in range(NODES)), tuple(links))


def cables_of(graph: nx.Graph[int], numbers: list[int]) -> list[Cable]:
    """Return the cables of the network whose node i is the switch with the i-th of these datapath ids."""
    ports: Counter[int] = Counter()
    cables = []
    for edge in graph.edges:
        ports.update(edge)
        cables.append(frozenset((numbers[node], ports[node]) for node in edge))
    return cables


def test_switches_with_as_many_links_each_are_told_apart() -> None:
    graph, numbers = regular(1), random.Random(1).sample(range(1, 10_000), NODES)
    assert match_names(topology_of(graph), numbers, cables_of(graph, numbers), {}) == {
        f"n{node}": number for node, number in enumerate(numbers)
    }


def test_another_network_with_as_many_links_is_refused_at_once() -> None:
    numbers = list(range(1, NODES + 1))
    with pytest.raises(UnsoundError, match="are not those of net"):
        match_names(topology_of(regular(1)), numbers, cables_of(regular(2), numbers), {})
