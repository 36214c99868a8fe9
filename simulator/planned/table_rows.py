"""Compiled tables as the rows of numbers that the packet model's switches follow, and one such switch by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from kuijia_app.tables.rules import (
    ACTION_SET_ORDER,
    ANY_VLAN,
    ETH_TYPE_IPV6,
    ETH_TYPE_MPLS,
    Action,
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    Match,
    PopLabel,
    PopVlan,
    PushLabel,
    PushVlan,
    SwitchTables,
)
from simulator.packet import _core

_SAME_KIND: dict[type[Action], type[Action]] = {PopVlan: PopLabel, PushVlan: PushLabel}
"""VLAN tags are labels to the core, for tables that have one kind alone: a tag's id and priority mean the same."""

_CORE_ORDER: list[type[Action]] = [kind for kind in ACTION_SET_ORDER if kind not in _SAME_KIND]
_KINDS: dict[type[Action], int] = {kind: _CORE_ORDER.index(_SAME_KIND.get(kind, kind)) for kind in ACTION_SET_ORDER}
"""The core's number of each kind of action: their order in action sets."""

_UNKNOWN_FIELDS = ("ipv4_src", "ipv6_src", "ip_proto", "tcp_src", "tcp_dst", "udp_src", "udp_dst")
_ENTRY_COLUMNS = (
    *("table", "priority", "matched", "in_port", "eth_type", "destination", "mask"),
    *("dscp", "ecn", "label", "traffic_class", "actions", "written", "next"),
)


def table_rows(tables: SwitchTables) -> _core.TableRows:
    """Return the rows of all entries and groups of a switch; entries for IPv6 are left out, which hosts do not send."""
    return _rows([entry for entry in tables.flows if not _is_of_ipv6(entry.match)], tables.groups)


def _is_of_ipv6(match: Match) -> bool:
    return match.eth_type == ETH_TYPE_IPV6 or match.mpls_bos == 0


def group_rows(groups: Iterable[Group]) -> _core.TableRows:
    """Return the rows of groups that replace those with the same ids."""
    return _rows((), tuple(groups))


def packed_label(label: int, traffic_class: int) -> int:
    """Return a label with its traffic class as one number of the core."""
    return label << 3 | traffic_class


def _rows(entries: Sequence[FlowEntry], groups: Sequence[Group]) -> _core.TableRows:
    buckets = [bucket for group in groups for bucket in group.buckets]
    listed = [(*entry.actions, *entry.written) for entry in entries] + [bucket.actions for bucket in buckets]
    kinds = {type(action) for of_one in listed for action in of_one}
    if not kinds.isdisjoint({PopVlan, PushVlan}) and not kinds.isdisjoint({PopLabel, PushLabel}):
        raise ValueError("the packet model's tables have VLAN tags and labels, expected one kind of tag")
    actions = [_action(action) for of_one in listed for action in of_one]
    rows = _core.TableRows()
    rows.set_entries(**_columns(_ENTRY_COLUMNS, [_entry(entry) for entry in entries]))
    rows.set_groups(**_columns(("id", "selects", "buckets"), [_group(group) for group in groups]))
    rows.set_buckets(**_columns(("watch_port", "watch_group", "actions"), [_bucket(bucket) for bucket in buckets]))
    rows.set_actions(**_columns(("kind", "value"), actions))
    return rows


def _columns(names: Sequence[str], rows: Sequence[tuple[int, ...]]) -> dict[str, NDArray[np.int64]]:
    table = np.array(rows, np.int64).reshape(len(rows), len(names))
    return {name: table[:, place] for place, name in enumerate(names)}


def _entry(entry: FlowEntry) -> tuple[int, ...]:
    goto = _core.NONE if entry.goto_table is None else entry.goto_table
    counts = len(entry.actions), len(entry.written)
    return (entry.table_id, entry.priority, *_match(entry.match), *counts, goto)


def _match(match: Match) -> tuple[int, ...]:
    if any(getattr(match, name) is not None for name in _UNKNOWN_FIELDS):
        raise ValueError(f"the packet model's packets have no fields to match {match} by")
    network = match.ipv4_dst
    destination = (0, 0) if network is None else (int(network.network_address), int(network.netmask))
    label, traffic_class, eth_type = match.mpls_label, match.mpls_tc, match.eth_type
    if match.vlan_vid:
        label = None if match.vlan_vid == ANY_VLAN else match.vlan_vid
        traffic_class, eth_type = match.vlan_pcp, ETH_TYPE_MPLS
    others = (match.ip_dscp, match.ip_ecn, label, traffic_class)
    given = (match.in_port, eth_type, network, *others)
    matched = sum(1 << bit for bit, value in enumerate(given) if value is not None)
    return (matched, match.in_port or 0, eth_type or 0, *destination, *(value or 0 for value in others))


def _group(group: Group) -> tuple[int, ...]:
    return group.group_id, group.group_type is GroupType.SELECT, len(group.buckets)


def _bucket(bucket: Bucket) -> tuple[int, ...]:
    watched = (_core.NONE if number is None else number for number in (bucket.watch_port, bucket.watch_group))
    return (*watched, len(bucket.actions))


def _action(action: Action) -> tuple[int, int]:
    match action:
        case PushLabel(label, traffic_class) | PushVlan(label, traffic_class):
            value = packed_label(label, traffic_class)
        case PopLabel():
            value = 0  # only IPv4 is under a label here
        case _:
            value = sum(getattr(action, each.name) for each in fields(action))
    return _KINDS[type(action)], value


Labels = tuple[tuple[int, int], ...]
"""Labels with their traffic classes, the outermost first."""


@dataclass(frozen=True, slots=True)
class Headers:
    """Header values of an IPv4 packet that tables match or change: destination address, TOS byte, labels."""

    destination: int
    dscp: int
    ecn: int
    labels: Labels = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """A packet as it leaves a switch: out port, queue of that port (None: the default), headers."""

    port: int
    queue: int | None
    headers: Headers


class LoneSwitch:
    """A switch with these tables; all ports are live until `set_port` says otherwise."""

    def __init__(self, tables: SwitchTables) -> None:
        self._pipeline = _core.SwitchPipeline()
        self._pipeline.set_tables(table_rows(tables))

    def replace_groups(self, groups: Iterable[Group]) -> None:
        """Replace the groups with the same ids."""
        self._pipeline.set_groups(group_rows(groups))

    def set_port(self, port: int, *, live: bool) -> None:
        self._pipeline.set_port(port, live)

    def treat(self, in_port: int, headers: Headers, slot: int) -> Sent | None:
        """Return the packet as it leaves, None if the switch does not forward it; `slot` is the choice of the hash."""
        labels = [packed_label(*label) for label in headers.labels]
        left = self._pipeline.process(in_port, headers.destination, headers.dscp << 2 | headers.ecn, labels, slot)
        if left is None:
            return None
        port, queue, tos, labels = left
        stack = tuple((label >> 3, label & 7) for label in labels)
        return Sent(port, queue, Headers(headers.destination, tos >> 2, tos & 3, stack))
