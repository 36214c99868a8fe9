"""Liveness in the data plane: chained groups agree that both a first link and a BFD session are up."""

from __future__ import annotations

import dataclasses
from itertools import combinations

import pytest
from hypothesis import given, settings

from kuijia_app.tables import identifiers
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
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
from kuijia_base.errors import UnsoundError
from te_solver.model.plan import Plan
from te_solver.schemes.all_schemes import switch_schemes
from te_solver.schemes.failure_scheme import FailureScheme
from te_solver.schemes.shipped.kuijia import KUIJIA
from tests.kuijia_app.plans import both_ways, class_plans, motivation_plan, plan_of

BFD = PipelineOptions(liveness=Liveness.BFD)
T1, T2, T3 = 16, 17, 18
FIRST_PORT = {T1: 1, T2: 3, T3: 2}
SESSION_PORT = {T1: 1000, T2: 1002, T3: 1004}


def by_id(tables: SwitchTables) -> dict[int, Group]:
    return {group.group_id: group for group in tables.groups}


def is_alive(groups: dict[int, Group], bucket: Bucket, dead_ports: set[int]) -> bool:
    if bucket.watch_group is not None:
        return any(is_alive(groups, each, dead_ports) for each in groups[bucket.watch_group].buckets)
    assert bucket.watch_port is not None, "Open vSwitch refuses a fast-failover bucket that watches nothing"
    return bucket.watch_port not in dead_ports


def executed(groups: dict[int, Group], group_id: int, dead_ports: set[int]) -> tuple[Action, ...]:
    """Return the actions that a fast-failover group finally executes."""
    group = groups[group_id]
    assert group.group_type is GroupType.FAST_FAILOVER
    for bucket in group.buckets:
        if is_alive(groups, bucket, dead_ports):
            (*done, last) = bucket.actions
            return (
                (*done, *executed(groups, last.group_id, dead_ports)) if isinstance(last, ToGroup) else bucket.actions
            )
    return ()


@pytest.mark.parametrize("scheme", switch_schemes())
def test_a_slot_uses_the_first_tunnel_with_both_ports_live_else_a_first_link_as_a_victim(
    scheme: FailureScheme,
) -> None:
    groups = by_id(build_tables(motivation_plan(), dataclasses.replace(BFD, scheme=scheme))["s1"])
    ports = [*FIRST_PORT.values(), *SESSION_PORT.values()]
    for backup, order in ((1, (T1, T2, T3)), (2, (T1, T3, T2))):
        group_id = identifiers.failover_group(T1, backup, 0)
        for count in range(len(ports) + 1):
            for dead in map(set, combinations(ports, count)):
                alive = [label for label in order if not {FIRST_PORT[label], SESSION_PORT[label]} & dead]
                done = executed(groups, group_id, dead)
                if not alive:
                    by_weight = [label for label in FIRST_PORT if FIRST_PORT[label] not in dead]
                    last = by_weight[0] if by_weight else None
                    assert done == ((PushLabel(last, 1), SetQueue(2), Output(FIRST_PORT[last])) if last else ())
                    continue
                moved = alive[0] != T1 and scheme is KUIJIA
                expected = (PushLabel(alive[0], int(moved)), SetQueue(1 + moved), Output(FIRST_PORT[alive[0]]))
                assert done == expected


def test_control_traffic_fails_over_in_its_own_queue() -> None:
    groups = by_id(build_tables(motivation_plan(), BFD)["s1"])
    group_id = identifiers.control_group(4)
    assert executed(groups, group_id, set()) == (PushLabel(T2, 6), SetQueue(0), Output(3))
    assert executed(groups, group_id, {SESSION_PORT[T2]}) == (PushLabel(T1, 6), SetQueue(0), Output(1))
    all_sessions = set(SESSION_PORT.values())
    assert executed(groups, group_id, all_sessions) == (PushLabel(T2, 6), SetQueue(0), Output(3))
    assert executed(groups, group_id, all_sessions | {3}) == (PushLabel(T1, 6), SetQueue(0), Output(1))


def test_equal_ends_of_orders_are_one_chain() -> None:
    groups = build_tables(motivation_plan(), BFD)["s1"].groups
    # Two groups a choice: 6 orders of 3 tunnels, 6 of the 2 left, 3 of the last; and the 3 choices of control traffic.
    # Both kinds of traffic have a last resort.
    assert sum(group.group_type is GroupType.FAST_FAILOVER for group in groups) == 2 * (6 + 6 + 3 + 3) + 2


