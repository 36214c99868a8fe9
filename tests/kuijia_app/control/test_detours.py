"""Groups avoid tunnels that are known to be dead: last resorts in order, also at a shared first link, others at all."""

from __future__ import annotations

from collections import Counter
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.control.detours import Detours, LastResorts, detours
from kuijia_app.control.liveness import LivenessTracker
from kuijia_app.control.reconciliation import IndexedTables
from kuijia_app.control.sliced_work import SlicedWork, at_once
from kuijia_app.framework import event_log
from kuijia_app.tables.identifiers import control_last_resort_group, last_resort_group, split_group
from kuijia_app.tables.options import Liveness, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import Group, GroupType, PushLabel, SwitchTables, ToGroup
from kuijia_app.tables.tagging import tunnel_of
from kuijia_app.tables.wiring import Wiring
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


def test_a_dead_tunnel_changes_the_groups_of_its_own_pair_alone() -> None:
    plan = plan_of(NET, "a-d a-b-d", "a-b-c-e a-b-d-e a-d-e")
    changed = resorts(plan).update("a", {("a", 18)}, groups_of(plan))
    assert path_ids(changed[TO_E[0]]) == [19, 20]
    assert set(changed) == set(TO_E)


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


class Connection:
    """Records the groups that a switch is to have instead of its own, and those that it was sent."""

    def __init__(self) -> None:
        self.wanted: dict[int, Group | None] = {}
        self.sent: dict[int, Group | None] = {}
        self.sent_times = 0

    def want_instead(self, group_id: int, group: Group | None) -> None:
        self.wanted[group_id] = group

    def proceed(self) -> None:
        self.sent = dict(self.wanted)
        self.sent_times += 1

    @property
    def differing(self) -> dict[int, Group]:
        return {group_id: group for group_id, group in self.sent.items() if group is not None}


class Network:
    """Detours of two connected ingresses, a and e, and links that fail."""

    def __init__(self, liveness: Liveness = Liveness.BFD, scheme: FailureScheme = KUIJIA) -> None:
        options = PipelineOptions(scheme, liveness=liveness)
        self.tables = {name: IndexedTables.of(its) for name, its in build_tables(PLAN, options).items()}
        self.tracker = LivenessTracker(PLAN)
        self.a, self.e = Connection(), Connection()
        self.connections = {"a": self.a, "e": self.e}
        self.told: list[tuple[str, int, bool]] = []
        self.above: set[int] = set()
        self.work = SlicedWork(lambda: 0.0, lambda: None)
        self.roles = SimpleNamespace(acts=True)
        runtime: Any = SimpleNamespace(sliced_work=self.work, log=SimpleNamespace(write=self._write))
        roles: Any = self.roles
        switches: Any = SimpleNamespace(connections=self.connections)
        rollout: Any = SimpleNamespace(plans=(PLAN,), wanted=lambda name: self.tables[name])
        self.detours = Detours(runtime, options, switches, roles, rollout, self.tracker, lambda _: self.above)
        self.runtime = runtime

    def cut(self, *links: str, live: bool = False) -> None:
        wiring = Wiring(NET)
        ends = [tuple(link.split("-")) for link in links]
        self.tracker.ports_changed({(a, wiring.port(a, b)): live for a, b in ends})
        self.detours.follow_failures()

    def lose(self, **shares: float) -> None:
        """Have tunnels of a lose packets, by their path ids."""
        self.tracker.tunnels_lossy({("a", int(path_id[1:])): share for path_id, share in shares.items()})
        self.detours.follow_lossy()

    def past(self, *avoided: int) -> dict[int, Group]:
        return {each.group_id: each for each in detours(self.tables["a"].groups, avoided)}

    def _write(self, event: str, *, ingress: str, path_id: int, alive: bool) -> None:
        assert event == event_log.TUNNEL_LIVENESS
        self.told.append((ingress, path_id, alive))


def test_an_ingress_is_sent_detours_and_last_resorts_after_a_failure_and_its_own_groups_after_its_end() -> None:
    net = Network()
    net.cut("c-e")
    past, resorts_then = net.past(16), dict(net.detours.last_resorts("a"))
    assert net.detours.taken("a") == past
    assert set(resorts_then) >= set(TO_E)
    assert net.a.differing == past | resorts_then
    net.cut("c-e", live=True)
    assert net.a.differing == {}
    assert net.detours.taken("a") == net.detours.last_resorts("a") == {}
    assert net.told == []  # only tunnels that lose packets are told here


