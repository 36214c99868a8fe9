"""Captures the packets with a label or VLAN tag that leave a switch, and returns the marks of flows."""

from __future__ import annotations

import errno
import select
import socket
import time
from collections.abc import Collection, Iterable

from kuijia_base.errors import TestbedError
from testbed.links.flow_keys import EgressFlowKey, IngressMark, parse_labelled_frame

_SNAP_LENGTH = 128
_RECEIVE_BUFFER = 1 << 20
_ETH_P_ALL = 0x0003


class ProbeError(TestbedError):
    """Some probes were not seen."""


class LabelObserver:
    """Captures the packets that leave through interfaces of the calling thread's network namespace, from its creation.

    Raises:
        ProbeError: an interface cannot be observed.
    """

    def __init__(self, interfaces: Iterable[str]) -> None:
        self._captures: list[socket.socket] = []
        for interface in interfaces:
            try:
                self._captures.append(_open_capture(interface))
            except OSError as error:
                self.close()
                raise ProbeError(f"interface {interface} cannot be observed: {error.strerror}") from error

    def __enter__(self) -> LabelObserver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for capture in self._captures:
            capture.close()

    def watch(
        self, flows: Iterable[EgressFlowKey], seconds: float, ignored: Collection[int] = frozenset()
    ) -> dict[EgressFlowKey, IngressMark]:
        """Return the mark of the next packet of each flow; ends when all have been seen, at most after `seconds`.

        Packets with an `ignored` label do not count: after a change a switch may use old labels for a while.
        """
        unseen = set(flows)
        seen: dict[EgressFlowKey, IngressMark] = {}
        deadline = time.monotonic() + seconds
        while unseen and (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select(self._captures, [], [], left)
            for capture in ready:
                try:
                    frame, address = capture.recvfrom(_SNAP_LENGTH)
                except OSError as error:
                    # Reported once when the interface goes down, or was down already: packet(7).
                    if error.errno != errno.ENETDOWN:
                        raise
                    continue
                sighting = parse_labelled_frame(frame) if address[2] == socket.PACKET_OUTGOING else None
                if sighting is not None and sighting[0] in unseen and sighting[1].label not in ignored:
                    unseen.remove(sighting[0])
                    seen[sighting[0]] = sighting[1]
        return seen


def _open_capture(interface: str) -> socket.socket:
    # Bound for all protocols: other sockets do not receive outgoing packets (packet(7)).
    capture = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    try:
        capture.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        capture.bind((interface, _ETH_P_ALL))
    except OSError:
        capture.close()
        raise
    return capture
