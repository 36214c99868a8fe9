"""Reads rules and error names from OpenFlow 1.3 messages of a switch.

A switch may send anything. Every object of the parser is read without an exception: the result is one of our rules,
or None.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from kuijia_app.control.port_states import PortState
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.snapshot import ForeignEntry
from kuijia_app.tables.identifiers import COOKIE
from kuijia_app.tables.rules import (
    ANY_VLAN,
    ETH_TYPE_IPV4,
    ETH_TYPE_IPV6,
    ETH_TYPE_MPLS,
    ETH_TYPE_SERVICE_VLAN,
    ETH_TYPE_VLAN,
    MEASURED,
    NO_VLAN,
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
    TagAction,
    ToController,
    ToGroup,
)

_PLAIN_FIELDS = frozenset(
    {
        *("in_port", "eth_type", "ip_dscp", "ip_ecn", "mpls_label", "mpls_tc", "mpls_bos", "vlan_vid", "vlan_pcp"),
        *("ip_proto", "tcp_src", "tcp_dst", "udp_src", "udp_dst", "metadata"),
    }
)
_POPPED = frozenset({ETH_TYPE_IPV4, ETH_TYPE_IPV6, ETH_TYPE_MPLS})

_CODE_PREFIXES = {
    "OFPET_HELLO_FAILED": "OFPHFC_",
    "OFPET_BAD_REQUEST": "OFPBRC_",
    "OFPET_BAD_ACTION": "OFPBAC_",
    "OFPET_BAD_INSTRUCTION": "OFPBIC_",
    "OFPET_BAD_MATCH": "OFPBMC_",
    "OFPET_FLOW_MOD_FAILED": "OFPFMFC_",
    "OFPET_GROUP_MOD_FAILED": "OFPGMFC_",
    "OFPET_PORT_MOD_FAILED": "OFPPMFC_",
    "OFPET_TABLE_MOD_FAILED": "OFPTMFC_",
    "OFPET_QUEUE_OP_FAILED": "OFPQOFC_",
    "OFPET_SWITCH_CONFIG_FAILED": "OFPSCFC_",
    "OFPET_ROLE_REQUEST_FAILED": "OFPRRFC_",
    "OFPET_METER_MOD_FAILED": "OFPMMFC_",
    "OFPET_TABLE_FEATURES_FAILED": "OFPTFFC_",
}

_CHECK_LARGER = struct.Struct("!HHHI6x")
_CHECK_LARGER_TYPE, _METADATA_BIT = 49, (0, 0x80000408)
_RESUBMIT = struct.pack("!HHB3x", 14, 0xFFF8, 0)
"""Open vSwitch's extensions after the experimenter (`ofp-actions.c`); gates erase the experimenter of what is read."""


def extension(action: Extension) -> bytes:
    """Return what follows the experimenter in resubmit(,0) or check_pkt_larger(...)->OXM_OF_METADATA[0]."""
    if isinstance(action, LookUpAgain):
        return _RESUBMIT
    return _CHECK_LARGER.pack(_CHECK_LARGER_TYPE, action.most, *_METADATA_BIT)


class _UnknownError(ValueError):
    """The switch has something that none of our rules has."""


def read_group(ofproto: Any, description: Any) -> Group | None:
    """Return the group in one entry of a group description reply; None if it is not one of our rules."""
    kinds = {ofproto.OFPGT_SELECT: GroupType.SELECT, ofproto.OFPGT_FF: GroupType.FAST_FAILOVER}
    try:
        kind = kinds[description.type]
        if kind is GroupType.SELECT and any(bucket.weight != 1 for bucket in description.buckets):
            return None
        return Group(description.group_id, kind, tuple(_bucket(ofproto, bucket) for bucket in description.buckets))
    except (KeyError, _UnknownError):
        return None


def read_flow(ofproto: Any, statistics: Any) -> tuple[FlowKey, FlowEntry | None]:
    """Return key and flow entry from one entry of a flow statistics reply; the latter is None if it is not our rule."""
    key, found = read_metered(ofproto, statistics)
    return key, None if found is None or found[1] is not None else found[0]


def read_metered(ofproto: Any, statistics: Any) -> tuple[FlowKey, tuple[FlowEntry, int | None] | None]:
    """Return the same for an entry that may have a meter, with its number, or None."""
    try:
        match = _match(statistics.match)
    except _UnknownError:
        fields = tuple((name, _hashable(value)) for name, value in statistics.match.items())
        return FlowKey(statistics.table_id, statistics.priority, fields), None
    key = FlowKey(statistics.table_id, statistics.priority, match)
    actions: tuple[Action, ...] = ()
    written: tuple[Action, ...] = ()
    goto_table: int | None = None
    meter: int | None = None
    try:
        for instruction in statistics.instructions:
            if instruction.type == ofproto.OFPIT_APPLY_ACTIONS:
                actions = _actions(ofproto, instruction.actions)
            elif instruction.type == ofproto.OFPIT_WRITE_ACTIONS:
                written = _actions(ofproto, instruction.actions)
            elif instruction.type == ofproto.OFPIT_GOTO_TABLE:
                goto_table = instruction.table_id
            elif instruction.type == ofproto.OFPIT_METER:
                meter = instruction.meter_id
            else:
                return key, None
    except _UnknownError:
        return key, None
    return key, (FlowEntry(key.priority, match, actions, key.table_id, written, goto_table), meter)


