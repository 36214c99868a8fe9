"""Metrics of the controller and of its switches, by a clock and events of the tests' own."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

from kuijia_app.control import neighbours as learning
from kuijia_app.control.controller_metrics import ControllerMetrics
from kuijia_app.control.findings import FindingKey, FindingKind, Findings, SwitchFinding
from kuijia_app.control.host_frames import BROADCAST, arp_request
from kuijia_app.control.liveness import LivenessTracker
from kuijia_app.control.restoration import Restoration
from kuijia_app.control.rollout import Rollout, Version
from kuijia_app.framework import event_log
from kuijia_app.framework.event_log import EventLog
from kuijia_app.framework.metrics.tally import Distribution, Labels
from kuijia_app.tables.neighbours import segments_of
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.wiring import Neighbours, Wiring
from tests.kuijia_app.plans import both_ways, motivation_plan


class Rig:
    """The metrics of a controller of the plan of Fig. 1, whose events go through an event log without a file."""

    def __init__(self) -> None:
        self.now = 100.0
        self.metrics = ControllerMetrics(lambda: self.now)
        self.log = EventLog(None, self.metrics.heard)
        self.plan = motivation_plan()
        self.tables = build_tables(self.plan)
        self.tracker = LivenessTracker(self.plan)
        self.metrics.expect(self.plan.topology.nodes)
        self.restoration = Restoration(Wiring(self.plan.topology), PipelineOptions(), (self.plan,))
        rollout = Rollout(Version("start", self.plan, self.tables))
        self.metrics.follow("os-ken", "controller", rollout, self.tracker, self.restoration)

    def values(self, name: str) -> dict[Labels, float | Distribution]:
        return next(
            dict(found) for metric, found in self.metrics.tally.read() if metric.name == f"kuijia_controller_{name}"
        )

    def value(self, name: str, *labels: str) -> float:
        found = self.values(name)[labels]
        assert not isinstance(found, Distribution)
        return found

    def observed(self, name: str, *labels: str) -> tuple[int, float]:
        """Return how often something was observed, and the sum."""
        found = self.values(name).get(labels, Distribution((0,), 0))
        assert isinstance(found, Distribution)
        return found.cumulative[-1], round(found.sum, 6)


def test_a_switch_left_with_tables_of_others_is_not_ready_until_it_has_ours_again() -> None:
    rig = Rig()
    names = ("switch_ready", "flow_entries", "groups")
    wanted = [1.0, len(rig.tables["s1"].flows), len(rig.tables["s1"].groups)]

    def give_tables() -> None:
        rig.metrics.installed("s1", rig.tables["s1"])
        rig.log.write(event_log.SWITCH_READY, switch="s1")

    rig.metrics.began("s1")
    give_tables()
    assert [rig.value(name, "s1") for name in names] == wanted
    rig.metrics.tables_left("s1", 2, 1)
    assert [rig.value(name, "s1") for name in names] == [0, 2, 1]
    assert rig.value("switches_ready") == 0
    give_tables()
    assert [rig.value(name, "s1") for name in names] == wanted


def test_a_switch_is_ready_from_its_acknowledgement_until_it_goes_or_other_tables_are_wanted() -> None:
    rig = Rig()
    seen = []

    def look() -> None:
        seen.append(tuple(rig.value(f"switches{name}") for name in ("", "_connected", "_ready")))

    look()
    rig.metrics.began("s1")
    look()
    rig.now += 0.25
    rig.metrics.installed("s1", rig.tables["s1"])
    rig.log.write(event_log.SWITCH_READY, switch="s1")
    look()
    rig.metrics.wants("s1")
    look()
    rig.log.write(event_log.SWITCH_GONE, switch="s1")
    look()
    assert seen == [(4, 0, 0), (4, 1, 0), (4, 1, 1), (4, 1, 0), (4, 0, 0)]
    assert rig.observed("install_seconds") == (1, 0.25)
    assert rig.value("flow_entries", "s1") == len(rig.tables["s1"].flows)
    assert rig.value("groups", "s1") == len(rig.tables["s1"].groups)
    assert set(rig.values("switch_ready")) == {("s1",), ("s2",), ("s3",), ("s4",)}


def test_tables_that_change_again_before_they_are_there_count_from_the_first_change() -> None:
    rig = Rig()
    rig.metrics.wants("s1")
    rig.now += 1
    rig.metrics.wants("s1")
    rig.now += 1
    rig.metrics.installed("s1", rig.tables["s1"])
    rig.metrics.installed("s1", rig.tables["s1"])
    assert rig.observed("install_seconds") == (1, 2)


def test_a_failover_counts_from_the_notice_to_the_acknowledgement() -> None:
    rig = Rig()
    rig.metrics.told("s1", 16)
    rig.now += 0.004
    rig.log.write(event_log.TUNNEL_LIVENESS, ingress="s1", path_id=16, alive=False)
    rig.log.write(event_log.TUNNEL_LIVENESS, ingress="s1", path_id=17, alive=True)
    assert (rig.value("failovers_total"), rig.value("recoveries_total")) == (1, 1)
    assert rig.observed("reaction_seconds") == (1, 0.004)


def test_tunnels_are_dead_wherever_their_link_has_failed() -> None:
    rig = Rig()
    wiring = Wiring(rig.plan.topology)
    first, beyond = ("s1", "s2"), ("s2", "s4")
    found = []
    for a, b in (first, beyond):
        rig.tracker.port_changed(a, wiring.port(a, b), live=False)
        found.append((rig.value("links_failed"), rig.value("tunnels_dead"), rig.value("tunnels")))
    over = [{path.path_id for path in rig.plan.tunnels if (a, b) in path.hops} for a, b in (first, beyond)]
    assert found == [(1, len(over[0]), 3), (2, len(over[0] | over[1]), 3)]
    assert over[0]


def test_the_age_of_the_plan_begins_when_it_comes_into_force_and_stages_are_timed() -> None:
    rig = Rig()
    assert not rig.values("plan_in_force_timestamp_seconds"), "no switch has its tables yet"
    rig.log.write(event_log.SWITCH_READY, switch="s1")
    start = rig.value("plan_in_force_timestamp_seconds")
    rig.log.write(event_log.SWITCH_READY, switch="s2")
    rig.log.write(event_log.UPDATE_STARTED, update="a")
    assert rig.value("plan_in_force_timestamp_seconds") == start
    rig.now += 1
    rig.log.write(event_log.UPDATE_LIVE, update="a")
    rig.now += 2
    rig.log.write(event_log.UPDATE_DONE, update="a")
    rig.log.write(event_log.UPDATE_STARTED, update="b")
    rig.log.write(event_log.UPDATE_REFUSED, update="b", reason="no")
    assert rig.value("plan_in_force_timestamp_seconds") > start
    assert rig.observed("plan_update_seconds", "live") == (1, 1)
    assert rig.observed("plan_update_seconds", "done") == (1, 3)
    assert rig.value("plan_updates_refused_total") == 1


def test_updates_that_never_end_are_forgotten() -> None:
    rig = Rig()
    for number in range(1000):
        rig.log.write(event_log.UPDATE_STARTED, update=f"{number}")
    assert len(rig.metrics._updates) <= 16


def test_a_late_clock_is_seen() -> None:
    rig = Rig()
    for seconds in (0, 0.05, 0.01, 0.35):
        rig.now += seconds
        rig.metrics.ticked(0.05)
    assert rig.observed("tick_delay_seconds") == (3, 0.3)


def test_peers_cannot_invent_labels() -> None:
    rig = Rig()
    before = rig.values("events_total").keys()
    rig.log.write(event_log.SWITCH_ERROR, switch="s1", error="x" * 50, times=1)
    rig.log.write("something else", switch="s9")
    rig.log.write(event_log.SWITCH_UNKNOWN, datapath_id=77, times=1)
    assert rig.values("events_total").keys() == before
    assert rig.value("events_total", event_log.SWITCH_ERROR) == 1


def test_pairs_without_a_tunnel_count_as_carried_or_cut_off() -> None:
    rig = Rig()
    assert (rig.value("pairs_carried"), rig.value("pairs_cut_off")) == (0, 0)
    rig.restoration.carried["s1", "s4"] = ("s1", "s2", "s4")
    rig.restoration.cut_off = frozenset({("s4", "s1"), ("s3", "s1")})
    assert (rig.value("pairs_carried"), rig.value("pairs_cut_off")) == (1, 2)


def test_a_plan_in_the_place_of_another_is_read_at_the_next_look() -> None:
    rig = Rig()
    rollout = Rollout(Version("start", replace(rig.plan, pairs=()), {}))
    rig.metrics.follow("os-ken", "controller", rollout, rig.tracker, rig.restoration)
    assert rig.value("tunnels") == 0


def test_each_problem_has_its_kind_switch_and_port_while_it_is_there() -> None:
    rig, findings = Rig(), Findings()
    of_port = FindingKey(FindingKind.QUEUE_MISSING, "s1", 3)
    of_tunnels = [FindingKey(FindingKind.PACKETS_VANISH, "s2", 1, f"{path_id}") for path_id in (5, 6)]
    of_switch = FindingKey(FindingKind.TABLES_CHANGED, "s2")
    for key in (of_port, *of_tunnels, of_switch):
        findings.found(SwitchFinding(key, "it is wrong"), 0.0)
    rig.metrics.has(findings)
    places = {("queue-missing", "s1", "3"): 1, ("packets-vanish", "s2", "1"): 2, ("tables-changed", "s2", ""): 1}
    assert rig.values("problems") == places
    findings.gone(of_port, 1.0)
    rig.metrics.has(findings)
    del places["queue-missing", "s1", "3"]
    assert rig.values("problems") == places


def test_dropped_packets_of_a_host_are_counted_on_when_its_switch_begins_anew() -> None:
    rig = Rig()
    for packets in (5, 12, 12, 3):
        rig.metrics.dropped("s1", {"an entry": packets, "another": 7})
    rig.metrics.dropped("s2", {"an entry": 1})
    assert rig.value("host_packets_dropped_total", "s1") == 22
    assert rig.value("host_packets_dropped_total", "s2") == 1


def test_known_hosts_and_frames_that_are_too_many_are_counted_where_hosts_are_learned() -> None:
    rig = Rig()
    assert rig.values("hosts_known") == {}
    (segment,) = segments_of(Wiring(both_ways("one", "a", ""), neighbours=Neighbours.LEARNED))
    (port,), (gateway,), (prefix,) = segment.ports, segment.gateways, segment.prefixes
    assert isinstance(gateway, IPv4Address)
    assert isinstance(prefix, IPv4Network)
    learned = learning.LearnedHosts([segment], segment.prefixes, 0.0)
    rig.metrics.follow_hosts(learned)
    assert rig.values("hosts_known") == {("a",): 0}
    for number in range(1, 4):
        question = arp_request(bytes((2, 0, 0, 0, 0, number)), prefix[number], gateway)
        learned.arrived("a", port, question.frame(BROADCAST), 0.0)
    assert rig.value("hosts_known", "a") == 3
    for _ in range(int(learning.PORT_BURST)):
        learned.arrived("a", port, b"", 0.0)
    assert rig.value("host_frames_ignored_total", "a") == 3
