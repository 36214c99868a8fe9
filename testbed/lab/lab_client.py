"""Finds the running lab of this machine, starts one in the background, and sends it requests."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kuijia_base.commands import MODULES, find_program, search_path
from kuijia_base.errors import InputError, KuijiaError, TestbedError
from testbed.boxes.fleet import put_back_boxes
from testbed.lab.lab_options import SOCKET_NAME, Order
from testbed.lab.lab_requests import VERSION
from testbed.machine.run_directory import LAB_VARIABLE, ROOT, labs, owner_of
from testbed.network.leftovers import remove_leftovers

ANSWER_SECONDS = 600.0
"""A new plan may take minutes to solve, and other clients' requests come first."""

LONGEST_ANSWER = 1 << 26
"""Bytes; the state of a lab of 50 switches has 100,000."""


class LabRefusedError(KuijiaError):
    """The lab answered with an error, which keeps its exit status."""

    def __init__(self, message: str, exit_status: int) -> None:
        super().__init__(message)
        self.exit_status = exit_status


def running_lab(root: Path = ROOT) -> Path | None:
    """Return the run directory of the running lab, None if there is none; raises InputError if we may not know."""
    for lab in labs(root):
        owner = owner_of(lab)
        if owner is not None and owner.is_alive() and (lab / SOCKET_NAME).exists():
            return lab
    return None


def start_lab(order: Order, report: Callable[[str], None]) -> dict[str, Any]:
    """Start a lab in the background and return its status once it is up; `report` receives the progress.

    Raises:
        InputError: a lab is up already.
        LabRefusedError: the lab could not be brought up.
    """
    up = running_lab()
    if up is not None:
        raise InputError("lab", "", f"{up.name} is up already", "none; take it down with `kuijia lab down`")
    service = subprocess.Popen(
        [sys.executable, "-m", "testbed.lab.lab_service"],
        cwd=MODULES,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert service.stdin is not None
    assert service.stdout is not None
    try:
        with contextlib.suppress(BrokenPipeError):  # it has ended: its status is reported below
            service.stdin.write(order.to_json())
            service.stdin.close()
        for line in service.stdout:
            message: dict[str, Any] = json.loads(line)
            if "report" in message:
                report(message["report"])
            elif "error" in message:
                service.wait()
                raise LabRefusedError(message["error"], message["exit_status"])
            else:
                status: dict[str, Any] = message["ready"]
                return status
    except BaseException:  # an interrupt, or the reader of the report is gone
        service.terminate()
        service.wait()
        raise
    raise TestbedError(f"the lab ended with status {service.wait()} before it was up")


def remove_killed_lab(report: Callable[[str], None], root: Path = ROOT) -> bool:
    """Remove what labs whose process was killed have left; return whether there were any.

    Raises:
        TestbedError: something of it cannot be removed, or boxes cannot be put back.
    """
    before = labs(root)
    remove_leftovers(report, root, put_back_boxes)
    return labs(root) != before


def ask_lab(do: str, **details: object) -> Any:  # noqa: ANN401  # whatever JSON the request is answered with
    """Send the running lab a request and return its answer; raises as `ask`, InputError if no lab is up."""
    return ask(the_running_lab(), do, **details)


def the_running_lab() -> Path:
    """Return the run directory of the running lab; raises InputError if no lab is up."""
    up = running_lab()
    if up is None:
        raise InputError("lab", "", "no lab is up", "one, started with `kuijia lab up`")
    return up


def ask(lab: Path, do: str, **details: object) -> Any:  # noqa: ANN401  # as above
    """Send the lab of this run directory a request and return its answer.

    Raises:
        LabRefusedError: it refused.
        TestbedError: it died meanwhile.
    """
    with _request(lab, do, details) as answers:
        return _result(lab.name, answers())


def on_host(host: Mapping[str, Any], words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the command line that runs a program in a host, by the answer to `enter`, and its environment.

    Raises:
        InputError: there is no such program.
    """
    if find_program(words[0]) is None:
        raise InputError("lab", words[0], "no such program", "one that is installed")
    # Marked as a process of the lab: it ends with the lab.
    environment = {**os.environ, "PATH": search_path(), LAB_VARIABLE: host["lab"]}
    return ["mnexec", "-a", str(host["namespace_pid"]), *words], environment


def watch(lab: Path, after: int | None = None, begun: Callable[[], None] = lambda: None) -> Iterator[dict[str, Any]]:
    """Yield the lab's events as they happen, until the lab ends.

    Args:
        lab: run directory.
        after: number of the last event that is known, for events that have happened already; None leaves them out.
        begun: called when the lab has promised all later events.

    Raises:
        LabRefusedError: it refused, or the watcher was too slow.
        TestbedError: it died, or is of another version.
    """
    with _request(lab, "watch", {} if after is None else {"after": after}, for_ever=True) as answers:
        _result(lab.name, answers())
        begun()
        while True:
            message = _message(lab.name, answers())
            match message:
                case {"event": dict(event)}:
                    yield event
                case {"end": _}:
                    return
                case _:
                    raise _invalid(lab.name, len(json.dumps(message)))


@contextlib.contextmanager
def _request(
    lab: Path, do: str, details: Mapping[str, object], *, for_ever: bool = False
) -> Iterator[Callable[[], bytes]]:
    """Send a request for the time of a block; provide a function that returns the next line of the answer."""
    request = json.dumps({"version": VERSION, "do": do, **details}).encode() + b"\n"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_SECONDS)
        silent = f"lab {lab.name} does not answer"
        try:
            connection.connect(str(lab / SOCKET_NAME))
            # A service that refuses the request may close before it has taken all of it.
            with contextlib.suppress(BrokenPipeError):
                connection.sendall(request)
        except OSError as error:
            raise TestbedError(f"{silent}: {error.strerror or error}") from error
        with connection.makefile("rb") as file:

            def next_line() -> bytes:
                try:
                    line = file.readline(LONGEST_ANSWER + 1)
                except OSError as error:
                    raise TestbedError(f"{silent}: {error.strerror or error}") from error
                if not line:
                    raise TestbedError(f"lab {lab.name} died before it answered")
                if for_ever:
                    connection.settimeout(None)
                return line

            yield next_line


def _result(lab: str, line: bytes) -> Any:  # noqa: ANN401  # JSON
    match _message(lab, line):
        case {"result": result}:
            return result
    raise _invalid(lab, len(line))


def _message(lab: str, line: bytes) -> Any:  # noqa: ANN401  # JSON
    try:
        answer = json.loads(line) if len(line) <= LONGEST_ANSWER else None
    except (RecursionError, ValueError):
        answer = None
    match answer:
        case {"error": str(error), "exit_status": int(exit_status)}:
            raise LabRefusedError(error, exit_status)
        case {"version": int(version)} if version == VERSION:
            return answer
        case {"result": _}:
            raise TestbedError(f"lab {lab} was started by another version of Kuijia; use that one")
    raise _invalid(lab, len(line))


def _invalid(lab: str, length: int) -> TestbedError:
    return TestbedError(f"lab {lab} did not send a valid answer, but {length} other bytes")
