"""Splitting a table into several: the paper's figure 6, and the same treatment of every packet for any plan."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_app.proof.equivalence import first_difference
from kuijia_app.proof.model.packet import Label
from kuijia_app.tables.decomposition import decompose
from kuijia_app.tables.field_counts import count_fields, match_fields
from kuijia_app.tables.identifiers import DROP_GROUP
from kuijia_app.tables.options import Form, Liveness, PipelineOptions, Tagging
from kuijia_app.tables.other_traffic import drop_entry
from kuijia_app.tables.paper_tables import figure_6, figure_7
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import QueueLayout
from kuijia_app.tables.rules import Action, FlowEntry, Match, Output, PopLabel, SetDscp, SetQueue, ToGroup
from te_solver.model.plan import Plan
from tests.kuijia_app.plans import class_plans, motivation_plan

ETH_TYPE_IPV4, ETH_TYPE_MPLS = 0x0800, 0x8847

PRIORITIES = range(3)
PRIORITY = figure_6(1)[0].priority


def labelled(in_port: int | None, label: int | None, traffic_class: int | None) -> Match:
    return Match(in_port=in_port, eth_type=ETH_TYPE_MPLS, mpls_label=label, mpls_tc=traffic_class)


def figure_6a() -> list[FlowEntry]:
    return list(figure_6(len(PRIORITIES)))


def tables(entries: Sequence[FlowEntry]) -> list[list[FlowEntry]]:
    return [
        [entry for entry in entries if entry.table_id == table]
        for table in range(1 + max(entry.table_id for entry in entries))
    ]


def test_greedy_splitting_makes_figure_6b_of_6a() -> None:
    first, from_1, from_2 = tables(decompose(figure_6a(), correspondence=False))
    assert first == [
        FlowEntry(PRIORITY, Match(in_port=in_port, eth_type=ETH_TYPE_MPLS, mpls_label=1), goto_table=table)
        for in_port, table in ((1, 1), (2, 2))
    ]
    for table, entries, out_port in ((1, from_1, 2), (2, from_2, 1)):
        assert entries == [
            FlowEntry(
                PRIORITY, labelled(None, None, priority), table_id=table, written=(SetQueue(priority), Output(out_port))
            )
            for priority in PRIORITIES
        ]


def test_correspondence_makes_figure_6c_of_it() -> None:
    first, second = tables(decompose(figure_6a()))
    assert first == [
        FlowEntry(PRIORITY, labelled(in_port, 1, None), written=(Output(out_port),), goto_table=1)
        for in_port, out_port in ((1, 2), (2, 1))
    ]
    assert second == [
        FlowEntry(PRIORITY, labelled(None, None, priority), table_id=1, written=(SetQueue(priority),))
        for priority in PRIORITIES
    ]


@pytest.mark.parametrize(("goto_counts", "fields"), [(True, [30, 24, 14]), (False, [30, 22, 12])])
def test_fields_of_figure_6(*, goto_counts: bool, fields: list[int]) -> None:
    forms = (figure_6a(), decompose(figure_6a(), correspondence=False), decompose(figure_6a()))
    assert [count_fields(form, goto_counts=goto_counts) for form in forms] == fields


def test_what_would_not_save_anything_is_left_as_it_is() -> None:
    alone = figure_6a()[:1]
    assert decompose(alone) == tuple(alone)


def test_no_more_tables_are_made_than_allowed() -> None:
    assert decompose(figure_6a(), correspondence=False, max_tables=2) == tuple(figure_6a())


@pytest.mark.parametrize(
    "actions",
    [(SetQueue(1), PopLabel(), Output(3)), (SetQueue(1), ToGroup(7)), (Output(1), Output(2))],
    ids=["another order than the set's", "a group", "two of a kind"],
)
def test_actions_that_an_action_set_would_change_are_not_split(actions: tuple[Action, ...]) -> None:
    entries = tuple(
        FlowEntry(PRIORITY, labelled(in_port, 1, priority), actions) for in_port in (1, 2) for priority in PRIORITIES
    )
    assert decompose(entries) == entries


def test_entries_beside_are_not_hidden_by_a_wider_first_table() -> None:
    beside = FlowEntry(0, Match(in_port=1), (Output(9),))
    entries = (*figure_6a(), beside)
    split = decompose(entries)
    assert first_difference(entries, split) is None
    assert count_fields(split) == count_fields(entries)


def test_entries_that_go_to_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="decomposed already"):
        decompose(decompose(figure_6a()))


@pytest.mark.parametrize(
    "entry",
    [
        FlowEntry(1, Match(in_port=1), (Output(1),), table_id=1),
        FlowEntry(1, Match(in_port=1), (), goto_table=1),
        FlowEntry(1, Match(in_port=1), (), written=(Output(1),)),
    ],
)
def test_an_entry_with_any_part_of_a_later_table_is_refused(entry: FlowEntry) -> None:
    with pytest.raises(ValueError, match="decomposed already"):
        decompose([entry])


def test_a_lost_entry_is_found_by_the_comparison() -> None:
    difference = first_difference(figure_6a(), figure_6a()[:-1])
    assert difference is not None
    assert (difference.packet.in_port, difference.packet.labels) == (2, (Label(1, 2),))
    ((port, packet),) = difference.one
    assert (port, packet.queue) == (1, 2)
    assert difference.other == ()


def test_a_miss_in_a_later_table_is_what_open_vswitch_does_otherwise() -> None:
    split = decompose(figure_6a())
    assert first_difference(figure_6a(), split) is None
    difference = first_difference(figure_6a(), split, misses_execute=True)
    assert difference is not None
    assert difference.packet.labels[0].traffic_class not in PRIORITIES


def test_an_entry_of_either_kind_of_packet_is_missed() -> None:
    delivering = figure_7(2)["s1"]
    for entry in delivering:
        assert first_difference(delivering, [other for other in delivering if other != entry]) is not None
    for eth_type in (0x0806, 0x86DD):
        assert first_difference([FlowEntry(1, Match(in_port=1, eth_type=eth_type), (Output(2),))], []) is not None


def test_what_is_applied_before_the_next_table_is_seen_there() -> None:
    applied = [
        FlowEntry(1, Match(eth_type=ETH_TYPE_IPV4), (SetDscp(5),), goto_table=1),
        FlowEntry(1, Match(eth_type=ETH_TYPE_IPV4, ip_dscp=5), (Output(2),), table_id=1),
    ]
    assert first_difference(applied, [FlowEntry(1, Match(eth_type=ETH_TYPE_IPV4), (SetDscp(5), Output(2)))]) is None
    popped = [
        FlowEntry(1, Match(eth_type=ETH_TYPE_MPLS), (PopLabel(),), goto_table=1),
        FlowEntry(1, Match(eth_type=ETH_TYPE_IPV4, ip_dscp=5), (Output(2),), table_id=1),
    ]
    assert first_difference(popped, popped[:1]) is not None


def test_of_two_entries_with_one_match_and_priority_the_later_counts() -> None:
    one, other = (FlowEntry(1, Match(in_port=1), (Output(port),)) for port in (2, 3))
    assert first_difference([one, other], [other]) is None
    assert first_difference([one, other], [one]) is not None


def test_no_field_gets_a_value_that_it_cannot_have() -> None:
    assert first_difference(figure_6(8), decompose(figure_6(8)), misses_execute=True) is None


def test_the_first_table_of_a_plan_finds_the_tunnel_and_the_second_the_queue() -> None:
    entries = build_tables(motivation_plan(), PipelineOptions(form=Form.DECOMPOSED))["s3"].flows
    first, second = tables(entries)
    drop, *along = first
    assert {match_fields(entry.match) for entry in along} == {frozenset({"in_port", "mpls_label"})}
    assert drop == drop_entry(host_port=3)
    assert [entry.written for entry in second] == [
        (SetQueue(1),),
        (SetQueue(2),),
        (SetQueue(0),),
        (ToGroup(DROP_GROUP),),
    ]


OPTIONS = [
    (layout, tagging)
    for layout in LAYOUTS.values()
    for tagging in Tagging
    if tagging is Tagging.MPLS or all(queue.ecn is not None for queue in layout.queues)
]


@settings(max_examples=40, deadline=None)
@given(data=st.data(), case=st.sampled_from(OPTIONS), liveness=st.sampled_from(Liveness), misses_execute=st.booleans())
def test_a_decomposed_pipeline_treats_every_packet_as_the_single_one_does(
    *, data: st.DataObject, case: tuple[QueueLayout, Tagging], liveness: Liveness, misses_execute: bool
) -> None:
    layout, tagging = case
    plan = data.draw(class_plans(len(layout.classes)))
    single = PipelineOptions(layout=layout, tagging=tagging, liveness=liveness)
    decomposed = PipelineOptions(layout=layout, tagging=tagging, liveness=liveness, form=Form.DECOMPOSED)
    one, other = build_tables(plan, single), build_tables(plan, decomposed)
    for switch in plan.topology.nodes:
        difference = first_difference(
            one[switch].flows, other[switch].flows, empty_groups={DROP_GROUP}, misses_execute=misses_execute
        )
        assert difference is None
        assert [group for group in other[switch].groups if group.group_id != DROP_GROUP] == list(one[switch].groups)


@settings(max_examples=40, deadline=None)
@given(plan=class_plans(2), correspondence=st.booleans())
def test_free_splitting_treats_every_packet_alike_with_no_more_fields(*, plan: Plan, correspondence: bool) -> None:
    for each in build_tables(plan, PipelineOptions(layout=LAYOUTS["four"])).values():
        split = decompose(each.flows, correspondence=correspondence)
        assert first_difference(each.flows, split) is None
        assert count_fields(split) <= count_fields(each.flows)
        assert all(entry.goto_table is None or entry.goto_table > entry.table_id for entry in split)
