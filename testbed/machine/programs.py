"""A running program of a host as its starter sees it, on this machine or any other, and the offset of its clock."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from kuijia_base.bounded_output import require_short
from kuijia_base.errors import TestbedError, quoted
from testbed.machine.processes import SocketKind, owns_socket

_STOP_GRACE = 2.0

Start = Callable[..., "subprocess.Popen[bytes]"]


class StartedProgram(Protocol):
    """A program started without input; its output, including errors, is kept."""

    def status(self) -> int | None:
        """Return the exit status, None while it runs."""

    def wait(self, seconds: float) -> int:
        """Return its exit status; raises TestbedError if it has not ended after this many seconds."""

    def output(self) -> str:
        """Return its output so far; raises TestbedError if that is more than `LONGEST_OUTPUT`."""

    def owns_socket(self, kind: SocketKind, local_port: int, remote_port: int = 0) -> bool:
        """Return True if this process itself has such a socket."""

    def bytes_read(self) -> int:
        """Return the bytes it has read so far, from anywhere; raises TestbedError if it has ended."""

    def terminate(self) -> None:
        """Ask the program to end, keeping its last output; has no effect if it has ended."""

    def stop(self) -> None:
        """End it if it still runs, and discard its output."""


class LocalProgram:
    """A program on this machine; its output goes to a nameless file, as it may exceed a pipe's capacity."""

    def __init__(self, argv: Sequence[str], start: Start = subprocess.Popen, **popen_arguments: Any) -> None:  # noqa: ANN401
        """Start the program; `start` is called like subprocess.Popen."""
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
        # Reads at an explicit offset: the file's own position is where the program writes.
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


_EXCHANGES = 8
_MOST_PRECISE_CLOCK = 0.001


@dataclass(frozen=True)
class ClockOffset:
    """Offset of a clock from ours in seconds; `error` is half of the shortest round trip."""

    offset: float
    error: float


OUR_CLOCK = ClockOffset(0.0, 0.0)


def clock_offset(exchanges: Sequence[tuple[float, float, float]]) -> ClockOffset:
    """Return the offset from request times, the answers, and their arrival times (RFC 5905, section 8)."""
    asked, answer, come = min(exchanges, key=lambda exchange: exchange[2] - exchange[0])
    error = max((come - asked) / 2, _MOST_PRECISE_CLOCK / 2)
    return ClockOffset(answer - (asked + come) / 2, error)


def ask_clock(theirs: Callable[[], float], ours: Callable[[], float]) -> ClockOffset:
    """Return the offset of a clock, asked several times; both clocks are in seconds."""
    exchanges = []
    for _ in range(_EXCHANGES):
        asked = ours()
        exchanges.append((asked, theirs(), ours()))
    return clock_offset(exchanges)
