"""Programs in hosts that record packets, such as a steady flow of small UDP packets between two of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
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
    """

    def __init__(self, what: str) -> None:
        self._what = what
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
        program = host.launch_python(Path(recorder_program.__file__), [role, *arguments])
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


@dataclass(frozen=True)
class TickRecord:
    """All packets of a flow; times in order, in seconds of time.monotonic where they were recorded.

    Attributes:
        sent_at: sending time of packet k, on the sender's clock.
        arrivals: number and time of the packets that arrived, on the receiver's clock.
    """

    sent_at: tuple[float, ...]
    arrivals: tuple[tuple[int, float], ...]

    @property
    def lost(self) -> int:
        """Number of packets sent that have not arrived, without those that may have been in flight at the end."""
        if not self.arrivals:
            return len(self.sent_at)
        first, last = self.arrivals[0][0], max(number for number, _ in self.arrivals)
        return last - first + 1 - len({number for number, _ in self.arrivals})

    @property
    def reordered(self) -> int:
        """Number of packets that arrived after one that was sent later."""
        latest, late = -1, 0
        for number, _ in self.arrivals:
            late += number < latest
            latest = max(latest, number)
        return late


class TickFlow(Recorders):
    """A flow from `start` to `stop`; used as a context manager, which ends its programs in any case.

    Args:
        sender: the host that sends.
        receiver: the host that records arrivals.
        source_address: one of the sender's addresses; with `source_port` it identifies the flow to switches.
        interval: seconds between two packets.
        size: payload of each packet in bytes, at least 8.
    """

    def __init__(
        self,
        sender: SiteHost,
        receiver: SiteHost,
        source_address: str,
        source_port: int,
        target_port: int,
        interval: float,
        size: int = 8,
    ) -> None:
        super().__init__("the steady flow's program")
        self._sender, self._receiver = sender, receiver
        self._to = str(receiver.address), str(target_port)
        self._send = source_address, str(source_port), *self._to, f"{interval}", str(size)

    def start(self) -> None:
        """Start listening, then sending; raises TestbedError if a program failed."""
        self._launch(self._receiver, "receive-ticks", *self._to)
        self._launch(self._sender, "send-ticks", *self._send)

    def stop(self) -> TickRecord:
        """Stop sending and return the record.

        Raises:
            TestbedError: a program failed.
        """
        (sent,), (received,) = self._records("send-ticks"), self._records("receive-ticks")
        return TickRecord(
            tuple(at / 1e9 for at in sent["at"]),
            tuple((number, at / 1e9) for number, at in zip(received["numbers"], received["at"], strict=True)),
        )
