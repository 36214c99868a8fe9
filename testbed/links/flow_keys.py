"""Identity of a flow, and the ingress's marks on its packets, as read from a frame."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

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
