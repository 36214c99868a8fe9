"""Frames that a gateway reads and writes: ARP, IPv4 and ICMP; pure.

Whatever bytes arrive, reading returns a frame in which all lengths fit, or None. Nothing is written that a host could
not have been sent by a router (RFC 1812).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address
from typing import Final

from kuijia_app.control.probe_frames import internet_checksum
from kuijia_app.tables.families import Family
from kuijia_app.tables.rules import ETH_TYPE_ARP, ETH_TYPE_IPV4, ETH_TYPE_OF, ETH_TYPE_VLAN

BROADCAST: Final = b"\xff" * 6
_UNKNOWN_MAC: Final = bytes(6)

ICMP: Final = 1
"""Protocol number (RFC 792)."""

_ETHERNET: Final = struct.Struct("!6s6sH")
_VLAN_TAG: Final = struct.Struct("!HH")
_ARP: Final = struct.Struct("!HHBBH6s4s6s4s")
_ARP_OF_IPV4: Final = (1, ETH_TYPE_IPV4, 6, 4)
"""Hardware and protocol types, and the lengths of their addresses (RFC 826)."""

_IPV4: Final = struct.Struct("!BBHHHBBH4s4s")
_ICMP: Final = struct.Struct("!BBHHH")
_OFFSET: Final = 0x1FFF
_MORE: Final = 0x2000
_WHOLE: Final = 0x4000
_FIRST_TTL: Final = 64
_TOS_OF_ERRORS: Final = 0xC0
"""Internetwork control (RFC 1812, section 4.3.2.5)."""

_LONGEST_ERROR: Final = 576
"""Bytes of the longest ICMP error, with its IP header (RFC 1812, section 4.3.2.3)."""

_SHORTEST_FRAME: Final = 60
"""Bytes of the shortest Ethernet frame, without its checksum (IEEE 802.3, clause 3)."""


class ArpOperation(IntEnum):
    """Operation of ARP (RFC 826)."""

    REQUEST = 1
    REPLY = 2


class IcmpError(IntEnum):
    """Errors that a router reports, as type and code in one number, those of IPv4 (RFC 792, RFC 1812)."""

    NET_UNREACHABLE = 0x0300
    HOST_UNREACHABLE = 0x0301
    PORT_UNREACHABLE = 0x0303
    TOO_LONG = 0x0304
    PROHIBITED = 0x030D
    TIME_EXCEEDED = 0x0B00


_ECHO_REQUEST: Final = (8, 0)
_ECHO_REPLY: Final = (0, 0)
_ASKING: Final = frozenset({8, 10, 13, 15, 17})
"""Types of ICMP that are no errors, and no answers (RFC 792, RFC 950, RFC 1256)."""


@dataclass(frozen=True, slots=True)
class ArpFrame:
    """A message of ARP about IPv4 over Ethernet.

    `sender` is at `sender_mac` and asks or answers `target`, at `target_mac` if it is known.
    """

    operation: ArpOperation
    sender_mac: bytes
    sender: IPv4Address
    target_mac: bytes
    target: IPv4Address

    @property
    def is_question(self) -> bool:
        return self.operation is ArpOperation.REQUEST

    def answer(self, mac: bytes) -> bytes:
        """Return the frame that answers a request: its target is at this Ethernet address."""
        reply = ArpFrame(ArpOperation.REPLY, mac, self.target, self.sender_mac, self.sender)
        return reply.frame(self.sender_mac)

    def frame(self, destination: bytes) -> bytes:
        """Return the frame to an Ethernet address, from the sender's."""
        ethernet = _ETHERNET.pack(destination, self.sender_mac, ETH_TYPE_ARP)
        ends = self.sender_mac, self.sender.packed, self.target_mac, self.target.packed
        return (ethernet + _ARP.pack(*_ARP_OF_IPV4, self.operation, *ends)).ljust(_SHORTEST_FRAME, b"\0")


@dataclass(frozen=True, slots=True)
class Ipv4Frame:
    """A frame with an IPv4 packet, whose header and length are right.

    Attributes:
        destination_mac, source_mac: Ethernet addresses.
        source, destination: addresses.
        ttl, protocol: of the header.
        header_length: bytes.
        packet: the packet, without padding.
    """

    destination_mac: bytes
    source_mac: bytes
    source: IPv4Address
    destination: IPv4Address
    ttl: int
    protocol: int
    header_length: int
    packet: bytes

    @property
    def payload(self) -> bytes:
        return self.packet[self.header_length :]

    @property
    def is_whole(self) -> bool:
        """True unless it is a fragment."""
        return not self._fragment & (_OFFSET | _MORE)

    @property
    def may_be_answered(self) -> bool:
        """True if an error about it may be sent (RFC 1812, section 4.3.2.7)."""
        is_first = not self._fragment & _OFFSET
        is_group = bool(self.destination_mac[0] & 1) or self.destination.is_multicast or self.destination.is_reserved
        is_error = self.protocol == ICMP and not (self.payload and self.payload[0] in _ASKING | {_ECHO_REPLY[0]})
        return is_first and not is_group and not is_error and is_unicast(self.source)

    @property
    def may_be_fragmented(self) -> bool:
        """True unless the sender forbids it (RFC 791, section 3.1)."""
        return not self._fragment & _WHOLE

    @property
    def _fragment(self) -> int:
        return int.from_bytes(self.packet[6:8], "big")

    def forwarded(self, source_mac: bytes, destination_mac: bytes) -> bytes:
        """Return the frame as a router sends it on: with a TTL that is one less."""
        header = bytearray(self.packet[: self.header_length])
        header[8] -= 1
        header[10:12] = b"\0\0"
        header[10:12] = internet_checksum(bytes(header)).to_bytes(2, "big")
        return framed(destination_mac, source_mac, bytes(header) + self.payload)


