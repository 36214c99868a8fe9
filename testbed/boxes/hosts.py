"""A site's host on a box: its programs run there, in the namespace of its interface."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from kuijia_app.tables.families import Address
from testbed.boxes.ssh import SshConnection
from testbed.machine.clocks import ClockOffset, ask_clock
from testbed.machine.errors import TestbedError
from testbed.machine.processes import SocketKind

_POLL_SECONDS = 0.05


class BoxHost:
    """Remote counterpart of `testbed.network.hosts.Host`."""

    def __init__(self, name: str, address: Address, interface: str, namespace: str, connection: SshConnection) -> None:
        self.name = name
        self.address = address
        self.interface = interface
        self._namespace = namespace
        self._connection = connection

    def launch(self, argv: Sequence[str]) -> BoxProgram:
        number = self._connection.call("launch", argv=[*self._prefix, *argv])
        return BoxProgram(self._connection, argv[0], number)

    def launch_python(self, file: Path, arguments: Sequence[str]) -> BoxProgram:
        number = self._connection.call(
            "launch_python", prefix=self._prefix, source=file.read_text(), arguments=list(arguments)
        )
        return BoxProgram(self._connection, file.name, number)

    def batch(self, program: Literal["ip", "tc"], commands: Sequence[list[str]]) -> None:
        self._connection.call("batch", namespace=self._namespace, program=program, commands=commands)

    def clock(self) -> ClockOffset:
        return ask_clock(lambda: float(self._connection.call("monotonic_clock")), time.monotonic)

    @property
    def _prefix(self) -> list[str]:
        return ["ip", "netns", "exec", self._namespace]  # which replaces itself by the program


class BoxProgram:
    """A program on a box; see `testbed.machine.programs.StartedProgram`."""

    def __init__(self, connection: SshConnection, name: str, number: int) -> None:
        self._connection = connection
        self._name = name
        self._number = number
        self._stopped = False

    def status(self) -> int | None:
        status: int | None = self._connection.call("program_status", program=self._number)
        return status

    def wait(self, seconds: float) -> int:
        deadline = time.monotonic() + seconds
        while (status := self.status()) is None:
            if time.monotonic() > deadline:
                raise TestbedError(f"{self._connection.name}: {self._name} does not end")
            time.sleep(_POLL_SECONDS)
        return status

    def output(self) -> str:
        return str(self._connection.call("program_output", program=self._number))

    def owns_socket(self, kind: SocketKind, local_port: int, remote_port: int = 0) -> bool:
        return bool(
            self._connection.call(
                "program_owns_socket",
                program=self._number,
                protocol=kind.protocol,
                state=kind.state,
                local_port=local_port,
                remote_port=remote_port,
            )
        )

    def bytes_read(self) -> int:
        return int(self._connection.call("program_bytes_read", program=self._number))

    def terminate(self) -> None:
        self._connection.call("terminate_program", program=self._number)

    def stop(self) -> None:
        """End the program; has no effect if it was ended before, or the box is dead."""
        if not self._stopped and self._connection.is_alive:
            self._connection.call("stop_program", program=self._number)
        self._stopped = True
