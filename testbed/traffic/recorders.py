"""Starts and ends programs in hosts that say when they are ready, and print their record as JSON when terminated."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kuijia_base.errors import TestbedError
from testbed.machine.programs import StartedProgram
from testbed.network.lab_network import SiteHost
from testbed.traffic import recorder_program

if TYPE_CHECKING:
    from typing_extensions import Self

_START_SECONDS, _END_SECONDS = 30.0, 20.0
_POLL_SECONDS = 0.005


class Recorders:
    """Programs in hosts, which the end of the block ends in any case.

    Args:
        what: name of the programs in messages.
        program: their module.
    """

    def __init__(self, what: str, program: ModuleType = recorder_program) -> None:
        self._what = what
        self._file = Path(str(program.__file__))
        self._running: list[tuple[str, SiteHost, StartedProgram]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _role, _host, program in self._running:
            program.stop()

    def _launch(self, host: SiteHost, role: str, *arguments: str) -> None:
        """Start a program; return when it is ready.

        Raises:
            TestbedError: it printed something else, or nothing for too long.
        """
        program = host.launch_python(self._file, [role, *arguments])
        self._running.append((role, host, program))
        deadline = time.monotonic() + _START_SECONDS
        while program.status() is None and not program.output().endswith("\n") and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        heard = program.output().strip()
        if heard != "ready":
            raise TestbedError(f"{self._what} on {host.name} failed: {heard or 'without a message'}")

    def _records(self, role: str) -> Iterator[dict[str, Any]]:
        """Terminate the programs of a role; yield the record of each, in their order.

        Raises:
            TestbedError: one failed, or has not ended after some seconds.
        """
        for own, host, program in self._running:
            if own == role:
                program.terminate()
                status = program.wait(_END_SECONDS)
                if status != 0:
                    raise TestbedError(f"{self._what} on {host.name} exited with status {status}")
                record: dict[str, Any] = json.loads(program.output().splitlines()[-1])
                yield record
