"""Flow entries, groups and their parts as typed values, in OpenFlow 1.3's terms but bound to no library."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Network

ETH_TYPE_IPV4 = 0x0800
ETH_TYPE_MPLS = 0x8847


@dataclass(frozen=True, slots=True)
class Match:
    """Fields a packet must have; None matches anything (OpenFlow 1.3.5, 7.2.3.7)."""

    in_port: int | None = None
    eth_type: int | None = None
    ipv4_dst: IPv4Network | None = None
    ip_dscp: int | None = None
    ip_ecn: int | None = None
    mpls_label: int | None = None
    mpls_tc: int | None = None


@dataclass(frozen=True, slots=True)
class PushLabel:
    """Push an MPLS header carrying `label` and traffic class `traffic_class`."""

    label: int
    traffic_class: int


@dataclass(frozen=True, slots=True)
class PopLabel:
    """Pop the MPLS header; what is under it is an IPv4 packet."""


@dataclass(frozen=True, slots=True)
class SetDscp:
    """Write the differentiated services code point of the IPv4 header (RFC 2474)."""

    dscp: int


@dataclass(frozen=True, slots=True)
class SetEcn:
    """Write the two bits of the IPv4 header that RFC 3168 gives to congestion notification."""

    ecn: int


@dataclass(frozen=True, slots=True)
class SetQueue:
    """Send what is output next through this queue of its port."""

    queue_id: int


@dataclass(frozen=True, slots=True)
class Output:
    """Send the packet out of `port`."""

    port: int


@dataclass(frozen=True, slots=True)
class ToGroup:
    """Hand the packet to a group."""

    group_id: int


Action = PushLabel | PopLabel | SetDscp | SetEcn | SetQueue | Output | ToGroup

ACTION_SET_ORDER = (PopLabel, PushLabel, SetDscp, SetEcn, SetQueue, ToGroup, Output)
"""How an action set is executed (OpenFlow 1.3.5, 5.10); buckets are action sets too (5.6)."""


@dataclass(frozen=True, slots=True)
class FlowEntry:
    """A flow entry: what it does to the packets it matches, and where they go on (OpenFlow 1.3.5, 5.9 and 5.10).

    Attributes:
        priority: of all entries of a table that match, the one with the greatest is used.
        match: the packets.
        actions: are applied at once, in this order.
        table_id: the table it is in; packets start in table 0.
        written: become part of the packet's action set, which is executed when no table follows: pop, push, set
            fields, set queue, then group or else output, whatever order they were written in.
        goto_table: a later table that the packet is looked up in next.
    """

    priority: int
    match: Match
    actions: tuple[Action, ...] = ()
    table_id: int = 0
    written: tuple[Action, ...] = ()
    goto_table: int | None = None


@dataclass(frozen=True, slots=True)
class Bucket:
    """Actions of one bucket, and the port or group whose liveness is the bucket's own (fast failover).

    Open vSwitch refuses a fast-failover bucket that watches neither (OpenFlow 1.3.5, 5.6.1, leaves it open).
    """

    actions: tuple[Action, ...]
    watch_port: int | None = None
    watch_group: int | None = None


class GroupType(Enum):
    """How a group chooses among its buckets (OpenFlow 1.3.5, 5.6.1)."""

    SELECT = "select"
    FAST_FAILOVER = "fast failover"


@dataclass(frozen=True, slots=True)
class Group:
    """A group and its buckets, in order of preference or of hash slots."""

    group_id: int
    group_type: GroupType
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class SwitchTables:
    """Everything one switch is given; a group comes after the groups its buckets use or watch."""

    groups: tuple[Group, ...]
    flows: tuple[FlowEntry, ...]
