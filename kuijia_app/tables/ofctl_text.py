"""Writes rules in the syntax of `ovs-ofctl` (ovs-actions(7), ovs-fields(7)), for files, people and real switches."""

from __future__ import annotations

from collections.abc import Iterable

from kuijia_app.tables import rules
from kuijia_app.tables.identifiers import COOKIE
from kuijia_app.tables.rules import (
    ETH_TYPE_ARP,
    ETH_TYPE_IPV4,
    ETH_TYPE_IPV6,
    ETH_TYPE_MPLS,
    IN_PORT,
    MEASURED,
    VLAN_PRESENT,
    Action,
    Bucket,
    Extension,
    FlowEntry,
    Group,
    GroupType,
    LookUpAgain,
    LowerTtl,
    Match,
    Measure,
    Output,
    PopLabel,
    PopVlan,
    PushLabel,
    PushVlan,
    SetDscp,
    SetEcn,
    SetEthernet,
    SetQueue,
    SwitchTables,
    ToController,
    ToGroup,
)

_PROTOCOLS = {ETH_TYPE_ARP: "arp", ETH_TYPE_IPV4: "ip", ETH_TYPE_IPV6: "ipv6", ETH_TYPE_MPLS: "mpls"}
_GROUP_TYPES = {GroupType.SELECT: "select", GroupType.FAST_FAILOVER: "ff"}
_UNSAFE = frozenset('%/\\:*?"<>|')
"""Characters that a file system or a shell could take for something else."""

LONGEST_STEM = 220
"""Bytes of a file name before its suffix; file systems allow 255 with the suffix and the mark of unfinished files."""


def flows_text(tables: SwitchTables) -> str:
    """Return the flow entries for `ovs-ofctl -O OpenFlow13 --bundle add-flows SWITCH FILE`, one a line."""
    return "".join(f"{flow_text(entry)}\n" for entry in tables.flows)


def groups_text(tables: SwitchTables) -> str:
    """Return the groups for `ovs-ofctl -O OpenFlow13 --bundle add-groups SWITCH FILE`, one a line."""
    return "".join(f"{group_text(group)}\n" for group in tables.groups)


def flow_text(entry: FlowEntry) -> str:
    fields = [f"cookie={COOKIE:#x}", "send_flow_rem", f"table={entry.table_id}", f"priority={entry.priority}"]
    matched = match_text(entry.match)
    return ",".join([*fields, *([matched] if matched else []), f"actions={instructions_text(entry)}"])


def group_text(group: Group) -> str:
    buckets = "".join(f",{_bucket_text(bucket, group.group_type)}" for bucket in group.buckets)
    return f"group_id={group.group_id},type={_GROUP_TYPES[group.group_type]}{buckets}"


def match_text(match: Match) -> str:
    """Return the fields of a match, empty if it matches everything."""
    fields: list[str] = []
    if match.eth_type is not None:
        fields.append(_PROTOCOLS.get(match.eth_type, f"dl_type={match.eth_type:#06x}"))
    values = (
        ("in_port", match.in_port),
        ("nw_dst", match.ipv4_dst),
        ("ipv6_dst", match.ipv6_dst),
        ("ip_dscp", match.ip_dscp),
        ("nw_ecn", match.ip_ecn),
        ("mpls_label", match.mpls_label),
        ("mpls_tc", match.mpls_tc),
        ("mpls_bos", match.mpls_bos),
        ("dl_dst", match.eth_dst),
        _vlan_text(match.vlan_vid),
        ("dl_vlan_pcp", match.vlan_pcp),
        ("nw_src", match.ipv4_src),
        ("ipv6_src", match.ipv6_src),
        ("nw_proto", match.ip_proto),
        ("tcp_src", match.tcp_src),
        ("tcp_dst", match.tcp_dst),
        ("udp_src", match.udp_src),
        ("udp_dst", match.udp_dst),
        ("metadata", match.metadata),
    )
    return ",".join([*fields, *(f"{name}={value}" for name, value in values if value is not None)])


