"""Groups avoid tunnels that are known to be dead: last resorts in order, also at a shared first link, others at all."""

from __future__ import annotations

from collections import Counter

import pytest

from kuijia_app.control.detours import LastResorts, detours
from kuijia_app.control.sliced_work import at_once
from kuijia_app.tables.identifiers import control_last_resort_group, last_resort_group, split_group
from kuijia_app.tables.options import Liveness, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import Group, GroupType, PushLabel, SwitchTables, ToGroup
from kuijia_app.tables.tagging import tunnel_of
from te_solver.model.plan import Plan
from te_solver.schemes.failure_scheme import FailureScheme
from te_solver.schemes.shipped.kuijia import KUIJIA
from te_solver.schemes.shipped.rescaling import RESCALING
from te_solver.schemes.shipped.rescaling_renormalised import RENORMALISED
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of

NET = both_ways("net", "a b c d e", "a-b b-c c-e b-d d-e a-d")
PLAN = plan_of(NET, "a-b-c-e a-b-d-e a-d-e")
FIRST, SECOND, THIRD = ("a", 16), ("a", 17), ("a", 18)
OPTIONS = PipelineOptions(liveness=Liveness.BFD)
TO_E = (last_resort_group(5, 0), control_last_resort_group(5))


def groups_of(plan: Plan, switch: str = "a") -> dict[int, Group]:
    return {group.group_id: group for group in build_tables(plan, OPTIONS)[switch].groups}


def resorts(*plans: Plan) -> LastResorts:
    made = LastResorts(OPTIONS)
    at_once(made.following(plans))
    return made


def path_ids(group: Group | None) -> list[int]:
    """Return the path id of each bucket."""
    assert group is not None
    return [
        next(action.label for action in bucket.actions if isinstance(action, PushLabel)) for bucket in group.buckets
    ]


def test_live_tunnels_come_before_dead_ones_and_stand_in_at_a_first_link_that_both_use() -> None:
    wanted = groups_of(PLAN)
    assert path_ids(wanted[TO_E[0]]) == [16, 18]
    changed = resorts(PLAN).update("a", {FIRST}, wanted)
    assert path_ids(changed[TO_E[0]]) == [17, 18]


def test_a_group_is_told_once_and_the_plan_s_own_one_again_when_its_tunnels_live() -> None:
    wanted, made = groups_of(PLAN), resorts(PLAN)
    first = made.update("a", {FIRST}, wanted)
    assert made.told("a") == first
    assert made.switches == {"a"}
    assert made.update("a", {FIRST}, wanted) == {}
    assert path_ids(made.update("a", {FIRST, SECOND}, wanted)[TO_E[0]]) == [18, 16]
    assert made.update("a", set(), wanted)[TO_E[0]] is None
    assert made.told("a") == {}
    assert made.switches == frozenset()


def test_groups_stay_as_they_are_if_all_tunnels_are_dead_or_only_those_that_come_last_anyway() -> None:
    wanted, made = groups_of(PLAN), resorts(PLAN)
    assert made.update("a", {FIRST, SECOND, THIRD}, wanted) == {}
    assert TO_E[0] not in made.update("a", {THIRD}, wanted)


def test_tunnels_of_others_change_nothing() -> None:
    assert resorts(PLAN).update("a", {("e", 16)}, groups_of(PLAN)) == {}


def test_only_groups_that_the_ingress_is_to_have_are_changed() -> None:
    other = plan_of(NET, "a-d-e a-b-c-e")
    made = resorts(PLAN, other)
    assert path_ids(made.update("a", {FIRST}, groups_of(PLAN))[TO_E[0]]) == [17, 18]
    assert TO_E[0] not in made.update("b", {FIRST}, {})
    assert made.update("a", {FIRST}, {}) == dict.fromkeys(made.update("a", {FIRST}, groups_of(PLAN)))


def test_an_ingress_that_was_forgotten_is_told_all() -> None:
    wanted, made = groups_of(PLAN), resorts(PLAN)
    first = made.update("a", {FIRST}, wanted)
    made.forget("a")
    assert made.update("a", {FIRST}, wanted) == first


