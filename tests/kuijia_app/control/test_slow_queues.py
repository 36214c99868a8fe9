"""A queue that drops packets on a port with room to spare is named, with what its port sends."""

from __future__ import annotations

import pytest

from kuijia_app.control.findings import FindingKind
from kuijia_app.control.slow_queues import BUSY, CALM, INTERVALS, LEAST_DROPPED, LEAST_INTERVAL, SlowQueues
from kuijia_app.control.snapshot import PortCounters, QueueCounters, Snapshot
from kuijia_app.tables.needs import PortNeeds, SwitchNeeds
from kuijia_app.tables.queues import PLAIN_LAYOUT

RATE = 20.0
PORT = 3
QUEUE = PLAIN_LAYOUT.queues[1].queue_id
NEEDS = SwitchNeeds(
    "paris", 1, {PORT: PortNeeds(PORT, "london", is_host=False, rate=RATE, mtu=1504)}, PLAIN_LAYOUT.queues, ()
)


class Counting:
    """A port whose only busy queue sends and drops packets, interval by interval."""

    def __init__(self) -> None:
        self.slow = SlowQueues()
        self.time, self.sent_bytes, self.sent, self.dropped = 100.0, 0.0, 0, 0
        self.count()

    def count(self, *, queues: bool = True) -> None:
        port = PortCounters(0, self.sent, round(self.sent_bytes), 0, 0, 0, 0)
        counters = {(PORT, QUEUE): QueueCounters(self.sent, self.dropped)} if queues else None
        snapshot = Snapshot("paris", self.time, self.time, {}, {}, {}, {}, {PORT: port}, counters)
        self.slow.counted(snapshot, NEEDS)

    def passes(self, seconds: float, rate: float, sent: int = 100, dropped: int = 50) -> None:
        """Let an interval pass in which the port sends at a rate in Mbit/s."""
        self.time += seconds
        self.sent_bytes += rate * seconds * 1e6 / 8
        self.sent += sent
        self.dropped += dropped
        self.count()

    def texts(self) -> list[str]:
        return [finding.text for finding in self.slow.findings(NEEDS)]


def test_a_queue_that_drops_for_some_intervals_while_its_port_is_far_from_busy_is_named() -> None:
    it = Counting()
    for _ in range(INTERVALS - 1):
        it.passes(1.0, 0.7)
        assert it.texts() == []
    it.passes(1.0, 0.7)
    (finding,) = it.slow.findings(NEEDS)
    key = finding.key
    assert (key.kind, key.switch, key.port, key.detail) == (FindingKind.QUEUE_SLOW, "paris", PORT, f"queue {QUEUE}")
    expected = f"queue {QUEUE} of port {PORT} to london drops packets, though the port sends only 0.7 of 20 Mbit/s"
    assert finding.text == expected
    assert not finding.is_lack


@pytest.mark.parametrize(
    ("rate", "sent", "dropped"),
    [(BUSY * RATE, 100, 50), (0.7, 100, 0), (0.7, 1000, round(LEAST_DROPPED * 1000) - 1)],
    ids=["busy port", "nothing dropped", "few dropped"],
)
def test_a_queue_of_a_busy_port_or_that_drops_next_to_nothing_is_not_named(
    rate: float, sent: int, dropped: int
) -> None:
    it = Counting()
    for _ in range(2 * INTERVALS):
        it.passes(1.0, rate, sent, dropped)
    assert it.texts() == []


@pytest.mark.parametrize(("sent", "dropped"), [(0, 1), (9, 1), (99, 1), (990, 10)])
def test_one_packet_in_a_hundred_is_enough_however_few_these_are(sent: int, dropped: int) -> None:
    it = Counting()
    for _ in range(INTERVALS):
        it.passes(1.0, 0.7, sent, dropped)
    assert it.texts() != []


def test_an_interval_without_drops_begins_the_count_again() -> None:
    it = Counting()
    for dropped in (*[50] * (INTERVALS - 1), 0, *[50] * (INTERVALS - 1)):
        it.passes(1.0, 0.7, dropped=dropped)
    assert it.texts() == []


def test_counts_in_quick_succession_are_one_interval() -> None:
    it = Counting()
    for _ in range(2 * INTERVALS - 1):  # two of these make an interval
        it.passes(LEAST_INTERVAL / 2, 0.7)
    assert it.texts() == []
    it.passes(LEAST_INTERVAL / 2, 0.7)
    assert it.texts() != []


def test_a_slow_queue_is_named_until_it_has_dropped_nothing_for_a_while() -> None:
    it = Counting()
    for _ in range(INTERVALS):
        it.passes(1.0, 0.7)
    it.passes(CALM - 1.0, 0.7, dropped=0)
    assert it.texts() != []
    it.passes(1.0, 0.7, dropped=0)
    assert it.texts() == []


def test_counters_that_restart_or_are_missing_show_nothing() -> None:
    it = Counting()
    for _ in range(INTERVALS - 1):
        it.passes(1.0, 0.7)
    it.sent, it.dropped, it.sent_bytes = 0, 0, 0.0
    it.passes(1.0, 0.7, dropped=1)
    it.passes(1.0, 0.7)
    assert it.texts() == []
    it.time += 1.0
    it.count(queues=False)
    for _ in range(INTERVALS):
        it.passes(1.0, 0.7)
    assert it.texts() == []  # the first of these had nothing to be compared with


def test_a_switch_that_connects_again_is_judged_afresh() -> None:
    it = Counting()
    for _ in range(INTERVALS):
        it.passes(1.0, 0.7)
    it.slow.left("paris")
    assert it.texts() == []
    for _ in range(INTERVALS):
        it.passes(1.0, 0.7)
    assert it.texts() == []
    it.passes(1.0, 0.7)
    assert it.texts() != []
