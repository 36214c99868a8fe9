"""A packet as tables see it: the header fields they match and change, and what a switch knows beside the headers."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address

from kuijia_app.rules import ETH_TYPE_IPV4


@dataclass(frozen=True, slots=True)
class Label:
    """One entry of an MPLS label stack (RFC 3032): label and traffic class."""

    label: int
    traffic_class: int


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet, mostly of IPv4, under any number of MPLS labels.

    Attributes:
        in_port: where it came into the switch.
        source: IPv4 address.
        destination: IPv4 address.
        dscp: differentiated services code point of the IPv4 header, 0 to 63.
        ecn: the two bits beside it, 0 to 3.
        labels: the label stack, outermost first.
        queue: of the port it is output to next; None: the port's default. No switch knows another's.
        eth_type: of what is under the labels; without them the fields of IPv4 count only where it is that.
        slot: which bucket of a SELECT group the switch's hash picks: its position, modulo their number.
    """

    in_port: int
    source: IPv4Address
    destination: IPv4Address
    dscp: int = 0
    ecn: int = 0
    labels: tuple[Label, ...] = ()
    queue: int | None = None
    slot: int = 0
    eth_type: int = ETH_TYPE_IPV4

    @property
    def header(self) -> tuple[IPv4Address, IPv4Address, int, int, tuple[Label, ...]]:
        """All that travels over a link."""
        return self.source, self.destination, self.dscp, self.ecn, self.labels