def framed(destination_mac: bytes, source_mac: bytes, packet: bytes) -> bytes:
    """Return the frame with a packet of IP."""
    eth_type = ETH_TYPE_OF[Family(packet[0] >> 4)]
    return (_ETHERNET.pack(destination_mac, source_mac, eth_type) + packet).ljust(_SHORTEST_FRAME, b"\0")


def tagged(frame: bytes, vlan: int) -> bytes:
    """Return a frame in a VLAN, with priority 0 (IEEE 802.1Q)."""
    return frame[:12] + _VLAN_TAG.pack(ETH_TYPE_VLAN, vlan) + frame[12:]


def untagged(frame: bytes) -> tuple[int | None, bytes]:
    """Return the VLAN of a frame, and the frame without that tag; None, and the frame as it is, if it has no tag."""
    if len(frame) < 12 + _VLAN_TAG.size:
        return None, frame
    eth_type, control = _VLAN_TAG.unpack_from(frame, 12)
    if eth_type != ETH_TYPE_VLAN:
        return None, frame
    return control & 0xFFF, frame[:12] + frame[12 + _VLAN_TAG.size :]


def is_unicast(address: IPv4Address) -> bool:
    """Return True for an address that one host can have (RFC 1122, section 3.2.1.3)."""
    return not (address.is_multicast or address.is_loopback or address.is_reserved or int(address) >> 24 == 0)


def is_unicast_mac(address: bytes) -> bool:
    """Return True for an Ethernet address that one card can have."""
    return not address[0] & 1 and address != _UNKNOWN_MAC


def read_frame(frame: bytes) -> ArpFrame | Ipv4Frame | None:
    """Return a frame of ARP or IPv4, None for any other and for one whose lengths or checksum are wrong."""
    if len(frame) < _ETHERNET.size:
        return None
    destination, source, kind = _ETHERNET.unpack_from(frame)
    if kind == ETH_TYPE_ARP:
        return _arp(frame)
    return _ipv4(frame, destination, source) if kind == ETH_TYPE_IPV4 else None


def _arp(frame: bytes) -> ArpFrame | None:
    if len(frame) < _ETHERNET.size + _ARP.size:
        return None
    *kind, operation, sender_mac, sender, target_mac, target = _ARP.unpack_from(frame, _ETHERNET.size)
    if tuple(kind) != _ARP_OF_IPV4 or operation not in set(ArpOperation):
        return None
    return ArpFrame(ArpOperation(operation), sender_mac, IPv4Address(sender), target_mac, IPv4Address(target))


def _ipv4(frame: bytes, destination_mac: bytes, source_mac: bytes) -> Ipv4Frame | None:
    if len(frame) < _ETHERNET.size + _IPV4.size:
        return None
    first, _, length, _, _, ttl, protocol, _, source, destination = _IPV4.unpack_from(frame, _ETHERNET.size)
    header_length = (first & 15) * 4
    packet = frame[_ETHERNET.size : _ETHERNET.size + length]
    if first >> 4 != 4 or not _IPV4.size <= header_length <= length or len(packet) < length:  # version 4
        return None
    if internet_checksum(packet[:header_length]):
        return None
    ends = IPv4Address(source), IPv4Address(destination)
    return Ipv4Frame(destination_mac, source_mac, *ends, ttl, protocol, header_length, packet)


def arp_request(sender_mac: bytes, sender: IPv4Address, target: IPv4Address) -> ArpFrame:
    """Return the question for the Ethernet address of a host."""
    return ArpFrame(ArpOperation.REQUEST, sender_mac, sender, _UNKNOWN_MAC, target)


def echo_reply(request: Ipv4Frame) -> bytes | None:
    """Return the packet that answers an echo request, None for any other packet and for fragments."""
    payload = request.payload
    is_request = request.protocol == ICMP and request.is_whole and len(payload) >= _ICMP.size
    if not is_request or tuple(payload[:2]) != _ECHO_REQUEST or internet_checksum(payload):
        return None
    answer = bytes((*_ECHO_REPLY, 0, 0)) + payload[4:]
    answer = answer[:2] + internet_checksum(answer).to_bytes(2, "big") + answer[4:]
    return _packet(request.destination, request.source, request.packet[1], answer)


def icmp_error(about: Ipv4Frame, kind: IcmpError, sender: IPv4Address, mtu: int = 0) -> bytes:
    """Return the packet that reports an error to the source of a packet, with the MTU if that was too long."""
    quoted = about.packet[: _LONGEST_ERROR - _IPV4.size - _ICMP.size]
    unsigned = _ICMP.pack(kind >> 8, kind & 0xFF, 0, 0, mtu) + quoted
    checksum = internet_checksum(unsigned)
    payload = _ICMP.pack(kind >> 8, kind & 0xFF, checksum, 0, mtu) + quoted
    return _packet(sender, about.source, _TOS_OF_ERRORS, payload)


def _packet(source: IPv4Address, destination: IPv4Address, tos: int, icmp: bytes) -> bytes:
    fields = (0x45, tos, _IPV4.size + len(icmp), 0, 0, _FIRST_TTL, ICMP)
    ends = source.packed, destination.packed
    checksum = internet_checksum(_IPV4.pack(*fields, 0, *ends))
    return _IPV4.pack(*fields, checksum, *ends) + icmp
