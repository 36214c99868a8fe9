"""The packet model's switches against the model of `kuijia verify`: the same tables, the same packets, hop by hop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kuijia_app.proof.model.network import ModelNetwork
from kuijia_app.proof.model.packet import Label, Packet, with_tag
from kuijia_app.proof.model.switch import ModelSwitch
from kuijia_app.tables.options import Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import (
    ETH_TYPE_IPV4,
    TCP,
    Action,
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    Match,
    Output,
    PopVlan,
    PushLabel,
    SetDscp,
    SetEcn,
    SetQueue,
    SwitchTables,
    ToGroup,
)
from kuijia_app.tables.wiring import Wiring
from simulator.packet import _core
from simulator.planned.table_rows import Headers, LoneSwitch, table_rows
from testbed.crosscheck.random_cases import RandomPlan, random_failure, random_packet, random_plan, random_stray

seeds = st.integers(0, 2**32 - 1)


def as_labels(packet: Packet) -> Packet:
    """Return the packet as the packet model sees it, where VLAN tags are labels."""
    return replace(packet, labels=(*(Label(tag.vid, tag.pcp) for tag in packet.vlans), *packet.labels), vlans=())


def treated(switch: LoneSwitch, packet: Packet) -> tuple[int, Packet] | None:
    """Return the port and the packet that leaves it, None if the packet model's switch does not forward the packet."""
    packet = as_labels(packet)
    labels = tuple((label.label, label.traffic_class) for label in packet.labels)
    headers = Headers(int(packet.destination), packet.dscp, packet.ecn, labels)
    sent = switch.treat(packet.in_port, headers, packet.slot)
    if sent is None:
        return None
    stack = tuple(Label(*label) for label in sent.headers.labels)
    return sent.port, replace(packet, queue=sent.queue, dscp=sent.headers.dscp, ecn=sent.headers.ecn, labels=stack)


def untagged_plan(random: Random) -> RandomPlan:
    """Return a random plan whose sites' own packets have no tags: the packet model knows none but a tunnel's."""
    case = random_plan(random)
    wiring = case.options.wiring
    return replace(case, options=replace(case.options, wiring=None if wiring is None else wiring.untagged))


def packets_of(case: RandomPlan, random: Random) -> Iterator[tuple[str, Packet]]:
    """Yield packets of hosts, and strays with any tags, each with the switch to which it comes."""
    wiring = Wiring(case.plan.topology)
    addresses = {node: wiring.host_addresses(node) for node in case.plan.topology.nodes}
    for _ in range(12):
        host = random_packet(case, addresses, random)
        ends = addresses[host.source][0], host.destination
        entering = Packet(wiring.host_port(host.source), *ends, host.dscp, host.ecn, slot=host.dp_hash)
        yield host.source, entering
    for _ in range(12):
        stray = random_stray(case, random)
        (target,) = random.choice(list(addresses.values()))
        packet = Packet(stray.in_port, target, target, stray.dscp, stray.ecn, slot=random.randrange(99))
        yield stray.switch, with_tag(packet, stray.tag)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_every_hop_of_a_random_plan_is_that_of_the_model(seed: int) -> None:
    random = Random(seed)
    case = untagged_plan(random)
    tables = build_tables(case.plan, case.options)
    model = ModelNetwork(case.plan, tables, case.options.liveness)
    switches = {name: LoneSwitch(of_switch) for name, of_switch in tables.items()}
    for _ in range(3):
        model.fail(random_failure(case.plan, random))
        for name, pipeline in switches.items():
            pipeline.replace_groups(model.switch(name).groups.values())
            for port in [*range(1, 40), *(each.watched_port for each in model.sessions)]:
                pipeline.set_port(port, live=model.is_live((name, port)))
        for switch, packet in packets_of(case, random):
            for hop in model.walk(switch, packet).hops:
                expected = next(iter(hop.forwarding.sent), None)
                seen = expected and (expected[0], as_labels(expected[1]))
                assert treated(switches[hop.switch], hop.packet) == seen


