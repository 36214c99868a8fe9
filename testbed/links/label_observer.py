"""Captures the packets with a label or VLAN tag that leave a switch, and reads their flows and marks."""

from __future__ import annotations

import errno
import select
import socket
import struct
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from kuijia_base.errors import TestbedError

Protocol = Literal["tcp", "udp"]

_ETHERNET_HEADER = 14
_ETHERTYPE_IPV4, _ETHERTYPE_MPLS, _ETHERTYPE_VLAN = 0x0800, 0x8847, 0x8100
_PROTOCOLS: Mapping[int, Protocol] = {socket.IPPROTO_TCP: "tcp", socket.IPPROTO_UDP: "udp"}


@dataclass(frozen=True, slots=True)
class EgressFlowKey:
    """Identity of a flow at its egress; `code_point` is the DSCP value set by its host."""

    protocol: Protocol
    source_address: str
    source_port: int
    server_port: int
    code_point: int = 0

    @property
    def source(self) -> tuple[str, int]:
        return self.source_address, self.source_port


@dataclass(frozen=True, slots=True)
class IngressMark:
    """Marks of the ingress on a packet: label or VLAN id, which names the tunnel, and traffic class or priority."""

    label: int
    traffic_class: int


def parse_labelled_frame(frame: bytes) -> tuple[EgressFlowKey, IngressMark] | None:
    """Return the flow and mark of an Ethernet frame of IPv4 TCP or UDP with one MPLS label or VLAN tag.

    None for other frames. Follows RFC 3032 section 2.1 for the label stack entry, IEEE 802.1Q section 9.6 for the tag
    and RFC 791 section 3.1 for the IPv4 header.
    """
    ip = _ETHERNET_HEADER + 4
    mark = _mark(frame) if len(frame) >= ip + 20 else None
    if mark is None:
        return None
    is_first_fragment = struct.unpack_from("!H", frame, ip + 6)[0] & 0x1FFF == 0
    protocol = _PROTOCOLS.get(frame[ip + 9])
    ports = ip + (frame[ip] & 0xF) * 4
    if frame[ip] >> 4 != 4 or protocol is None or not is_first_fragment:
        return None
    if len(frame) < ports + 4:
        return None
    source_port, server_port = struct.unpack_from("!HH", frame, ports)
    source_address = socket.inet_ntoa(frame[ip + 12 : ip + 16])
    key = EgressFlowKey(protocol, source_address, source_port, server_port, code_point=frame[ip + 1] >> 2)
    return key, mark


def _mark(frame: bytes) -> IngressMark | None:
    """Return the mark of a frame with one label or tag, which has at least the bytes of it; None for other frames."""
    (ethertype,) = struct.unpack_from("!H", frame, 12)
    (entry,) = struct.unpack_from("!I", frame, _ETHERNET_HEADER)
    if ethertype == _ETHERTYPE_MPLS and entry >> 8 & 1:  # bottom of the stack
        return IngressMark(label=entry >> 12, traffic_class=entry >> 9 & 7)
    if ethertype == _ETHERTYPE_VLAN and entry & 0xFFFF == _ETHERTYPE_IPV4:
        return IngressMark(label=entry >> 16 & 0xFFF, traffic_class=entry >> 29)
    return None


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
