"""Frames that probe links: what is in them, and which were ours; pure.

Such a frame says where it was sent and carries a signature by a key that one process has drawn, so that nobody else
can make one, nor change what it says. `kuijia_app.discovery` signs its own frames in the same way.
"""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from kuijia_app.tables.identifiers import LINK_PROBE_LABEL
from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queues import Queue
from kuijia_app.tables.rules import ETH_TYPE_IPV4, ETH_TYPE_MPLS, ETH_TYPE_VLAN, Match
from kuijia_app.tables.vlan_tags import LINK_PROBE_VLAN_ID

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 16

PROBE_ADDRESS: Final = IPv4Address("192.0.0.8")
"""Source and destination of probes in IPv4: the dummy address, which no host has (RFC 7600, section 4.8)."""

_SOURCE: Final = bytes.fromhex("024b554a4941")
_DESTINATION: Final = bytes.fromhex("024b554a4942")
"""Locally administered addresses: the frames come from no device, and switches treat them like any host's frame."""

_ETHERNET: Final = struct.Struct("!6s6sH")
_LABEL: Final = struct.Struct("!I")
_TAG: Final = struct.Struct("!HH")
"""The rest of a VLAN tag, and the EtherType after it."""

_LOCAL_EXPERIMENT: Final = 0x88B5
"""EtherType for local experiments (IEEE 802, 9.2.4)."""

_IPV4: Final = struct.Struct("!BBHHHBBH4s4s")
_EXPERIMENT: Final = 253
"""Protocol for experimentation and testing (RFC 3692, section 2.1)."""

_SAID: Final = struct.Struct("!8sQIIH")
_MAGIC: Final = b"\0KuProbe"
"""Begins with 0, so that nobody takes the payload of the label for IPv4 or IPv6 (RFC 4928)."""

SMALLEST: Final = 96
"""Bytes after the Ethernet header of the smallest probe: a network that carries anything carries these."""


@dataclass(frozen=True, slots=True)
class ProbeForm:
    """The header of probes, such that switches and queues treat them as control traffic, with any tagging."""

    tagging: Tagging
    queue: Queue

    def match(self, in_port: int) -> Match:
        """Return the match for probes that arrive at a port."""
        if self.tagging is Tagging.MPLS:
            return Match(in_port=in_port, eth_type=ETH_TYPE_MPLS, mpls_label=LINK_PROBE_LABEL)
        if self.tagging is Tagging.VLAN:
            return Match(in_port=in_port, vlan_vid=LINK_PROBE_VLAN_ID)
        return Match(in_port=in_port, eth_type=ETH_TYPE_IPV4, ipv4_dst=IPv4Network(PROBE_ADDRESS))

    def header(self, size: int) -> bytes:
        """Return all before the payload of a frame with so many bytes after the Ethernet header."""
        if self.tagging is Tagging.MPLS:
            entry = LINK_PROBE_LABEL << 12 | self.queue.traffic_class << 9 | 1 << 8 | 64
            return _ETHERNET.pack(_DESTINATION, _SOURCE, ETH_TYPE_MPLS) + _LABEL.pack(entry)
        if self.tagging is Tagging.VLAN:
            tag = _TAG.pack(self.queue.traffic_class << 13 | LINK_PROBE_VLAN_ID, _LOCAL_EXPERIMENT)
            return _ETHERNET.pack(_DESTINATION, _SOURCE, ETH_TYPE_VLAN) + tag
        address = PROBE_ADDRESS.packed
        fields = (0x45, self.queue.ecn or 0, size, 0, 0, 64, _EXPERIMENT)
        checksum = internet_checksum(_IPV4.pack(*fields, 0, address, address))
        return _ETHERNET.pack(_DESTINATION, _SOURCE, ETH_TYPE_IPV4) + _IPV4.pack(*fields, checksum, address, address)


@dataclass(frozen=True, slots=True)
class ProbeSaid:
    """What a probe says of itself: the port that sent it, its number, and its bytes after the Ethernet header."""

    datapath_id: int
    port: int
    number: int
    size: int


def probe_frame(form: ProbeForm, key: bytes, said: ProbeSaid) -> bytes:
    """Return the frame of a probe, signed."""
    payload = _SAID.pack(_MAGIC, said.datapath_id, said.port, said.number, said.size)
    frame = form.header(said.size) + payload + signature(key, payload)
    return frame.ljust(_ETHERNET.size + said.size, b"\0")


def probe_read(key: bytes, frame: bytes) -> ProbeSaid | None:
    """Return what a frame says if it is a probe with our signature, else None; any bytes may come."""
    start = _ETHERNET.size
    if len(frame) < start:
        return None
    kind = _ETHERNET.unpack_from(frame)[2]
    start += {ETH_TYPE_MPLS: _LABEL.size, ETH_TYPE_VLAN: _TAG.size, ETH_TYPE_IPV4: _IPV4.size}.get(kind, len(frame))
    payload, signed = frame[start : start + _SAID.size], frame[start + _SAID.size :][:SIGNATURE_BYTES]
    if len(payload) < _SAID.size or not hmac.compare_digest(signed, signature(key, payload)):
        return None
    magic, datapath_id, port, number, size = _SAID.unpack(payload)
    return ProbeSaid(datapath_id, port, number, size) if magic == _MAGIC else None


def signature(key: bytes, said: bytes) -> bytes:
    """Return the signature of what a frame says, by a key that only its sender has."""
    return hmac.digest(key, said, "sha256")[:SIGNATURE_BYTES]


def internet_checksum(header: bytes) -> int:
    """Return the checksum of a header of IPv4, or of a message of ICMP (RFC 1071); 0 for one with a right checksum."""
    even = header if len(header) % 2 == 0 else header + b"\0"
    total: int = sum(word for (word,) in struct.iter_unpack("!H", even))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
