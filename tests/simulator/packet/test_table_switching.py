"""Switches that follow flow tables and groups, in scenarios that no plan would make."""

from __future__ import annotations

import numpy as np
import pytest

from kuijia_app.tables.rules import Bucket, FlowEntry, Group, GroupType, Match, Output, SetQueue, SwitchTables, ToGroup
from kuijia_base.errors import UnsoundError
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import LOAD_BALANCERS, LoadBalancer, TableSwitched
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, StrictPriority
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine
from simulator.packet.transports import Packets, Tcp
from simulator.planned.table_rows import group_rows, table_rows
from tests.simulator.packet.scenes import require_conserved

SIZE = 1000
QUEUES = StrictPriority([Fifo(limit=3000), Fifo(limit=3000)])


def line() -> tuple[Network, TableSwitched]:
    """Return hosts 0 and 1 with switches 2 and 3 between them; port 1 leads to the host, 2 to the other switch."""
    network = Network()
    hosts = [network.add_host(), network.add_host()]
    switches = [network.add_switch(), network.add_switch()]
    ports = {"out": list[int](), "in": list[int]()}
    for host, switch in zip(hosts, switches, strict=True):
        for ends, out_port, in_port in (((host, switch), 0, 1), ((switch, host), 1, 0)):
            network.connect(ends, 1000.0, 1e-6, queueing=QUEUES if ends[0] == switch else None)
            ports["out"].append(out_port)
            ports["in"].append(in_port)
    for source, target in (switches, switches[::-1]):
        network.connect((source, target), 100.0, 1e-6, queueing=QUEUES)
        ports["out"].append(2)
        ports["in"].append(2)
    return network, TableSwitched([1, 2], ports["out"], ports["in"], queues=[7, 9])


def to(port: int, queue: int = 7) -> SwitchTables:
    return SwitchTables((), (FlowEntry(1, Match(), (SetQueue(queue), Output(port))),))


def burst(count: int) -> Flows:
    return Flows.of(0, 1, Packets(np.zeros(count), np.full(count, SIZE)))


def simulated(flows: Flows, *tables: SwitchTables, outages: list[Outage] | None = None) -> Simulation:
    network, forwarding = line()
    simulation = Simulation(
        network, [flows], Setting(outages=outages or [], load_balancer=LoadBalancer("", forwarding))
    )
    for switch, of_switch in enumerate(tables, start=2):
        simulation.set_tables(switch, table_rows(of_switch))
    return simulation


def test_switches_without_tables_forward_by_shortest_paths() -> None:
    network = LeafSpine(2, 4, 4, host_rate=1000, fabric_rate=1000, delay=1e-6).network(Fifo(limit=30_000))
    hosts = np.arange(8)
    flows = Flows.of(hosts, (hosts + 4) % 8, Tcp(), size=300_000)
    settings = [Setting(load_balancer=LOAD_BALANCERS["ecmp"]), Setting(load_balancer=LoadBalancer("", TableSwitched()))]
    one, other = (Simulation(network, [flows], setting) for setting in settings)
    assert one.run()
    assert other.run()
    assert one.flow_results().finished.tolist() == other.flow_results().finished.tolist()


def test_a_queue_counts_what_it_sends_and_drops() -> None:
    simulation = simulated(burst(10), to(2, queue=9), to(1, queue=7))
    simulation.run()
    counters = simulation.queue_counters(2)
    between = 4
    assert counters.sent_packets[between].tolist() == [0, 4]
    assert counters.sent_bytes[between].tolist() == [0, 4 * SIZE]
    assert counters.dropped_packets[between].tolist() == [0, 6]
    assert counters.dropped_bytes[between].tolist() == [0, 6 * SIZE]
    assert counters.sent_packets[3].tolist() == [4, 0]
    assert simulation.flow_results().arrived.tolist() == [4]
    require_conserved(simulation)


def test_packets_that_wait_when_a_link_fails_count_as_lost_by_their_queue() -> None:
    simulation = simulated(burst(4), to(2, queue=9), to(1))
    simulation.run(0.0001)
    simulation.fail(4)
    assert simulation.queue_counters(2).lost_packets[4].tolist() == [0, 2]
    require_conserved(simulation)


