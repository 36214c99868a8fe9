"""A packet as tables see it: the header fields that they match and change, and the switch's own data about it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from kuijia_app.tables.families import Address
from kuijia_app.tables.rules import ETH_TYPE_IPV4, ETH_TYPE_VLAN, TCP, eth_type_of


@dataclass(frozen=True, slots=True)
class Label:
    """One entry of an MPLS label stack (RFC 3032): label and traffic class."""

    label: int
    traffic_class: int


@dataclass(frozen=True, slots=True)
class VlanTag:
    """A VLAN tag (IEEE 802.1Q): its id, its priority and its own EtherType."""

    vid: int
    pcp: int
    eth_type: int = ETH_TYPE_VLAN


@dataclass(frozen=True, slots=True)
class Transport:
    """The protocol in an IPv4 header, and the ports of TCP or UDP behind it."""

    protocol: int = TCP
    source_port: int = 1000
    destination_port: int = 2000


ORDINARY_TRANSPORT = Transport()
"""Stands for all that no entry tells apart."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet, mostly of IP, under any number of MPLS labels, and VLAN tags around them.

    Attributes:
        in_port: port by which it entered the switch.
        source: address.
        destination: address of the same family.
        dscp: differentiated services code point of the IP header, 0 to 63.
        ecn: the two ECN bits beside it, 0 to 3.
        labels: the label stack, outermost first.
        queue: of the port of its next output; None: the port's default. A switch does not see another's choice.
        eth_type: of the packet under the labels; an unlabelled packet has IP fields only if this is IPv4 or IPv6.
        slot: the hash's choice in a SELECT group: bucket position, modulo the number of buckets.
        vlans: the VLAN tags around all this, outermost first.
        transport: protocol and ports.
    """

    in_port: int
    source: Address
    destination: Address
    dscp: int = 0
    ecn: int = 0
    labels: tuple[Label, ...] = ()
    queue: int | None = None
    slot: int = 0
    eth_type: int = ETH_TYPE_IPV4
    vlans: tuple[VlanTag, ...] = ()
    transport: Transport = ORDINARY_TRANSPORT

    @property
    def header(self) -> tuple[Hashable, ...]:
        """All header values that travel over a link."""
        return self.source, self.destination, self.dscp, self.ecn, self.labels, self.vlans, self.transport

    @staticmethod
    def between(
        in_port: int, source: Address, destination: Address, dscp: int = 0, ecn: int = 0, *, slot: int = 0
    ) -> Packet:
        """Return an unlabelled packet of IP."""
        return Packet(in_port, source, destination, dscp, ecn, slot=slot, eth_type=eth_type_of(destination))


def with_tag(packet: Packet, tag: VlanTag | Label | None) -> Packet:
    """Return the packet with one more tag or label around it."""
    match tag:
        case VlanTag():
            return replace(packet, vlans=(tag, *packet.vlans))
        case Label():
            return replace(packet, labels=(tag, *packet.labels))
        case None:
            return packet