def _vlan_text(vlan_id: int | None) -> tuple[str, str | int | None]:
    """Return the field of ovs-ofctl and its value."""
    match vlan_id:
        case rules.NO_VLAN:
            return "dl_vlan", "0xffff"
        case rules.ANY_VLAN:
            return "vlan_vid", f"{VLAN_PRESENT:#06x}/{VLAN_PRESENT:#06x}"
        case _:
            return "dl_vlan", vlan_id


def instructions_text(entry: FlowEntry) -> str:
    """Return the text after `actions=`: the applied actions, the written ones, the next table."""
    parts = [actions_text(entry.actions)] if entry.actions else []
    if entry.written:
        parts.append(f"write_actions({actions_text(entry.written)})")
    if entry.goto_table is not None:
        parts.append(f"goto_table:{entry.goto_table}")
    return ",".join(parts) or "drop"


def actions_text(actions: Iterable[Action]) -> str:
    return ",".join(_action_text(action) for action in actions)


def file_stem(switch: str) -> str:
    """Return a switch's name as a file name: unsafe characters become %XX, so that names stay distinct."""
    text = "".join(_escaped(letter) if letter in _UNSAFE or not letter.isprintable() else letter for letter in switch)
    return _escaped(".") + text[1:] if text.startswith(".") else text


def _escaped(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode())


def _bucket_text(bucket: Bucket, group_type: GroupType) -> str:
    parts: list[str] = []
    if group_type is GroupType.SELECT:
        parts.append("weight:1")
    elif bucket.watch_port is None and bucket.watch_group is None:
        raise ValueError(
            "a fast-failover bucket that watches nothing, expected a port or a group: ovs-ofctl refuses it"
        )
    if bucket.watch_port is not None:
        parts.append(f"watch_port:{bucket.watch_port}")
    if bucket.watch_group is not None:
        parts.append(f"watch_group:{bucket.watch_group}")
    parts.append(f"actions={actions_text(bucket.actions) or 'drop'}")
    return f"bucket={','.join(parts)}"


def _action_text(action: Action) -> str:
    match action:
        case PushLabel() | PushVlan():
            return _push_text(action)
        case SetDscp() | SetEcn():
            return (
                _set_field(action.dscp, "ip_dscp") if isinstance(action, SetDscp) else _set_field(action.ecn, "nw_ecn")
            )
        case SetEthernet(source, destination):
            return f"{_set_field(source, 'eth_src')},{_set_field(destination, 'eth_dst')}"
        case SetQueue(queue_id):
            return f"set_queue:{queue_id}"
        case PopLabel() | PopVlan() | ToGroup() | Output() | LowerTtl() | ToController():
            return _plain_text(action)
        case Measure() | LookUpAgain():
            return _extension_text(action)


def _push_text(action: PushLabel | PushVlan) -> str:
    match action:
        case PushLabel(label, traffic_class):
            fields = f"{_set_field(label, 'mpls_label')},{_set_field(traffic_class, 'mpls_tc')}"
            return f"push_mpls:{ETH_TYPE_MPLS:#06x},{fields}"
        case PushVlan(vid, pcp, eth_type):
            fields = f"{_set_field(VLAN_PRESENT | vid, 'vlan_vid')},{_set_field(pcp, 'vlan_pcp')}"
            return f"push_vlan:{eth_type:#06x},{fields}"


def _plain_text(action: PopLabel | PopVlan | ToGroup | Output | LowerTtl | ToController) -> str:
    match action:
        case PopLabel(eth_type):
            return f"pop_mpls:{eth_type:#06x}"
        case PopVlan():
            return "pop_vlan"
        case ToGroup(group_id):
            return f"group:{group_id}"
        case Output(port):
            return "in_port" if port == IN_PORT else f"output:{port}"
        case LowerTtl():
            return "dec_ttl"
        case ToController():
            return "CONTROLLER:65535"


def _extension_text(action: Extension) -> str:
    if isinstance(action, LookUpAgain):
        return "resubmit(,0)"
    return f"{_set_field(MEASURED, 'metadata')},check_pkt_larger({action.most})->OXM_OF_METADATA[0]"


def _set_field(value: int | str, name: str) -> str:
    return f"set_field:{value}->{name}"
