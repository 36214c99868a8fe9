"""What a plan needs of each switch follows from its links, its options and the wiring."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.needs import needs_of, port_rate
from kuijia_app.tables.options import Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.stated_wiring import StatedWiring, SwitchEnds
from kuijia_app.tables.wiring import Site, Wiring
from te_solver.model.topology import Link, Topology
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of
from tests.kuijia_app.wirings import permuted

HOST_MTU = 1500

TRIANGLE = both_ways("triangle", "a b c", "a-b b-c a-c", capacity=20.0)
PLAN = plan_of(TRIANGLE, "a-b a-c-b")


def test_all_links_and_the_hosts_with_traffic_need_ports() -> None:
    needs = needs_of(PLAN, PipelineOptions(), Wiring(TRIANGLE))
    assert {name: list(each.ports) for name, each in needs.items()} == {"a": [1, 2, 3], "b": [1, 2, 3], "c": [1, 2]}


def test_with_traffic_of_no_pair_every_port_of_the_wiring_is_needed_with_what_it_leads_to() -> None:
    needs = needs_of(PLAN, PipelineOptions(other_traffic=OtherTraffic.FORWARD), Wiring(TRIANGLE))
    assert {name: [(port.number, port.leads_to, port.is_host) for port in each.ports.values()]
            for name, each in needs.items()} == {
        "a": [(1, "b", False), (2, "c", False), (3, "a", True)],
        "b": [(1, "a", False), (2, "c", False), (3, "b", True)],
        "c": [(1, "a", False), (2, "b", False), (3, "c", True)],
    }  # fmt: skip


def test_numbers_are_those_of_a_wiring_file() -> None:
    stated = permuted(TRIANGLE, seed=3)
    options = PipelineOptions(wiring=stated, other_traffic=OtherTraffic.FORWARD)
    needs = needs_of(PLAN, options, stated.of(TRIANGLE))
    for name, ends in stated.switches.items():
        assert needs[name].datapath_id == ends.datapath_id
        assert set(needs[name].ports) == set(ends.ports)


def test_a_switch_without_a_host_has_ports_to_neighbours_only() -> None:
    switches = {"a": SwitchEnds(1, {"b": 7}), "b": SwitchEnds(2, {"a": 9})}
    topology = both_ways("two", "a b", "a-b")
    needs = needs_of(plan_of(topology), PipelineOptions(), StatedWiring("file", switches).of(topology))
    assert [set(each.ports) for each in needs.values()] == [{7}, {9}]


@pytest.mark.parametrize(
    ("tagging", "labelled_hosts", "added"),
    [(Tagging.MPLS, False, 4), (Tagging.MPLS, True, 8), (Tagging.DSCP_ECN, False, 0), (Tagging.DSCP_ECN, True, 4)],
)
@pytest.mark.parametrize("host_mtu", [HOST_MTU, 9000])
def test_links_carry_the_packets_of_hosts_with_their_labels(
    tagging: Tagging,
    labelled_hosts: bool,  # noqa: FBT001  # pytest passes it by name
    added: int,
    host_mtu: int,
) -> None:
    options = PipelineOptions(tagging=tagging)
    needs = needs_of(PLAN, options, Wiring(TRIANGLE), host_mtu, labelled_hosts=labelled_hosts)
    found = {(port.is_host, port.mtu) for each in needs.values() for port in each.ports.values()}
    assert found == {(False, host_mtu + added), (True, host_mtu)}


def test_queues_are_those_of_the_layout_in_its_order() -> None:
    for layout in LAYOUTS.values():
        needs = needs_of(PLAN, PipelineOptions(layout=layout), Wiring(TRIANGLE))
        assert all(each.queues == layout.queues for each in needs.values())


def test_a_port_has_its_links_rate_and_a_hosts_port_that_of_all_links() -> None:
    wiring = Wiring(TRIANGLE)
    assert [port_rate(wiring, "a", port) for port in (1, 2, 3)] == [20.0, 20.0, 40.0]


def test_a_host_with_a_given_capacity_has_that_rate() -> None:
    class Limited(Wiring):
        @property
        def sites(self) -> tuple[Site, ...]:
            return tuple(replace(site, capacity=5.0) for site in Wiring(self.topology).sites)

    assert port_rate(Limited(TRIANGLE), "a", 3) == 5.0


def test_the_port_at_the_end_of_a_one_way_link_has_its_rate() -> None:
    wiring = Wiring(Topology("one way", ("a", "b"), (Link("a", "b", 7.0),)))
    assert [port_rate(wiring, switch, 1) for switch in "ab"] == [7.0, 7.0]
    assert [port_rate(wiring, switch, 2) for switch in "ab"] == [7.0, 7.0]


def test_sessions_need_ports_at_both_ends_of_their_paths() -> None:
    plan = motivation_plan()
    needs = needs_of(plan, PipelineOptions(liveness=Liveness.BFD), Wiring(plan.topology))
    sessions = set(BfdSessions(plan))
    assert len(sessions) == 3
    assert {name: set(each.sessions) for name, each in needs.items()} == {
        "s1": sessions, "s2": set(), "s3": set(), "s4": sessions}  # fmt: skip


def test_no_sessions_are_needed_without_bfd() -> None:
    needs = needs_of(PLAN, PipelineOptions(), Wiring(TRIANGLE))
    assert not any(each.sessions for each in needs.values())
