"""Keeps a lab running in the background and carries out requests that come over a socket: the far end of `kuijia lab`.

`python -m testbed.lab.lab_service` reads its order as JSON from standard input and reports its progress on standard
output as JSON lines until the lab is up; it gives up when its parent process dies before. Then it serves one JSON
request per connection (`testbed.lab.lab_requests`), such as {"version": 1, "do": "status"} or {"version": 1, "do":
"fail", "a": ..., "b": ...}. The answer is {"version": 1, "result": ...} or {"version": 1, "error": ..., "exit_status":
...}. After {"version": 1, "do": "watch"} and its answer come {"version": 1, "event": ...} and at last {"version": 1,
"end": ...}.

Only the request "down" ends the service, with one exception: a change of the lab that fails for an unforeseen
reason. Then the lab's state is unknown; the service takes the lab down, says so to the client, to its log and to
the system's log, and exits with status 1.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import syslog
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from kuijia_app.framework.metrics.address import LOOPBACK
from kuijia_app.framework.metrics.server import PATH, MetricsServer
from kuijia_app.framework.metrics.tally import Metric, Tally
from kuijia_base.errors import InputError, KuijiaError
from kuijia_base.log_lines import DEFAULT_FORM, DEFAULT_LEVEL, set_up_logs
from te_solver.model.plan import Plan
from testbed.boxes.inventory import read_inventory
from testbed.boxes.network import BoxGround
from testbed.lab.clients import LabClients
from testbed.lab.journal import LabJournal
from testbed.lab.lab import Emulation, Ground, Lab
from testbed.lab.lab_client import ask_lab
from testbed.lab.lab_options import SOCKET_NAME, LabOptions, Order, metrics_addresses
from testbed.lab.lab_plans import PlanMaker
from testbed.lab.observer import Spotter
from testbed.lab.serving import BrokenLabError, LabServer, refused
from testbed.machine.run_directory import become_background_lab
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


LOG_NAME = "service.log"
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_libc = ctypes.CDLL(None, use_errno=True)


class _Terminated(BaseException):
    """Asked to end by a signal: not an error, and nothing on the way should catch it."""


def main() -> int:
    """Start a lab, serve until asked to end, and stop it."""
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, _terminate)
    set_up_logs(DEFAULT_LEVEL, DEFAULT_FORM)
    _signal_when_parent_dies(signal.SIGTERM)
    try:
        plan, options = _read_order(sys.stdin)
        ground = _ground(options)
        own_loopback = ground.has_own_loopback(options.network)
        with (
            metrics_pages(options, lambda: ask_lab("status"), relayed=own_loopback) as pages,
            become_background_lab(),
            Lab(plan, options, lambda line: _tell(report=line), ground) as lab,
            _listener(lab.directory / SOCKET_NAME) as listener,
            LabClients(listener, refused) as reception,
            PlanMaker() as maker,
            Spotter(lab, journal := LabJournal()) as spotter,
            LabServer(lab, reception, journal, maker.make, maker.give_up, spotter.end) as service,
        ):
            status = lab.status()
            for page in pages:
                page.start()
            _signal_when_parent_dies(None)
            _tell(ready=status)
            _detach(sys.stdout, Path(os.devnull))
            # No output is read from now on; the process that started this one must not wait for more.
            _detach(sys.stderr, lab.directory / LOG_NAME)
            service.serve()
    except BrokenLabError as error:
        # Its own log goes with the lab.
        syslog.syslog(syslog.LOG_ERR, f"kuijia lab: {error}")
        return error.exit_status
    except KuijiaError as error:
        _tell(error=str(error), exit_status=error.exit_status)
        return error.exit_status
    except OSError as error:
        _tell(error=f"the lab cannot be kept up: {error}", exit_status=KuijiaError.exit_status)
        return KuijiaError.exit_status
    except _Terminated:
        return 0
    return 0


def _ground(options: LabOptions) -> Ground:
    return BoxGround(read_inventory(Path(options.inventory))) if options.inventory else Emulation()


def _read_order(file: TextIO) -> tuple[Plan, LabOptions]:
    try:
        match json.load(file):
            case {"plan": dict(plan), "options": dict(options), "positions": dict(positions), **rest} if not rest:
                return Order(plan, options, positions).read()
    except (RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("order", "", "it is not JSON", "a plan and options") from error
    raise InputError("order", "", "it is not an order", "a JSON object with the members plan, options and positions")


def _listener(path: Path) -> socket.socket:
    """Return a socket that listens, to which only its owner can connect."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen()
    except BaseException:
        listener.close()
        raise
    return listener


def _signal_when_parent_dies(signal_number: signal.Signals | None) -> None:
    if _libc.prctl(_PR_SET_PDEATHSIG, signal_number or 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _terminate(_number: int, _frame: FrameType | None) -> None:
    # Once is enough: a second signal must not cut the clean-up short. (SIG_IGN would be passed on to the programs that
    # clean up, and Python complains when it is set while a signal is under way.)
    signal.signal(signal.SIGTERM, _disregard)
    signal.signal(signal.SIGINT, _disregard)
    raise _Terminated


def _disregard(_number: int, _frame: FrameType | None) -> None:
    pass


def _tell(**message: object) -> None:
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever started us has gone; the lab stays up all the same.
        _detach(sys.stdout, Path(os.devnull))


def _detach(stream: TextIO, path: Path) -> None:
    """Redirect what we and the programs that we start write to the stream into a file."""
    with path.open("ab") as target:
        os.dup2(target.fileno(), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