def reports_removal(ofproto: Any, statistics: Any) -> bool:
    """Return True if the switch reports when the entry is removed (OpenFlow 1.3.5, 7.3.4.1)."""
    return bool(statistics.flags & ofproto.OFPFF_SEND_FLOW_REM)


def read_foreign(ofproto: Any, statistics: Any) -> ForeignEntry:
    """Return an entry of others from one entry of a flow statistics reply."""
    key, _ = read_flow(ofproto, statistics)
    actions = (action for instruction in statistics.instructions for action in getattr(instruction, "actions", ()))
    groups = (action.group_id for action in actions if action.type == ofproto.OFPAT_GROUP)
    return ForeignEntry(statistics.cookie, key, frozenset(groups))


def port_state(ofproto: Any, port: Any) -> PortState:
    """Return the state of a described port (OpenFlow 1.3.5, 7.2.1)."""
    return PortState(
        port.port_no,
        _printable(port.name),
        is_up=not (port.state & ofproto.OFPPS_LINK_DOWN or port.config & ofproto.OFPPC_PORT_DOWN),
        is_live=bool(port.state & ofproto.OFPPS_LIVE),
        is_blocked=bool(port.state & ofproto.OFPPS_BLOCKED),
        no_forward=bool(port.config & ofproto.OFPPC_NO_FWD),
        no_receive=bool(port.config & ofproto.OFPPC_NO_RECV),
        no_packet_in=bool(port.config & ofproto.OFPPC_NO_PACKET_IN),
    )


def _printable(name: object) -> str:
    """Return a device's name, without what a log or terminal would not show as it is; peers choose it."""
    text = name.decode("ascii", "replace") if isinstance(name, bytes) else str(name)
    return "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in text.rstrip("\0"))


def is_ours(statistics: Any) -> bool:
    return bool(statistics.cookie == COOKIE)


def error_name(ofproto: Any, error: Any) -> str:
    """Return the specification's name of an error, such as OFPET_BAD_REQUEST/OFPBRC_IS_SLAVE."""
    if error.type == ofproto.OFPET_EXPERIMENTER:
        names = {value: name for name, value in vars(ofproto).items() if name.startswith("ONFERR_ET_")}
        return f"OFPET_EXPERIMENTER/{names.get(error.exp_type, error.exp_type)}"
    kinds = {getattr(ofproto, name): name for name in _CODE_PREFIXES}
    kind = kinds.get(error.type)
    if kind is None:
        return f"error type {error.type}, code {error.code}"
    prefix = _CODE_PREFIXES[kind]
    codes = {value: name for name, value in vars(ofproto).items() if name.startswith(prefix)}
    return f"{kind}/{codes.get(error.code, error.code)}"


def _bucket(ofproto: Any, bucket: Any) -> Bucket:
    return Bucket(
        _actions(ofproto, bucket.actions),
        None if bucket.watch_port == ofproto.OFPP_ANY else bucket.watch_port,
        None if bucket.watch_group == ofproto.OFPG_ANY else bucket.watch_group,
    )


def _match(match: Any) -> Match:
    fields = dict(match.items())
    if len(fields) < len(match.items()):
        raise _UnknownError  # a field twice
    ipv4 = {name: fields.pop(name) for name in ("ipv4_dst", "ipv4_src") if name in fields}
    ipv6 = {name: fields.pop(name) for name in ("ipv6_dst", "ipv6_src") if name in fields}
    if "vlan_vid" in fields:
        fields["vlan_vid"] = _vlan(fields["vlan_vid"])
    addresses: dict[str, Any] = {"eth_dst": _text(fields.pop("eth_dst"))} if "eth_dst" in fields else {}
    if not fields.keys() <= _PLAIN_FIELDS or not all(isinstance(value, int) for value in fields.values()):
        raise _UnknownError
    prefixes: dict[str, Any] = {
        **{name: IPv4Network(_start_and_length(IPv4Address, value)) for name, value in ipv4.items()},
        **{name: IPv6Network(_start_and_length(IPv6Address, value)) for name, value in ipv6.items()},
    }
    return Match(**addresses, **prefixes, **fields)


