"""Verification: tables of any plan are sound, and each way of breaking them is found."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from ipaddress import IPv4Network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_app.proof.verification import Verification, Verifier
from kuijia_app.tables import identifiers
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.options import Form, Liveness, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables, liveness_group
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import DSCP_NETWORK_CONTROL, Queue, QueueLayout, TrafficClass, require_sound
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
    SetQueue,
    SwitchTables,
    ToGroup,
)
from te_solver.failure_schemes.registry import switch_schemes
from te_solver.failure_schemes.rescaling import RESCALING
from te_solver.failures import link_pairs, single_links, single_nodes
from te_solver.plan import Plan
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of, plans

Tables = dict[str, SwitchTables]
T1, T2, T3 = 16, 17, 18
BFD = PipelineOptions(liveness=Liveness.BFD)
DSCP = PipelineOptions(tagging=Tagging.DSCP_ECN)


def verify(plan: Plan, tables: Mapping[str, SwitchTables], options: PipelineOptions) -> Verification:
    return Verifier(plan, tables, options).run([*single_links(plan.topology), *link_pairs(plan.topology)])


def all_options() -> Iterator[PipelineOptions]:
    for layout in LAYOUTS.values():
        for tagging in Tagging:
            if tagging is Tagging.DSCP_ECN and any(queue.ecn is None for queue in layout.queues):
                continue
            for form in Form:
                for liveness in Liveness:
                    for scheme in switch_schemes():
                        yield PipelineOptions(scheme, 16, layout, tagging, form, liveness)


def short(options: PipelineOptions) -> str:
    words = (options.tagging, options.form, options.liveness)
    return "-".join([options.layout.name, options.scheme.name, *(each.value for each in words)])


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
    pairs = tuple(dataclasses.replace(pair, priority=data.draw(st.sampled_from(priorities))) for pair in plan.pairs)
    plan = dataclasses.replace(plan, pairs=pairs)
    if options.tagging is Tagging.DSCP_ECN:
        plan = counted_from_the_first(plan)
    verifier = Verifier(plan, build_tables(plan, options), options)
    found = verifier.run([*single_links(plan.topology), *single_nodes(plan.topology)])
    assert [str(violation) for violation in found.violations] == []


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


@pytest.mark.parametrize("layout", OWN_LAYOUTS.values(), ids=OWN_LAYOUTS)
@pytest.mark.parametrize("tagging", Tagging)
def test_what_the_pipeline_builds_with_a_users_own_layout_is_sound(layout: QueueLayout, tagging: Tagging) -> None:
    (pair,) = motivation_plan().pairs
    pairs = tuple(dataclasses.replace(pair, priority=each.priority) for each in layout.classes)
    plan = dataclasses.replace(motivation_plan(), pairs=pairs)
    options = PipelineOptions(layout=layout, tagging=tagging, slot_count=16)
    found = Verifier(plan, build_tables(plan, options), options).run(single_links(plan.topology))
    assert [str(violation) for violation in found.violations] == []


def counted_from_the_first(plan: Plan) -> Plan:
    """Return the plan with path ids from 16 on."""
    least = min(tunnel.path_id for tunnel in plan.tunnels)
    pairs = []
    for pair in plan.pairs:
        tunnels = tuple(dataclasses.replace(each, path_id=each.path_id - least + 16) for each in pair.tunnels)
        pairs.append(dataclasses.replace(pair, tunnels=tunnels))
    return dataclasses.replace(plan, pairs=tuple(pairs))


def test_traffic_of_a_failed_site_is_no_case() -> None:
    plan = motivation_plan()
    found = Verifier(plan, build_tables(plan), PipelineOptions()).run(single_nodes(plan.topology))
    assert found.is_sound
    assert found.cases == found.header_classes * 3


# Ways to break tables.


def entries(tables: Tables, switch: str, change: Callable[[FlowEntry], FlowEntry | None]) -> None:
    """Apply `change` to every entry of a switch; None removes the entry."""
    changed = [change(entry) for entry in tables[switch].flows]
    kept = tuple(entry for entry in changed if entry is not None)
    tables[switch] = dataclasses.replace(tables[switch], flows=kept)


def groups(tables: Tables, switch: str, change: Callable[[Group], Group]) -> None:
    tables[switch] = dataclasses.replace(tables[switch], groups=tuple(map(change, tables[switch].groups)))


def of_tunnel(label: int, traffic_class: int, in_port: int) -> Callable[[FlowEntry], bool]:
    return lambda entry: entry.match == Match(in_port=in_port, eth_type=0x8847, mpls_label=label, mpls_tc=traffic_class)


def with_actions(tables: Tables, switch: str, meant: Callable[[FlowEntry], bool], *actions: Action) -> None:
    entries(tables, switch, lambda entry: dataclasses.replace(entry, actions=actions) if meant(entry) else entry)


def in_buckets(change: Callable[[Bucket], Bucket], meant: Callable[[Group], bool]) -> Callable[[Group], Group]:
    return lambda group: (
        dataclasses.replace(group, buckets=tuple(map(change, group.buckets))) if meant(group) else group
    )


def slot_groups(group: Group) -> bool:
    return group.group_type is GroupType.FAST_FAILOVER and len(group.buckets) == 3


def missing_entry(tables: Tables) -> None:
    entries(tables, "s2", lambda entry: None if of_tunnel(T1, 0, 1)(entry) else entry)


def missing_victim_entry(tables: Tables) -> None:
    entries(tables, "s2", lambda entry: None if of_tunnel(T1, 1, 1)(entry) else entry)


def missing_ingress_entry(tables: Tables) -> None:
    entries(tables, "s1", lambda entry: None if entry.match.ip_dscp == 48 else entry)


def wrong_port(tables: Tables) -> None:
    with_actions(tables, "s2", of_tunnel(T1, 0, 1), PopLabel(), SetQueue(1), Output(3))


def wrong_host(tables: Tables) -> None:
    with_actions(tables, "s4", of_tunnel(T1, 0, 2), PopLabel(), SetQueue(1), Output(9))


def wrong_queue(tables: Tables) -> None:
    with_actions(tables, "s2", of_tunnel(T1, 0, 1), SetQueue(2), Output(2))


def wrong_victim_queue(tables: Tables) -> None:
    with_actions(tables, "s3", of_tunnel(T3, 1, 1), SetQueue(1), Output(2))


def no_queue(tables: Tables) -> None:
    with_actions(tables, "s2", of_tunnel(T1, 0, 1), Output(2))


def no_pop(tables: Tables) -> None:
    with_actions(tables, "s4", of_tunnel(T1, 0, 2), SetQueue(1), Output(4))


def sent_twice(tables: Tables) -> None:
    with_actions(tables, "s2", of_tunnel(T1, 0, 1), SetQueue(1), Output(2), Output(3))


def loop(tables: Tables) -> None:
    with_actions(tables, "s4", of_tunnel(T1, 0, 2), SetQueue(1), Output(1))
    with_actions(tables, "s1", of_tunnel(T2, 0, 3), SetQueue(1), Output(1))
    entries(tables, "s1", lambda entry: retagged(entry, T1) if of_tunnel(T2, 0, 3)(entry) else entry)


def retagged(entry: FlowEntry, label: int) -> FlowEntry:
    return dataclasses.replace(entry, match=dataclasses.replace(entry.match, mpls_label=label))


def rival(tables: Tables) -> None:
    other = FlowEntry(identifiers.TUNNEL_PRIORITY, Match(in_port=1), (SetQueue(1), Output(2)))
    tables["s2"] = dataclasses.replace(tables["s2"], flows=(*tables["s2"].flows, other))


def wrong_tag(tables: Tables) -> None:
    def untagged(bucket: Bucket) -> Bucket:
        actions = tuple(PushLabel(each.label, 0) if isinstance(each, PushLabel) else each for each in bucket.actions)
        return dataclasses.replace(bucket, actions=actions)

    groups(tables, "s1", in_buckets(untagged, slot_groups))


def wrong_label(tables: Tables) -> None:
    def swapped(bucket: Bucket) -> Bucket:
        actions = tuple(PushLabel(T3, 0) if each == PushLabel(T1, 0) else each for each in bucket.actions)
        return dataclasses.replace(bucket, actions=actions)

    groups(tables, "s1", in_buckets(swapped, slot_groups))


def victims_not_demoted(tables: Tables) -> None:
    tables["s1"] = build_tables(motivation_plan(), PipelineOptions(RESCALING))["s1"]


def wrong_watch(tables: Tables) -> None:
    def swapped(bucket: Bucket) -> Bucket:
        t1, t2 = identifiers.liveness_group(T1), identifiers.liveness_group(T2)
        other = {t1: t2, t2: t1}.get(bucket.watch_group or 0, bucket.watch_group)
        return dataclasses.replace(bucket, watch_group=other)

    groups(tables, "s1", in_buckets(swapped, slot_groups))


def watches_nothing(tables: Tables) -> None:
    groups(tables, "s1", in_buckets(lambda bucket: dataclasses.replace(bucket, watch_group=None), slot_groups))


def wrong_port_of_liveness(tables: Tables) -> None:
    dead = liveness_group(T1, 3, alive=True)
    groups(tables, "s1", lambda group: dead if group.group_id == dead.group_id else group)


def stolen_slots(tables: Tables) -> None:
    def robbed(group: Group) -> Group:
        if group.group_type is not GroupType.SELECT:
            return group
        return dataclasses.replace(group, buckets=(group.buckets[-1],) * 2 + group.buckets[2:])

    groups(tables, "s1", robbed)


def fewer_slots(tables: Tables) -> None:
    def cut(group: Group) -> Group:
        return dataclasses.replace(group, buckets=group.buckets[:32]) if group.group_type is GroupType.SELECT else group

    groups(tables, "s1", cut)


def wrong_backup(tables: Tables) -> None:
    def to_the_same(group: Group) -> Group:
        if group.group_id != identifiers.failover_group(T1, 2, 0):
            return group
        first, second, third = group.buckets
        return dataclasses.replace(group, buckets=(first, third, second))

    groups(tables, "s1", to_the_same)


def wrong_control_queue(tables: Tables) -> None:
    def demoted(bucket: Bucket) -> Bucket:
        actions = tuple(SetQueue(2) if each == SetQueue(0) else each for each in bucket.actions)
        return dataclasses.replace(bucket, actions=actions)

    groups(tables, "s1", in_buckets(demoted, lambda _: True))


def longer_control_path(tables: Tables) -> None:
    def turned(group: Group) -> Group:
        if group.group_id != identifiers.control_group(4):
            return group
        return dataclasses.replace(group, buckets=group.buckets[::-1])

    groups(tables, "s1", turned)


def missing_group(tables: Tables) -> None:
    kept = tuple(group for group in tables["s1"].groups if group.group_id != identifiers.failover_group(T1, 1, 0))
    tables["s1"] = dataclasses.replace(tables["s1"], groups=kept)


def more_slots(tables: Tables) -> None:
    def grown(group: Group) -> Group:
        more = (Bucket(()),) * 16 if group.group_type is GroupType.SELECT else ()
        return dataclasses.replace(group, buckets=(*group.buckets, *more))

    groups(tables, "s1", grown)


def choosing_again(switch: str, meant: Callable[[FlowEntry], bool], *actions: Action) -> Callable[[Tables], None]:
    """Add a second group at this switch that hashes again and drops packets of the last slot."""

    def break_tables(tables: Tables) -> None:
        group = Group(77, GroupType.SELECT, (*[Bucket(actions)] * 63, Bucket(())))
        tables[switch] = dataclasses.replace(tables[switch], groups=(*tables[switch].groups, group))
        with_actions(tables, switch, meant, ToGroup(77))

    return break_tables


def dropping(**match: object) -> Callable[[Tables], None]:
    """Add an entry at the ingress that drops such packets of its host."""

    def break_tables(tables: Tables) -> None:
        drop = FlowEntry(250, Match(in_port=4, eth_type=0x0800, **match))  # type: ignore[arg-type]  # of several types
        tables["s1"] = dataclasses.replace(tables["s1"], flows=(*tables["s1"].flows, drop))

    return break_tables


def with_prefix(prefix: str) -> Callable[[Tables], None]:
    """Make the ingress match another prefix."""

    def other(entry: FlowEntry) -> FlowEntry:
        if entry.match.ipv4_dst is None:
            return entry
        return dataclasses.replace(entry, match=dataclasses.replace(entry.match, ipv4_dst=IPv4Network(prefix)))

    return lambda tables: entries(tables, "s1", other)


def groups_in_another_order(tables: Tables) -> None:
    tables["s1"] = dataclasses.replace(tables["s1"], groups=tables["s1"].groups[::-1])


def last_bucket_watches_nothing(tables: Tables) -> None:
    def unwatched(group: Group) -> Group:
        last = dataclasses.replace(group.buckets[-1], watch_group=None)
        return dataclasses.replace(group, buckets=(*group.buckets[:-1], last)) if slot_groups(group) else group

    groups(tables, "s1", unwatched)


def label_of_21_bits(tables: Tables) -> None:
    def longer(entry: FlowEntry) -> FlowEntry:
        label = (entry.match.mpls_label or 0) + (1 << 20)
        return dataclasses.replace(entry, match=dataclasses.replace(entry.match, mpls_label=label))

    entries(tables, "s2", longer)


BREAKS = [
    (more_slots, "choice", "of s1 has 80 buckets, expected 64"),
    (
        choosing_again("s3", of_tunnel(T3, 0, 1), SetQueue(1), Output(2)),
        "choice",
        "group 77 of s3 chooses by the hash once more",
    ),
    (
        choosing_again("s4", of_tunnel(T2, 6, 1), PopLabel(), SetQueue(0), Output(4)),
        "choice",
        "group 77 of s4 chooses by the hash once more",
    ),
    (dropping(ip_dscp=7), "delivered", "dscp 7"),
    (dropping(ip_ecn=1), "delivered", "ecn 1"),
    (dropping(ipv4_dst=IPv4Network("10.0.4.128/25")), "delivered", "to 10.0.4.128"),
    (with_prefix("10.0.4.0/30"), "delivered", "to 10.0.4.4"),
    (with_prefix("10.0.0.0/8"), "stray", "s1 -> 10.0.0.0, dscp 0, ecn 0: planned for nobody, but not dropped"),
    (groups_in_another_order, "acceptable", "does not exist by then"),
    (last_bucket_watches_nothing, "acceptable", "bucket 2: watches nothing"),
    (label_of_21_bits, "acceptable", "mpls_label 1048592 has more than 20 bits"),
    (missing_entry, "delivered", "no entry of table 0 matches at s2"),
    (missing_victim_entry, "delivered", "no entry of table 0 matches at s2"),
    (missing_ingress_entry, "queue", "in queue 1 instead of queue 0 at s1"),
    (wrong_port, "path", "took s1-s2, which is no live tunnel of the pair"),
    (wrong_host, "delivered", "left by port 9 instead of port 4 at s4"),
    (wrong_queue, "queue", "in queue 2 instead of queue 1 at s2"),
    (wrong_victim_queue, "queue", "in queue 1 instead of queue 2 at s3"),
    (no_queue, "queue", "in no queue instead of queue 1 at s2"),
    (no_pop, "header", "delivered with label 16 at s4"),
    (sent_twice, "copy", "sent out of ports 2, 3 at s2"),
    (loop, "loop", "goes round for ever from s1"),
    (rival, "ambiguous", "2 entries of table 0 match at the same priority at s2"),
    (wrong_tag, "queue", "in queue 1 instead of queue 2 at s4"),
    (wrong_label, "delivered", "no entry of table 0 matches at s2"),
    (victims_not_demoted, "queue", "in queue 1 instead of queue 2 at s1"),
    (wrong_watch, "delivered", "sent into a dead link at s1"),
    (wrong_watch, "aboriginal", "went s1-s2-s4 in queues 1,1,1 (left) before and s1-s3-s4 in queues 2,2,2"),
    (watches_nothing, "delivered", "sent into a dead link at s1"),
    (wrong_port_of_liveness, "delivered", "sent into a dead link at s1"),
    (wrong_port_of_liveness, "healed", "after healing, group 805306384 of s1 is not what it was"),
    (stolen_slots, "split", "30 of the 64 of all slots use s1-s2-s4, expected 32.0"),
    (fewer_slots, "split", "64 of the 64 of all slots use s1-s2-s4, expected 32.0"),
    (wrong_backup, "split", "use s1-s3-s4, expected 12.8"),
    (wrong_control_queue, "queue", "in queue 2 instead of queue 0 at s1"),
    (longer_control_path, "path", "took s1-s3-s4, which is not the shortest live tunnel"),
    (missing_group, "delivered", f"group {identifiers.failover_group(T1, 1, 0)} does not exist at s1"),
]


@pytest.mark.parametrize(("break_tables", "rule", "problem"), BREAKS)
def test_broken_tables_are_found(break_tables: Callable[[Tables], None], rule: str, problem: str) -> None:
    plan = motivation_plan()
    tables = build_tables(plan)
    break_tables(tables)
    found = verify(plan, tables, PipelineOptions())
    assert not found.is_sound
    told = [str(violation) for violation in found.violations if violation.rule == rule]
    assert [line for line in told if problem in line], "\n".join(map(str, found.violations[:10]))


def test_a_line_names_failure_traffic_slots_switch_table_and_entry() -> None:
    plan = motivation_plan()
    tables = build_tables(plan)
    wrong_victim_queue(tables)
    (line, *_) = map(str, verify(plan, tables, PipelineOptions()).violations)
    assert line == (
        "queue: s1-s2 down: s1 -> s4, class 0, dscp 0, slots 19-31: in queue 1 instead of queue 2 at s3 (table 0 entry "
        "mpls,in_port=1,mpls_label=18,mpls_tc=1; in port 1, label 18 tc 1, dscp 0, ecn 0)"
    )


def test_bfd_that_watches_another_session_is_found() -> None:
    plan = motivation_plan()
    tables = build_tables(plan, BFD)
    one, other = (BfdSessions(plan).over(nodes).watched_port for nodes in (("s1", "s2", "s4"), ("s1", "s3", "s4")))

    def swapped(bucket: Bucket) -> Bucket:
        port = {one: other, other: one}.get(bucket.watch_port or 0, bucket.watch_port)
        return dataclasses.replace(bucket, watch_port=port)

    groups(tables, "s1", in_buckets(swapped, lambda _: True))
    assert any("sent into a dead link at s2" in str(violation) for violation in verify(plan, tables, BFD).violations)


def test_a_session_that_does_not_get_through_is_found() -> None:
    plan = motivation_plan()
    tables = build_tables(plan, BFD)
    session = BfdSessions(plan).over(("s1", "s2", "s4"))
    entries(tables, "s2", lambda entry: None if entry.match.mpls_label == session.label else entry)
    violations = verify(plan, tables, BFD).violations
    assert {violation.rule for violation in violations} >= {"session", "queue", "split"}
    assert str(violations[0]).startswith(
        "session: no failure: BFD session of s1-s2-s4: no entry of table 0 matches at s2 (table 0 no entry; in port 1"
    )


def test_a_session_that_arrives_under_its_label_is_found() -> None:
    plan = motivation_plan()
    tables = build_tables(plan, BFD)

    def unpopped(entry: FlowEntry) -> FlowEntry:
        actions = tuple(action for action in entry.actions if not isinstance(action, PopLabel))
        return dataclasses.replace(entry, actions=actions) if entry.priority == identifiers.BFD_PRIORITY else entry

    for switch in tables:
        entries(tables, switch, unpopped)
    told = [violation.problem for violation in verify(plan, tables, BFD).violations if violation.rule == "session"]
    label = BfdSessions(plan).over(("s1", "s2", "s4")).label
    assert any(f"left with label {label} at s4" in problem for problem in told)


def test_a_decomposed_table_that_does_something_else_with_any_packet_is_found() -> None:
    plan, options = motivation_plan(), PipelineOptions(form=Form.DECOMPOSED)
    tables = build_tables(plan, options)
    beside = FlowEntry(1, Match(in_port=1, eth_type=0x0806), (SetQueue(0), Output(2)))
    tables["s3"] = dataclasses.replace(tables["s3"], flows=(*tables["s3"].flows, beside))
    (violation,) = verify(plan, tables, options).violations
    assert str(violation) == (
        "decomposed: no failure: s3: of in port 1, dscp 0, ecn 0: single tables send nothing, decomposed ones "
        "port 2 queue 0"
    )


def test_where_promised_tunnels_have_failed_too_the_heaviest_takes_all() -> None:
    topology = both_ways("shared", "a b c d e z", "a-b b-z b-c c-z a-d d-z a-e e-z")
    plan = plan_of(topology, "a-b-z a-b-c-z a-d-z a-e-z")
    tables = build_tables(plan)
    assert Verifier(plan, tables, PipelineOptions()).run(single_links(topology)).is_sound

    def other_order(group: Group) -> Group:
        labels = [
            action.label for bucket in group.buckets for action in bucket.actions if isinstance(action, PushLabel)
        ]
        if labels not in ([16, 17, 18, 19], [17, 16, 18, 19]) or group.group_id == identifiers.control_group(6):
            return group
        own, backup, third, fourth = group.buckets
        return dataclasses.replace(group, buckets=(own, backup, fourth, third))

    groups(tables, "a", other_order)
    told = [str(each) for each in Verifier(plan, tables, PipelineOptions()).run(single_links(topology)).violations]
    assert told
    assert all(line.startswith("split: a-b down: a -> z, class 0, dscp 0") for line in told)


def test_a_session_in_another_queue_is_found() -> None:
    plan = motivation_plan()
    tables = build_tables(plan, BFD)
    session = BfdSessions(plan).over(("s1", "s2", "s4"))

    def demoted(entry: FlowEntry) -> FlowEntry:
        if entry.match.mpls_label != session.label:
            return entry
        return dataclasses.replace(
            entry, actions=tuple(SetQueue(2) if each == SetQueue(0) else each for each in entry.actions)
        )

    entries(tables, "s2", demoted)
    told = [str(violation) for violation in verify(plan, tables, BFD).violations]
    assert told == [
        f"session: no failure: BFD session of s1-s2-s4: went {way} in queues 0,2,0 (left), expected queue 0 all along "
        "the path"
        for way in ("s1-s2-s4", "s4-s2-s1")
    ]


def test_a_wrong_code_point_at_the_end_is_found() -> None:
    plan = motivation_plan()
    tables = build_tables(plan, DSCP)

    def other(entry: FlowEntry) -> FlowEntry:
        actions = tuple(SetDscp(7) if isinstance(action, SetDscp) else action for action in entry.actions)
        return dataclasses.replace(entry, actions=actions)

    entries(tables, "s4", other)
    told = [str(violation) for violation in verify(plan, tables, DSCP).violations]
    assert any("delivered with dscp 7, ecn 0 instead of dscp 0, ecn 0 at s4" in line for line in told)


@pytest.mark.parametrize("options", [PipelineOptions(), BFD, DSCP, PipelineOptions(form=Form.DECOMPOSED)], ids=short)
def test_every_entry_and_every_action_of_a_bucket_is_needed(options: PipelineOptions) -> None:
    plan = plan_of(both_ways("triangle", "a b c", "a-b b-c a-c"), "a-b-c a-c")
    whole = build_tables(plan, options)
    survivors = []
    for switch, tables in whole.items():
        for position, entry in enumerate(tables.flows):
            if entry.priority == 0:
                continue  # only for switches that do not drop misses in later tables; the model does
            rest = (*tables.flows[:position], *tables.flows[position + 1 :])
            broken = {**whole, switch: dataclasses.replace(tables, flows=rest)}
            if is_sound_for_links(plan, broken, options):
                survivors.append(f"{switch}: {entry}")
        # A session over the first link alone is never down while that link's port is up.
        buckets = without_an_action(tables) if options.liveness is Liveness.CONTROLLER else ()
        for broken_tables, what in buckets:
            if is_sound_for_links(plan, {**whole, switch: broken_tables}, options):
                survivors.append(f"{switch}: {what}")
    assert survivors == []


def is_sound_for_links(plan: Plan, tables: Mapping[str, SwitchTables], options: PipelineOptions) -> bool:
    return Verifier(plan, tables, options).run(single_links(plan.topology)).is_sound


def without_an_action(tables: SwitchTables) -> Iterator[tuple[SwitchTables, str]]:
    """Yield the tables without one action of one bucket of a fast-failover group, for each such action."""
    for number, group in enumerate(tables.groups):
        if group.group_type is GroupType.SELECT:
            continue
        for position, bucket in enumerate(group.buckets):
            for action in bucket.actions:
                less = tuple(each for each in bucket.actions if each != action)
                buckets = list(group.buckets)
                buckets[position] = dataclasses.replace(bucket, actions=less)
                changed = list(tables.groups)
                changed[number] = dataclasses.replace(group, buckets=tuple(buckets))
                yield dataclasses.replace(tables, groups=tuple(changed)), f"{group.group_id}[{position}] {action}"


def test_slots_that_part_only_after_a_failure_are_told_apart() -> None:
    plan = motivation_plan()
    tables = build_tables(plan)
    parted = identifiers.failover_group(T1, 1, 0)
    (group,) = [group for group in tables["s1"].groups if group.group_id == parted]
    first, to_backup, _ = group.buckets
    spread = Group(99, GroupType.SELECT, (Bucket(to_backup.actions), Bucket(())) * 32)
    replaced = dataclasses.replace(group, buckets=(first, Bucket((ToGroup(99),))))
    groups(tables, "s1", lambda each: replaced if each.group_id == parted else each)
    tables["s1"] = dataclasses.replace(tables["s1"], groups=(spread, *tables["s1"].groups))
    lost = [
        violation
        for violation in verify(plan, tables, PipelineOptions()).violations
        if (violation.rule, violation.failure) == ("delivered", "s2-s4")
    ]
    assert [violation.slots for violation in lost] == [(slot,) for slot in range(1, 19, 2)]
