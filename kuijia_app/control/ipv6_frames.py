"""Frames of IPv6 that a gateway reads and writes: neighbour discovery and ICMPv6; pure.

Whatever bytes arrive, reading returns a frame in which all lengths fit, or None. Nothing is written that a host could
not have been sent by a router (RFC 4443, RFC 4861).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Final

from kuijia_app.control.host_frames import IcmpError, framed
from kuijia_app.control.probe_frames import internet_checksum
from kuijia_app.tables.neighbours import ALL_NODES, LINK_LOCAL_GATEWAY, SOLICITED_NODES
from kuijia_app.tables.rules import ETH_TYPE_IPV6

_ETHERNET: Final = struct.Struct("!6s6sH")
_IPV6: Final = struct.Struct("!IHBB16s16s")
_PSEUDO: Final = struct.Struct("!16s16sI3xB")
_ICMP: Final = struct.Struct("!BBHI")
_NEIGHBOUR: Final = struct.Struct("!BBHI16s")
"""Header of a neighbour solicitation or advertisement, with its target (RFC 4861, sections 4.3 and 4.4)."""

ICMPV6: Final = 58
"""Protocol number (RFC 4443)."""

_VERSION: Final = 6 << 28
_FIRST_HOP_LIMIT: Final = 64
_OF_NEIGHBOURS: Final = 255
"""Hop limit of neighbour discovery: no router has forwarded it (RFC 4861, section 7.1)."""

_ECHO_REQUEST, _ECHO_REPLY = 128, 129
_SOLICITATION, _ADVERTISEMENT = 135, 136
_SOURCE_OPTION, _TARGET_OPTION = 1, 2
_ROUTER, _SOLICITED, _OVERRIDE = 1 << 31, 1 << 30, 1 << 29
_FIRST_INFORMATIONAL: Final = 128
"""Least type of ICMPv6 that is no error (RFC 4443, section 2.1)."""

_LONGEST_ERROR: Final = 1280
"""Bytes of the longest error, with its IP header: what every link carries (RFC 4443, section 2.4)."""

_FRAGMENT: Final = 44
_OFFSET: Final = 0xFFF8
_HEADERS: Final = frozenset({0, 43, _FRAGMENT, 60})
_MOST_HEADERS: Final = 8
"""Extension headers that are looked at: hop-by-hop options, routing, destination options, fragment (RFC 8200, 4)."""

_KINDS: Final = {
    IcmpError.NET_UNREACHABLE: (1, 0),
    IcmpError.PROHIBITED: (1, 1),
    IcmpError.HOST_UNREACHABLE: (1, 3),
    IcmpError.PORT_UNREACHABLE: (1, 4),
    IcmpError.TOO_LONG: (2, 0),
    IcmpError.TIME_EXCEEDED: (3, 0),
}
"""Type and code of each error (RFC 4443, section 3)."""


@dataclass(frozen=True, slots=True)
class NeighbourFrame:
    """A neighbour solicitation or advertisement.

    Attributes:
        is_question: True for a solicitation.
        sender: address that is at `sender_mac`; unspecified, if somebody asks whether an address is free.
        sender_mac: its Ethernet address.
        target: the address that is asked for; that of the sender in an advertisement.
    """

    is_question: bool
    sender: IPv6Address
    sender_mac: bytes
    target: IPv6Address

    def answer(self, mac: bytes) -> bytes:
        """Return the frame that answers a question: its target is at this Ethernet address, which is a router's.

        If the sender has no address yet, all nodes are told that the target is taken (RFC 4861, section 7.2.4).
        """
        is_known = not self.sender.is_unspecified
        to, card = (self.sender, self.sender_mac) if is_known else (ALL_NODES, multicast_mac(ALL_NODES))
        flags = _ROUTER | (_SOLICITED if is_known else 0) | (_OVERRIDE if self.target == LINK_LOCAL_GATEWAY else 0)
        return framed(card, mac, _discovery(_ADVERTISEMENT, flags, self.target, to, _TARGET_OPTION, mac))


@dataclass(frozen=True, slots=True)
class Ipv6Frame:
    """A frame with an IPv6 packet, whose header and length are right.

    Attributes:
        destination_mac, source_mac: Ethernet addresses.
        source, destination: addresses.
        ttl: hop limit.
        protocol: of the payload, None in a later fragment, or after too many extension headers.
        payload: after the header and its extensions.
        packet: the packet, without padding.
    """

    destination_mac: bytes
    source_mac: bytes
    source: IPv6Address
    destination: IPv6Address
    ttl: int
    protocol: int | None
    payload: bytes
    packet: bytes

    @property
    def may_be_answered(self) -> bool:
        """True if an error about it may be sent (RFC 4443, section 2.4); of later fragments it is not known."""
        is_group = bool(self.destination_mac[0] & 1) or self.destination.is_multicast
        is_error = self.protocol == ICMPV6 and (not self.payload or self.payload[0] < _FIRST_INFORMATIONAL)
        return self.protocol is not None and not is_group and not is_error and is_unicast_ipv6(self.source)

    def forwarded(self, source_mac: bytes, destination_mac: bytes) -> bytes:
        """Return the frame as a router sends it on: with a hop limit that is one less."""
        header = bytearray(self.packet[: _IPV6.size])
        header[7] -= 1
        return framed(destination_mac, source_mac, bytes(header) + self.packet[_IPV6.size :])


def is_unicast_ipv6(address: IPv6Address) -> bool:
    """Return True for an address that one interface can have (RFC 4291, section 2.4)."""
    return not (address.is_multicast or address.is_unspecified or address.is_loopback)


def multicast_mac(group: IPv6Address) -> bytes:
    """Return the Ethernet address of a group (RFC 2464, section 7)."""
    return b"\x33\x33" + group.packed[12:]


def read_ipv6(frame: bytes) -> NeighbourFrame | Ipv6Frame | None:
    """Return a frame of IPv6, None for any other and for one whose lengths or checksum are wrong."""
    if len(frame) < _ETHERNET.size + _IPV6.size:
        return None
    destination_mac, source_mac, kind = _ETHERNET.unpack_from(frame)
    first, length, protocol, hop_limit, source, destination = _IPV6.unpack_from(frame, _ETHERNET.size)
    packet = frame[_ETHERNET.size : _ETHERNET.size + _IPV6.size + length]
    if kind != ETH_TYPE_IPV6 or first >> 28 != 6 or len(packet) < _IPV6.size + length:
        return None
    upper, start = _upper(packet, protocol)
    ends = IPv6Address(source), IPv6Address(destination)
    read = Ipv6Frame(destination_mac, source_mac, *ends, hop_limit, upper, packet[start:], packet)
    if upper == ICMPV6 and read.payload and read.payload[0] in {_SOLICITATION, _ADVERTISEMENT}:
        return _neighbour(read) if start == _IPV6.size else None
    return read


def _upper(packet: bytes, protocol: int) -> tuple[int | None, int]:
    """Return the protocol after all extension headers, and where it starts; None if it is not known."""
    start = _IPV6.size
    for _ in range(_MOST_HEADERS):
        if protocol not in _HEADERS:
            return protocol, start
        if len(packet) < start + 8:
            break
        is_fragment = protocol == _FRAGMENT
        if is_fragment and int.from_bytes(packet[start + 2 : start + 4], "big") & _OFFSET:
            break
        protocol, length = packet[start], 8 if is_fragment else 8 + 8 * packet[start + 1]
        start += length
    return None, len(packet)


def _neighbour(read: Ipv6Frame) -> NeighbourFrame | None:
    """Return a message of neighbour discovery if it is valid (RFC 4861, sections 7.1.1 and 7.1.2)."""
    if read.ttl != _OF_NEIGHBOURS or len(read.payload) < _NEIGHBOUR.size or _checksum(read):
        return None
    kind, code, _, flags, target = _NEIGHBOUR.unpack_from(read.payload)
    options = _options(read.payload[_NEIGHBOUR.size :])
    asked = IPv6Address(target)
    if code or options is None or not is_unicast_ipv6(asked) or read.source.is_multicast:
        return None
    if kind == _ADVERTISEMENT:
        if read.source.is_unspecified or (read.destination.is_multicast and flags & _SOLICITED):
            return None
        return NeighbourFrame(False, asked, options.get(_TARGET_OPTION, read.source_mac), asked)
    is_free_asked = read.source.is_unspecified
    if is_free_asked and (_SOURCE_OPTION in options or read.destination not in SOLICITED_NODES):
        return None
    return NeighbourFrame(True, read.source, options.get(_SOURCE_OPTION, read.source_mac), asked)


def _options(data: bytes) -> dict[int, bytes] | None:
    """Return the Ethernet addresses in options by their type, None if an option has no length or does not fit."""
    found: dict[int, bytes] = {}
    while data:
        length = 8 * data[1] if len(data) > 1 else 0
        if not 0 < length <= len(data):
            return None
        if length == 8:
            found.setdefault(data[0], data[2:8])
        data = data[length:]
    return found


def _checksum(read: Ipv6Frame) -> int:
    """Return 0 if the checksum of a message of ICMPv6 is right."""
    return internet_checksum(_pseudo(read.source, read.destination, len(read.payload)) + read.payload)


def _pseudo(source: IPv6Address, destination: IPv6Address, length: int) -> bytes:
    return _PSEUDO.pack(source.packed, destination.packed, length, ICMPV6)


def solicitation(mac: bytes, address: IPv6Address, card: bytes | None) -> bytes:
    """Return the frame by which the gateway asks for an address: all who may have it, or the card that had it."""
    group = IPv6Address(int(SOLICITED_NODES.network_address) | int(address) & 0xFF_FFFF)
    to = group if card is None else address
    packet = _discovery(_SOLICITATION, 0, address, to, _SOURCE_OPTION, mac)
    return framed(multicast_mac(group) if card is None else card, mac, packet)


def moved_away(address: IPv6Address, mac: bytes) -> bytes:
    """Return the frame by which a router tells a cable that it is the way to an address (RFC 4861, section 7.2.6)."""
    packet = _discovery(_ADVERTISEMENT, _ROUTER | _OVERRIDE, address, ALL_NODES, _TARGET_OPTION, mac)
    return framed(multicast_mac(ALL_NODES), mac, packet)


def _discovery(kind: int, flags: int, target: IPv6Address, to: IPv6Address, option: int, mac: bytes) -> bytes:
    """Return a packet of neighbour discovery from the gateway, with an option that has its Ethernet address."""
    unsigned = _NEIGHBOUR.pack(kind, 0, 0, flags, target.packed) + bytes((option, 1)) + mac
    return icmpv6_packet(LINK_LOCAL_GATEWAY, to, 0, unsigned, _OF_NEIGHBOURS)


def echo_reply_ipv6(request: Ipv6Frame) -> bytes | None:
    """Return the packet that answers an echo request, None for any other packet and for a part of one."""
    is_request = request.protocol == ICMPV6 and len(request.payload) >= _ICMP.size
    if not is_request or request.payload[0] != _ECHO_REQUEST or request.payload[1] or _checksum(request):
        return None
    traffic_class = int.from_bytes(request.packet[:2], "big") >> 4 & 0xFF
    unsigned = bytes((_ECHO_REPLY, 0, 0, 0)) + request.payload[4:]
    return icmpv6_packet(request.destination, request.source, traffic_class, unsigned)


def icmpv6_error(about: Ipv6Frame, kind: IcmpError, sender: IPv6Address, mtu: int = 0) -> bytes:
    """Return the packet that reports an error to the source of a packet, with the MTU if that was too long."""
    quoted = about.packet[: _LONGEST_ERROR - _IPV6.size - _ICMP.size]
    return icmpv6_packet(sender, about.source, 0, _ICMP.pack(*_KINDS[kind], 0, mtu) + quoted)


def icmpv6_packet(
    source: IPv6Address,
    destination: IPv6Address,
    traffic_class: int,
    unsigned: bytes,
    hop_limit: int = _FIRST_HOP_LIMIT,
) -> bytes:
    """Return a packet with a message of ICMPv6, whose checksum is written."""
    checksum = internet_checksum(_pseudo(source, destination, len(unsigned)) + unsigned)
    message = unsigned[:2] + checksum.to_bytes(2, "big") + unsigned[4:]
    first = _VERSION | traffic_class << 20
    return _IPV6.pack(first, len(message), ICMPV6, hop_limit, source.packed, destination.packed) + message
