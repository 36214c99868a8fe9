"""Rates of queues count the bytes sent since the last look."""

from __future__ import annotations

import json

import pytest

from kuijia_app.tables.queues import PLAIN_LAYOUT
from testbed.machine.errors import TestbedError
from testbed.network import queue_counters
from testbed.network.queue_counters import QueueRates, read_queue_counters
from testbed.network.queues import leaf_class


def test_rates_and_drops_are_those_since_the_last_look() -> None:
    clock = iter([100.0, 102.0, 103.0])
    rates = QueueRates(lambda: next(clock))
    queue = {"switch": "s1", "to": "s2", "queue": "normal", "sent_bytes": 1_000_000, "dropped_packets": 5}
    (first,) = rates.since_last([queue])
    assert (first["rate"], first["newly_dropped"]) == (None, None)
    (second,) = rates.since_last([{**queue, "sent_bytes": 2_000_000, "dropped_packets": 8}])
    assert (second["rate"], second["newly_dropped"]) == (4.0, 3)
    other = {**queue, "queue": "victim"}
    third, new = rates.since_last([{**queue, "sent_bytes": 2_000_000, "dropped_packets": 8}, other])
    assert (third["rate"], third["newly_dropped"]) == (0.0, 0)
    assert new["rate"] is None


def test_a_queue_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    leaves = [{"parent": leaf_class(queue)} for queue in PLAIN_LAYOUT.queues if queue.name != "victim"]
    monkeypatch.setattr(queue_counters, "run_command", lambda _: json.dumps(leaves))
    with pytest.raises(TestbedError, match=r"^interface s1-eth1 has lost its queue victim$"):
        read_queue_counters("s1-eth1", PLAIN_LAYOUT)
