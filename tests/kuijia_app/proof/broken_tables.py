"""Ways to break the tables of the motivation plan, each with the violation that verification must find."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from ipaddress import IPv4Network

from kuijia_app.tables import identifiers
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables, liveness_group
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
    SetQueue,
    SwitchTables,
    ToGroup,
)
from te_solver.schemes.shipped.rescaling import RESCALING
from tests.kuijia_app.plans import motivation_plan

Tables = dict[str, SwitchTables]
T1, T2, T3 = 16, 17, 18


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
    return group.group_type is GroupType.FAST_FAILOVER and len(group.buckets) == 4


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
        first, second, third, last_resort = group.buckets
        return dataclasses.replace(group, buckets=(first, third, second, last_resort))

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
        *tunnels, last_resort = group.buckets
        return dataclasses.replace(group, buckets=(*tunnels[::-1], last_resort))

    groups(tables, "s1", turned)


def no_last_resort(tables: Tables) -> None:
    def cut(group: Group) -> Group:
        return dataclasses.replace(group, buckets=group.buckets[:-1]) if slot_groups(group) else group

    groups(tables, "s1", cut)


def last_resort_in_the_normal_queue(tables: Tables) -> None:
    def promoted(bucket: Bucket) -> Bucket:
        push, _, output = bucket.actions
        assert isinstance(push, PushLabel)
        return dataclasses.replace(bucket, actions=(PushLabel(push.label, 0), SetQueue(1), output))

    groups(tables, "s1", in_buckets(promoted, is_last_resort))


def last_resort_watches_nothing(tables: Tables) -> None:
    groups(tables, "s1", in_buckets(lambda each: dataclasses.replace(each, watch_port=None), is_last_resort))


def is_last_resort(group: Group) -> bool:
    return group.group_id == identifiers.last_resort_group(4, 0)


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
        "group 77 of s3 hashes: only the ingress may, once",
    ),
    (
        choosing_again("s4", of_tunnel(T2, 6, 1), PopLabel(), SetQueue(0), Output(4)),
        "choice",
        "group 77 of s4 hashes: only the ingress may, once",
    ),
    (dropping(ip_dscp=7), "delivered", "dscp 7"),
    (dropping(ip_ecn=1), "delivered", "ecn 1"),
    (dropping(ipv4_dst=IPv4Network("10.0.4.128/25")), "delivered", "to 10.0.4.128"),
    (with_prefix("10.0.4.0/30"), "delivered", "to 10.0.4.4"),
    (with_prefix("10.0.0.0/8"), "stray", "s1 -> 10.0.0.0, dscp 0, ecn 0: traffic of no pair, but not dropped"),
    (groups_in_another_order, "acceptable", "does not exist yet"),
    (last_bucket_watches_nothing, "acceptable", "bucket 3: watches nothing"),
    (label_of_21_bits, "acceptable", "mpls_label 1048592 has more than 20 bits"),
    (missing_entry, "delivered", "no entry of table 0 matches at s2"),
    (missing_victim_entry, "delivered", "no entry of table 0 matches at s2"),
    (missing_ingress_entry, "queue", "in queue 1 instead of queue 0 at s1"),
    (wrong_port, "path", "took s1-s2, which is no live tunnel of the pair"),
    (wrong_host, "delivered", "left by port 9 instead of port 4 at s4"),
    (wrong_queue, "queue", "in queue 2 instead of queue 1 at s2"),
    (wrong_victim_queue, "queue", "in queue 1 instead of queue 2 at s3"),
    (no_queue, "queue", "in no queue instead of queue 1 at s2"),
    (no_pop, "header", "delivered with label 16 tc 0 at s4"),
    (sent_twice, "copy", "sent out of ports 2, 3 at s2"),
    (loop, "loop", "loops for ever from s1"),
    (rival, "ambiguous", "2 entries of table 0 match at the same priority at s2"),
    (wrong_tag, "queue", "in queue 1 instead of queue 2 at s4"),
    (wrong_label, "delivered", "no entry of table 0 matches at s2"),
    (victims_not_demoted, "queue", "in queue 1 instead of queue 2 at s1"),
    (wrong_watch, "delivered", "sent into a dead link at s1"),
    (wrong_watch, "aboriginal", "went s1-s2-s4 in queues 1,1,1 (left) before and s1-s3-s4 in queues 2,2,2"),
    (watches_nothing, "delivered", "sent into a dead link at s1"),
    (wrong_port_of_liveness, "delivered", "sent into a dead link at s1"),
    (wrong_port_of_liveness, "healed", "after healing, group 805306384 of s1 differs from before"),
    (stolen_slots, "split", "30 of the 64 of all slots use s1-s2-s4, expected 32.0"),
    (fewer_slots, "split", "64 of the 64 of all slots use s1-s2-s4, expected 32.0"),
    (wrong_backup, "split", "use s1-s3-s4, expected 12.8"),
    (wrong_control_queue, "queue", "in queue 2 instead of queue 0 at s1"),
    (longer_control_path, "path", "took s1-s3-s4, which is not the shortest live tunnel"),
    (no_last_resort, "alarm", "while every tunnel counts as dead: delivered: no bucket of group"),
    (last_resort_in_the_normal_queue, "alarm", "while every tunnel counts as dead: queue: in queue 1 instead of"),
    (last_resort_watches_nothing, "alarm", "while every tunnel counts as dead: delivered: sent into a dead link at s1"),
    (missing_group, "delivered", f"group {identifiers.failover_group(T1, 1, 0)} does not exist at s1"),
]
