"""Verification finds each way of breaking tables, and names it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

import pytest

from kuijia_app.proof.verification import Verifier
from kuijia_app.tables import identifiers
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.options import Form, Liveness, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import (
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
from te_solver.model.failures import Failure, single_links
from te_solver.model.plan import Plan
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of
from tests.kuijia_app.proof.broken_tables import (
    BREAKS,
    entries,
    groups,
    in_buckets,
    last_resort_in_the_normal_queue,
    wrong_victim_queue,
)
from tests.kuijia_app.proof.verifying import short, verify

Tables = dict[str, SwitchTables]
T1, T2, T3 = 16, 17, 18
BFD = PipelineOptions(liveness=Liveness.BFD)
DSCP = PipelineOptions(tagging=Tagging.DSCP_ECN)


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
    assert any(f"left with label {label} tc 6 at s4" in problem for problem in told)


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
        others = {identifiers.control_group(6), identifiers.control_last_resort_group(6)}
        if labels not in ([16, 17, 18, 19], [17, 16, 18, 19]) or group.group_id in others:
            return group
        own, backup, third, fourth, last_resort = group.buckets
        return dataclasses.replace(group, buckets=(own, backup, fourth, third, last_resort))

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
    first, to_backup, *_ = group.buckets
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


def test_traffic_without_a_live_tunnel_may_only_be_sent_as_a_victim() -> None:
    plan = motivation_plan()
    all_tunnels = Failure("all tunnels", (("s2", "s4"), ("s1", "s4"), ("s3", "s4")))
    tables = build_tables(plan)
    assert Verifier(plan, tables, PipelineOptions()).run([all_tunnels]).is_sound
    last_resort_in_the_normal_queue(tables)
    told = Verifier(plan, tables, PipelineOptions()).run([all_tunnels]).violations
    assert any(each.rule == "queue" and "in queue 1 instead of queue 2 at s1" in each.problem for each in told)
