"""Metrics of a running lab, from the state that it reports to every client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from typing import Any

from kuijia_app.framework.metrics.address import LOOPBACK
from kuijia_app.framework.metrics.server import PATH, MetricsServer
from kuijia_app.framework.metrics.tally import Metric, Tally
from kuijia_base.errors import KuijiaError
from testbed.lab.lab_options import LabOptions, metrics_addresses
from testbed.network.queue_counters import network_metrics, note_links, note_queues, note_sessions

PREFIX = "kuijia_lab"

METRICS = (
    Metric(f"{PREFIX}_up", "gauge", "1 if the lab has reported its state; other values are the last ones it reported."),
    Metric(f"{PREFIX}_controller_up", "gauge", "1 if the controller's process is alive."),
    Metric(f"{PREFIX}_switches_ready", "gauge", "Switches that are connected and have acknowledged their tables."),
    Metric(f"{PREFIX}_controller_errors", "gauge", "Errors that the controller's event log has."),
    Metric(f"{PREFIX}_faults", "gauge", "Parts of the lab that could not be examined."),
    Metric(f"{PREFIX}_tunnels", "gauge", "Tunnels of the plan."),
    Metric(f"{PREFIX}_tunnels_dead", "gauge", "Tunnels that carry nothing, or that an end considers dead."),
    *network_metrics(PREFIX),
    Metric(f"{PREFIX}_status_seconds", "gauge", "Time that the lab took to report its state."),
)

Status = Mapping[str, Any]

_RELAY_SECONDS = 2.0


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


class RelayedPage:
    """The page that another program serves at a port of the loopback address, as the asking thread reaches it."""

    def __init__(self, port: int) -> None:
        self._port = port

    def text(self, accept: str) -> tuple[bytes, str]:
        with closing(HTTPConnection(str(LOOPBACK), self._port, timeout=_RELAY_SECONDS)) as connection:
            connection.request("GET", PATH, headers={"Accept": accept})
            response = connection.getresponse()
            return response.read(), response.getheader("Content-Type", "text/plain")


@contextmanager
def metrics_pages(
    options: LabOptions, ask: Callable[[], Status], *, relayed: bool
) -> Iterator[tuple[MetricsServer, ...]]:
    """Listen for a block, which must begin outside of the lab's network namespace; the pages are to be started in it.

    Args:
        options: of the lab; its controllers serve their pages themselves.
        ask: returns the lab's state.
        relayed: True if the controllers are in that namespace, so that their pages must be handed on.

    Raises:
        InputError: the option is no address.
        PortTakenError: listening there is not possible.
    """
    with ExitStack() as stack:
        servers = []
        for place, address in enumerate(metrics_addresses(options)):
            if place == 0 or relayed:
                source = RelayedPage(address.port) if place else LabMetrics(ask).tally
                servers.append(MetricsServer(address, source))
                stack.callback(servers[-1].close)
        yield tuple(servers)
