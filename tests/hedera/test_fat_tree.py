"""Fat-trees: the paper's sizes and addresses, all equal-cost paths and no others, computed only on demand."""

from __future__ import annotations

from ipaddress import IPv4Address
from itertools import islice, pairwise

import networkx as nx
import numpy as np
import pytest

from hedera.network.fabric import UnknownHostError, crosses
from hedera.network.fat_tree import FatTree
from kuijia_base.errors import UnsoundError


@pytest.mark.parametrize(("k", "hosts", "switches"), [(2, 2, 5), (4, 16, 20), (8, 128, 80)])
def test_sizes_are_the_papers(k: int, hosts: int, switches: int) -> None:
    tree = FatTree(k)
    assert tree.hosts == hosts
    assert len(tree.topology.nodes) == hosts + switches
    assert tree.links == len(tree.topology.links) == 6 * hosts


@pytest.mark.parametrize("k", [-2, 0, 3, 5, 256])
def test_ports_that_make_no_fat_tree_are_refused(k: int) -> None:
    with pytest.raises(UnsoundError, match=f"a fat-tree of {k}-port switches, expected an even number from 2 to 254"):
        FatTree(k)


def test_a_rate_must_be_one() -> None:
    with pytest.raises(UnsoundError, match="a rate of 0"):
        FatTree(4, nic_rate=0)
    assert set(FatTree(4, nic_rate=0.5).capacity) == {0.5}


def test_addresses_are_the_papers() -> None:
    tree = FatTree(4)
    assert [str(tree.address(host)) for host in (0, 1, 2, 4, 15)] == [
        *("10.0.0.2", "10.0.0.3", "10.0.1.2", "10.1.0.2", "10.3.1.3")
    ]
    assert all(tree.host_at(tree.address(host)) == host for host in range(tree.hosts))


@pytest.mark.parametrize("address", ["11.0.0.2", "10.4.0.2", "10.0.2.2", "10.0.0.1", "10.0.0.4"])
def test_other_addresses_are_no_hosts(address: str) -> None:
    with pytest.raises(UnknownHostError, match=f"{address} is not a host of a fat-tree of 4-port switches"):
        FatTree(4).host_at(IPv4Address(address))


def test_hosts_that_there_are_not_are_named() -> None:
    tree = FatTree(4)
    with pytest.raises(UnknownHostError, match="host 16 is unknown, the network has hosts 0 to 15"):
        tree.path_count(0, 16)
    with pytest.raises(UnknownHostError, match="host -1 is unknown"):
        tree.routes(np.array([0], np.int32), np.array([-1], np.int32))


@pytest.mark.parametrize("k", [2, 4, 6])
def test_paths_are_all_shortest_paths(k: int) -> None:
    tree = FatTree(k)
    links = tree.topology.links
    graph = nx.DiGraph([link.ends for link in links])
    for source in {0, tree.hosts // 2}:
        for target in range(tree.hosts):
            if source == target:
                assert list(tree.paths(source, target)) == []
                continue
            found = []
            for path in tree.paths(source, target):
                assert all(links[a].target == links[b].source for a, b in pairwise(path))
                found.append([links[path[0]].source, *(links[link].target for link in path)])
            assert len(found) == tree.path_count(source, target)
            assert sorted(found) == sorted(nx.all_shortest_paths(graph, f"h{source}", f"h{target}"))


def test_labels_are_core_switches() -> None:
    tree = FatTree(4)
    for label in range(tree.labels):
        across = tree.path(0, 15, label)
        assert tree.topology.links[across[2]].target == f"c{label}"
        assert tree.topology.links[tree.path(0, 2, label)[1]].target == f"p0a{label // 2}"


def test_paths_of_a_large_tree_are_made_one_at_a_time() -> None:
    tree = FatTree(48)
    assert tree.hosts == 27_648
    assert tree.path_count(0, tree.hosts - 1) == 576
    assert len({*islice(tree.paths(0, tree.hosts - 1), 3)}) == 3


def test_flows_that_cross_marked_links_are_found() -> None:
    tree = FatTree(4)
    source, target, label = (np.array(each, np.int32) for each in ([0, 0, 1], [15, 1, 14], [3, 0, 2]))
    marked = np.zeros(tree.links, np.bool_)
    marked[tree.path(0, 15, 3)[2]] = True
    assert crosses(tree.flow_paths(source, target, label), marked).tolist() == [True, False, False]
