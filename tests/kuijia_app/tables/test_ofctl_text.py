"""Tables as text for ovs-ofctl: as people read it, and as a real switch does."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import product
from pathlib import Path

import pytest

from kuijia_app.tables.ofctl_text import file_stem, flow_text, group_text, match_text
from kuijia_app.tables.options import Form, Liveness, OptionWords, PipelineOptions, Tagging, pipeline_options
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import (
    Action,
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    Match,
    Output,
    PopLabel,
    PushLabel,
    SetDscp,
    SetEcn,
    SetQueue,
    ToGroup,
)
from testbed.crosscheck.dummy_switches import DummyBridges
from tests.kuijia_app.dummy_switches import DummySwitches
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.test_controller import controller

pytestmark = pytest.mark.slow

COOKIE = "cookie=0x4b55494a49410000"


def test_an_entry_says_match_actions_written_actions_and_the_next_table() -> None:
    match = Match(in_port=3, eth_type=0x0800, ipv4_dst=IPv4Network("10.0.4.0/24"), ip_dscp=46, ip_ecn=1)
    entry = FlowEntry(7, match, (SetDscp(9), SetEcn(2)), written=(PopLabel(), Output(4)), goto_table=1)
    assert flow_text(entry) == (
        f"{COOKIE},send_flow_rem,table=0,priority=7,ip,in_port=3,nw_dst=10.0.4.0/24,ip_dscp=46,nw_ecn=1,"
        "actions=set_field:9->ip_dscp,set_field:2->nw_ecn,write_actions(pop_mpls:0x0800,output:4),goto_table:1"
    )


def test_an_entry_without_match_and_actions_drops_everything() -> None:
    assert match_text(Match()) == ""
    assert flow_text(FlowEntry(0, Match(), table_id=2)) == f"{COOKIE},send_flow_rem,table=2,priority=0,actions=drop"


@pytest.mark.parametrize(
    ("group", "text"),
    [
        (
            Group(5, GroupType.SELECT, (Bucket((ToGroup(6),)),) * 2),
            "type=select" + ",bucket=weight:1,actions=group:6" * 2,
        ),
        (Group(5, GroupType.FAST_FAILOVER, ()), "type=ff"),
        (Group(5, GroupType.FAST_FAILOVER, (Bucket((), watch_port=1),)), "type=ff,bucket=watch_port:1,actions=drop"),
        (
            Group(5, GroupType.FAST_FAILOVER, (Bucket((PushLabel(16, 1), SetQueue(2)), watch_group=9),)),
            "type=ff,bucket=watch_group:9,actions=push_mpls:0x8847,set_field:16->mpls_label,set_field:1->mpls_tc,set_queue:2",
        ),
    ],
)
def test_a_group_says_its_type_and_buckets(group: Group, text: str) -> None:
    assert group_text(group) == f"group_id=5,{text}"


def test_a_failover_bucket_that_watches_nothing_cannot_be_said() -> None:
    with pytest.raises(ValueError, match="expected a port or a group"):
        group_text(Group(5, GroupType.FAST_FAILOVER, (Bucket((Output(1),)),)))


@pytest.mark.parametrize(
    ("switch", "stem"),
    [("New York", "New York"), ("a/b", "a%2Fb"), ("a%2Fb", "a%252Fb"), ("..", "%2E."), ("Zürich", "Zürich")],
)
def test_any_name_becomes_a_file_name_and_no_two_become_one(switch: str, stem: str) -> None:
    assert file_stem(switch) == stem


@pytest.mark.ovs
@pytest.mark.parametrize(
    "words",
    [
        OptionWords(),
        OptionWords(layout="eight", pipeline=Form.DECOMPOSED.value),
        OptionWords(tagging=Tagging.DSCP_ECN.value, liveness=Liveness.BFD.value),
    ],
    ids=["plain", "eight-decomposed", "dscp-ecn-bfd"],
)
def test_a_switch_shows_the_same_after_ofctl_as_after_the_controller(words: OptionWords, tmp_path: Path) -> None:
    plan = motivation_plan()
    with DummySwitches(plan, tmp_path) as switches:
        with controller(switches, tmp_path, words=words):
            installed = {node: (switches.groups(node), switches.flows(node)) for node in plan.topology.nodes}
        for switch in plan.topology.nodes:
            switches.disconnect(switch)
            switches.ovs.ofctl("del-flows", switches.bridge(switch))
            switches.ovs.ofctl("del-groups", switches.bridge(switch))
        switches.install(build_tables(plan, pipeline_options(words)))
        assert {node: (switches.groups(node), switches.flows(node)) for node in plan.topology.nodes} == installed


@pytest.mark.ovs
def test_a_switch_takes_every_form_of_tables(tmp_path: Path) -> None:
    plan = motivation_plan()
    with DummyBridges(plan, tmp_path) as bridges:
        for tagging, form, liveness in product(Tagging, Form, Liveness):
            tables = build_tables(plan, PipelineOptions(tagging=tagging, form=form, liveness=liveness))
            bridges.install(tables)
            for switch, of_switch in tables.items():
                assert len(bridges.groups(switch)) == len(of_switch.groups)
                assert len(bridges.flows(switch)) == len(of_switch.flows)
                bridges.ovs.ofctl("del-flows", bridges.bridge(switch))
                bridges.ovs.ofctl("del-groups", bridges.bridge(switch))


def test_no_action_is_left_unsaid() -> None:
    actions: tuple[Action, ...] = (
        PushLabel(16, 0),
        PopLabel(),
        SetDscp(1),
        SetEcn(1),
        SetQueue(1),
        Output(1),
        ToGroup(1),
    )
    text = flow_text(FlowEntry(1, Match(), actions))
    assert text.endswith(
        "push_mpls:0x8847,set_field:16->mpls_label,set_field:0->mpls_tc,pop_mpls:0x0800,set_field:1->ip_dscp,"
        "set_field:1->nw_ecn,set_queue:1,output:1,group:1"
    )
