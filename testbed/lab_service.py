"""Keeps a lab running in the background and does what is asked of it over a socket: the far end of `kuijia lab`.

`python -m testbed.lab_service` reads its order as JSON from standard input and tells of its progress on standard output
as JSON lines until the lab is up; it gives up when its parent process dies before. Then it serves one JSON request per
connection: {"do": "status" | "topology" | "down"}, {"do": "fail" | "heal", "a": ..., "b": ...}, {"do": "update",
"demands": [[SOURCE, TARGET, RATE, PRIORITY], ...], "source": ...} or {"do": "enter", "node": ...} is answered by
{"result": ...} or {"error": ..., "exit_status": ...}.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from kuijia_app.options import pipeline_options
from kuijia_app.pipeline import build_tables
from te_solver.demands import Demand
from te_solver.errors import InputError, KuijiaError, UnsoundError, key_path
from te_solver.plan import Plan
from te_solver.plan_file import plan_from_json, plan_to_json
from testbed.lab import Lab, LabOptions
from testbed.run_directory import become_background_lab

SOCKET_NAME = "lab.sock"
LOG_NAME = "service.log"
MAX_REQUEST = 1 << 24
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_libc = ctypes.CDLL(None, use_errno=True)

REQUEST_TIMEOUT = 5.0
"""Seconds a client may take to say what it wants, and to take the answer: the next one is waiting."""


@dataclass(frozen=True)
class Order:
    """What a service is started with: the plan in its JSON form and the options of the lab."""

    plan: dict[str, Any]
    options: dict[str, Any]

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class _Terminated(BaseException):
    """Asked to end by a signal: not an error, and nothing on the way should catch it."""


def main() -> int:
    """Bring a lab up, serve until told to end, take it down."""
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, _terminate)
    _signal_when_parent_dies(signal.SIGTERM)
    try:
        order = Order(**json.load(sys.stdin))
        plan = plan_from_json(order.plan, "plan")
        with (
            become_background_lab(),
            Lab(plan, LabOptions(**order.options), lambda line: _tell(report=line)) as lab,
            socket.socket(socket.AF_UNIX) as listener,
        ):
            listener.bind(str(lab.directory / SOCKET_NAME))
            listener.listen()
            status = lab.status()
            _signal_when_parent_dies(None)
            _tell(ready=status)
            _detach(sys.stdout, Path(os.devnull))
            # Nobody reads what is said from now on; whoever started us must not wait for more of it.
            _detach(sys.stderr, lab.directory / LOG_NAME)
            while answer_one(lab, listener):
                pass
    except KuijiaError as error:
        _tell(error=str(error), exit_status=error.exit_status)
        return error.exit_status
    except OSError as error:
        _tell(error=f"the lab cannot be kept up: {error}", exit_status=KuijiaError.exit_status)
        return KuijiaError.exit_status
    except _Terminated:
        return 0
    return 0


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
    """Let what is written to the stream, by us or by programs we start, go to a file."""
    with path.open("ab") as target:
        os.dup2(target.fileno(), stream.fileno())


def answer_one(lab: Lab, listener: socket.socket) -> bool:
    """Serve one request; False after the one that ends the service."""
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(REQUEST_TIMEOUT)
        try:
            request = json.loads(connection.makefile("rb").readline(MAX_REQUEST))
        except (OSError, ValueError):
            return True  # it has gone, says nothing or talks of something else: no reason to take the lab down
        try:
            answer = {"result": _do(lab, request)}
        except KuijiaError as error:
            answer = {"error": str(error), "exit_status": error.exit_status}
        with contextlib.suppress(OSError):  # it has not waited for the answer
            connection.sendall(json.dumps(answer).encode() + b"\n")
    return lab.is_running


def _do(lab: Lab, request: object) -> object:
    match request:
        case {"do": "status"}:
            return lab.status()
        case {"do": "fail" | "heal" as what, "a": str(a), "b": str(b)}:
            return asdict(lab.fail(a, b) if what == "fail" else lab.heal(a, b))
        case {"do": "topology"}:
            return plan_to_json(lab.plan)["topology"]
        case {"do": "update", "demands": list(demands), "source": str(source)}:
            return asdict(lab.update(_plan_for(lab, demands, source)))
        case {"do": "enter", "node": str(node)}:
            return lab.environment_of(node)
        case {"do": "down"}:
            lab.stop()
            return None
        case _:
            raise InputError("lab", "", f"unknown request {request!r}", "status, fail, heal, update, enter or down")


def _plan_for(lab: Lab, rows: list[Any], source: str) -> Plan:
    """The plan for other demands on the lab's network, solved as its first one was."""
    # The optimiser takes a second to import, which a lab that is never updated should not cost.
    from te_solver.solve import solve  # noqa: PLC0415

    factor = lab.options.demand_factor
    demands = [Demand(start, end, rate * factor, priority) for start, end, rate, priority in rows]
    plan = solve(lab.plan.topology, demands, lab.options.tunnels_per_pair, source=source)
    try:
        build_tables(plan, pipeline_options(lab.options.words))
    except UnsoundError as error:
        raise InputError(source, key_path(error.where), error.problem, error.expected) from error
    return plan


if __name__ == "__main__":
    sys.exit(main())
