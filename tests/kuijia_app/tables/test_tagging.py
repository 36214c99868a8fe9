"""Tunnel and queue in the TOS byte: which bits, where they are removed, and when they do not suffice."""

from __future__ import annotations

import dataclasses

import pytest

from kuijia_app.tables import identifiers
from kuijia_app.tables.bfd import BfdSession
from kuijia_app.tables.options import Liveness, PipelineOptions, Tagging
from kuijia_app.tables.other_traffic import drop_entry
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import Queue, QueueLayout, TrafficClass
from kuijia_app.tables.rules import Action, FlowEntry, Match, Output, SetDscp, SetEcn, SetQueue
from kuijia_app.tables.tagging import tags_of
from kuijia_base.errors import UnsoundError
from te_solver.model.plan import PairPlan, Plan, Tunnel
from tests.kuijia_app.plans import both_ways, motivation_plan

ETH_TYPE_IPV4 = 0x0800

DSCP_ECN = PipelineOptions(tagging=Tagging.DSCP_ECN)
T3 = 18


def tagged(in_port: int, tag: int, ecn: int) -> Match:
    return Match(in_port=in_port, eth_type=ETH_TYPE_IPV4, ip_dscp=tag, ip_ecn=ecn)


def many_tunnels(count: int) -> Plan:
    """Return pairs with one tunnel each, each between two nodes of its own."""
    names = [f"n{number}" for number in range(2 * count)]
    edges = list(zip(names[::2], names[1::2], strict=True))
    topology = both_ways("many", " ".join(names), " ".join(f"{a}-{b}" for a, b in edges))
    pairs = tuple(
        PairPlan(*edge, 1.0, 1.0, (Tunnel(16 + number, edge, 1.0, 1.0),)) for number, edge in enumerate(edges)
    )
    return Plan(topology, pairs, "any", 1.0, "none", 0.0)


def delivered_by(layout: QueueLayout) -> dict[Queue, tuple[Action, ...]]:
    tags = tags_of(dataclasses.replace(DSCP_ECN, layout=layout), motivation_plan().topology, {16: ("s1", "s4")})
    return {queue: tags.unmark(queue) for queue in layout.queues}


def test_path_ids_become_code_points_and_queues_ecn_bits() -> None:
    entries = build_tables(motivation_plan(), DSCP_ECN)["s3"].flows
    to_s1, to_s4 = 1, 2
    assert list(entries) == [
        FlowEntry(identifiers.TUNNEL_PRIORITY, tagged(in_port, 3, ecn), (SetQueue(queue_id), Output(out_port)))
        for in_port, out_port in ((to_s1, to_s4), (to_s4, to_s1))
        for queue_id, ecn in ((0, 2), (1, 0), (2, 1))
    ] + [drop_entry(host_port=3)]


def test_the_ingress_writes_both() -> None:
    groups = {group.group_id: group for group in build_tables(motivation_plan(), DSCP_ECN)["s1"].groups}
    *buckets, last_resort = groups[identifiers.failover_group(T3, 0, 0)].buckets
    assert last_resort.watch_group == identifiers.last_resort_group(4, 0)
    assert [bucket.actions[:3] for bucket in buckets] == [
        (SetDscp(3), SetEcn(0), SetQueue(1)),
        (SetDscp(1), SetEcn(1), SetQueue(2)),
        (SetDscp(2), SetEcn(1), SetQueue(2)),
    ]


def test_the_egress_gives_back_the_mark_of_the_class() -> None:
    options = dataclasses.replace(DSCP_ECN, layout=LAYOUTS["four"])
    entries = build_tables(motivation_plan(), options)["s4"].flows
    delivered = {entry.match.ip_ecn: entry.actions[:2] for entry in entries if entry.match.ip_dscp == 2}
    unmarked, expedited = (SetDscp(0), SetEcn(0)), (SetDscp(46), SetEcn(0))
    assert delivered == {0: unmarked, 1: unmarked, 2: expedited, 3: expedited}


def test_a_queue_that_classes_share_gives_back_the_mark_of_the_most_important() -> None:
    control, high, low, victims = (Queue(number, f"queue {number}", number, number) for number in range(4))
    classes = (TrafficClass(0, (46,), high, victims), TrafficClass(1, (10,), low, victims))
    layout = QueueLayout("shared", (control, high, low, victims), control, classes)
    delivered = delivered_by(layout)
    code_points = {control: 48, high: 46, low: 10, victims: 46}
    assert delivered == {queue: (SetDscp(code_point), SetEcn(0)) for queue, code_point in code_points.items()}
    idle = QueueLayout("idle", (control, low, victims, high), control, (TrafficClass(0, (), low, victims),))
    assert delivered_by(idle)[high] == (SetDscp(0), SetEcn(0))


def test_a_layout_without_ecn_bits_is_refused() -> None:
    with pytest.raises(UnsoundError) as raised:
        build_tables(motivation_plan(), dataclasses.replace(DSCP_ECN, layout=LAYOUTS["eight"]))
    assert str(raised.value) == (
        "queue layout 'eight' has no ECN bits for its queue 'control', "
        "expected some for every queue with tagging dscp-ecn"
    )


def test_sixty_three_tunnels_have_code_points_and_no_more() -> None:
    build_tables(many_tunnels(63), DSCP_ECN)
    with pytest.raises(UnsoundError) as raised:
        build_tables(many_tunnels(64), DSCP_ECN)
    assert str(raised.value) == "path id 79, expected 16 to 78 with tagging dscp-ecn: a code point has 6 bits"


def test_a_tunnel_keeps_its_code_point_while_others_come_and_go() -> None:
    plan = many_tunnels(3)
    alone = dataclasses.replace(plan, pairs=plan.pairs[2:])
    for each in (plan, alone):
        arriving = {entry.match.ip_dscp for entry in build_tables(each, DSCP_ECN)["n5"].flows} - {None, 48}
        assert arriving == {3}


def test_bfd_sessions_count_code_points_down_from_the_last() -> None:
    options = dataclasses.replace(DSCP_ECN, liveness=Liveness.BFD)
    entries = build_tables(motivation_plan(), options)["s3"].flows
    assert {entry.match.ip_dscp for entry in entries} - {None} == {3, 61}
    build_tables(many_tunnels(31), options)
    with pytest.raises(UnsoundError) as raised:
        build_tables(many_tunnels(32), options)
    assert str(raised.value) == "path id 47, expected 16 to 46 with tagging dscp-ecn and BFD: a code point has 6 bits"


def test_default_paths_have_code_points_from_the_middle_outwards_between_tunnels_and_sessions() -> None:
    layout, path = LAYOUTS["plain"], ("s1", "s4")
    options, sessions = dataclasses.replace(DSCP_ECN, layout=layout), [BfdSession(46, path)]
    tags = tags_of(options, motivation_plan().topology, {46: path}, sessions, egresses=range(1, 6))
    labels = [identifiers.default_path_id(egress) for egress in range(1, 6)]
    # The last tunnel has 31 and its session 33, with 32 between them; without both there is room on either side.
    assert [tags.has(label) for label in labels] == [True, False, False, True, True]
    marked = [tags.mark(label, layout.control)[0] for label in labels if tags.has(label)]
    assert marked == [SetDscp(32), SetDscp(30), SetDscp(34)]