def test_every_group_of_eight_tunnels_in_eight_classes_has_an_id_of_its_own() -> None:
    middles = [f"m{number}" for number in range(8)]
    edges = " ".join(f"a-{middle} {middle}-z" for middle in middles)
    plan = plan_of(both_ways("wide", f"a z {' '.join(middles)}", edges), " ".join(f"a-{each}-z" for each in middles))
    (pair,) = plan.pairs
    classes = LAYOUTS["eight"].classes
    plan = dataclasses.replace(plan, pairs=tuple(dataclasses.replace(pair, priority=each.priority) for each in classes))
    for tables in build_tables(plan, dataclasses.replace(BFD, layout=LAYOUTS["eight"])).values():
        assert len(by_id(tables)) == len(tables.groups)


def test_a_session_crosses_its_path_in_the_control_queue_both_ways() -> None:
    tables = build_tables(motivation_plan(), BFD)
    label = identifiers.bfd_label(T1)

    def entries(switch: str) -> list[FlowEntry]:
        return [
            entry
            for entry in tables[switch].flows
            if entry.priority == identifiers.BFD_PRIORITY
            and (entry.match.mpls_label == label or entry.match.in_port == SESSION_PORT[T1] + 1)
        ]

    def arriving(in_port: int) -> Match:
        return Match(in_port=in_port, eth_type=0x8847, mpls_label=label, mpls_tc=6)

    inner = Match(in_port=1001, eth_type=0x0800)
    priority = identifiers.BFD_PRIORITY
    for end, link_port in (("s1", 1), ("s4", 2)):
        assert sorted(entries(end), key=lambda entry: entry.match.mpls_label is not None) == [
            FlowEntry(priority, inner, (PushLabel(label, 6), SetQueue(0), Output(link_port))),
            FlowEntry(priority, arriving(link_port), (PopLabel(), SetQueue(0), Output(1001))),
        ]
    assert entries("s2") == [
        FlowEntry(priority, arriving(1), (SetQueue(0), Output(2))),
        FlowEntry(priority, arriving(2), (SetQueue(0), Output(1))),
    ]


def test_a_path_id_that_group_ids_do_not_hold_is_refused() -> None:
    plan = motivation_plan()
    (pair,) = plan.pairs
    far = dataclasses.replace(pair.tunnels[0], path_id=1 << 16)
    plan = dataclasses.replace(plan, pairs=(dataclasses.replace(pair, tunnels=(far, *pair.tunnels[1:])),))
    with pytest.raises(UnsoundError, match="s1 to s4 has path id 65536, expected an MPLS label from 16 to 65535"):
        build_tables(plan, BFD)
    build_tables(plan)


@settings(max_examples=40, deadline=None)
@given(plan=class_plans(2))
def test_ids_are_unique_groups_come_after_those_they_need_and_watch_ports_that_exist(plan: Plan) -> None:
    session_ports = {session.watched_port for session in BfdSessions(plan)}
    for tables in build_tables(plan, dataclasses.replace(BFD, layout=LAYOUTS["four"])).values():
        known: set[int] = set()
        for group in tables.groups:
            needed = {
                action.group_id for each in group.buckets for action in each.actions if isinstance(action, ToGroup)
            }
            watched = [bucket.watch_port for bucket in group.buckets if bucket.watch_port is not None]
            assert needed <= known
            assert group.group_id not in known
            assert all(port < identifiers.FIRST_BFD_PORT or port in session_ports for port in watched)
            known.add(group.group_id)


def test_tunnels_over_one_path_share_the_session_of_the_lowest_path_id() -> None:
    plan = plan_of(both_ways("line", "a b c", "a-b b-c"), "a-b-c", "c-b-a", "a-b")
    sessions = BfdSessions(plan)
    assert [session.path_id for session in sessions] == [16, 18]
    assert sessions.over(("c", "b", "a")) is sessions.over(("a", "b", "c"))


def test_the_last_path_id_with_ports_for_a_session_is_taken_and_no_later_one() -> None:
    plan = plan_of(both_ways("line", "a b", "a-b"), "a-b")
    (pair,) = plan.pairs
    last, later = (
        dataclasses.replace(
            plan, pairs=(dataclasses.replace(pair, tunnels=(dataclasses.replace(pair.tunnels[0], path_id=path_id),)),)
        )
        for path_id in (32_155, 32_156)
    )
    (session,) = BfdSessions(last)
    assert session.inner_port == 0xFEFF
    with pytest.raises(UnsoundError, match="path id 32156 has no ports for BFD, expected at most 32155"):
        BfdSessions(later)


def test_links_of_a_switch_leave_the_ports_of_sessions_free() -> None:
    def star(neighbours: int) -> Plan:
        leaves = [f"n{number}" for number in range(neighbours)]
        return plan_of(both_ways("star", " ".join(["hub", *leaves]), " ".join(f"hub-{leaf}" for leaf in leaves)))

    assert not list(BfdSessions(star(998)))
    with pytest.raises(UnsoundError, match="hub has 999 neighbours, expected at most 998 with BFD"):
        BfdSessions(star(999))