def test_a_packet_in_a_loop_ends_after_255_switches() -> None:
    network, forwarding = line()
    between = (len(network.links) - 2, len(network.links) - 1)
    # Sent out of the port by which it came a packet would be dropped: a third port leads back as well.
    network.connect((3, 2), 100.0, 1e-6, queueing=QUEUES)
    network.connect((2, 3), 100.0, 1e-6, queueing=QUEUES)
    forwarding = TableSwitched([1, 2], [*forwarding.out_ports, 3, 3], [*forwarding.in_ports, 3, 3], queues=[7, 9])
    simulation = Simulation(network, [burst(1)], Setting(load_balancer=LoadBalancer("", forwarding)))
    by_port = tuple(FlowEntry(1, Match(in_port=port), (Output(5 - port if port > 1 else 2),)) for port in (1, 2, 3))
    for switch in (2, 3):
        simulation.set_tables(switch, table_rows(SwitchTables((), by_port)))
    simulation.run()
    sent = simulation.link_results().sent_packets[between[0] :]
    assert sent.sum() == 255
    assert simulation.totals().unroutable == 1


def test_a_table_that_changes_meets_packets_on_their_way() -> None:
    simulation = simulated(burst(1), to(2), to(9))
    simulation.at(0.00001, lambda: simulation.set_tables(3, table_rows(to(1))))
    simulation.run()
    assert simulation.flow_results().arrived.tolist() == [1]


def failover(group_type: GroupType = GroupType.FAST_FAILOVER) -> SwitchTables:
    """Return tables that send by port 2 while it is live, and else by no port."""
    buckets = Bucket((Output(2),), watch_port=2), Bucket((Output(9),), watch_port=3)
    return SwitchTables((Group(5, group_type, buckets),), (FlowEntry(1, Match(), (ToGroup(5),)),))


def test_buckets_that_watch_a_port_flip_when_the_switch_learns_of_the_failure() -> None:
    flows = Flows.of(0, 1, Packets(np.array([0.0, 0.1, 0.2, 0.3]), np.full(4, SIZE)))
    network, _ = line()
    between = len(network.links) - 2
    simulation = simulated(flows, failover(), to(1), outages=[Outage(between, 0.05, detected=0.1, heals=0.25)])
    simulation.run()
    # The second is lost by the link, the third by the switch, which does not know yet that the link is back.
    assert simulation.flow_results().arrived.tolist() == [1]
    assert simulation.totals().unroutable == 2
    assert simulation.totals().lost == 3


def test_a_flow_can_be_given_a_slot() -> None:
    flows = Flows.of([0] * 4, 1, Packets(np.zeros(1), np.array([SIZE])))
    simulation = simulated(flows, failover(GroupType.SELECT), to(1))
    simulation.set_slots(0, np.array([0, 1, 2, 3], np.uint32))
    simulation.run()
    assert simulation.flow_results().arrived.tolist() == [1, 0, 1, 0]


def test_a_group_is_replaced_alone() -> None:
    simulation = simulated(burst(1), failover(), to(1))
    simulation.set_groups(2, group_rows([Group(5, GroupType.FAST_FAILOVER, ())]))
    simulation.run()
    assert simulation.flow_results().arrived.tolist() == [0]


def test_tables_are_refused_where_there_can_be_none() -> None:
    simulation = simulated(burst(1), to(2), to(1))
    with pytest.raises(UnsoundError, match="tables must be those of a switch"):
        simulation.set_tables(0, table_rows(to(1)))
    with pytest.raises(UnsoundError, match="tables must be those of a switch"):
        simulation.set_port(99, 1, live=False)
    network, _ = line()
    for name in ("fixed", "labels"):
        other = Simulation(network, [burst(1)], Setting(load_balancer=LOAD_BALANCERS[name]))
        with pytest.raises(UnsoundError, match="the switches have no flow tables"):
            other.set_tables(2, table_rows(to(1)))