def spoilt(tables: SwitchTables, random: Random) -> SwitchTables:
    """Return tables with some entries and groups missing or changed in any way."""
    ports, labels = range(1, 6), [16, 17, 18, 99]
    groups = [group.group_id for group in tables.groups] + [77]

    def action(old: Action) -> Action:
        new: list[Action] = [
            Output(random.choice(ports)),
            SetQueue(random.randrange(9)),
            ToGroup(random.choice(groups)),
            PushLabel(random.choice(labels), random.randrange(8)),
        ]
        return random.choice(new) if random.random() < 0.2 else old

    def bucket(old: Bucket) -> Bucket:
        watches = random.random() < 0.1
        return replace(
            old,
            actions=tuple(map(action, old.actions)),
            watch_port=random.choice(ports) if watches else old.watch_port,
            watch_group=random.choice(groups) if watches else old.watch_group,
        )

    def entry(old: FlowEntry) -> FlowEntry:
        match = replace(old.match, mpls_tc=None) if random.random() < 0.1 else old.match
        match = Match() if random.random() < 0.05 else match
        changed = tuple(map(action, old.actions)), tuple(map(action, old.written))
        return replace(
            old, match=match, actions=changed[0], written=changed[1], priority=random.choice((old.priority, 300))
        )

    kept = [each for each in tables.groups if random.random() < 0.95]
    changed = (Group(each.group_id, each.group_type, tuple(map(bucket, each.buckets))) for each in kept)
    return SwitchTables(tuple(changed), tuple(entry(each) for each in tables.flows if random.random() < 0.95))


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_tables_with_faults_are_followed_to_the_letter(seed: int) -> None:
    random = Random(seed)
    case = untagged_plan(random)
    assume(case.options.tagging is not Tagging.VLAN)  # faults would mix VLAN tags and labels
    tables = build_tables(case.plan, replace(case.options, wiring=None))  # and IPv4 and IPv6 under labels
    switches = {name: spoilt(of_switch, random) for name, of_switch in tables.items()}
    models = {name: ModelSwitch(name, of_switch, lambda port: port % 3 > 0) for name, of_switch in switches.items()}
    pipelines = {name: LoneSwitch(of_switch) for name, of_switch in switches.items()}
    for pipeline in pipelines.values():
        for port in range(2048):
            pipeline.set_port(port, live=port % 3 > 0)
    for switch, packet in packets_of(case, random):
        expected = next(iter(models[switch].process(packet).sent), None)
        assert treated(pipelines[switch], packet) == expected


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_packets_seen_before_change_no_way(seed: int) -> None:
    random = Random(seed)
    case = untagged_plan(random)
    assume(case.options.tagging is not Tagging.VLAN)  # as above
    tables = build_tables(case.plan, case.options)
    packets = list(packets_of(case, random))
    pipelines = {name: LoneSwitch(of_switch) for name, of_switch in tables.items()}
    down: set[tuple[str, int]] = set()
    for _ in range(3):
        fresh = {name: LoneSwitch(of_switch) for name, of_switch in tables.items()}
        for switch, port in down:
            fresh[switch].set_port(port, live=False)
        for switch, packet in packets * 2:
            assert treated(pipelines[switch], packet) == treated(fresh[switch], packet)
        name = random.choice(list(tables))
        down.add((name, random.randrange(1, 6)))
        for switch, port in down:
            pipelines[switch].set_port(port, live=False)
        changed = spoilt(tables[name], random).groups
        pipelines[name].replace_groups(changed)
        groups = {group.group_id: group for group in (*tables[name].groups, *changed)}
        tables[name] = replace(tables[name], groups=tuple(groups.values()))


