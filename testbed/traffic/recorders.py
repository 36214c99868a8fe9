"""Starts and ends programs in hosts that say when they are ready, and print their record as JSON when terminated."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kuijia_base.errors import TestbedError
from testbed.machine.programs import StartedProgram
from testbed.network.lab_network import SiteHost

_START_SECONDS = 30.0
_POLL_SECONDS = 0.005


def start_recorder(host: SiteHost, file: Path, arguments: Sequence[str], ready: str, what: str) -> StartedProgram:
    """Start a program and return when it has printed the word `ready`.

    Raises:
        TestbedError: it printed something else, or nothing for too long; it is ended. `what` names it in the message.
    """
    program = host.launch_python(file, arguments)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while program.status() is None and not program.output().endswith("\n") and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        heard = program.output().strip()
        if heard != ready:
            raise TestbedError(f"{what} on {host.name} failed: {heard or 'without a message'}")
    except BaseException:
        program.stop()
        raise
    return program


def end_recorder(program: StartedProgram, host: str, seconds: float, what: str) -> dict[str, Any]:
    """Terminate a program and return its record.

    Raises:
        TestbedError: it failed, or has not ended after this many seconds.
    """
    program.terminate()
    status = program.wait(seconds)
    if status != 0:
        raise TestbedError(f"{what} on {host} exited with status {status}")
    record: dict[str, Any] = json.loads(program.output().splitlines()[-1])
    return record