def _vlan(value: Any) -> int:
    """Return the VLAN id of a match, from OpenFlow's value of it, perhaps with a mask."""
    if value == (VLAN_PRESENT, VLAN_PRESENT):
        return ANY_VLAN
    return NO_VLAN if _whole(value) == NO_VLAN else _vlan_id(value)


def _vlan_id(value: int) -> int:
    """Return the id in a field of OpenFlow, which has a bit for the presence of a tag."""
    if value <= VLAN_PRESENT or value >> 13:
        raise _UnknownError
    return value & ~VLAN_PRESENT


def _start_and_length(kind: type[IPv4Address | IPv6Address], value: Any) -> tuple[int, int]:
    """Return the prefix of an address, or of an address and its mask; not all masks are those of prefixes."""
    address, mask = (value, None) if isinstance(value, str) else value
    try:
        start = kind(address)
        full = (1 << start.max_prefixlen) - 1
        host_bits = 0 if mask is None else full ^ int(kind(mask))
    except AddressValueError as error:
        raise _UnknownError from error
    if host_bits & (host_bits + 1) or int(start) & host_bits:
        raise _UnknownError
    return int(start), start.max_prefixlen - host_bits.bit_length()


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def _actions(ofproto: Any, actions: Iterable[Any]) -> tuple[Action, ...]:
    read: list[Action] = []
    waiting = deque(actions)
    while waiting:
        action = waiting.popleft()
        of_several = _of_several(ofproto, action, waiting)
        if of_several is not None:
            read.append(of_several)
        elif action.type == ofproto.OFPAT_SET_FIELD and action.key == "ip_dscp":
            read.append(SetDscp(_whole(action.value)))
        elif action.type == ofproto.OFPAT_SET_FIELD and action.key == "ip_ecn":
            read.append(SetEcn(_whole(action.value)))
        elif action.type == ofproto.OFPAT_SET_FIELD and action.key == "eth_src":
            read.append(SetEthernet(_text(action.value), _text(_next_value(ofproto, waiting, "eth_dst"))))
        elif action.type == ofproto.OFPAT_DEC_NW_TTL:
            read.append(LowerTtl())
        elif action.type == ofproto.OFPAT_SET_QUEUE:
            read.append(SetQueue(action.queue_id))
        elif action.type == ofproto.OFPAT_OUTPUT:
            read.append(ToController() if action.port == ofproto.OFPP_CONTROLLER else Output(action.port))
        elif action.type == ofproto.OFPAT_GROUP:
            read.append(ToGroup(action.group_id))
        else:
            raise _UnknownError
    return tuple(read)


def _measure(marking: Any, waiting: deque[Any]) -> Measure:
    """Return what is measured by the action after the one that marks the packet."""
    check = _after_experimenter(waiting.popleft()) if waiting else b""
    if marking.value != MEASURED or len(check) != _CHECK_LARGER.size:
        raise _UnknownError
    kind, most, *result = _CHECK_LARGER.unpack(check)
    if kind != _CHECK_LARGER_TYPE or tuple(result) != _METADATA_BIT:
        raise _UnknownError
    return Measure(most)


def _after_experimenter(action: Any) -> bytes:
    return bytes(getattr(action, "data", b""))


def _of_several(ofproto: Any, action: Any, waiting: deque[Any]) -> TagAction | Extension | None:
    """Return what is for tags, or an extension, with the actions that follow and belong to it; None for all else."""
    if _after_experimenter(action) == _RESUBMIT:
        return LookUpAgain()
    if action.type == ofproto.OFPAT_SET_FIELD and action.key == "metadata":
        return _measure(action, waiting)
    if action.type == ofproto.OFPAT_PUSH_MPLS and action.ethertype == ETH_TYPE_MPLS:
        return PushLabel(_set_value(ofproto, waiting, "mpls_label"), _set_value(ofproto, waiting, "mpls_tc"))
    if action.type == ofproto.OFPAT_POP_MPLS and action.ethertype in _POPPED:
        return PopLabel(action.ethertype)
    if action.type == ofproto.OFPAT_PUSH_VLAN and action.ethertype in {ETH_TYPE_VLAN, ETH_TYPE_SERVICE_VLAN}:
        vid = _vlan_id(_set_value(ofproto, waiting, "vlan_vid"))
        return PushVlan(vid, _set_value(ofproto, waiting, "vlan_pcp"), action.ethertype)
    return PopVlan() if action.type == ofproto.OFPAT_POP_VLAN else None


def _set_value(ofproto: Any, waiting: deque[Any], field: str) -> int:
    return _whole(_next_value(ofproto, waiting, field))


def _next_value(ofproto: Any, waiting: deque[Any], field: str) -> Any:
    """Return what the next action writes into a field, which it must be for."""
    if not waiting or waiting[0].type != ofproto.OFPAT_SET_FIELD or waiting[0].key != field:
        raise _UnknownError
    return waiting.popleft().value


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise _UnknownError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _UnknownError
    return value
