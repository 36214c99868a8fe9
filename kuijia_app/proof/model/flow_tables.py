"""Looks packets up in a switch's flow tables by hashing, without going through all entries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from kuijia_app.proof.model.packet import Packet
from kuijia_app.tables.rules import ANY_VLAN, ETH_TYPE_MPLS, NO_VLAN, FlowEntry, Match

Key = tuple[Hashable, ...]


class _Shape(NamedTuple):
    """Fields of entries and the masks of their prefixes: entries of equal shape can share one dictionary."""

    priority: int
    fields: tuple[str, ...]
    destination_mask: int
    source_mask: int


_OUTERMOST = frozenset({"in_port", "vlan_vid", "vlan_pcp"})
_MPLS_FIELDS = ("mpls_label", "mpls_tc", "mpls_bos")
_DESTINATIONS = ("ipv4_dst", "ipv6_dst")
_SOURCES = ("ipv4_src", "ipv6_src")


@dataclass(frozen=True)
class Lookup:
    """The entry for a packet in a table, None for a table miss; `rivals` match at the same priority."""

    entry: FlowEntry | None
    rivals: tuple[FlowEntry, ...] = ()


_MISS = Lookup(None)


class FlowTables:
    """The entries of one switch. An entry replaces an earlier one with the same match and priority (6.4)."""

    def __init__(self, entries: Iterable[FlowEntry]) -> None:
        by_shape: dict[int, dict[_Shape, dict[Key, FlowEntry]]] = {}
        for entry in entries:
            shape = _shape(entry)
            by_key = by_shape.setdefault(entry.table_id, {}).setdefault(shape, {})
            by_key[_key_of_match(entry.match, shape)] = entry
        self._tables = {
            table_id: sorted(shapes.items(), key=lambda item: -item[0].priority)
            for table_id, shapes in by_shape.items()
        }

    def lookup(self, table_id: int, packet: Packet, *, is_hidden: bool) -> Lookup:
        """Return the matching entry of greatest priority (5.3).

        If the packet is hidden behind tags, all that the switch knows of it are its port and the outermost tag.
        """
        found: list[FlowEntry] = []
        for shape, by_key in self._tables.get(table_id, ()):
            if found and shape.priority < found[0].priority:
                break
            key = None if is_hidden and not _OUTERMOST.issuperset(shape.fields) else _key_of_packet(packet, shape)
            entry = None if key is None else by_key.get(key)
            if entry is not None:
                found.append(entry)
        return Lookup(found[0], tuple(found[1:])) if found else _MISS


def _shape(entry: FlowEntry) -> _Shape:
    match = entry.match
    wanted = replace(match, vlan_vid=None) if match.vlan_vid == ANY_VLAN else match
    fields = tuple(name for name in _READERS if getattr(wanted, name) is not None)
    mask = 0 if match.destination is None else int(match.destination.netmask)
    source_mask = 0 if match.source is None else int(match.source.netmask)
    return _Shape(entry.priority, fields, mask, source_mask)


def _key_of_match(match: Match, shape: _Shape) -> Key:
    destination = 0 if match.destination is None else int(match.destination.network_address)
    source = 0 if match.source is None else int(match.source.network_address)
    starts = {**dict.fromkeys(_SOURCES, source), **dict.fromkeys(_DESTINATIONS, destination)}
    return tuple(starts[name] if name in starts else getattr(match, name) for name in shape.fields)


def _key_of_packet(packet: Packet, shape: _Shape) -> Key | None:
    """Return the values that an entry of this shape must have to match; None if the packet lacks a field.

    Matches on fields of IP include the EtherType, and those on ports the protocol (7.2.3.8): these decide whether a
    packet has them.
    """
    values: list[Hashable] = []
    for name in shape.fields:
        if (name in _MPLS_FIELDS and not packet.labels) or (name == "vlan_pcp" and not packet.vlans):
            return None
        values.append(_READERS[name](packet, shape))
    return tuple(values)


_READERS: dict[str, Callable[[Packet, _Shape], Hashable]] = {
    "in_port": lambda packet, _: packet.in_port,
    "eth_type": lambda packet, _: ETH_TYPE_MPLS if packet.labels else packet.eth_type,
    "ipv4_dst": lambda packet, shape: int(packet.destination) & shape.destination_mask,
    "ipv6_dst": lambda packet, shape: int(packet.destination) & shape.destination_mask,
    "ip_dscp": lambda packet, _: packet.dscp,
    "ip_ecn": lambda packet, _: packet.ecn,
    "mpls_label": lambda packet, _: packet.labels[0].label,
    "mpls_tc": lambda packet, _: packet.labels[0].traffic_class,
    "mpls_bos": lambda packet, _: int(len(packet.labels) == 1),
    "vlan_vid": lambda packet, _: packet.vlans[0].vid if packet.vlans else NO_VLAN,
    "vlan_pcp": lambda packet, _: packet.vlans[0].pcp,
    "ipv4_src": lambda packet, shape: int(packet.source) & shape.source_mask,
    "ipv6_src": lambda packet, shape: int(packet.source) & shape.source_mask,
    "ip_proto": lambda packet, _: packet.transport.protocol,
    "tcp_src": lambda packet, _: packet.transport.source_port,
    "tcp_dst": lambda packet, _: packet.transport.destination_port,
    "udp_src": lambda packet, _: packet.transport.source_port,
    "udp_dst": lambda packet, _: packet.transport.destination_port,
}
"""Fields of `Match`, and functions that read those of a packet."""