def first_uses(groups: dict[int, Group], group: Group) -> set[int]:
    """Return the path ids that the group leads to while everything that its buckets watch is alive."""
    if group.group_type is GroupType.SELECT:
        used = (first_uses(groups, groups[its.actions[0].group_id]) for its in group.buckets)  # type: ignore[union-attr]
        return set().union(*used)
    bucket = group.buckets[0]
    path_id = tunnel_of(bucket.actions)
    if path_id is not None:
        return {path_id}
    last = bucket.actions[-1]
    assert isinstance(last, ToGroup)
    return first_uses(groups, groups[last.group_id])


@pytest.mark.parametrize("tagging", Tagging)
@pytest.mark.parametrize("avoided", [{16}, {17}, {16, 18}])
def test_detours_lead_past_avoided_tunnels_by_changing_groups_alone(avoided: set[int], tagging: Tagging) -> None:
    options = PipelineOptions(liveness=Liveness.BFD, tagging=tagging)
    groups = {group.group_id: group for group in build_tables(motivation_plan(), options)["s1"].groups}
    changed = {group.group_id: group for group in detours(groups.values(), avoided)}
    assert changed.keys() < groups.keys()
    for group in groups.values():
        if group.group_type is GroupType.SELECT:
            assert first_uses(groups, group) == {16, 17, 18}
            assert first_uses({**groups, **changed}, group) == {16, 17, 18} - avoided


def test_a_last_resort_keeps_all_its_tunnels() -> None:
    groups = build_tables(motivation_plan(), OPTIONS)["s1"].groups
    for group in detours(groups, {16, 17, 18}):
        assert any(isinstance(bucket.actions[-1], ToGroup) for bucket in group.buckets)


def slots_by_tunnel(tables: SwitchTables, group: Group) -> Counter[int]:
    """Return how many slots lead to each tunnel's group first."""
    first = {
        each.group_id: tunnel_of(each.buckets[0].actions)
        for each in tables.groups
        if each.group_type is GroupType.FAST_FAILOVER
    }
    heads = (action.group_id for bucket in group.buckets for action in bucket.actions if isinstance(action, ToGroup))
    return Counter(path_id for head in heads if (path_id := first[head]) is not None)


@pytest.mark.parametrize("tagging", Tagging)
def test_a_scheme_that_renormalises_takes_the_slots_of_dead_tunnels_for_all_live_ones(tagging: Tagging) -> None:
    plan = motivation_plan()
    options = PipelineOptions(RENORMALISED, tagging=tagging)
    tables = build_tables(plan, options)["s1"]
    wanted = {group.group_id: group for group in tables.groups}
    made = LastResorts(options)
    at_once(made.following((plan,)))
    split = split_group(4, 0)
    weights = {tunnel.path_id: tunnel.weight for tunnel in plan.tunnels}
    for dead in ({16}, {17}, {16, 18}):
        group = made.update("s1", {("s1", path_id) for path_id in dead}, wanted)[split]
        assert group is not None
        assert len(group.buckets) == options.slot_count
        total = sum(weight for path_id, weight in weights.items() if path_id not in dead)
        found = slots_by_tunnel(tables, group)
        assert found.keys() == weights.keys() - dead
        assert all(abs(count / 64 - weights[path_id] / total) < 1 / 64 for path_id, count in found.items())
    assert made.update("s1", {("s1", 16), ("s1", 17), ("s1", 18)}, wanted)[split] is None
    assert made.update("s1", set(), wanted).get(split) is None
    assert made.told("s1") == {}


@pytest.mark.parametrize("scheme", [KUIJIA, RESCALING])
def test_other_schemes_leave_slots_alone(scheme: FailureScheme) -> None:
    plan, options = motivation_plan(), PipelineOptions(scheme)
    wanted = {group.group_id: group for group in build_tables(plan, options)["s1"].groups}
    made = LastResorts(options)
    at_once(made.following((plan,)))
    assert split_group(4, 0) not in made.update("s1", {("s1", 16)}, wanted)
