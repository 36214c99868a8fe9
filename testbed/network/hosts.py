"""A host of the emulated network, which runs programs."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from kuijia_app.tables.families import Address
from kuijia_base.commands import COMMAND_TIMEOUT, located, run_batch, run_bounded
from kuijia_base.errors import TestbedError
from testbed.machine.network_namespace import network_of
from testbed.machine.programs import OUR_CLOCK, ClockOffset, LocalProgram

_END_TIMEOUT = 2.0


class Host:
    """The host of one site.

    Attributes:
        name: the site's name in the topology.
        address: its address, one of them if it has several.
        interface: its only network device, known by this name inside the host.
        namespace_pid: a process that stays in the host's network namespace as long as the network exists.
    """

    def __init__(self, name: str, address: Address, interface: str, namespace_pid: int) -> None:
        self.name = name
        self.address = address
        self.interface = interface
        self.namespace_pid = namespace_pid
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, argv: Sequence[str], **popen_arguments: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
        """Start a program in the host and return at once; it ends with the network if it still runs then."""
        process: subprocess.Popen[bytes] = subprocess.Popen(self._in_namespace(argv), **popen_arguments)
        self._started.append(process)
        return process

    def launch(self, argv: Sequence[str]) -> LocalProgram:
        """Start a program and keep its output; it ends with the network if it still runs then."""
        return LocalProgram(argv, self.start)

    def launch_python(self, file: Path, arguments: Sequence[str]) -> LocalProgram:
        """Launch one of our programs that needs nothing but Python."""
        # Isolated mode: the modules beside the program must not be taken for the standard library's.
        return self.launch([sys.executable, "-I", str(file), *arguments])

    def batch(self, program: Literal["ip", "tc"], commands: Sequence[list[str]]) -> None:
        """Run `run_batch` in the host; raises TestbedError with the host's name."""
        try:
            with network_of(self.namespace_pid):
                run_batch(program, commands)
        except TestbedError as error:
            raise TestbedError(f"{self.name}: {error}") from error

    def clock(self) -> ClockOffset:
        return OUR_CLOCK

    def run(self, argv: Sequence[str], timeout: float = COMMAND_TIMEOUT) -> subprocess.CompletedProcess[str]:
        """Run a program in the host to its end, whatever its exit status.

        Raises:
            TestbedError: it has not ended after `timeout` seconds.
        """
        try:
            return run_bounded(self._in_namespace(argv), "", timeout)
        except subprocess.TimeoutExpired as error:
            raise TestbedError(f"`{shlex.join(argv)}` on {self.name} did not end within {timeout:g} s") from error

    def end_programs(self) -> None:
        """End the programs started by `start` that still run."""
        live = [process for process in self._started if process.poll() is None]
        for process in live:
            process.terminate()
        for process in live:
            try:
                process.wait(_END_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._started.clear()

    def _in_namespace(self, argv: Sequence[str]) -> list[str]:
        return located(["mnexec", "-a", str(self.namespace_pid), *located(argv)])
