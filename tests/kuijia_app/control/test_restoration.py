"""Pairs without a live tunnel are carried over another path, laid and taken away without losing or looping a packet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_app.control import restoration
from kuijia_app.control.liveness import LivenessTracker
from kuijia_app.control.reconciliation import FlowKey, IndexedTables, KnownTables
from kuijia_app.control.restoration import (
    Layer,
    News,
    Restoration,
    RestorationState,
    Situation,
    carried_at_once,
)
from kuijia_app.control.sender import Name
from kuijia_app.tables.identifiers import default_path_id, last_resort_group
from kuijia_app.tables.options import Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import FlowEntry, Group, Output, SetQueue, SwitchTables
from te_solver.model.plan import Plan
from tests.kuijia_app.plans import both_ways, plan_of

BFD_HOLD, FIRST_PAUSE, HOLD = 5.0, 5.0, 1.0
DEFAULT_DRAIN = 2.0

RING = both_ways("ring", "a b c d e f", "a-b b-c c-d d-e e-f f-a b-e")
PLAN = plan_of(RING, "a-b-c")


@dataclass
class Switch:
    """A switch that applies what it is told when `answer` is called."""

    tables: IndexedTables
    is_ready: bool = True
    entries: dict[FlowKey, FlowEntry] = field(default_factory=dict)
    groups: dict[int, Group] = field(default_factory=dict)
    told_entries: dict[FlowKey, FlowEntry] = field(default_factory=dict)
    told_groups: dict[int, Group] = field(default_factory=dict)

    def is_settled(self, name: Name) -> bool:
        if isinstance(name, int):
            return self.groups.get(name) == self.told_groups.get(name)
        return self.entries.get(name) == self.told_entries.get(name)

    def answer(self) -> None:
        self.entries, self.groups = dict(self.told_entries), dict(self.told_groups)

    def group(self, group_id: int) -> Group:
        return self.groups.get(group_id, self.tables.group_of[group_id])

    def described(self) -> KnownTables:
        tables = KnownTables.of(self.tables)
        tables.flows.update(self.entries)
        tables.groups.update(self.groups)
        return tables


class Net:
    """A restoration, the switches that it changes, and failures."""

    def __init__(self, plan: Plan = PLAN, options: PipelineOptions | None = None) -> None:
        self.options = options or PipelineOptions()
        self.plans = (plan,)
        self.wiring = self.options.wired(plan.topology)
        tables = build_tables(plan, self.options)
        self.switches = {name: Switch(IndexedTables.of(its)) for name, its in tables.items()}
        self.restoration = Restoration(self.wiring, self.options, self.plans)
        self.tracker = LivenessTracker(plan, self.wiring)
        self.describe(plan.topology.nodes)
        self.now = 0.0

    def describe(self, switches: Iterable[str]) -> None:
        for name in switches:
            self.tracker.ports_described(name, dict.fromkeys(self.wiring.link_ports(name), True))

    def cut(self, *edges: str, live: bool = False) -> None:
        for edge in edges:
            a, b = edge.split("-")
            self.tracker.port_changed(a, self.wiring.port(a, b), live=live)
            self.tracker.port_changed(b, self.wiring.port(b, a), live=live)

    @property
    def situation(self) -> Situation:
        tracker = self.tracker
        stranded = tracker.stranded() | self.restoration.others_stranded(tracker.failed_edges)
        return Situation(stranded, tracker.failed_edges, tracker.doubted_edges, is_complete=tracker.knows_all)

    def step(self) -> list[News]:
        """Do what is to be done now; return the news."""
        wanted = {name: switch.tables for name, switch in self.switches.items()}
        changes = self.restoration.update(self.situation, self.switches, wanted.__getitem__, self.now)
        for name, layer in changes.items():
            switch = self.switches[name]
            switch.told_entries = dict(layer.entries)
            for group_id, group in layer.groups.items():
                switch.told_groups.pop(group_id, None)
                if group is not None:
                    switch.told_groups[group_id] = group
        return list(self.restoration.news(self.situation))

    def settle(self, seconds: float = 0.0) -> list[News]:
        """Let all switches answer until nothing changes, then let time pass."""
        news = []
        for _ in range(12):
            news += self.step()
            for switch in self.switches.values():
                if switch.is_ready:
                    switch.answer()
        self.now += seconds
        return news + self.step()

    def way(self, ingress: str, egress: str) -> tuple[str, ...] | None:
        """Return the way of a packet in the pair's last-resort group; None if the bucket in front is the plan's own."""
        switch, group_id = self.switches[ingress], last_resort_group(self.wiring.number(egress), 0)
        front = switch.group(group_id).buckets[0]
        if front == switch.tables.group_of[group_id].buckets[0]:
            return None
        (port,) = [action.port for action in front.actions if isinstance(action, Output)]
        return self._follow(ingress, port, egress)

    def _follow(self, ingress: str, port: int, egress: str) -> tuple[str, ...]:
        way, (queue,) = [ingress], [each.victim for each in self.options.layout.classes]
        while True:
            here = self.wiring.neighbour_at(way[-1], port)
            assert here not in way, f"loops: {way}, {here}"
            if here is None:
                return tuple(way)
            default = self.restoration._default
            match = default.tags.match(
                self.wiring.port(here, way[-1]), default_path_id(self.wiring.number(egress)), queue
            )
            way.append(here)
            entry = self.switches[here].entries.get(FlowKey(0, 300, match))
            if entry is None:
                return (*way, "dropped")
            assert SetQueue(queue.queue_id) in entry.actions
            (port,) = [action.port for action in entry.actions if isinstance(action, Output)]

    @property
    def is_bare(self) -> bool:
        return not any(switch.entries or switch.groups for switch in self.switches.values())


def test_nothing_is_done_while_tunnels_live() -> None:
    net = Net(plan_of(RING, "a-b-c a-f-e-d-c"))
    net.cut("b-c")
    assert net.settle() == []
    assert net.is_bare


def test_a_pair_without_a_tunnel_is_carried_over_the_least_cost_path_as_victims() -> None:
    net = Net()
    net.cut("b-c")
    news = net.settle()
    assert News(("a", "c"), RestorationState.CARRIED, ("a", "b", "e", "d", "c")) in news
    assert net.way("a", "c") == ("a", "b", "e", "d", "c")
    assert net.way("c", "a") == ("c", "d", "e", "b", "a")


def test_the_ingress_sends_only_once_all_switches_have_acknowledged_their_entries() -> None:
    net = Net()
    net.cut("b-c")
    net.step()
    for name in ("c", "d", "e", "b"):
        assert net.way("a", "c") is None
        net.step()
        assert not net.switches["a"].told_groups
        net.switches[name].answer()
    net.step()
    net.switches["a"].answer()
    assert net.way("a", "c") == ("a", "b", "e", "d", "c")


@pytest.mark.parametrize(("liveness", "hold"), [(Liveness.CONTROLLER, HOLD), (Liveness.BFD, BFD_HOLD)])
def test_a_pair_with_a_tunnel_again_is_taken_off_its_path_late_and_the_entries_later(
    liveness: Liveness, hold: float
) -> None:
    net = Net(options=PipelineOptions(liveness=liveness))
    net.cut("b-c")
    net.settle()
    net.cut("b-c", live=True)
    assert News(("a", "c"), RestorationState.ENDED) in net.settle(hold - 0.1)
    assert net.way("a", "c") == ("a", "b", "e", "d", "c")
    net.settle(0.1)
    net.settle()
    assert net.way("a", "c") is None
    net.settle(DEFAULT_DRAIN - 0.1)
    assert net.switches["e"].entries
    net.settle(0.1)
    net.settle()
    assert net.is_bare
    assert net.restoration.is_idle


@pytest.mark.parametrize("is_needed", [True, False])
def test_a_switch_that_has_lost_its_tables_gets_the_entries_of_paths_in_use_with_them(*, is_needed: bool) -> None:
    net = Net(options=PipelineOptions(liveness=Liveness.BFD))
    net.cut("b-c")
    net.settle()
    if not is_needed:  # it is taken off its path later: its sessions may still be down
        net.cut("b-c", live=True)
        net.settle()
    wiped, before = net.switches["e"], dict(net.switches["e"].entries)
    wiped.entries.clear()
    assert net.way("a", "c") == ("a", "b", "e", "dropped")
    net.restoration.found("e", KnownTables())
    wiped.told_entries = dict(net.restoration.told_anew("e", wiped.tables).entries)
    wiped.answer()
    assert wiped.entries == before
    net.settle()
    assert net.way("a", "c") == ("a", "b", "e", "d", "c")
    for _ in range(3):
        net.settle(BFD_HOLD)
    assert net.is_bare is not is_needed


def test_a_further_cut_on_the_path_brings_the_pair_onto_another_one() -> None:
    net = Net()
    net.cut("b-c")
    net.settle()
    net.cut("b-e")
    assert News(("a", "c"), RestorationState.CARRIED, ("a", "f", "e", "d", "c")) in net.settle()
    net.cut("c-d")
    assert News(("a", "c"), RestorationState.CUT_OFF) in net.settle()
    net.cut("c-d", live=True)
    assert News(("a", "c"), RestorationState.CARRIED, ("a", "f", "e", "d", "c")) in net.settle()


def test_an_entry_changes_only_after_all_entries_behind_it_on_the_new_path() -> None:
    fork = both_ways("fork", "a b c d e f", "a-b b-c b-d d-c b-e e-f f-c")
    net = Net(plan_of(fork, "a-b-c"))
    net.cut("b-c")
    net.settle()
    before = dict(net.switches["b"].entries)
    net.cut("c-d")
    for name in ("c", "e", "f"):
        net.step()
        assert before.items() <= net.switches["b"].told_entries.items()
        net.switches[name].answer()
    net.step()
    net.switches["b"].answer()
    assert net.way("a", "c") == ("a", "b", "e", "f", "c")


def test_a_doubted_link_carries_a_pair_only_where_nothing_else_does() -> None:
    net = Net()
    net.cut("b-c")
    net.settle()
    port = net.wiring.port("b", "e")
    net.tracker.ports_changed({("b", port): False}, frozenset({("b", port)}))
    net.settle()
    assert net.way("a", "c") == ("a", "f", "e", "d", "c")
    net.cut("e-f")
    net.settle()
    assert net.way("a", "c") == ("a", "b", "e", "d", "c")
    assert net.restoration.trusted(net.situation) == frozenset()


def test_a_switch_that_is_away_is_used_as_it_is_or_not_at_all() -> None:
    net = Net()
    net.switches["d"].is_ready = False
    net.cut("b-c")
    assert net.settle() == []
    net.switches["d"].is_ready = True
    net.settle()
    net.switches["d"].is_ready = net.switches["e"].is_ready = False
    net.settle()
    assert net.way("a", "c") == ("a", "b", "e", "d", "c")
    net.cut("a-b")  # e forwards only what comes from b
    net.settle()
    assert net.restoration.carried == {}
    net.switches["d"].is_ready = net.switches["e"].is_ready = True
    net.settle()
    assert net.way("a", "c") == ("a", "f", "e", "d", "c")


def test_what_an_earlier_controller_has_left_is_kept_until_all_ports_are_known() -> None:
    before = Net()
    before.cut("b-c")
    before.settle()
    net = Net()
    net.switches = before.switches
    net.tracker = LivenessTracker(PLAN, net.wiring)
    for name, switch in net.switches.items():
        net.restoration.found(name, switch.described())
        layer = net.restoration.told_anew(name, switch.tables)
        assert dict(layer.entries) == switch.entries
        assert dict(layer.groups) == switch.groups
    for _ in range(3):
        net.settle(100.0)
    assert net.way("a", "c") == ("a", "b", "e", "d", "c")
    net.describe(RING.nodes)
    net.settle(HOLD)
    net.settle(DEFAULT_DRAIN)
    net.settle(DEFAULT_DRAIN)
    assert net.is_bare


def test_one_that_takes_over_wants_the_same() -> None:
    before = Net()
    before.cut("b-c", "e-f")
    before.settle()
    net = Net()
    net.switches = before.switches
    net.cut("b-c", "e-f")
    for name, switch in net.switches.items():
        net.restoration.found(name, switch.described())
        net.restoration.told_anew(name, switch.tables)
        switch.told_entries, switch.told_groups = dict(switch.entries), dict(switch.groups)
    tables = {name: (switch.entries, switch.groups) for name, switch in net.switches.items()}
    net.settle(100.0)
    assert tables == {name: (switch.entries, switch.groups) for name, switch in net.switches.items()}


def test_entries_like_ours_that_no_controller_of_ours_makes_are_not_taken_for_ours() -> None:
    net = Net()
    net.cut("b-c")
    net.settle()
    described = net.switches["e"].described()
    for key, entry in net.switches["e"].entries.items():
        described.flows[key] = FlowEntry(entry.priority, entry.match, (Output(99),))
    restoration = Net().restoration
    restoration.found("e", described)
    assert restoration.told_anew("e", net.switches["e"].tables).entries == {}


def test_forwarded_traffic_of_no_pair_is_carried_too_and_dropped_traffic_is_not() -> None:
    net = Net(options=PipelineOptions(other_traffic=OtherTraffic.FORWARD))
    net.cut("e-f")
    net.settle()
    assert net.restoration.carried["f", "e"] == ("f", "a", "b", "e")
    assert net.way("f", "e") == ("f", "a", "b", "e")
    assert ("a", "c") not in net.restoration.carried
    dropping = Net()
    dropping.cut("e-f")
    dropping.settle()
    assert dropping.is_bare


def test_a_switch_that_refuses_an_entry_is_left_out_for_a_while() -> None:
    net = Net()
    net.restoration.refused("d", net.now)
    net.cut("b-c")
    net.settle(FIRST_PAUSE)
    assert net.restoration.carried == {}
    net.settle()
    assert ("a", "c") in net.restoration.carried


def test_it_is_not_done_while_a_switch_that_has_refused_to_delete_an_entry_is_left_alone() -> None:
    net = Net()
    net.cut("b-c")
    net.settle()
    states = [net.restoration.is_done]
    net.cut("b-c", live=True)
    net.restoration.refused("d", net.now)
    for seconds in (FIRST_PAUSE - 0.5, 10.0, 10.0):
        net.settle(seconds)
        states.append(net.restoration.is_done)
    assert states == [True, False, False, True]
    net.settle()
    assert net.is_bare


def test_a_switch_that_refuses_again_is_left_out_for_longer_but_not_after_a_calm() -> None:
    net = Net()
    net.cut("b-c")
    pauses = [FIRST_PAUSE * 2**number for number in range(5)]
    for pause in (*pauses, FIRST_PAUSE):
        net.restoration.refused("d", net.now)
        net.settle(pause - 0.5)
        net.settle()
        assert ("a", "c") not in net.restoration.carried
        net.now += 1.0  # it may be asked again, and refuses again
        if pause == pauses[-1]:
            net.now += pause
    net.settle()
    assert ("a", "c") in net.restoration.carried


def test_an_egress_without_a_tag_is_named() -> None:
    star = both_ways("star", "h a b c d e", "h-a h-b h-c h-d h-e a-b")
    spokes = [f"{one}-h-{other}" for one in "abcde" for other in "abcde" if one < other]
    many = plan_of(star, *spokes * 6)
    plan = Plan(star, many.pairs[:58], "any", 1.0, "none", 0.0)
    ends = {(pair.source, pair.target) for pair in plan.pairs}
    assert len(ends) == 10
    options = PipelineOptions(tagging=Tagging.DSCP_ECN)
    restoration = Restoration(options.wired(star), options, (plan,))
    situation = Situation(frozenset({("b", "a"), ("a", "e")}), frozenset({frozenset("ah")}), frozenset(), True)
    tables = {name: IndexedTables.of(SwitchTables((), ())) for name in star.nodes}
    switches = {name: Switch(tables[name]) for name in star.nodes}
    restoration.update(situation, switches, tables.__getitem__, 0.0)
    assert News(("a", "e"), RestorationState.UNTAGGED) in list(restoration.news(situation))


@pytest.mark.parametrize("has_refused", [False, True])
def test_one_that_has_forgotten_all_begins_anew(*, has_refused: bool) -> None:
    net = Net()
    if has_refused:
        net.restoration.refused("d", net.now)
    net.cut("b-c", "a-f")
    first = net.settle()
    net.cut("a-b")
    net.settle()
    assert net.restoration.cut_off
    net.cut("a-b", live=True)
    net.settle()
    assert bool(net.restoration.carried) is not has_refused
    net.restoration.forget()
    assert net.restoration.is_idle
    assert (net.restoration.carried, net.restoration.cut_off) == ({}, frozenset())
    for name, switch in net.switches.items():
        assert net.restoration.told(name) == Layer({}, {})
        for told in (switch.entries, switch.groups, switch.told_entries, switch.told_groups):
            told.clear()
    news = net.settle()
    assert News(("a", "c"), RestorationState.CARRIED, ("a", "b", "e", "d", "c")) in news
    assert has_refused or news == first
    assert net.way("a", "c") == ("a", "b", "e", "d", "c")


def test_one_that_has_forgotten_all_waits_for_as_long_again_before_it_takes_anything_back() -> None:
    net = Net()
    net.cut("b-c")
    net.settle()
    net.cut("b-c", live=True)
    net.settle(0.9 * HOLD)
    net.restoration.forget()
    for name, switch in net.switches.items():
        net.restoration.found(name, switch.described())
        net.restoration.told_anew(name, switch.tables)
    net.settle(0.9 * HOLD)
    net.settle()
    assert net.way("a", "c") == ("a", "b", "e", "d", "c")
    net.settle(0.1 * HOLD)
    net.settle()
    assert net.way("a", "c") is None


def test_the_bucket_in_front_stays_so_when_the_tables_of_its_switch_change() -> None:
    net = Net()
    net.cut("b-c")
    net.settle()
    ingress, group_id = net.switches["a"], last_resort_group(net.wiring.number("c"), 0)
    front, own = ingress.group(group_id).buckets[0], ingress.tables.group_of[group_id]
    other = replace(own, buckets=own.buckets * 2)
    ingress.tables = IndexedTables.from_index({**ingress.tables.group_of, group_id: other}, ingress.tables.entry_of)
    net.settle()
    assert ingress.group(group_id).buckets == (front, *other.buckets)


def test_one_call_decides_about_few_pairs_and_the_next_about_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoration, "MOST_AT_ONCE", 1)
    net = Net(plan_of(RING, "a-b-c", "b-c-d"))
    net.cut("b-c")
    decided = []
    for _ in range(4):
        net.step()
        decided.append(len(net.restoration._entries))
    assert decided == [1, 2, 3, 4]  # egresses
    net.settle()
    net.settle()
    assert len(net.restoration.carried) == 4


def test_switches_that_acknowledge_everything_get_what_they_end_with_otherwise() -> None:
    net = Net()
    net.cut("b-c")
    net.settle()
    layers = carried_at_once(Net().restoration, net.situation, net.switches, lambda switch: net.switches[switch].tables)
    found = {name: (its.told_entries, its.told_groups) for name, its in net.switches.items()}
    assert {name: (its.entries, its.groups) for name, its in layers.items()} == {
        name: told for name, told in found.items() if any(told)
    }


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32))
def test_no_packet_loops_and_none_of_a_carried_pair_is_lost_whatever_fails_and_answers(seed: int) -> None:
    random = Random(seed)
    topology = both_ways("mesh", "a b c d e f g", "a-b b-c c-d d-e e-f f-g g-a a-d b-f c-g")
    net = Net(plan_of(topology, "a-b-c", "e-d-c", "g-f-e"))
    edges = [f"{a}-{b}" for a, b in topology.edges]
    down: set[str] = set()
    pairs = [("a", "c"), ("e", "c"), ("c", "a"), ("g", "e")]
    for _ in range(40):
        edge = random.choice(edges)
        if random.random() < 0.3 and (edge in down or len(down) < 4):
            down ^= {edge}
            net.cut(edge, live=edge not in down)
        net.step()
        for switch in random.sample(sorted(net.switches), random.randint(0, 7)):
            net.switches[switch].answer()
        net.now += random.choice((0.0, 0.1, 3.0))
        for ingress, egress in pairs:
            way = net.way(ingress, egress)
            path = net.restoration.carried.get((ingress, egress))
            is_up = path is not None and not any({f"{a}-{b}", f"{b}-{a}"} & down for a, b in pairwise(path))
            if is_up and way is not None:
                assert way[-1] == egress
    net.settle()
    live = {frozenset(edge.split("-")) for edge in edges if edge not in down}
    for ingress, egress in net.situation.stranded:
        way = net.way(ingress, egress)
        reached = {ingress}
        for _ in topology.nodes:
            reached |= {node for edge in live if edge & reached for node in edge}
        assert (way is not None and way[-1] == egress and all(frozenset(hop) in live for hop in pairwise(way))) == (
            egress in reached
        )
