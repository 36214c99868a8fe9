"""Label switching: switches forward by tables that are replaced while packets are on their way."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import astuple
from itertools import pairwise

import numpy as np
import pytest

from kuijia_base.errors import UnsoundError
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import FixedPath, FlowCells, LabelSwitched, LoadBalancer, PathChoice, RandomPaths
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine, fat_tree
from simulator.packet.transports import Congestion, Packets, Tcp
from tests.simulator.packet.scenes import require_conserved

QUEUE = Fifo(40_000, Threshold(15_000))
FABRIC = LeafSpine(2, 2, 2, 1_000.0, 1_000.0, 1e-6)
SOURCE, TARGET, LEAF, OTHER_LEAF, SPINE, OTHER_SPINE = 0, 3, 4, 5, 6, 7
LABELS = Setting(load_balancer=LoadBalancer(forwarding=LabelSwitched()))


def links(network: Network, *nodes: int) -> list[int]:
    return [
        next(link for link in network.outputs[one] if network.links[link].target == other)
        for one, other in pairwise(nodes)
    ]


def there(network: Network, spine: int) -> list[int]:
    return links(network, SOURCE, LEAF, spine, OTHER_LEAF, TARGET)


def packets_every_20_us(network: Network, count: int = 100) -> Flows:
    back = links(network, TARGET, OTHER_LEAF, SPINE, LEAF, SOURCE)
    packets = Packets(np.arange(count, dtype=np.float64) * 2e-5, np.full(count, 1_000))
    return Flows.of(SOURCE, TARGET, packets, paths=[(there(network, SPINE), back)])


@pytest.mark.parametrize("choice", [FixedPath(), FlowCells(), RandomPaths()])
@pytest.mark.parametrize("network", [FABRIC.network(QUEUE), fat_tree(4, 1_000.0, 1e-6, QUEUE)], ids=["leaves", "tree"])
def test_tables_of_the_flows_paths_do_as_the_paths_to_the_bit(network: Network, choice: PathChoice) -> None:
    hosts = len(network.hosts)
    random = np.random.default_rng(5)
    source = random.integers(0, hosts, 40)
    target = (source + random.integers(1, hosts, 40)) % hosts
    tcp = Tcp(congestion=Congestion.DCTCP, min_timeout=1e-3, first_timeout=1e-3)
    flows = Flows.of(source, target, tcp, size=random.integers(1, 100_000, 40), start=random.uniform(0, 3e-3, 40))
    outage = Outage(len(network.links) - 3, 1e-3, 5e-4, 4e-3)
    results = []
    for balancer in (LoadBalancer(choice=choice), LoadBalancer(forwarding=LabelSwitched(), choice=choice)):
        simulation = Simulation(network, [flows], Setting(seed=9, outages=[outage], load_balancer=balancer))
        simulation.run()
        assert simulation.unfinished == 0
        results.append([*astuple(simulation.flow_results()), *astuple(simulation.link_results())])
    assert all((one == other).all() for one, other in zip(*results, strict=True))


def test_a_table_that_is_replaced_leads_the_packets_after_it_another_way() -> None:
    network = FABRIC.network(QUEUE)
    simulation = Simulation(network, [packets_every_20_us(network)], LABELS)
    label = simulation.label(there(network, SPINE))
    up, down = links(network, LEAF, OTHER_SPINE, OTHER_LEAF)

    def change() -> None:
        simulation.set_label_table(OTHER_SPINE, {label: down})
        simulation.set_label_table(LEAF, {**simulation.label_table(LEAF), label: up})

    simulation.at(30 * 2e-5, change)
    simulation.run()
    sent = simulation.link_results().sent_packets
    assert sent[[links(network, LEAF, SPINE)[0], up, down]].tolist() == [30, 70, 70]
    assert simulation.totals().arrived == 100


def test_packets_end_and_are_counted_where_their_label_is_unknown() -> None:
    network = FABRIC.network(QUEUE)
    simulation = Simulation(network, [packets_every_20_us(network)], LABELS)
    simulation.at(40 * 2e-5, lambda: simulation.set_label_table(SPINE, {}))
    simulation.run()
    require_conserved(simulation)
    totals = simulation.totals()
    assert (totals.arrived, totals.lost, totals.unroutable) == (40, 60, 60)
    assert simulation.flow_results().dropped.tolist() == [60]
    assert simulation.link_results().lost_packets[links(network, LEAF, SPINE)[0]] == 60


def test_a_loop_of_tables_ends_packets_after_255_switches() -> None:
    network = FABRIC.network(QUEUE)
    simulation = Simulation(network, [packets_every_20_us(network, 1)], LABELS)
    up, down = links(network, LEAF, SPINE, LEAF)
    simulation.set_label_table(SPINE, {simulation.label(there(network, SPINE)): down})
    assert simulation.run()
    require_conserved(simulation)
    assert (simulation.totals().arrived, simulation.totals().unroutable) == (0, 1)
    assert simulation.link_results().sent_packets[[up, down]].tolist() == [128, 127]


def test_a_label_is_that_of_a_path_whether_a_flow_takes_it_or_not() -> None:
    network = FABRIC.network(QUEUE)
    simulation = Simulation(network, [packets_every_20_us(network)], LABELS)
    one, other = (simulation.label(there(network, spine)) for spine in (SPINE, OTHER_SPINE))
    assert one != other
    assert simulation.label_table(LEAF)[other] == links(network, LEAF, OTHER_SPINE)[0]
    assert simulation.label_table(OTHER_SPINE) == {other: links(network, OTHER_SPINE, OTHER_LEAF)[0]}
    back = links(network, TARGET, OTHER_LEAF, OTHER_SPINE, LEAF, SOURCE)
    simulation.at(49.5 * 2e-5, lambda: simulation.move(0, (there(network, OTHER_SPINE), back)))
    simulation.run()
    ups = [links(network, LEAF, spine)[0] for spine in (SPINE, OTHER_SPINE)]
    assert simulation.link_results().sent_packets[ups].tolist() == [50, 50]


def test_tables_that_cannot_be_change_nothing() -> None:
    network = FABRIC.network(QUEUE)
    simulation = Simulation(network, [packets_every_20_us(network)], LABELS)
    before = simulation.label_table(LEAF)
    for switch, table, problem in (
        (SOURCE, {}, "must be that of a switch"),
        (99, {}, "must be that of a switch"),
        (LEAF, {0: links(network, SPINE, LEAF)[0]}, "must leave the switch"),
        (LEAF, {0: 10_000}, "links: 10000 is none, expected 0 to 15"),
        (LEAF, {0: -1}, "links: -1 is none, expected 0 to 15"),
        (LEAF, {1 << 24: links(network, LEAF, SPINE)[0]}, "labels: 16777216 is none, expected 0 to 16777215"),
    ):
        with pytest.raises(UnsoundError, match=problem):
            simulation.set_label_table(switch, table)
    assert simulation.label_table(LEAF) == before
    with pytest.raises(UnsoundError, match="does not leave node"):
        simulation.label(there(network, SPINE)[::-1])
    with pytest.raises(UnsoundError, match="it has no links"):
        simulation.label([])


@pytest.mark.parametrize(
    ("labels", "count", "problem"),
    [
        ([0, 1, (1 << 24) - 1], 3, None),
        ([1, 0], 2, "labels must rise"),
        ([1, 1], 2, "labels must rise"),
        ([0], 2, "one link for each label"),
        ([1 << 24], 1, "labels must be below 2"),
    ],
)
def test_the_core_refuses_a_table_that_it_could_not_search(labels: list[int], count: int, problem: str | None) -> None:
    network = FABRIC.network(QUEUE)
    core = Simulation(network, [packets_every_20_us(network)], LABELS)._steered
    ways = np.full(count, links(network, LEAF, SPINE)[0], np.uint32)
    with nullcontext() if problem is None else pytest.raises(ValueError, match=problem):
        core.set_label_table(LEAF, np.array(labels, np.uint32), ways)


@pytest.mark.parametrize("setting", [Setting(), Setting(load_balancer=LoadBalancer(choice=RandomPaths()))])
def test_switches_that_do_not_forward_by_labels_have_no_tables(setting: Setting) -> None:
    network = FABRIC.network(QUEUE)
    simulation = Simulation(network, [packets_every_20_us(network)], setting)
    with pytest.raises(UnsoundError, match="do not forward by labels"):
        simulation.label_table(LEAF)
    with pytest.raises(UnsoundError, match="do not forward by labels"):
        simulation.set_label_table(LEAF, {})
