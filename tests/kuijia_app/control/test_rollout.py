"""A plan replaces another so that every packet in flight finds its entries at every moment."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.plan_update import renumber
from kuijia_app.control.reconciliation import FlowKey, KnownTables
from kuijia_app.control.rollout import Rollout, RolloutProgress, Stages, Version
from kuijia_app.tables.options import Form, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.rules import FlowEntry, Group, Match, Output, SwitchTables, ToGroup
from kuijia_base.errors import UnsoundError
from te_solver.model.plan import Plan
from tests.kuijia_app.plans import both_ways, plan_of, plans

SQUARE = both_ways("square", "a b c d", "a-b b-c c-d d-a a-c")
OLD = plan_of(SQUARE, "a-b-c a-c")
NEW = renumber(plan_of(SQUARE, "a-d-c a-c"), OLD)
DRAIN = 2.0


def version(name: str, plan: Plan) -> Version:
    return Version(name, plan, build_tables(plan))


def labels(rollout: Rollout, switch: str) -> set[int | None]:
    return {entry.match.mpls_label for entry in rollout.wanted(switch).flows} - {None}


def split(rollout: Rollout, switch: str) -> object:
    return next(group for group in rollout.wanted(switch).groups if len(group.buckets) == 64)


def acknowledge_all(rollout: Rollout, now: float) -> list[RolloutProgress]:
    return [progress for switch in sorted(rollout.take_changed()) for progress in rollout.acknowledged(switch, now)]


def test_new_paths_come_first_then_ingresses_switch_then_old_paths_go_after_the_drain_time() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    before = split(rollout, "a")
    assert rollout.propose(version("new", NEW), 0.0) == []
    assert labels(rollout, "d") == {18}
    assert split(rollout, "a") == before
    assert acknowledge_all(rollout, 1.0) == []

    assert rollout.in_force.name == "new"
    assert split(rollout, "a") != before
    assert labels(rollout, "b") == {16}
    assert rollout.unavailable == {16, 17}
    assert acknowledge_all(rollout, 2.0) == [RolloutProgress("new", "live")]

    assert rollout.passed(2.0 + DRAIN - 0.1) == []
    assert labels(rollout, "b") == {16}
    assert rollout.passed(2.0 + DRAIN) == []
    assert labels(rollout, "b") == set()
    assert acknowledge_all(rollout, 5.0) == [RolloutProgress("new", "done")]
    assert rollout.is_settled
    assert all(KnownTables.of(rollout.wanted(node)) == KnownTables.of(build_tables(NEW)[node]) for node in SQUARE.nodes)


def test_a_switch_that_is_away_is_waited_for_before_anything_is_led_over_it() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    before = split(rollout, "a")
    rollout.propose(version("new", NEW), 0.0)
    for switch in rollout.take_changed() - {"d"}:
        rollout.acknowledged(switch, 1.0)
    assert split(rollout, "a") == before
    rollout.acknowledged("d", 9.0)
    assert split(rollout, "a") != before


def test_an_ingress_that_is_away_keeps_the_old_paths_alive() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    rollout.propose(version("new", NEW), 0.0)
    acknowledge_all(rollout, 1.0)
    for switch in rollout.take_changed() - {"a"}:
        rollout.acknowledged(switch, 2.0)
    rollout.passed(100.0)
    assert labels(rollout, "b") == {16}
    assert rollout.acknowledged("a", 101.0) == [RolloutProgress("new", "live")]


def test_no_step_of_an_update_that_was_prepared_looks_into_what_is_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    first = version("old", OLD)
    first.index()
    rollout = Rollout(first, DRAIN)
    prepared = rollout.prepared(version("new", NEW))

    def refuse(*_: object) -> int:
        raise AssertionError("looked into")

    are_equal = Group.__eq__

    def differ(one: Group, other: object) -> bool:
        assert not are_equal(one, other), "only what differs is to be looked into"
        return False

    for name, kinds in (("__eq__", (FlowKey, FlowEntry, Match)), ("__hash__", (FlowEntry, Match, Group))):
        for kind in kinds:
            monkeypatch.setattr(kind, name, refuse)
    monkeypatch.setattr(Group, "__eq__", differ)
    monkeypatch.setattr(FlowKey, "of", refuse)
    assert rollout.propose(prepared, 0.0) == []
    assert acknowledge_all(rollout, 1.0) == []
    assert acknowledge_all(rollout, 2.0) == [RolloutProgress("new", "live")]
    rollout.passed(2.0 + DRAIN)
    assert acknowledge_all(rollout, 5.0) == [RolloutProgress("new", "done")]


def test_preparing_a_plan_changes_nothing_about_its_update() -> None:
    one, other = Rollout(version("old", OLD), DRAIN), Rollout(version("old", OLD), DRAIN)
    prepared = other.prepared(version("new", NEW))
    one.propose(version("new", NEW), 0.0)
    other.propose(prepared, 0.0)
    for step in range(4):
        assert one.take_changed() == other.take_changed()
        for node in SQUARE.nodes:
            assert KnownTables.of(one.wanted(node)) == KnownTables.of(other.wanted(node))
            assert one.acknowledged(node, step * DRAIN) == other.acknowledged(node, step * DRAIN)
        assert one.passed((step + 0.5) * DRAIN) == other.passed((step + 0.5) * DRAIN)
    assert one.is_settled
    assert other.is_settled


def test_a_plan_that_is_past_is_dropped_switch_by_switch() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    rollout.propose(rollout.prepared(version("new", NEW)), 0.0)
    for now in (1.0, 2.0, 5.0, 9.0):
        acknowledge_all(rollout, now)
        rollout.passed(now)
    assert rollout.is_settled
    assert len(list(rollout.take_discarded())) >= len(SQUARE.nodes)
    assert list(rollout.take_discarded()) == []
    assert rollout._compositions._made == {}


def test_one_that_follows_the_plans_of_a_peer_keeps_no_tables_of_past_ones() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    for _ in range(10):
        rollout.resume(Stages(version("old", OLD), version("new", NEW)))
    assert len(rollout._compositions._made) == len(SQUARE.nodes)
    rollout.resume(Stages(version("new", NEW)))
    assert rollout._compositions._made == {}


def test_a_plan_that_gives_a_tag_another_meaning_is_refused_before_it_is_proposed() -> None:
    def tables(port: int) -> dict[str, SwitchTables]:
        return {"a": SwitchTables((), (FlowEntry(1, Match(in_port=1, ip_dscp=3), (Output(port),)),))}

    rollout = Rollout(Version("old", OLD, tables(1)), DRAIN)
    with pytest.raises(UnsoundError, match="at a the new plan gives a tag that is in use another meaning"):
        rollout.prepared(Version("new", OLD, tables(2)))


def test_what_a_switch_refuses_before_the_plan_is_in_force_is_taken_away_again() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    rollout.propose(version("new", NEW), 0.0)
    assert rollout.refused() == [RolloutProgress("new", "refused")]
    assert rollout.in_force.name == "old"
    assert labels(rollout, "d") == set()
    assert rollout.is_settled


def resumed() -> Rollout:
    """Return a rollout that goes on with another controller's, whose new plan an ingress may have by now."""
    rollout = Rollout(version("old", OLD), DRAIN)
    rollout.resume(Stages(version("old", OLD), version("new", NEW)))
    return rollout


