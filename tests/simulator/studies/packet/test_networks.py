"""Networks of packet studies have the hosts and links that their names say."""

from __future__ import annotations

import numpy as np
import pytest

from kuijia_base.errors import InputError
from simulator.packet.queues import Fifo
from simulator.packet.routing import Ecmp
from simulator.packet.traffic.load import link_shares
from simulator.packet.traffic.patterns import Random
from simulator.portable_random import Draws
from simulator.studies.packet.networks import LinkParameters, equipped, generated, node_names, of_topology
from te_solver.model.topology import Link, Topology


@pytest.mark.parametrize(
    ("name", "hosts", "nodes", "links"),
    [
        ("leaf-spine:4,2,8", 32, 38, 2 * (32 + 8)),
        ("leaf-spine:2,2,6,2", 12, 16, 2 * (12 + 8)),
        ("fat-tree:4", 16, 36, 2 * 48),
        ("dumbbell:3", 6, 8, 2 * 7),
        ("single-switch:5", 5, 6, 10),
    ],
)
def test_generated_networks_have_their_hosts_and_links(name: str, hosts: int, nodes: int, links: int) -> None:
    network = generated(name, LinkParameters(rate=1000, delay=1e-5))
    assert (len(network.hosts), network.nodes, len(network.links)) == (hosts, nodes, links)
    assert network.hosts == list(range(hosts))
    assert {link.delay for link in network.links} == {1e-5}
    assert {link.rate for link in network.links} == {1000}
    names = node_names(network, None)
    assert (names[0], names[hosts], len(set(names))) == ("h0", "s0", nodes)


def test_a_fat_tree_carries_what_all_its_hosts_send() -> None:
    network = generated("fat-tree:6", LinkParameters())
    shares = link_shares(network, Random().shares(54, Draws(1)))
    assert shares.max() == pytest.approx(1 / 54)  # the hosts' own links: no inner link is busier
    ecmp = Ecmp(network)
    lengths = [len(ecmp.route(0, target, 1)) for target in (1, 3, 9)]
    assert lengths == [2, 4, 6]  # at the same edge, in the same pod, beyond a core
    assert len({tuple(ecmp.route(0, 9, flow)) for flow in range(200)}) == 9


def test_the_rate_between_switches_can_be_another_one() -> None:
    for name in ("leaf-spine:2,2,2", "dumbbell:2"):
        network = generated(name, LinkParameters(rate=100, fabric_rate=40))
        inside = {link.rate for link in network.links if not {link.source, link.target} & set(network.hosts)}
        assert inside == {40}


def test_a_topology_has_a_host_at_each_node() -> None:
    ring = [("a", "b"), ("b", "c"), ("c", "a")]
    both = [Link(*ends, 100, 1e-3) for one in ring for ends in (one, one[::-1])]
    topology = Topology("ring", ("a", "b", "c"), tuple(both))
    network = of_topology(topology, "ring.yaml", LinkParameters())
    assert node_names(network, topology) == ["h-a", "h-b", "h-c", "a", "b", "c"]
    rates = np.array([link.rate for link in network.links])
    assert rates.tolist() == [200.0] * 6 + [100.0] * 6  # a host fills all links of its node
    assert [link.delay for link in network.links] == [0.0] * 6 + [1e-3] * 6
    assert of_topology(topology, "ring.yaml", LinkParameters(rate=7)).links[0].rate == 7


def test_a_host_receives_as_much_as_enters_its_node() -> None:
    topology = Topology("one-way", ("a", "b"), (Link("a", "b", 100), Link("b", "a", 10)))
    network = of_topology(topology, "net.yaml", LinkParameters())
    rates = {(link.source, link.target): link.rate for link in network.links}
    (a, b), (at_a, at_b) = network.hosts, (2, 3)
    assert (rates[a, at_a], rates[at_a, a]) == (100, 10)
    assert (rates[b, at_b], rates[at_b, b]) == (10, 100)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ((), "net.yaml: no path leads from a to b"),
        (
            (Link("a", "b", 1), Link("b", "a", 1), Link("a", "c", 1)),
            "net.yaml: there is a link from a to c and none back",
        ),
    ],
)
def test_topologies_without_a_path_are_refused(links: tuple[Link, ...], message: str) -> None:
    with pytest.raises(InputError) as raised:
        of_topology(Topology("net", ("a", "b", "c"), links), "net.yaml", LinkParameters())
    assert str(raised.value).startswith(message)


def test_switches_are_equipped_by_their_inputs_and_hosts_are_not() -> None:
    network = equipped(generated("leaf-spine:2,1,4", LinkParameters()), lambda inputs: Fifo(1000 * inputs))
    limits = {(link.source, link.queueing.limit) for link in network.links if isinstance(link.queueing, Fifo)}
    assert {limit for source, limit in limits if source < 8} == {Fifo().limit}
    assert {limit for source, limit in limits if source in {8, 9}} == {5000}  # four hosts and a spine
    assert {limit for source, limit in limits if source == 10} == {2000}
