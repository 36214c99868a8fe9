"""Decides whether two pipelines of flow entries treat every packet alike, by trying one packet of every kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from kuijia_app.proof.header_values import prefix_bounds, with_another
from kuijia_app.proof.model.packet import Label, Packet, Transport, VlanTag
from kuijia_app.proof.model.switch import ModelSwitch
from kuijia_app.tables.families import Address, Family, family_of
from kuijia_app.tables.rules import (
    ANY_VLAN,
    ETH_TYPE_IPV4,
    ETH_TYPE_IPV6,
    ETH_TYPE_MPLS,
    IPV6_EXPLICIT_NULL,
    NO_VLAN,
    TCP,
    UDP,
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    Match,
    Output,
    PopLabel,
    PushLabel,
    SwitchTables,
    ToGroup,
)

_BITS = {
    "in_port": 16,
    "eth_type": 16,
    "mpls_label": 20,
    "mpls_tc": 3,
    "ip_dscp": 6,
    "ip_ecn": 2,
    "vlan_vid": 12,
    "vlan_pcp": 3,
    "ip_proto": 8,
    "tcp_src": 16,
    "tcp_dst": 16,
    "udp_src": 16,
    "udp_dst": 16,
}
_PORT_FIELDS = {TCP: ("tcp_src", "tcp_dst"), UDP: ("udp_src", "udp_dst")}
FIRST_TABLE_PORT = -(1 << 32)
"""Stands for table 0; all groups have greater numbers."""

Sent = tuple[tuple[int, Packet], ...]
"""Output ports, each with the packet as it left; a negative number stands for a group or a table instead."""


@dataclass(frozen=True)
class PipelineDifference:
    """A packet that two pipelines treat differently, with the output of each, empty if it drops the packet."""

    packet: Packet
    one: Sent
    other: Sent


def first_difference(
    one: Iterable[FlowEntry],
    other: Iterable[FlowEntry],
    *,
    empty_groups: Collection[int] = (),
    misses_execute: bool = False,
) -> PipelineDifference | None:
    """Return a packet that two pipelines treat differently, None if there is none of any kind.

    Groups are not examined, nor are later tables that both pipelines have: both must give them the same packet.

    Args:
        one: entries of one pipeline, in any number of tables.
        other: entries of the other.
        empty_groups: groups that drop their packets.
        misses_execute: True if a packet that misses in a later table executes its action set so far, as in Open
            vSwitch; False if it is dropped, as in OpenFlow (1.3.5, 5.4).
    """
    entries = _without_common_tables(tuple(one), tuple(other))
    switches = [_switch(each, empty_groups, misses_execute=misses_execute) for each in entries]
    for packet in packet_kinds([*entries[0], *entries[1]]):
        sent = [tuple(switch.process(packet).sent) for switch in switches]
        if sent[0] != sent[1]:
            return PipelineDifference(packet, *sent)
    return None


def _without_common_tables(one: tuple[FlowEntry, ...], other: tuple[FlowEntry, ...]) -> list[tuple[FlowEntry, ...]]:
    """Return both pipelines with one entry for each later table that both have and that leads to such tables only.

    It sends all packets out of a port of the table's own.
    """
    tables = [_by_table(one), _by_table(other)]
    common: set[int] = set()
    for table_id in sorted(tables[0].keys() & tables[1].keys() - {0}, reverse=True):
        its = tables[0][table_id]
        if its == tables[1][table_id] and {entry.goto_table for entry in its} <= {None, *common}:
            common.add(table_id)
    stubs = tuple(FlowEntry(0, Match(), (Output(FIRST_TABLE_PORT - each),), each) for each in sorted(common))
    return [(*(entry for entry in each if entry.table_id not in common), *stubs) for each in (one, other)]


def _by_table(entries: tuple[FlowEntry, ...]) -> dict[int, set[FlowEntry]]:
    found: dict[int, set[FlowEntry]] = {}
    for entry in entries:
        found.setdefault(entry.table_id, set()).add(entry)
    return found


def packet_kinds(entries: Sequence[FlowEntry]) -> Iterator[Packet]:
    """Yield at least one packet of every kind that these entries distinguish.

    For every port, these are all combinations of the values that entries match in packets of that port and, per field,
    one value that none matches; for addresses, one of each range between the ends of the prefixes. EtherTypes are IPv4,
    with and without a label, those that entries match and one more; with and without a VLAN tag, if entries match it.
    If entries look at the bottom of the stack, IPv6 under two labels comes on top. Under a label only those fields
    count that entries for labelled packets match, unless labels are pushed or popped between tables: then all do.
    """
    everything = [entry.match for entry in entries]
    relabelled = any(
        entry.goto_table is not None and isinstance(action, PushLabel | PopLabel)
        for entry in entries
        for action in entry.actions
    )
    asked_types = {match.eth_type for match in everything if match.eth_type is not None}
    eth_types = with_another(asked_types | {ETH_TYPE_IPV4, ETH_TYPE_MPLS}, _BITS["eth_type"])
    for in_port, eth_type in product(_values(everything, "in_port"), eth_types):
        of_port = [match for match in everything if match.in_port in {None, in_port}]
        met = [match for match in of_port if relabelled or match.eth_type in {None, eth_type}]
        code_points, ecn = _values(met, "ip_dscp"), _values(met, "ip_ecn")
        payloads: list[tuple[tuple[Label, ...], int]] = [((), eth_type)]
        if eth_type == ETH_TYPE_MPLS:
            tags = [Label(*tag) for tag in product(_values(met, "mpls_label"), _values(met, "mpls_tc"))]
            payloads = [((tag,), ETH_TYPE_IPV4) for tag in tags]
            if any(match.mpls_bos is not None for match in met):
                payloads += [((tag, Label(IPV6_EXPLICIT_NULL, 0)), ETH_TYPE_IPV6) for tag in tags]
        bounds = prefix_bounds(match.destination for match in met if match.destination is not None)
        transports = list(_transports(met))
        for (stack, payload), code_point, bits, vlans in product(payloads, code_points, ecn, _vlans(met)):
            family = Family.IPV6 if payload == ETH_TYPE_IPV6 else Family.IPV4
            own = {int(bound) for bound in bounds if family_of(bound) is family}
            addresses = map(family.address, sorted({0} | own))
            for address, source, transport in product(addresses, _sources(met, family), transports):
                yield Packet(
                    *(in_port, source, address, code_point, bits, stack),
                    eth_type=payload,
                    vlans=vlans,
                    transport=transport,
                )


def _sources(matches: Sequence[Match], family: Family) -> list[Address]:
    bounds = prefix_bounds(match.source for match in matches if match.source is not None)
    own = {int(bound) for bound in bounds if family_of(bound) is family}
    return [family.address(start) for start in sorted({0} | own)]


def _transports(matches: Sequence[Match]) -> Iterator[Transport]:
    for protocol in _values(matches, "ip_proto"):
        names = _PORT_FIELDS.get(protocol)
        if names is None:
            yield Transport(protocol, 0, 0)
            continue
        yield from (Transport(protocol, *ports) for ports in product(*(_values(matches, name) for name in names)))


def _vlans(matches: Sequence[Match]) -> list[tuple[VlanTag, ...]]:
    """Return the tags that entries distinguish; none at all if no entry looks at them."""
    asked = {match.vlan_vid for match in matches if match.vlan_vid is not None}
    if not asked:
        return [()]
    vlan_ids = {*with_another(asked | {NO_VLAN}, _BITS["vlan_vid"])} - {NO_VLAN, ANY_VLAN}
    tags = product(sorted(vlan_ids), _values(matches, "vlan_pcp"))
    return [(), *((VlanTag(*tag),) for tag in tags)]


def _values(matches: Sequence[Match], name: str) -> list[int]:
    asked = {getattr(match, name) for match in matches} - {None}
    return with_another(asked, _BITS[name])


def _switch(entries: tuple[FlowEntry, ...], empty_groups: Collection[int], *, misses_execute: bool) -> ModelSwitch:
    """Return a switch with these entries, whose groups send their packets out of a port of their own."""
    used = {
        action.group_id
        for entry in entries
        for action in (*entry.actions, *entry.written)
        if isinstance(action, ToGroup)
    }
    groups = tuple(
        Group(number, GroupType.SELECT, () if number in empty_groups else (Bucket((Output(-1 - number),)),))
        for number in used
    )
    return ModelSwitch("any", SwitchTables(groups, entries), lambda _: True, misses_execute=misses_execute)