def test_a_resumed_plan_that_another_one_overtakes_is_drained() -> None:
    rollout = resumed()
    third = renumber(plan_of(SQUARE, "a-b-c a-d-c"), OLD, rollout.unavailable)
    assert rollout.propose(version("third", third), 0.0) == [RolloutProgress("new", "refused")]
    for switch in set(SQUARE.nodes) - {"a"}:
        rollout.acknowledged(switch, 1.0)
    rollout.passed(100.0)
    assert labels(rollout, "d") >= {18}, "packets come as long as the ingress may have the plan"
    acknowledge_all(rollout, 101.0)
    rollout.acknowledged("a", 101.0)
    rollout.passed(101.0 + DRAIN - 0.1)
    assert labels(rollout, "d") >= {18}
    rollout.passed(101.0 + DRAIN)
    assert 18 not in labels(rollout, "d")


def test_a_resumed_plan_that_is_withdrawn_is_drained_and_one_that_a_switch_refuses_is_not() -> None:
    for drains in (True, False):
        rollout = resumed()
        assert rollout.refused(drains=drains) == [RolloutProgress("new", "refused")]
        assert labels(rollout, "d") == ({18} if drains else set())
        assert rollout.refused() == []
        for switch in SQUARE.nodes:
            rollout.acknowledged(switch, 1.0)
        rollout.passed(1.0)
        rollout.passed(1.0 + DRAIN)
        assert labels(rollout, "d") == set()
        assert rollout.is_settled


def test_what_an_ingress_refuses_brings_the_old_plan_back_without_pulling_paths_away() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    before = split(rollout, "a")
    rollout.propose(version("new", NEW), 0.0)
    acknowledge_all(rollout, 1.0)
    rollout.acknowledged("a", 1.1)
    assert rollout.refused() == [RolloutProgress("new", "refused")]
    assert split(rollout, "a") == before
    assert labels(rollout, "d") == {18}
    acknowledge_all(rollout, 2.0)
    rollout.passed(2.0 + DRAIN)
    assert labels(rollout, "d") == set()


