"""A steady flow of small UDP packets between two hosts, and when each of them was sent and arrived."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

from testbed import tick_program
from testbed.errors import TestbedError
from testbed.hosts import Host

_END_TIMEOUT = 10.0


@dataclass(frozen=True)
class TickRecord:
    """All packets of a flow; times in seconds on the clock of time.monotonic, in order.

    Attributes:
        sent_at: when packet k was sent.
        arrivals: number and time of the packets that arrived.
    """

    sent_at: tuple[float, ...]
    arrivals: tuple[tuple[int, float], ...]

    @property
    def lost(self) -> int:
        """Packets sent that have not arrived, without those that may have been under way at the end."""
        if not self.arrivals:
            return len(self.sent_at)
        first, last = self.arrivals[0][0], max(number for number, _ in self.arrivals)
        return last - first + 1 - len({number for number, _ in self.arrivals})

    @property
    def reordered(self) -> int:
        """Packets that have arrived after one that was sent later."""
        latest, late = -1, 0
        for number, _ in self.arrivals:
            late += number < latest
            latest = max(latest, number)
        return late


class TickFlow:
    """A flow from `start` to `stop`; to be used as a context manager, which ends its programs in any case.

    Args:
        sender: the host that sends.
        receiver: the host that notes arrivals.
        source_address: one of the sender's addresses; with `source_port` it tells the switches the flow.
        interval: seconds between two packets.
        size: bytes that each carries, at least 8.
    """

    def __init__(
        self,
        sender: Host,
        receiver: Host,
        source_address: str,
        source_port: int,
        target_port: int,
        interval: float,
        size: int = 8,
    ) -> None:
        self._sender, self._receiver = sender, receiver
        to = [str(receiver.address), str(target_port)]
        self._send = ["send", source_address, str(source_port), *to, f"{interval}", str(size)]
        self._receive = ["receive", str(receiver.address), str(target_port)]
        self._programs: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> TickFlow:
        return self

    def __exit__(self, *_: object) -> None:
        for program in self._programs:
            if program.poll() is None:
                program.kill()
            program.communicate()

    def start(self) -> None:
        """Start listening, then sending; raises TestbedError when a program failed."""
        self._start(self._receiver, self._receive, "listening")
        self._start(self._sender, self._send, "sending")

    def stop(self) -> TickRecord:
        """Stop sending and return what happened.

        Raises:
            TestbedError: a program failed.
        """
        receiver, sender = self._programs
        sent = self._end(sender, self._sender)
        received = self._end(receiver, self._receiver)
        return TickRecord(
            tuple(at / 1e9 for at in sent["at"]),
            tuple((number, at / 1e9) for number, at in zip(received["numbers"], received["at"], strict=True)),
        )

    def _start(self, host: Host, arguments: list[str], said: str) -> None:
        # Isolated mode: the modules beside the program must not be taken for the standard library's.
        command = [sys.executable, "-I", tick_program.__file__, *arguments]
        program = host.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self._programs.append(program)
        assert program.stdout is not None
        line = program.stdout.readline().decode().strip()
        if line != said:
            raise TestbedError(f"the steady flow's program on {host.name} failed: {line or 'it said nothing'}")

    def _end(self, program: subprocess.Popen[bytes], host: Host) -> dict[str, list[int]]:
        program.terminate()
        try:
            output, _ = program.communicate(timeout=_END_TIMEOUT)
        except subprocess.TimeoutExpired as error:
            raise TestbedError(f"the steady flow's program on {host.name} does not end") from error
        if program.returncode != 0:
            raise TestbedError(f"the steady flow's program on {host.name} exited with status {program.returncode}")
        record: dict[str, list[int]] = json.loads(output)
        return record
