"""Metrics of a lab, from the state that it tells."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from kuijia_base.errors import InputError
from kuijia_base.metrics.server import PortTakenError
from kuijia_base.metrics.tally import Distribution, Labels
from testbed.lab.lab_metrics import LabMetrics, metrics_page
from testbed.machine.errors import TestbedError
from tests.kuijia_app.dummy_switches import free_port

STATUS: dict[str, Any] = {
    "controller": {"pid": 7, "switches": ["a", "b"], "errors": []},
    "links": [{"a": "a", "b": "b", "up": True}, {"a": "a", "b": "c", "up": False}],
    "tunnels": [{"alive": True}, {"alive": False}, {"alive": True}],
    "queues": [
        {
            "switch": "a",
            "to": "b",
            "queue": "victim",
            "sent_packets": 2,
            "sent_bytes": 300,
            "dropped_packets": 1,
            "waiting_packets": 4,
        }
    ],
    "sessions": [{"ends": [{"up": True}, {"up": False}]}],
    "faults": ["Open vSwitch has died"],
}


def read(metrics: LabMetrics) -> dict[str, dict[Labels, float | Distribution]]:
    return {metric.name.removeprefix("kuijia_lab_"): dict(values) for metric, values in metrics.tally.read()}


def test_the_state_of_a_lab_becomes_values() -> None:
    found = read(LabMetrics(lambda: STATUS))
    plain = {name: values[()] for name, values in found.items() if () in values and name != "status_seconds"}
    assert plain == {
        "up": 1,
        "controller_up": 1,
        "switches_ready": 2,
        "controller_errors": 0,
        "faults": 1,
        "tunnels": 3,
        "tunnels_dead": 1,
        "links": 2,
        "links_down": 1,
    }
    assert found["link_up"] == {("a-b",): 1, ("a-c",): 0}
    assert found["queue_sent_bytes_total"] == {("a", "b", "victim"): 300}
    assert found["queue_waiting_packets"] == {("a", "b", "victim"): 4}
    assert found["bfd_session_ends"] == {("up",): 1, ("down",): 1}


def test_a_lab_that_tells_nothing_keeps_its_last_values_and_is_not_up() -> None:
    answers: list[Mapping[str, Any]] = [STATUS]

    def ask() -> Mapping[str, Any]:
        if not answers:
            raise TestbedError("lab x does not answer")
        return answers.pop()

    metrics = LabMetrics(ask)
    assert read(metrics)["up"] == {(): 1}
    after = read(metrics)
    assert (after["up"], after["tunnels"]) == ({(): 0}, {(): 3})


def test_nothing_is_served_unless_asked_for_and_bad_addresses_are_refused() -> None:
    with metrics_page("", dict) as page:
        assert page is None
    with pytest.raises(InputError, match="expected PORT or ADDRESS:PORT"), metrics_page("x", dict):
        pass
    port = free_port()
    with ExitStack() as stack:
        assert stack.enter_context(metrics_page(f"{port}", dict)) is not None
        with pytest.raises(PortTakenError):
            stack.enter_context(metrics_page(f"{port}", dict))
