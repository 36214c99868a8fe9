"""Keeps a lab running in the background and carries out requests that come over a socket: the far end of `kuijia lab`.

`python -m testbed.lab.lab_service` reads its order as JSON from standard input and reports its progress on standard
output as JSON lines until the lab is up; it gives up when its parent process dies before. Then it serves one JSON
request per connection: {"do": "status" | "topology" | "down"}, {"do": "fail" | "heal", "a": ..., "b": ...},
{"do": "update", "demands": [[SOURCE, TARGET, RATE, PRIORITY], ...], "source": ...} or {"do": "enter", "node": ...} is
answered by {"result": ...} or {"error": ..., "exit_status": ...}.

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
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from kuijia_base.errors import InputError, KuijiaError, quoted
from te_solver.plan import Plan
from te_solver.plan_file import plan_to_json
from testbed.lab.lab import Lab
from testbed.lab.lab_client import ask_lab
from testbed.lab.lab_metrics import metrics_page
from testbed.lab.lab_options import LabOptions
from testbed.lab.lab_order import SOCKET_NAME, Order
from testbed.lab.lab_plans import plan_for
from testbed.lab.lab_reception import Reception
from testbed.lab.lab_requests import Down, Enter, Look, Request, Switch, Update, parse_request
from testbed.machine.errors import TestbedError
from testbed.machine.run_directory import become_background_lab

LOG_NAME = "service.log"
LONGEST_LOG = 1 << 20
_LONGEST_MESSAGE = 2000
_SHOWN_BYTES = 200
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_libc = ctypes.CDLL(None, use_errno=True)


class BrokenLabError(TestbedError):
    """A change has left the lab in an unknown state; it has been taken down."""


class _Terminated(BaseException):
    """Asked to end by a signal: not an error, and nothing on the way should catch it."""


def main() -> int:
    """Start a lab, serve until asked to end, and stop it."""
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, _terminate)
    _signal_when_parent_dies(signal.SIGTERM)
    try:
        plan, options = _read_order(sys.stdin)
        with (
            metrics_page(options.metrics, lambda: ask_lab("status")) as page,
            become_background_lab(),
            Lab(plan, options, lambda line: _tell(report=line)) as lab,
            _listener(lab.directory / SOCKET_NAME) as listener,
            Reception(listener, _refused) as reception,
        ):
            status = lab.status()
            if page is not None:
                page.start()
            _signal_when_parent_dies(None)
            _tell(ready=status)
            _detach(sys.stdout, Path(os.devnull))
            # No output is read from now on; the process that started this one must not wait for more.
            _detach(sys.stderr, lab.directory / LOG_NAME)
            while answer_one(lab, reception):
                pass
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


def _read_order(file: TextIO) -> tuple[Plan, LabOptions]:
    try:
        match json.load(file):
            case {"plan": dict(plan), "options": dict(options), **rest} if not rest:
                return Order(plan, options).read()
    except (RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("order", "", "it is not JSON", "a plan and options") from error
    raise InputError("order", "", "it is not an order", "a JSON object with the members plan and options")


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


def answer_one(lab: Lab, reception: Reception) -> bool:
    """Carry one request out and answer it, or see a client off that made none; False after the last request.

    Raises:
        BrokenLabError: a change failed for an unforeseen reason; the lab has been taken down.
    """
    client = reception.next()
    if client is None:
        return True
    line = bytes(client.line)
    try:
        change = _prepared(lab, parse_request(line))
    except KuijiaError as error:
        reception.answer(client, _refusal(error))
        return True
    except Exception as error:  # noqa: BLE001  # whatever it is, nothing of the lab has been touched
        _log_failure(line)
        reception.answer(client, _refusal(_unforeseen(error)))
        return True
    try:
        reception.answer(client, _answer({"result": change()}))
    except KuijiaError as error:
        reception.answer(client, _refusal(error))
    except Exception as error:
        _log_failure(line)
        broken = BrokenLabError(f"{_unforeseen(error)}; the lab is taken down, as its state is not known")
        try:
            lab.stop()
        finally:
            reception.answer(client, _refusal(broken))
        raise broken from error
    return lab.is_running


def _prepared(lab: Lab, request: Request) -> Callable[[], object]:
    """Do the part that changes nothing of the lab; return the rest as a function, which gives the result."""
    match request:
        case Look("topology"):
            found = plan_to_json(lab.plan)["topology"]
        case Look():
            found = lab.status()
        case Enter(node):
            found = lab.environment_of(node)
        case Switch("fail", a, b):
            return lambda: asdict(lab.fail(a, b))
        case Switch(_, a, b):
            return lambda: asdict(lab.heal(a, b))
        case Update():
            plan = plan_for(lab, request)
            return lambda: asdict(lab.update(plan))
        case Down():
            return lab.stop
    return lambda: found


def _answer(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _refusal(error: KuijiaError) -> bytes:
    text = " ".join(str(error).splitlines())
    if len(text) > _LONGEST_MESSAGE:
        text = f"{text[:_LONGEST_MESSAGE]}..."
    return _answer({"error": text, "exit_status": error.exit_status})


def _refused(problem: str, expected: str) -> bytes:
    return _refusal(InputError("lab", "", problem, expected))


def _unforeseen(error: Exception) -> TestbedError:
    return TestbedError(f"the lab failed at the request with {type(error).__name__}: {quoted(str(error))}")


def _log_failure(line: bytes) -> None:
    """Write the exception under way to standard error, which is the log, with the beginning of the request."""
    if os.fstat(sys.stderr.fileno()).st_size > LONGEST_LOG:
        return
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} failed at {line[:_SHOWN_BYTES]!r}\n{traceback.format_exc()}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
