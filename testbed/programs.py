"""A running program of a host, as those see it who started it: on this machine, and what any other must offer."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from te_solver.errors import quoted
from testbed.bounded_output import require_short
from testbed.errors import TestbedError
from testbed.processes import SocketKind, owns_socket

_STOP_GRACE = 2.0

Start = Callable[..., "subprocess.Popen[bytes]"]


class Program(Protocol):
    """A program that was started without input; its output, errors among it, is kept."""

    def status(self) -> int | None:
        """Exit status, None while it runs."""

    def wait(self, seconds: float) -> int:
        """Its exit status; raises TestbedError when it has not ended after so many seconds."""

    def output(self) -> str:
        """What it has written so far; raises TestbedError when that is more than `LONGEST_OUTPUT`."""

    def owns_socket(self, kind: SocketKind, local_port: int, remote_port: int = 0) -> bool:
        """Whether this very process has such a socket."""

    def bytes_read(self) -> int:
        """Bytes it has read so far, from anywhere; raises TestbedError when it has ended."""

    def terminate(self) -> None:
        """Ask it to end, its last words being kept; harmless when it has ended."""

    def stop(self) -> None:
        """End it if it still runs, and forget its output."""


class LocalProgram:
    """A program on this machine; the output goes to a nameless file, as it may be longer than a pipe holds."""

    def __init__(self, argv: Sequence[str], start: Start = subprocess.Popen, **popen_arguments: Any) -> None:  # noqa: ANN401
        """`start` is called like subprocess.Popen."""
        self._name = argv[0]
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        try:
            self._popen = start(
                argv, stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT, **popen_arguments
            )
        except BaseException:
            self._output.close()
            raise

    def status(self) -> int | None:
        return self._popen.poll()

    def wait(self, seconds: float) -> int:
        try:
            return self._popen.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired as error:
            raise TestbedError(f"{self._name} does not end") from error

    def output(self) -> str:
        # Read at a place of its own: where the program writes is where the file's own place is.
        file = self._output.fileno()
        size = os.fstat(file).st_size
        require_short(size, quoted(self._name))
        return os.pread(file, size, 0).decode(errors="replace")

    def owns_socket(self, kind: SocketKind, local_port: int, remote_port: int = 0) -> bool:
        return owns_socket(self._popen.pid, kind, local_port, remote_port)

    def bytes_read(self) -> int:
        try:
            counters = Path(f"/proc/{self._popen.pid}/io").read_text()
        except (FileNotFoundError, ProcessLookupError) as error:
            raise TestbedError(f"{self._name} is gone") from error
        return int(counters.split("rchar:", 1)[1].split(maxsplit=1)[0])

    def terminate(self) -> None:
        self._popen.terminate()

    def stop(self) -> None:
        if self._popen.poll() is None:
            self._popen.terminate()
            try:
                self._popen.wait(_STOP_GRACE)
            except subprocess.TimeoutExpired:
                self._popen.kill()
                self._popen.wait()
        self._output.close()