def test_detours_are_taken_back_where_no_last_resort_differed() -> None:
    net = Network()
    net.cut("c-e", "d-e")
    assert net.detours.last_resorts("a") == {}
    assert net.a.differing == net.past(16, 17, 18)
    net.cut("c-e", "d-e", live=True)
    assert net.a.differing == {}


def test_a_group_that_is_no_detour_any_more_is_its_own_again_while_others_stay() -> None:
    net = Network()
    net.cut("c-e", "d-e")
    net.cut("d-e", live=True)
    assert net.a.differing == net.past(16) | dict(net.detours.last_resorts("a"))


@pytest.mark.parametrize("liveness", [Liveness.CONTROLLER, Liveness.BFD])
@pytest.mark.parametrize("scheme", [KUIJIA, RENORMALISED])
def test_a_switch_that_is_read_gets_its_groups_again(liveness: Liveness, scheme: FailureScheme) -> None:
    net = Network(liveness, scheme)
    net.cut("c-e")
    before = dict(net.a.wanted)
    assert bool(before) is (liveness is Liveness.BFD or scheme is RENORMALISED)
    assert (split_group(5, 0) in before) is (scheme is RENORMALISED)
    assert bool(net.detours.taken("a")) is (liveness is Liveness.BFD)
    again = net.connections["a"] = Connection()
    net.detours.read("a")
    assert again.wanted == before


def test_groups_that_carry_pairs_without_a_tunnel_stay_as_they_are() -> None:
    net = Network()
    net.above = {TO_E[0]}
    net.cut("c-e")
    assert net.a.differing.keys() == (net.past(16).keys() | net.detours.last_resorts("a").keys()) - {TO_E[0]}
    assert TO_E[0] in net.detours.last_resorts("a")


def test_one_that_stands_by_changes_no_groups() -> None:
    net = Network()
    net.roles.acts = False
    net.cut("c-e")
    assert net.a.wanted == {}
    net.roles.acts = True
    net.detours.follow_failures()
    assert net.a.differing


@pytest.mark.parametrize("event", ["a leaves", "stands by"])
def test_what_happens_between_two_slices_counts(event: str) -> None:
    net = Network()
    net.runtime.sliced_work = work = SlicedWork(count().__next__, lambda: None)  # each step takes a slice
    net.cut("b-c")  # breaks a tunnel of each ingress
    assert (net.a.sent_times, net.e.sent_times) == (0, 0)
    if event == "a leaves":
        del net.connections["a"]
    else:
        net.roles.acts = False
    for _ in range(5):
        work.work()
    assert (net.a.sent_times, net.e.sent_times) == (0, int(event == "a leaves"))


def test_failures_that_come_while_others_wait_are_followed_together() -> None:
    net = Network()
    net.runtime.sliced_work = work = SlicedWork(count().__next__, lambda: None)
    work.add(iter([None, None]))
    net.cut("c-e")
    net.cut("d-e")
    for _ in range(9):
        work.work()
    assert net.a.sent_times == 1
    assert net.a.differing == net.past(16, 17, 18)
    net.cut("d-e", live=True)
    for _ in range(9):
        work.work()
    assert net.a.sent_times == 2


def test_traffic_is_led_past_a_tunnel_as_long_as_it_loses_packets() -> None:
    net = Network()
    net.lose(t17=0.1, t16=0.2)
    assert net.a.differing == net.past(16, 17)
    assert net.told == [("a", 16, False), ("a", 17, False)]
    net.lose(t17=0.1, t16=0.2)
    assert (net.a.sent_times, len(net.told)) == (1, 2)
    net.lose(t17=0.1)
    assert net.a.differing == net.past(17)
    assert net.told[2:] == [("a", 16, True)]
    del net.connections["a"]
    net.lose()
    assert net.told[3:] == [("a", 17, True)]


def test_without_sessions_liveness_groups_lead_past_tunnels_that_lose_packets() -> None:
    net = Network(Liveness.CONTROLLER)
    net.lose(t16=0.2)
    assert (net.a.wanted, net.told) == ({}, [])


@pytest.mark.parametrize("changed", [{"a"}, {"b"}, {"a", "b", "e"}])
def test_other_tables_get_other_detours_at_the_switches_that_have_them(changed: set[str]) -> None:
    net = Network()
    net.cut("c-e")
    before = dict(net.a.wanted)
    net.tables = {name: IndexedTables.of(SwitchTables((), ())) for name in net.tables}
    net.detours.follow_tables(changed)
    assert net.a.wanted == (dict.fromkeys(before) if "a" in changed else before)
    del net.connections["a"]
    net.detours.follow_tables({"a"})
