"""Packets and failures as users write them, and the output of `kuijia trace`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kuijia_app.proof.model.network import ModelNetwork, Walk
from kuijia_app.proof.model.packet import Transport
from kuijia_app.proof.trace import AskedPacket, parse_failure, parse_packet, trace_json, walk_text
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.stated_wiring import StatedWiring, stated
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import InputError
from te_solver.model.failures import Failure
from te_solver.model.topology import Link, Topology
from tests.kuijia_app.plans import motivation_plan

NAMED = Topology("named", ("New York", "a-b", "c"), (Link("New York", "a-b", 1.0), Link("a-b", "c", 1.0)))
EIGHT = PipelineOptions(layout=LAYOUTS["eight"])


@pytest.mark.parametrize(
    ("text", "packet"),
    [
        ("c->a-b", AskedPacket("c", "a-b", 0, 0, 0)),
        (" New York -> a-b slot=63  dscp=10 ecn=3 ", AskedPacket("New York", "a-b", 63, 10, 3)),
        ("c->New York control", AskedPacket("c", "New York", 0, 48, 0)),
        ("c->New York class=1", AskedPacket("c", "New York", 0, 34, 0)),
        ("c->New York class=4", AskedPacket("c", "New York", 0, 0, 0)),
        ("c->New York protocol=47", AskedPacket("c", "New York", 0, 0, 0, Transport(47, 0, 0))),
    ],
)
def test_a_packet_is_its_ends_and_what_is_said_of_it(text: str, packet: AskedPacket) -> None:
    assert parse_packet(text, NAMED, EIGHT) == packet


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c", "packet: 'c', expected two nodes, or SOURCE->TARGET [slot=N] [class=N | dscp=N | control] [ecn=N]"),
        ("c->d", "packet: unknown node 'd', expected a node of named"),
        ("c->c", "packet: from c to itself, expected two different nodes"),
        ("c->a-b slot=64", "packet:slot: '64', expected a whole number from 0 to 63"),
        ("c->a-b dscp=x", "packet:dscp: 'x', expected a whole number from 0 to 63"),
        ("c->a-b ecn=4", "packet:ecn: '4', expected a whole number from 0 to 3"),
        ("c->a-b vlan=4095", "packet:vlan: '4095', expected a whole number from 0 to 4094"),
        ("c->a-b protocol=256", "packet:protocol: '256', expected a whole number from 0 to 255"),
        ("c->a-b protocol=6 source_port=65536", "packet:source_port: '65536', expected a whole number from 0 to 65535"),
        (
            "c->a-b protocol=udp destination_port=65536",
            "packet:destination_port: '65536', expected a whole number from 0 to 65535",
        ),
        ("c->a-b class=9", "packet:class: 9, expected one that the layout eight serves: 0, 1, 2, 3, 4"),
        ("c->a-b size=9", "packet:size: is unknown, expected SOURCE->TARGET"),
        ("c->a-b protocol=47 source_port=9", "packet: ports with protocol 47, expected protocol=tcp or protocol=udp"),
        ("c->a-b dscp=1 class=1", "packet: 'class=1' gives the dscp a second time, expected SOURCE->TARGET"),
    ],
)
def test_what_is_no_packet_is_refused_in_a_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_packet(text, NAMED, EIGHT)
    assert str(raised.value).startswith(message)


def test_failures_are_links_and_nodes_whose_names_may_hold_dashes() -> None:
    assert parse_failure(["a-b-c", "New York"], NAMED) == Failure("a-b-c + New York", (("a-b", "c"),), ("New York",))
    with pytest.raises(InputError, match=r"'c-New York' is no link \(did you mean New York\?\), expected A-B"):
        parse_failure(["c-New York"], NAMED)


def traced(text: str, *down: str) -> tuple[Walk, ModelNetwork]:
    plan, options = motivation_plan(), PipelineOptions()
    model = ModelNetwork(plan, build_tables(plan), options.liveness)
    model.fail(parse_failure(down, plan.topology))
    packet = parse_packet(text, plan.topology, options)
    return model.walk(packet.source, packet.entering(model)), model


def test_the_way_of_a_victim_says_which_watch_is_dead() -> None:
    pushed = "push_mpls:0x8847,set_field:17->mpls_label,set_field:1->mpls_tc"
    assert list(walk_text(*traced("s1->s4 slot=3", "s1-s2"))) == [
        "s1: in port 4 (host), 10.0.1.1 to 10.0.4.1, dscp 0, ecn 0",
        "    table 0: ip,in_port=4,nw_dst=10.0.4.0/24, priority 100: group:268435460",
        "    group 268435460 (select): bucket 3 of 64: group:1073743880",
        "    group 1073743880 (fast failover): bucket 0: group 805306384 is dead (port 1 is down)",
        f"    group 1073743880 (fast failover): bucket 1 of 4: {pushed},set_queue:2,output:3",
        "    out port 3 (to s4) in queue 2, label 17 tc 1, 10.0.1.1 to 10.0.4.1, dscp 0, ecn 0",
        "s4: in port 1 (from s1), label 17 tc 1, 10.0.1.1 to 10.0.4.1, dscp 0, ecn 0",
        "    table 0: mpls,in_port=1,mpls_label=17,mpls_tc=1, priority 300: pop_mpls:0x0800,set_queue:2,output:4",
        "    out port 4 (host) in queue 2, 10.0.1.1 to 10.0.4.1, dscp 0, ecn 0",
        "delivered to the host: s1-s4",
    ]


def test_a_packet_without_a_way_is_said_to_be_dropped_and_why() -> None:
    *_, problem, end = walk_text(*traced("s2->s4"))
    assert (problem, end) == ("    the entry drops it", "dropped: s2")


def test_the_same_can_be_had_as_json() -> None:
    walk, _ = traced("s1->s4 slot=3", "s2-s4")
    written = json.loads(json.dumps(trace_json(walk, "none")))
    assert (written["end"], written["nodes"]) == ("left", ["s1", "s4"])
    select, failover = written["hops"][0]["steps"][1:]
    assert (select["bucket"], select["dead"]) == (3, [])
    assert (failover["bucket"], failover["dead"]) == (1, ["bucket 0: group 805306384 is empty"])
    assert written["hops"][0]["out"]["labels"] == [{"label": 17, "tc": 1}]


def test_a_packet_of_a_switch_without_a_host_is_refused() -> None:
    plan = motivation_plan()
    whole = stated(Wiring(plan.topology))
    wiring = StatedWiring("bare.yaml", {**whole.switches, "s4": replace(whole.switches["s4"], host=None)})
    network = ModelNetwork(plan, build_tables(plan), PipelineOptions().liveness, wiring.of(plan.topology))
    with pytest.raises(InputError, match=r"bare\.yaml:switches\.s4: it has no host, but one is needed"):
        AskedPacket("s1", "s4", 0, 0, 0).entering(network)
