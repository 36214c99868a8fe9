"""Finds rules that a switch would refuse: groups before those they use, buckets that watch nothing, large values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kuijia_app.tables.field_counts import MATCH_FIELDS
from kuijia_app.tables.ofctl_text import match_text
from kuijia_app.tables.rules import (
    ANY_VLAN,
    ETH_TYPE_IPV4,
    ETH_TYPE_IPV6,
    ETH_TYPE_MPLS,
    NO_VLAN,
    TCP,
    UDP,
    Action,
    Group,
    GroupType,
    Match,
    PushLabel,
    PushVlan,
    SetDscp,
    SetEcn,
    SwitchTables,
    ToGroup,
)

_TRANSPORT_BITS = {"ip_proto": 8, "tcp_src": 16, "tcp_dst": 16, "udp_src": 16, "udp_dst": 16}
_PROTOCOLS = {"tcp_src": TCP, "tcp_dst": TCP, "udp_src": UDP, "udp_dst": UDP}
_LABEL_BITS = {"mpls_label": 20, "mpls_tc": 3, "mpls_bos": 1, "vlan_vid": 12, "vlan_pcp": 3}
_BITS = {"ip_dscp": 6, "ip_ecn": 2, **_LABEL_BITS, **_TRANSPORT_BITS}
_OF_PAYLOAD = tuple(name for name in MATCH_FIELDS[1:] if not name.startswith("vlan"))
_OF_ONE_FAMILY = {
    **dict.fromkeys(("ipv4_dst", "ipv4_src"), (ETH_TYPE_IPV4,)),
    **dict.fromkeys(("ipv6_dst", "ipv6_src"), (ETH_TYPE_IPV6,)),
}
_ETH_TYPES = {
    name: (ETH_TYPE_MPLS,) if name.startswith("mpls") else _OF_ONE_FAMILY.get(name, (ETH_TYPE_IPV4, ETH_TYPE_IPV6))
    for name in _OF_PAYLOAD
}
"""EtherTypes with one of which a match on the field must come (OpenFlow 1.3.5, 7.2.3.8)."""


def refusals(tables: SwitchTables) -> Iterator[str]:
    """Yield why a switch would refuse some of these groups and then these flow entries, given in their order."""
    present: set[int] = set()
    for group in tables.groups:
        if group.group_id in present:
            yield f"group {group.group_id} is given twice"
        for problem in _group_problems(group, present):
            yield f"group {group.group_id}: {problem}"
        present.add(group.group_id)
    for entry in tables.flows:
        problems = [*_match_problems(entry.match)]
        for action in (*entry.actions, *entry.written):
            problems += _action_problems(action, present)
        if entry.goto_table is not None and entry.goto_table <= entry.table_id:
            problems.append(f"goes back to table {entry.goto_table}")
        for problem in problems:
            yield f"table {entry.table_id} entry {match_text(entry.match)}: {problem}"


def _group_problems(group: Group, present: set[int]) -> Iterator[str]:
    for position, bucket in enumerate(group.buckets):
        problems = [problem for action in bucket.actions for problem in _action_problems(action, present)]
        if bucket.watch_group is not None and bucket.watch_group not in present:
            problems.append(f"group {bucket.watch_group} does not exist yet")
        watches = bucket.watch_port is not None or bucket.watch_group is not None
        if group.group_type is GroupType.FAST_FAILOVER and not watches:
            problems.append("watches nothing")
        for problem in problems:
            yield f"bucket {position}: {problem}"


def _match_problems(match: Match) -> Iterator[str]:
    for name, eth_types in _ETH_TYPES.items():
        if getattr(match, name) is not None and match.eth_type not in eth_types:
            yield f"{name} without EtherType {' or '.join(f'{each:#06x}' for each in eth_types)}"
    for name, protocol in _PROTOCOLS.items():
        if getattr(match, name) is not None and match.ip_proto != protocol:
            yield f"{name} without protocol {protocol}"
    if match.vlan_pcp is not None and not match.vlan_vid:
        yield "vlan_pcp without a VLAN id"
    own = replace(match, vlan_vid=None) if match.vlan_vid == ANY_VLAN else match
    yield from _too_large({name: getattr(own, name) for name in _BITS})


def _action_problems(action: Action, present: set[int]) -> Iterator[str]:
    match action:
        case ToGroup(group_id):
            if group_id not in present:
                yield f"group {group_id} does not exist yet"
        case PushLabel(label, traffic_class):
            yield from _too_large({"mpls_label": label, "mpls_tc": traffic_class})
        case PushVlan(vid, pcp):
            yield from _too_large({"vlan_vid": vid, "vlan_pcp": pcp})
            if vid == NO_VLAN:
                yield f"pushes VLAN id {vid}"
        case SetDscp(dscp):
            yield from _too_large({"ip_dscp": dscp})
        case SetEcn(ecn):
            yield from _too_large({"ip_ecn": ecn})


def _too_large(values: dict[str, int | None]) -> Iterator[str]:
    for name, value in values.items():
        if value is not None and value >> _BITS[name]:
            yield f"{name} {value} has more than {_BITS[name]} bits"
