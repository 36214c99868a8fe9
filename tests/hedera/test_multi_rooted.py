"""Multi-rooted graphs: hosts and pods are found, paths are the shortest ones, and labels select the right paths."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from hedera.network.data_centre import _addresses
from hedera.network.fabric import UnknownHostError
from hedera.network.fat_tree import FatTree
from hedera.network.multi_rooted import MultiRooted
from kuijia_base.errors import UnsoundError
from te_solver.model.topology import Link, Topology


def both(a: str, b: str, capacity: float = 1000.0) -> tuple[Link, Link]:
    return Link(a, b, capacity), Link(b, a, capacity)


def graph(*links: tuple[Link, ...]) -> Topology:
    flat = tuple(link for pair in links for link in pair)
    return Topology("graph", tuple(dict.fromkeys(end for link in flat for end in link.ends)), flat)


def leaf_spine(leaves: int = 3, spines: int = 4, hosts: int = 2) -> Topology:
    return graph(
        *(both(f"h{leaf}-{host}", f"l{leaf}") for leaf in range(leaves) for host in range(hosts)),
        *(both(f"l{leaf}", f"s{spine}", 10_000.0) for leaf in range(leaves) for spine in range(spines)),
    )


@pytest.mark.parametrize("k", [2, 4, 6])
def test_a_fat_tree_is_the_same_read_as_any_graph(k: int) -> None:
    tree = FatTree(k)
    read = MultiRooted(tree.topology)
    assert (read.labels, read.blocks, read.nic_rate) == (tree.labels, tree.blocks, tree.nic_rate)
    assert read.edge_first.tolist() == tree.edge_first.tolist()
    assert read.pod_first.tolist() == tree.pod_first.tolist()
    assert read.inner.tolist() == tree.inner.tolist()
    for source in {0, tree.hosts - 1}:
        for target in range(tree.hosts):
            assert read.path_count(source, target) == tree.path_count(source, target)
            assert list(read.paths(source, target)) == list(tree.paths(source, target))
            for label in range(tree.labels):
                assert read.path(source, target, label) == tree.path(source, target, label)


def test_a_leaf_and_spine_network_has_a_label_for_each_spine() -> None:
    fabric = MultiRooted(leaf_spine())
    assert (fabric.hosts, fabric.labels, fabric.blocks) == (6, 4, 4)
    assert fabric.pod_first.tolist() == [0, 2, 4, 6]
    ways = {fabric.topology.links[fabric.path(0, 5, label)[1]].target for label in range(4)}
    assert ways == {"s0", "s1", "s2", "s3"}


def test_one_switch_has_one_label() -> None:
    fabric = MultiRooted(leaf_spine(leaves=1, spines=0))
    assert (fabric.labels, fabric.blocks, fabric.path_count(0, 1)) == (1, 1, 1)


def test_unequal_numbers_of_paths_are_all_used() -> None:
    """Leaf l2 has one uplink only, so one path serves all its labels; the others keep theirs."""
    fabric = MultiRooted(
        graph(
            *(both(f"h{leaf}", f"l{leaf}") for leaf in range(3)),
            *(both(f"l{leaf}", f"s{spine}") for leaf in range(3) for spine in range(2) if (leaf, spine) != (2, 1)),
        )
    )
    assert fabric.labels == 2
    assert fabric.path_count(0, 1) == 2
    assert fabric.path_count(0, 2) == 1
    assert fabric.path(0, 2, 0) == fabric.path(0, 2, 1)


def test_hosts_that_there_are_not_are_named() -> None:
    fabric = MultiRooted(leaf_spine())
    with pytest.raises(UnknownHostError, match="host 6 is unknown, the network has hosts 0 to 5"):
        fabric.path(0, 6, 0)
    with pytest.raises(UnknownHostError, match="host 7 is unknown"):
        fabric.routes(np.array([7], np.int32), np.array([0], np.int32))


@pytest.mark.parametrize(
    ("topology", "problem"),
    [
        (graph(both("a", "b"), both("b", "c"), both("c", "a")), "no node with one neighbour"),
        (graph(both("a", "b")), "host a is connected to a host"),
        (graph(both("a", "s", 1.0), both("b", "s", 2.0)), "hosts with 1 and 2 Mbit/s"),
        (graph(both("a", "s"), (Link("b", "s", 1.0),)), "no link from s to b"),
        (graph(both("a", "s"), both("b", "t"), (Link("s", "t", 1.0),)), "no path from t to s"),
    ],
)
def test_graphs_without_hosts_and_ways_between_them_are_refused(topology: Topology, problem: str) -> None:
    with pytest.raises(UnsoundError, match=problem):
        MultiRooted(topology)


@pytest.mark.parametrize(
    ("edge_first", "last"),
    [(range(65_537), "10.255.255.2"), ((0, 253), "10.0.0.254"), (range(65_538), None), ((0, 254), None)],
)
def test_edge_switches_and_their_hosts_are_as_many_as_addresses_allow(
    edge_first: Sequence[int], last: str | None
) -> None:
    fabric = cast("MultiRooted", SimpleNamespace(edge_first=np.array(edge_first)))
    if last is not None:
        assert str(_addresses(fabric)[-1]) == last
    else:
        with pytest.raises(UnsoundError, match="at most 65536 with 253 each, as addresses allow"):
            _addresses(fabric)