def test_a_refusal_with_no_update_under_way_changes_nothing() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    assert rollout.refused() == []
    assert rollout.take_changed() == frozenset()


def test_a_plan_that_comes_while_another_is_prepared_takes_its_place() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    rollout.propose(version("first", NEW), 0.0)
    second = renumber(plan_of(SQUARE, "a-c"), OLD, rollout.unavailable)
    assert rollout.propose(version("second", second), 0.1) == [RolloutProgress("first", "refused")]
    assert labels(rollout, "d") == set()


def test_the_same_plan_again_is_done_with_by_the_drain_time() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    rollout.propose(version("again", OLD), 0.0)
    assert rollout.take_changed() == frozenset()
    assert rollout.passed(0.1) == [RolloutProgress("again", "live")]
    assert rollout.passed(0.1 + DRAIN) == [RolloutProgress("again", "done")]


def test_with_time_to_settle_the_prepared_plan_waits_before_it_is_in_force() -> None:
    rollout = Rollout(version("old", OLD), DRAIN, settle=1.0)
    rollout.propose(version("new", NEW), 0.0)
    acknowledge_all(rollout, 1.0)
    assert rollout.in_force.name == "old"
    rollout.passed(2.0)
    assert rollout.in_force.name == "new"


def test_a_switch_that_loses_its_tables_meanwhile_is_waited_for_and_has_the_same_time_to_settle() -> None:
    rollout = Rollout(version("old", OLD), DRAIN, settle=1.0)
    rollout.propose(version("new", NEW), 0.0)
    acknowledge_all(rollout, 1.0)
    rollout.lost("d")
    rollout.passed(5.0)
    assert rollout.in_force.name == "old"
    rollout.acknowledged("d", 6.0)
    rollout.passed(6.9)
    assert rollout.in_force.name == "old"
    rollout.passed(7.0)
    assert rollout.in_force.name == "new"
    rollout.lost("d")
    assert rollout.in_force.name == "new"


def test_a_tag_in_use_cannot_get_another_meaning() -> None:
    def tables(port: int) -> dict[str, SwitchTables]:
        return {"a": SwitchTables((), (FlowEntry(1, Match(in_port=1, ip_dscp=3), (Output(port),)),))}

    rollout = Rollout(Version("old", OLD, tables(1)), DRAIN)
    with pytest.raises(UnsoundError, match="at a the new plan gives a tag that is in use another meaning"):
        rollout.propose(Version("new", OLD, tables(2)), 0.0)


CASES = [
    PipelineOptions(layout=layout, tagging=tagging, form=form)
    for layout in LAYOUTS.values()
    for tagging in Tagging
    for form in Form
    if tagging is Tagging.MPLS or all(queue.ecn is not None for queue in layout.queues)
]


@pytest.mark.parametrize(
    "options", CASES, ids=lambda each: f"{each.layout.name}-{each.tagging.value}-{each.form.value}"
)
@pytest.mark.parametrize("pairs", [("a-d-c a-c",), ("b-a b-c-a",), ("a-c",), ("d-a-b", "b-c-d")])
def test_plans_share_the_switches_whatever_their_form(options: PipelineOptions, pairs: tuple[str, ...]) -> None:
    new = renumber(plan_of(SQUARE, *pairs), OLD)
    rollout = Rollout(Version("old", OLD, build_tables(OLD, options)), DRAIN)
    rollout.propose(Version("new", new, build_tables(new, options)), 0.0)
    for step in range(1, 4):
        acknowledge_all(rollout, step * DRAIN)
        for tables in map(rollout.wanted, SQUARE.nodes):
            later = {entry.table_id for entry in tables.flows} - {0}
            assert {entry.table_id for entry in tables.flows if entry.match == Match()} == later
            assert {entry.goto_table for entry in tables.flows} - {None} <= later
    acknowledge_all(rollout, 4 * DRAIN)
    rollout.passed(5 * DRAIN)
    acknowledge_all(rollout, 6 * DRAIN)
    assert rollout.is_settled
    expected = build_tables(new, options)
    assert all(KnownTables.of(rollout.wanted(node)) == KnownTables.of(expected[node]) for node in SQUARE.nodes)


def test_a_switch_that_is_away_and_only_loses_entries_holds_up_nobody() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    rollout.left("b")
    rollout.propose(version("new", renumber(plan_of(SQUARE, "a-c"), OLD)), 0.0)
    assert "b" not in rollout.take_changed()
    rollout.acknowledged("a", 1.0)
    assert rollout.acknowledged("c", 1.0) == [RolloutProgress("new", "live")]
    assert rollout.passed(1.0 + DRAIN) == []
    assert labels(rollout, "b") == set()
    rollout.acknowledged("a", 4.0)
    assert rollout.acknowledged("c", 4.0) == [RolloutProgress("new", "done")]


