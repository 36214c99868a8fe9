"""Metrics of an application, value by value."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from kuijia_app.control.switch_metrics import SwitchMetrics
from kuijia_app.framework import event_log
from kuijia_app.tables.rules import FlowEntry, Group, GroupType, Match, SwitchTables

TABLES = SwitchTables((Group(1, GroupType.SELECT, ()),), (FlowEntry(1, Match()), FlowEntry(2, Match())))


class Rig:
    def __init__(self) -> None:
        self.now = 10.0
        self.metrics = SwitchMetrics("k", lambda: self.now, events=("own",))
        self.metrics.expect(["a", "b"])

    def values(self, name: str) -> dict[tuple[str, ...], Any]:
        """Return what a metric says for each of its labels, after a look as a server's."""
        self.metrics.look()
        return next(dict(found) for metric, found in self.metrics.tally.read() if metric.name == f"k_{name}")

    def value(self, name: str, *labels: str) -> Any:  # noqa: ANN401  # a number, or a histogram
        return self.values(name).get(labels)

    def ready(self) -> tuple[Any, Any, dict[tuple[str, ...], Any]]:
        return self.value("switches_connected"), self.value("switches_ready"), self.values("switch_ready")


def test_all_is_zero_at_first_and_it_acts() -> None:
    rig = Rig()
    assert (rig.value("switches"), rig.value("acts"), rig.value("successor_ready")) == (2, 1, None)
    assert rig.ready() == (0, 0, {("a",): 0, ("b",): 0})
    assert rig.values("table_repairs_total") == {("a",): 0, ("b",): 0}
    events = rig.values("events_total")
    assert {*events.values()} == {0}
    assert ("own",) in events


def test_a_switch_is_ready_from_its_event_until_it_wants_something_or_leaves() -> None:
    rig = Rig()
    for switch in ("a", "b"):
        rig.metrics.began(switch)
        rig.metrics.heard(event_log.SWITCH_READY, {"switch": switch})
    assert rig.ready() == (2, 2, {("a",): 1, ("b",): 1})
    rig.metrics.wants("a")
    assert rig.ready() == (2, 1, {("a",): 0, ("b",): 1})
    rig.metrics.heard(event_log.SWITCH_GONE, {"switch": "b"})
    assert rig.ready() == (1, 0, {("a",): 0, ("b",): 0})
    for unready in (rig.metrics.began, rig.metrics.left_to_peer, lambda switch: rig.metrics.tables_left(switch, 5, 6)):
        rig.metrics.heard(event_log.SWITCH_READY, {"switch": "a"})
        assert rig.value("switches_ready") == 1
        unready("a")
        assert rig.ready()[1:] == (0, {("a",): 0, ("b",): 0})
    assert (rig.value("flow_entries", "a"), rig.value("groups", "a")) == (5, 6)


def test_events_are_counted_that_are_known() -> None:
    rig = Rig()
    for event in (event_log.FAILURE, "own", "own", "another"):
        rig.metrics.heard(event, {})
    counted = {event: count for (event,), count in rig.values("events_total").items() if count}
    assert counted == {event_log.FAILURE: 1, "own": 2}


def test_an_installation_takes_from_the_first_wish_until_all_is_acknowledged() -> None:
    rig = Rig()
    rig.metrics.began("a")
    rig.now = 11.0
    rig.metrics.wants("a")
    rig.now = 13.0
    rig.metrics.installed("a", TABLES)
    rig.metrics.installed("a", TABLES)
    assert (rig.value("flow_entries", "a"), rig.value("groups", "a")) == (2, 1)
    rig.metrics.wants("b")
    rig.metrics.left_to_peer("b")
    rig.metrics.installed("b", TABLES)
    rig.metrics.wants("b")
    rig.metrics.heard(event_log.SWITCH_GONE, {"switch": "b"})
    rig.metrics.installed("b", TABLES)
    found = rig.value("install_seconds")
    assert (found.cumulative[-1], found.sum) == (1, 3.0)


def test_a_late_tick_is_late_by_what_exceeds_its_period() -> None:
    rig = Rig()
    for now in (10.0, 10.5, 12.0, 12.25):
        rig.now = now
        rig.metrics.ticked(0.5)
    found = rig.value("tick_delay_seconds")
    assert (found.cumulative[-1], found.sum) == (3, 1.0)


def test_dropped_packets_add_up_though_an_entry_begins_again() -> None:
    rig = Rig()
    for packets in ({"x": 5, "y": 1}, {"x": 8, "y": 1}, {"x": 2}, {"x": 2}):
        rig.metrics.dropped("a", packets)
    rig.metrics.dropped("b", {"x": 4})
    assert rig.values("host_packets_dropped_total") == {("a",): 8 + 1 + 2, ("b",): 4}


def test_what_is_wrong_is_counted_by_its_place() -> None:
    rig = Rig()

    def finding(switch: str, port: int | None) -> SimpleNamespace:
        return SimpleNamespace(key=SimpleNamespace(kind=SimpleNamespace(value="bad"), switch=switch, port=port))

    for found in ([finding("a", 3), finding("a", 3), finding("b", None)], [finding("b", None)]):
        rig.metrics.has(cast("Any", found))
    assert {labels: count for labels, count in rig.values("problems").items() if count} == {("bad", "b", ""): 1}
    rig.metrics.has(cast("Any", [finding("a", 3), finding("a", 3)]))
    assert rig.value("problems", "bad", "a", "3") == 2


def test_hosts_are_read_when_a_server_asks() -> None:
    rig = Rig()
    learned = SimpleNamespace(switches=("a",), known=lambda _: 7, ignored=lambda _: 9)
    rig.metrics.follow_hosts(cast("Any", learned))
    assert rig.values("hosts_known") == {("a",): 7}
    assert rig.values("host_frames_ignored_total") == {("a",): 9}


def test_repairs_certificates_and_the_part_among_peers_are_told() -> None:
    rig = Rig()
    rig.metrics.tables_put_right("a")
    rig.metrics.tables_put_right("a")
    assert rig.values("table_repairs_total") == {("a",): 2, ("b",): 0}
    rig.metrics.certificate_expires("own", 99.0)
    assert rig.values("certificate_expiry_timestamp_seconds") == {("own",): 99.0}
    for acts, succeeded in ((False, True), (True, False)):
        rig.metrics.part_among_peers(is_acting=acts, has_successor=succeeded)
        assert (rig.value("acts"), rig.value("successor_ready")) == (acts, succeeded)
