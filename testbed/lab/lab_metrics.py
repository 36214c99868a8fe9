"""Metrics of a running lab, from the state that it tells everybody who asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kuijia_base.errors import InputError, KuijiaError, quoted
from kuijia_base.metrics.address import EXPECTED, parse_page_address
from kuijia_base.metrics.server import MetricsServer
from kuijia_base.metrics.tally import Metric, Tally
from testbed.network.network_metrics import network_metrics, note_links, note_queues, note_sessions

PREFIX = "kuijia_lab"

METRICS = (
    Metric(f"{PREFIX}_up", "gauge", "1 if the lab has told its state; other values are those it told last."),
    Metric(f"{PREFIX}_controller_up", "gauge", "1 if the controller's process is alive."),
    Metric(f"{PREFIX}_switches_ready", "gauge", "Switches that are connected and have acknowledged their tables."),
    Metric(f"{PREFIX}_controller_errors", "gauge", "Errors that the controller's event log has."),
    Metric(f"{PREFIX}_faults", "gauge", "Parts of the lab that could not be examined."),
    Metric(f"{PREFIX}_tunnels", "gauge", "Tunnels of the plan."),
    Metric(f"{PREFIX}_tunnels_dead", "gauge", "Tunnels that carry nothing, or that an end considers dead."),
    *network_metrics(PREFIX),
    Metric(f"{PREFIX}_status_seconds", "gauge", "Time that the lab took to tell its state."),
)

Status = Mapping[str, Any]


class LabMetrics:
    """Asks for the lab's state, by `ask`, at each reading of `tally`."""

    def __init__(self, ask: Callable[[], Status]) -> None:
        self._ask = ask
        self.tally = Tally(METRICS, lambda _: self._look())

    def _look(self) -> None:
        began = time.monotonic()
        try:
            status = self._ask()
        except KuijiaError:  # it is going down, or starting
            self.tally.set(f"{PREFIX}_up", 0)
            return
        self.tally.set(f"{PREFIX}_up", 1)
        self.tally.set(f"{PREFIX}_status_seconds", time.monotonic() - began)
        controller, tunnels = status["controller"], status["tunnels"]
        values = {
            "controller_up": controller["pid"] is not None,
            "switches_ready": len(controller["switches"]),
            "controller_errors": len(controller["errors"]),
            "faults": len(status["faults"]),
            "tunnels": len(tunnels),
            "tunnels_dead": sum(not tunnel["alive"] for tunnel in tunnels),
        }
        for name, value in values.items():
            self.tally.set(f"{PREFIX}_{name}", float(value))
        note_links(self.tally, PREFIX, {(link["a"], link["b"]): link["up"] for link in status["links"]})
        note_queues(self.tally, PREFIX, status["queues"])
        note_sessions(self.tally, PREFIX, (end["up"] for session in status["sessions"] for end in session["ends"]))


@contextmanager
def metrics_page(address: str, ask: Callable[[], Status]) -> Iterator[MetricsServer | None]:
    """Listen at an address for a block, which must begin outside of the lab's network namespace; None without one.

    Raises:
        InputError: it is no address.
        PortTakenError: listening there is not possible.
    """
    if not address:
        yield None
        return
    found = parse_page_address(address)
    if found is None:
        raise InputError("option", "metrics", quoted(address), EXPECTED)
    server = MetricsServer(found, LabMetrics(ask).tally)
    try:
        yield server
    finally:
        server.close()
