"""A steady flow of small UDP packets between two hosts, with the sending and arrival time of each."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.network.lab_network import SiteHost
from testbed.traffic.recorders import Recorders


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
