"""Metrics of a lab, from the state that it tells."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, closing
from typing import Any

import pytest

from kuijia_app.framework.metrics.address import PageAddress
from kuijia_app.framework.metrics.server import MetricsServer, PortTakenError
from kuijia_app.framework.metrics.tally import Distribution, Labels, Metric, Tally
from kuijia_base.errors import InputError, TestbedError
from testbed.lab.lab_options import LabOptions
from testbed.lab.lab_service import LabMetrics, RelayedPage, metrics_pages
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


def pages_of(metrics: str, controllers: int = 1, *, relayed: bool = True) -> AbstractContextManager[tuple[Any, ...]]:
    return metrics_pages(LabOptions(metrics=metrics, controllers=controllers), dict, relayed=relayed)


def free_ports(number: int) -> int:
    """Return the first of several free ports that follow each other."""
    while True:
        first = free_port()
        with ExitStack() as stack:
            try:
                for port in range(first, first + number):
                    probe = stack.enter_context(socket.socket())
                    probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return first


def test_nothing_is_served_unless_asked_for_and_bad_addresses_are_refused() -> None:
    with pages_of("") as pages:
        assert pages == ()
    with pytest.raises(InputError, match="expected PORT or ADDRESS:PORT"), pages_of("x"):
        pass
    with pytest.raises(InputError, match=r"--metrics: port 65534, expected 65533 at most"), pages_of("65534", 2):
        pass
    first = free_ports(3)
    with ExitStack() as stack:
        pages = stack.enter_context(pages_of(f"{first}", 2))
        assert [page.port for page in pages] == [first, first + 1, first + 2]
        with pytest.raises(PortTakenError):
            stack.enter_context(pages_of(f"{first}"))
    with pages_of(f"{first}", 2, relayed=False) as pages:
        assert [page.port for page in pages] == [first]


def test_pages_of_controllers_are_handed_on_and_missing_ones_said_to_be() -> None:
    tally = Tally((Metric("kuijia_controller_switches", "gauge", "Switches of the network."),))
    tally.set("kuijia_controller_switches", 4)
    with closing(MetricsServer(PageAddress(0), tally)) as controller:
        controller.start()
        body, kind = RelayedPage(controller.port).text("application/openmetrics-text")
        assert b"kuijia_controller_switches 4.0\n" in body
        assert kind.startswith("application/openmetrics-text")
        port = controller.port
    with pytest.raises(ConnectionRefusedError):
        RelayedPage(port).text("")
