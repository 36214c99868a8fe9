from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from benchmarks.networks import dense, network, wide_area
from kuijia_base.errors import InputError


@pytest.mark.parametrize("nodes", [40, 158])
def test_made_networks_are_sparse_connected_and_mostly_without_bridges(nodes: int) -> None:
    topology = wide_area(nodes)
    graph = nx.Graph(topology.edges)
    assert len(topology.nodes) == graph.number_of_nodes() == nodes
    assert nx.is_connected(graph)
    assert 1.1 <= graph.number_of_edges() / nodes <= 1.25
    leaves = [node for node in graph if graph.degree(node) == 1]
    assert 0 < len(leaves) <= 0.1 * nodes
    assert len(list(nx.bridges(graph))) <= 0.1 * nodes
    assert sum(graph.degree(node) == 2 for node in graph) > nodes / 2


@pytest.mark.parametrize("links", [29, 90])
def test_dense_networks_have_as_many_links_as_asked_for_and_join_all_nodes(links: int) -> None:
    topology = dense(30, links)
    graph = nx.Graph(topology.edges)
    assert len(topology.nodes) == len(topology.positions) == graph.number_of_nodes() == 30
    assert nx.is_connected(graph)
    assert graph.number_of_edges() == links


def test_a_seed_makes_one_network() -> None:
    assert wide_area(60, seed=3) == wide_area(60, seed=3)
    assert dense(30, 90, seed=3) == dense(30, 90, seed=3)
    assert wide_area(60, seed=3).links != wide_area(60, seed=4).links


def test_named_networks_are_as_large_as_their_namesakes() -> None:
    assert len(network("UsCarrier", None).nodes) == 158


def test_named_networks_are_read_from_a_folder(tmp_path: Path) -> None:
    graph = nx.cycle_graph(5)
    nx.write_graphml(graph, tmp_path / "Kdl.graphml")
    assert len(network("Kdl", tmp_path).nodes) == 5
    with pytest.raises(InputError, match="UsCarrier"):
        network("UsCarrier", tmp_path)
