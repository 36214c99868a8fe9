"""Verification finds the tables of any plan sound, whatever fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_app.proof.expectation import expected_traffic
from kuijia_app.proof.model.network import Hop, ModelNetwork, Walk
from kuijia_app.proof.model.packet import Packet, VlanTag
from kuijia_app.proof.model.switch import BucketChoice, ModelForwarding
from kuijia_app.proof.verification import Verifier, Violation, _tags_of_nobody
from kuijia_app.proof.walk_faults import Flow
from kuijia_app.tables.options import Form, Liveness, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import Queue, QueueLayout, TrafficClass, require_sound
from kuijia_app.tables.rules import Bucket, FlowEntry, Group, GroupType, Match, Output
from kuijia_app.tables.wiring import HostEnd
from te_solver.model.failures import NO_FAILURE, single_links, single_nodes
from te_solver.model.plan import Plan
from te_solver.schemes.all_schemes import switch_schemes
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of, plans
from tests.kuijia_app.proof.verifying import short, verify
from tests.kuijia_app.tables.test_classifiers import RULES, classified, two_classes

DSCP_NETWORK_CONTROL = 48

PACKET = Packet(1, IPv4Address("10.0.0.1"), IPv4Address("10.0.0.4"), 0)


def all_options() -> Iterator[PipelineOptions]:
    for layout in LAYOUTS.values():
        for tagging in Tagging:
            if tagging is Tagging.DSCP_ECN and any(queue.ecn is None for queue in layout.queues):
                continue
            for form in Form:
                for liveness in Liveness:
                    for scheme in switch_schemes():
                        yield PipelineOptions(scheme, 16, layout, tagging, form, liveness)


def layout_of(*classes: tuple[tuple[int, ...], str, str]) -> QueueLayout:
    """Return a layout of four queues, with classes given by code points, normal and victim queue."""
    queues = {
        "control": Queue(0, "control", traffic_class=6, ecn=2),
        "high": Queue(1, "high", traffic_class=5, ecn=3),
        "low": Queue(2, "low", traffic_class=0, ecn=0),
        "victims": Queue(3, "victims", traffic_class=1, ecn=1),
    }
    served = [
        TrafficClass(priority, code_points, queues[normal], queues[victim])
        for priority, (code_points, normal, victim) in enumerate(classes)
    ]
    layout = QueueLayout("own", tuple(queues.values()), queues["control"], tuple(served))
    require_sound(layout)
    return layout


OWN_LAYOUTS = {
    "classes share a victim queue": layout_of(((46,), "high", "victims"), ((), "low", "victims")),
    "a class in the control queue": layout_of(((46,), "control", "high"), ((), "low", "victims")),
    "victims beside the next class": layout_of(((46,), "high", "low"), ((10, 12), "low", "victims")),
    "all code points named": layout_of((tuple({*range(64)} - {DSCP_NETWORK_CONTROL}), "low", "victims")),
}


def counted_from_the_first(plan: Plan) -> Plan:
    """Return the plan with path ids from 16 on."""
    least = min(tunnel.path_id for tunnel in plan.tunnels)
    pairs = []
    for pair in plan.pairs:
        tunnels = tuple(replace(each, path_id=each.path_id - least + 16) for each in pair.tunnels)
        pairs.append(replace(pair, tunnels=tunnels))
    return replace(plan, pairs=tuple(pairs))


def test_traffic_of_a_failed_site_is_no_case() -> None:
    plan = motivation_plan()
    found = Verifier(plan, build_tables(plan), PipelineOptions()).run(single_nodes(plan.topology))
    assert found.is_sound
    assert found.cases == found.header_classes * 3


def test_traffic_past_a_failed_site_is_a_case_whatever_comes_before_it() -> None:
    plan, options = plan_of(both_ways("ring", "a b c", "a-b b-c a-c"), "a-b a-c-b", "b-c b-a-c"), PipelineOptions()
    found = Verifier(plan, build_tables(plan, options), options).run(single_nodes(plan.topology))
    assert found.is_sound
    # As planned all four directions count, without a or c those of one pair, and without b none.
    assert found.cases == found.header_classes * (1 + 1 / 2 + 0 + 1 / 2)


@pytest.mark.parametrize(
    ("switches", "buckets", "problems"),
    [
        (["s1"], 16, []),
        (["s2"], 16, ["group 7 of s2 hashes: only the ingress may, once"]),
        (["s1", "s1"], 16, ["group 7 of s1 hashes: only the ingress may, once"]),
        (["s1"], 15, ["group 7 of s1 has 15 buckets, expected 16"]),
    ],
)
def test_only_the_ingress_may_choose_once_and_among_all_slots(
    switches: list[str], buckets: int, problems: list[str]
) -> None:
    plan, options = motivation_plan(), PipelineOptions(slot_count=16)
    verifier = Verifier(plan, build_tables(plan, options), options)
    group = Group(7, GroupType.SELECT, (Bucket((Output(1),)),) * buckets)
    walk = Walk(choices=[BucketChoice(switch, group, 0) for switch in switches])
    split, *others = expected_traffic(plan, options)
    control = next(each for each in others if not each.is_split and each.source == "s1")
    assert [problem for _, problem in verifier._faults_of_choice(walk, split)] == problems
    assert len(list(verifier._faults_of_choice(walk, control))) == len(switches)


@pytest.mark.parametrize(("have", "is_fault"), [(7, True), (8, False), (9, True)])
def test_a_share_of_slots_may_be_off_by_less_than_one_for_each_part(have: int, *, is_fault: bool) -> None:
    plan, options = motivation_plan((0.5, 0.3, 0.2)), PipelineOptions(slot_count=16)
    verifier = Verifier(plan, build_tables(plan, options), options)
    split = next(each for each in expected_traffic(plan, options) if each.is_split)
    one, two, three = (
        Walk(hops=[Hop(node, PACKET, ModelForwarding(), None, None) for node in path.nodes]) for path in split.paths
    )
    slots = list(range(16))
    walks = {tuple(slots[:have]): one, tuple(slots[have:13]): two, (13, 14, 15): three}
    verifier._check_split(NO_FAILURE, split, None, walks)
    problem = f"{have} of the 16 of all slots use s1-s2-s4, expected 8.0"
    assert ([each.problem for each in verifier._found.violations][:1] == [problem]) is is_fault


def test_two_slots_that_part_after_a_failure_are_followed_each(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, options = motivation_plan(), PipelineOptions(slot_count=16)
    verifier = Verifier(plan, build_tables(plan, options), options)
    group = Group(7, GroupType.SELECT, (Bucket((Output(1),)),) * 16)
    ways = {slot: Walk(choices=[BucketChoice("s1", group, slot)]) for slot in range(2)}
    monkeypatch.setattr(verifier, "_walk", lambda _network, _traffic, slot: ways[slot])
    split = next(each for each in expected_traffic(plan, options) if each.is_split)
    both = list(verifier._walks_after(Flow(split, (0, 1), Walk(), None)))
    assert both == [((0,), ways[0]), ((1,), ways[1])]
    assert list(verifier._walks_after(Flow(split, (0, 1), ways[0], None))) == [((0, 1), ways[0])]
    assert list(verifier._walks_after(Flow(split, (1,), Walk(), None))) == [((1,), ways[1])]


def test_every_walk_and_every_look_at_groups_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def counted(kind: type, method: str) -> None:
        original = getattr(kind, method)

        def counting(*arguments: object) -> object:
            looks.append(method)
            return original(*arguments)

        monkeypatch.setattr(kind, method, counting)

    plan = two_classes()
    options = PipelineOptions(slot_count=16, layout=classified(*RULES))
    verifier = Verifier(plan, build_tables(plan, options), options)
    counted(ModelNetwork, "walk")
    counted(Verifier, "_groups_used")
    found = verifier.run(single_links(plan.topology))
    assert (found.walks, {*looks}) == (len(looks), {"walk", "_groups_used"})
    assert found.is_sound


def test_conversations_that_an_ingress_classifies_wrongly_are_found() -> None:
    options = PipelineOptions(slot_count=16, layout=classified(*RULES))
    tables = build_tables(two_classes(), options)
    kept = tuple(entry for entry in tables["s1"].flows if entry.match.ip_proto is None)
    tables["s1"] = replace(tables["s1"], flows=kept)
    found = Verifier(two_classes(), tables, options).run([]).violations
    assert ("class", "s1 -> s4") in {(each.rule, each.traffic.partition(",")[0]) for each in found}


def test_tags_of_nobody_are_a_free_one_and_none_where_no_site_is_untagged() -> None:
    site = HostEnd(1, IPv4Address("10.0.0.1"), ())
    first, second, plain = (replace(site, vlan=vlan) for vlan in (1, 3, None))
    elsewhere = replace(site, port=2, vlan=2)
    free = (VlanTag(2, 0),)
    assert _tags_of_nobody(1, (first, second, elsewhere)) == [free, ()]
    assert _tags_of_nobody(1, (first, plain)) == [free]
    assert _tags_of_nobody(1, (second, plain)) == [(VlanTag(1, 0),)]
    assert _tags_of_nobody(1, (plain, elsewhere)) == []


def test_a_decomposed_table_that_differs_in_any_miss_is_one_violation() -> None:
    plan, options = motivation_plan(), PipelineOptions(slot_count=16, form=Form.DECOMPOSED)
    tables = build_tables(plan, options)
    beside = FlowEntry(1, Match(in_port=1, eth_type=0x0806), (Output(2),))
    tables["s3"] = replace(tables["s3"], flows=(*tables["s3"].flows, beside))
    assert [each.rule for each in Verifier(plan, tables, options).run([]).violations] == ["decomposed"]


@pytest.mark.parametrize(
    ("actions", "fault"), [((Output(1),), "but not dropped at s1"), (None, "dropped but not counted")]
)
def test_a_stray_packet_is_to_be_dropped_and_counted(actions: tuple[Output, ...] | None, fault: str) -> None:
    plan, options = motivation_plan(), PipelineOptions(slot_count=16)
    tables = build_tables(plan, options)
    drop = next(entry for entry in tables["s1"].flows if not entry.actions)
    flows = [entry for entry in tables["s1"].flows if entry != drop]
    flows += [] if actions is None else [replace(drop, actions=actions)]
    tables["s1"] = replace(tables["s1"], flows=tuple(flows))
    told = [str(each) for each in Verifier(plan, tables, options).run([]).violations]
    assert told
    assert all(each.startswith("stray: no failure: s1 -> ") and fault in each for each in told)


def test_a_violation_names_what_failed_and_the_traffic_if_there_is_any() -> None:
    split = Violation("split", "link a-b", "a to b", (0, 1, 5), "2 of 3")
    assert str(split) == "split: link a-b down: a to b, slots 0-1,5: 2 of 3"
    assert str(Violation("healed", NO_FAILURE.name, "", (), "a group differs")) == "healed: no failure: a group differs"


@pytest.mark.parametrize("options", list(all_options()), ids=short)
def test_what_the_pipeline_builds_is_sound(options: PipelineOptions) -> None:
    plan = motivation_plan()
    found = verify(plan, build_tables(plan, options), options)
    assert [str(violation) for violation in found.violations] == []
    kinds = len({code for each in options.layout.classes for code in each.code_points}) + 1
    ecn_codes = 4 if options.tagging is Tagging.DSCP_ECN else 1
    assert found.header_classes == 2 * (kinds * 16 + 1) * ecn_codes
    assert found.failures == 5 + 10
    assert found.cases == found.header_classes * (1 + found.failures)


@settings(max_examples=30)
@given(plan=plans(), data=st.data())
def test_what_the_pipeline_builds_of_any_plan_is_sound_whatever_fails(plan: Plan, data: st.DataObject) -> None:
    options = data.draw(st.sampled_from(list(all_options())))
    priorities = [each.priority for each in options.layout.classes]
    pairs = tuple(replace(pair, priority=data.draw(st.sampled_from(priorities))) for pair in plan.pairs)
    plan = replace(plan, pairs=pairs)
    if options.tagging is Tagging.DSCP_ECN:
        plan = counted_from_the_first(plan)
    verifier = Verifier(plan, build_tables(plan, options), options)
    found = verifier.run([*single_links(plan.topology), *single_nodes(plan.topology)])
    assert [str(violation) for violation in found.violations] == []


@pytest.mark.slow
@pytest.mark.parametrize("layout", OWN_LAYOUTS.values(), ids=OWN_LAYOUTS)
@pytest.mark.parametrize("tagging", Tagging)
def test_what_the_pipeline_builds_with_a_users_own_layout_is_sound(layout: QueueLayout, tagging: Tagging) -> None:
    (pair,) = motivation_plan().pairs
    pairs = tuple(replace(pair, priority=each.priority) for each in layout.classes)
    plan = replace(motivation_plan(), pairs=pairs)
    options = PipelineOptions(layout=layout, tagging=tagging, slot_count=16)
    found = Verifier(plan, build_tables(plan, options), options).run(single_links(plan.topology))
    assert [str(violation) for violation in found.violations] == []
