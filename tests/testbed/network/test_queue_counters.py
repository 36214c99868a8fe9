"""Rates of queues count the bytes sent since the last look."""

from __future__ import annotations

import json

import pytest

from kuijia_app.preparation.queues import leaf_class
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_base.errors import TestbedError
from testbed.network import queue_counters
from testbed.network.queue_counters import QueueRates, parse_all_queue_counters, read_queue_counters


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


def test_all_ports_are_read_in_one_go_and_a_broken_one_hides_no_other() -> None:
    def leaf(interface: str, queue: str, bytes_: int) -> dict[str, object]:
        parent = next(leaf_class(each) for each in PLAIN_LAYOUT.queues if each.name == queue)
        return {"dev": interface, "parent": parent, "packets": 1, "bytes": bytes_, "drops": 0, "qlen": 0}

    names = [queue.name for queue in PLAIN_LAYOUT.queues]
    shown = [leaf("s1-eth1", name, 1000 * at) for at, name in enumerate(names)]
    shown += [leaf("s2-eth1", name, 7) for name in names if name != "normal"]
    shown.append({"kind": "noqueue", "dev": "lo"})
    interfaces = {("s1", 1): "s1-eth1", ("s2", 1): "s2-eth1", ("s2", 2): "s2-eth2"}
    found = parse_all_queue_counters(interfaces, json.dumps(shown), PLAIN_LAYOUT)
    whole, partial, gone = (found[port] for port in interfaces)
    assert not isinstance(whole, TestbedError)
    assert [(each.queue, each.sent_bytes) for each in whole] == [(name, 1000 * at) for at, name in enumerate(names)]
    assert str(partial) == "interface s2-eth1 has lost its queue normal"
    assert str(gone) == "interface s2-eth2 has lost its queues"