@pytest.mark.parametrize(
    ("fits", "too_large"),
    [
        (PushLabel(2**20 - 1, 7), PushLabel(2**20, 0)),
        (SetDscp(63), SetDscp(64)),
        (SetEcn(3), SetEcn(4)),
        (SetQueue(2**32 - 2), SetQueue(2**32 - 1)),
    ],
)
def test_actions_have_values_that_fit_their_fields(fits: Action, too_large: Action) -> None:
    LoneSwitch(SwitchTables((), (FlowEntry(1, Match(), (fits,)),)))
    with pytest.raises(ValueError, match="an action must have a value that fits its field"):
        LoneSwitch(SwitchTables((), (FlowEntry(1, Match(), (too_large,)),)))


@pytest.mark.parametrize(
    ("fits", "other", "problem"),
    [
        (FlowEntry(1, Match(), table_id=254), FlowEntry(1, Match(), table_id=255), "must be in one of 255 tables"),
        (FlowEntry(1, Match(), goto_table=254), FlowEntry(1, Match(), goto_table=255), "must go to a later table"),
        *(
            (FlowEntry(1, Match(), table_id=2, goto_table=3), FlowEntry(1, Match(), table_id=2, goto_table=to), "later")
            for to in (1, 2)
        ),
        *(
            (FlowEntry(1, fits), FlowEntry(1, other), "must match values that its fields can have")
            for fits, other in (
                (Match(eth_type=0xFFFF), Match(eth_type=0x10000)),
                (Match(ip_dscp=63), Match(ip_dscp=64)),
                (Match(ip_ecn=3), Match(ip_ecn=4)),
                (Match(mpls_label=2**20 - 1), Match(mpls_label=2**20)),
                (Match(mpls_tc=7), Match(mpls_tc=8)),
            )
        ),
    ],
)
def test_invalid_entries_are_refused(fits: FlowEntry, other: FlowEntry, problem: str) -> None:
    LoneSwitch(SwitchTables((), (fits,)))
    with pytest.raises(ValueError, match=problem):
        LoneSwitch(SwitchTables((), (other,)))


def test_rows_that_own_each_other_are_complete() -> None:
    """A group of two buckets with an action each, which another entry, bucket or action would belong to."""
    tables = SwitchTables((Group(5, GroupType.SELECT, (Bucket((Output(1),)),) * 2),), (FlowEntry(1, Match()),))
    kind, value = np.full(2, 6), np.ones(2, np.int64)  # outputs
    watched = np.full(2, _core.NONE)
    pipeline = _core.SwitchPipeline()
    rows = table_rows(tables)
    pipeline.set_tables(rows)
    rows.set_actions(kind=kind[:1], value=value[:1])
    with pytest.raises(ValueError, match="each action must belong"):
        pipeline.set_tables(rows)
    rows.set_actions(kind=kind + 1, value=value)
    with pytest.raises(ValueError, match="an action must be of a known kind"):
        pipeline.set_tables(rows)
    rows.set_actions(kind=kind, value=value)
    rows.set_buckets(watch_port=watched, watch_group=watched, actions=np.full(2, 1))
    pipeline.set_tables(rows)
    rows.set_buckets(watch_port=watched[:1], watch_group=watched[:1], actions=np.full(1, 2))
    with pytest.raises(ValueError, match="each bucket must belong"):
        pipeline.set_tables(rows)
    with pytest.raises(ValueError, match="groups must come without entries"):
        pipeline.set_groups(table_rows(tables))


def test_entries_that_match_what_the_packets_lack_are_refused() -> None:
    entry = FlowEntry(1, Match(eth_type=ETH_TYPE_IPV4, ip_proto=TCP, tcp_dst=443))
    with pytest.raises(ValueError, match="have no fields"):
        LoneSwitch(SwitchTables((), (entry,)))


def test_tables_with_tags_of_two_kinds_are_refused() -> None:
    pushed = FlowEntry(1, Match(in_port=1), (PopVlan(), PushLabel(16, 1), Output(2)))
    with pytest.raises(ValueError, match="VLAN tags and labels"):
        LoneSwitch(SwitchTables((), (pushed,)))