def test_an_update_may_be_withdrawn_until_all_ingresses_follow_it() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    rollout.propose(version("new", NEW), 0.0)
    acknowledge_all(rollout, 1.0)
    rollout.acknowledged("a", 2.0)
    assert rollout.refused() == [RolloutProgress("new", "refused")]
    assert rollout.in_force.name == "old"
    assert rollout.refused() == []
    assert rollout.in_force.name == "old"
    states = [*acknowledge_all(rollout, 3.0), *rollout.passed(9.0), *acknowledge_all(rollout, 10.0)]
    assert states == []
    assert rollout.is_settled
    rollout.propose(version("new", NEW), 20.0)
    acknowledge_all(rollout, 21.0)
    assert acknowledge_all(rollout, 22.0) == [RolloutProgress("new", "live")]
    assert rollout.refused() == []


def test_of_updates_in_short_succession_each_is_told_of_once_under_its_name() -> None:
    rollout = Rollout(version("old", OLD), DRAIN)
    rollout.propose(version("first", NEW), 0.0)
    acknowledge_all(rollout, 1.0)
    progress = acknowledge_all(rollout, 2.0)
    third = renumber(plan_of(SQUARE, "a-b-c"), NEW, rollout.unavailable)
    rollout.propose(version("second", third), 2.5)
    for now in range(3, 20):
        progress += [*acknowledge_all(rollout, now), *rollout.passed(now)]
    expected = [RolloutProgress(name, state) for name in ("first", "second") for state in ("live", "done")]
    assert sorted(progress, key=str) == sorted(expected, key=str)


@pytest.mark.slow
@given(plan=plans(), data=st.data())
def test_whichever_switch_is_first_every_label_an_ingress_may_use_has_its_entries(
    plan: Plan, data: st.DataObject
) -> None:
    new = renumber(_other_plan(plan, data), plan)
    rollout = Rollout(version("old", plan), DRAIN)
    actual = {node: build_tables(plan)[node] for node in plan.topology.nodes}
    rollout.propose(version("new", new), 0.0)
    now, left = 0.0, set(rollout.take_changed())
    while left or not rollout.is_settled:
        if left:
            switch = data.draw(st.sampled_from(sorted(left)))
            left.remove(switch)
            actual[switch] = rollout.wanted(switch)
            now += 0.1
            rollout.acknowledged(switch, now)
        else:
            now += DRAIN
            rollout.passed(now)
        left |= rollout.take_changed()
        _check_labels(actual, (plan, new))
    expected = build_tables(new)
    assert all(KnownTables.of(actual[node]) == KnownTables.of(expected[node]) for node in plan.topology.nodes)


def _other_plan(plan: Plan, data: st.DataObject) -> Plan:
    """Return a plan with some of the tunnels, and some of the pairs reversed."""
    kept = []
    for pair in plan.pairs:
        tunnels = data.draw(st.lists(st.sampled_from(pair.tunnels), min_size=1, unique=True))
        step = data.draw(st.sampled_from([1, -1]))
        kept.append(" ".join("-".join(tunnel.nodes[::step]) for tunnel in tunnels))
    by_ends = {(text.split()[0].split("-")[0], text.split()[0].split("-")[-1]): text for text in kept}
    return plan_of(plan.topology, *by_ends.values())


def _check_labels(actual: dict[str, SwitchTables], all_plans: tuple[Plan, Plan]) -> None:
    paths = {tunnel.path_id: tunnel.nodes for plan in all_plans for tunnel in plan.tunnels}
    for ingress, tables in actual.items():
        for label in _labels_used(tables):
            nodes = paths[label] if paths[label][0] == ingress else paths[label][::-1]
            assert nodes[0] == ingress
            for _, switch in pairwise(nodes):
                assert any(entry.match.mpls_label == label for entry in actual[switch].flows)


def _labels_used(tables: SwitchTables) -> set[int]:
    """Return the labels that traffic of the switch's own host may get."""
    groups = {group.group_id: group for group in tables.groups}
    waiting = [action.group_id for entry in tables.flows for action in entry.actions if isinstance(action, ToGroup)]
    used: set[int] = set()
    while waiting:
        for bucket in groups[waiting.pop()].buckets:
            for action in bucket.actions:
                if isinstance(action, ToGroup):
                    waiting.append(action.group_id)
                elif hasattr(action, "label"):
                    used.add(action.label)
    return used
