"""Flow entries, groups and their parts as typed values, in OpenFlow 1.3's terms but bound to no library."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from ipaddress import IPv4Network, IPv6Network

from kuijia_app.tables.families import Address, Family, Prefix, family_of

ETH_TYPE_IPV4 = 0x0800
ETH_TYPE_IPV6 = 0x86DD
ETH_TYPE_ARP = 0x0806
ETH_TYPE_MPLS = 0x8847
ETH_TYPE_VLAN = 0x8100
ETH_TYPE_SERVICE_VLAN = 0x88A8
"""Of a tag around customers' own tags (IEEE 802.1ad)."""

NO_VLAN = 0
"""VLAN id in a match for packets without a tag; no tag of ours has it (OpenFlow 1.3.5, 7.2.3.7)."""

LAST_VLAN_ID = 4094
"""4095 is reserved (IEEE 802.1Q, table 9-2)."""

VLAN_PRESENT = 0x1000
"""Bit of OpenFlow's field for the VLAN id that is set if there is a tag (7.2.3.7)."""

ANY_VLAN = VLAN_PRESENT
"""VLAN id in a match for packets with any tag, which a match on the priority requires (7.2.3.8)."""

IPV6_EXPLICIT_NULL = 2
"""Label, at the bottom of the stack, of a packet that is IPv6 (RFC 3032, section 2.1)."""

TCP, UDP = 6, 17
"""Numbers of protocols in headers of IP (IANA)."""

ETH_TYPE_OF = {Family.IPV4: ETH_TYPE_IPV4, Family.IPV6: ETH_TYPE_IPV6}


def eth_type_of(value: Address | Prefix) -> int:
    """Return the EtherType of packets to an address or a prefix."""
    return ETH_TYPE_OF[family_of(value)]


IN_PORT = 0xFFFF_FFF8
"""Reserved port: the one by which the packet came (OpenFlow 1.3.5, 4.5)."""


@dataclass(frozen=True, slots=True)
class Match:
    """Fields that a packet must have; None matches anything (OpenFlow 1.3.5, 7.2.3.7)."""

    in_port: int | None = None
    eth_type: int | None = None
    ipv4_dst: IPv4Network | None = None
    ip_dscp: int | None = None
    ip_ecn: int | None = None
    mpls_label: int | None = None
    mpls_tc: int | None = None
    eth_dst: str | None = None
    vlan_vid: int | None = None
    vlan_pcp: int | None = None
    ipv6_dst: IPv6Network | None = None
    mpls_bos: int | None = None
    ipv4_src: IPv4Network | None = None
    ip_proto: int | None = None
    tcp_src: int | None = None
    tcp_dst: int | None = None
    udp_src: int | None = None
    udp_dst: int | None = None
    ipv6_src: IPv6Network | None = None
    metadata: int | None = None

    @classmethod
    def to(
        cls,
        prefix: Prefix,
        *,
        in_port: int | None = None,
        ip_dscp: int | None = None,
        eth_dst: str | None = None,
        vlan_vid: int | None = None,
    ) -> Match:
        """Return the match for unlabelled packets of IP to a prefix."""
        if isinstance(prefix, IPv4Network):
            return cls(in_port, ETH_TYPE_IPV4, prefix, ip_dscp, eth_dst=eth_dst, vlan_vid=vlan_vid)
        return cls(in_port, ETH_TYPE_IPV6, ip_dscp=ip_dscp, eth_dst=eth_dst, vlan_vid=vlan_vid, ipv6_dst=prefix)

    @property
    def destination(self) -> Prefix | None:
        """The prefix of either family; None matches any."""
        return self.ipv6_dst if self.ipv4_dst is None else self.ipv4_dst

    @property
    def source(self) -> Prefix | None:
        """The prefix of senders, of either family; None matches any."""
        return self.ipv6_src if self.ipv4_src is None else self.ipv4_src


@dataclass(frozen=True, slots=True)
class PushLabel:
    """Push an MPLS header carrying `label` and traffic class `traffic_class`."""

    label: int
    traffic_class: int


@dataclass(frozen=True, slots=True)
class PopLabel:
    """Pop the outermost MPLS header; `eth_type` is that of what is under it: IPv4, IPv6 or another MPLS header."""

    eth_type: int = ETH_TYPE_IPV4


@dataclass(frozen=True, slots=True)
class PushVlan:
    """Push a VLAN tag with an id and a priority (IEEE 802.1Q); `eth_type` is the tag's own."""

    vid: int
    pcp: int
    eth_type: int = ETH_TYPE_VLAN


@dataclass(frozen=True, slots=True)
class PopVlan:
    """Pop the outermost VLAN tag."""


@dataclass(frozen=True, slots=True)
class SetDscp:
    """Write the differentiated services code point of the IP header (RFC 2474)."""

    dscp: int


@dataclass(frozen=True, slots=True)
class SetEcn:
    """Write the two ECN bits of the IP header (RFC 3168)."""

    ecn: int


@dataclass(frozen=True, slots=True)
class SetQueue:
    """Send later output through this queue of its port."""

    queue_id: int


@dataclass(frozen=True, slots=True)
class Output:
    """Send the packet out of `port`."""

    port: int


@dataclass(frozen=True, slots=True)
class ToGroup:
    """Send the packet to a group."""

    group_id: int


@dataclass(frozen=True, slots=True)
class SetEthernet:
    """Write both addresses of the Ethernet header, in six pairs of digits with colons."""

    source: str
    destination: str


@dataclass(frozen=True, slots=True)
class LowerTtl:
    """Lower the TTL of the IPv4 header, or the hop limit of the IPv6 header, by one; send
    the packet to the controller if that would make it 0.
    """


@dataclass(frozen=True, slots=True)
class ToController:
    """Send the whole packet to the controller."""


MEASURED, TOO_LONG = 2, 3
"""Metadata that `Measure` gives packets; before, it is 0."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Write metadata: `TOO_LONG` if the frame, without its checksum, has more than `most` bytes, else `MEASURED`.

    Whether a VLAN tag counts depends on the datapath. OpenFlow matches no length: this is an extension of Open vSwitch
    (`check_pkt_larger` in ovs-actions(7)), which older versions and other switches refuse.
    """

    most: int


@dataclass(frozen=True, slots=True)
class LookUpAgain:
    """Look the packet up in table 0 again (`resubmit`, likewise an extension)."""


def into_vlan(vlan: int | None) -> tuple[PushVlan, ...]:
    """Return the actions that put packets for hosts into their VLAN, none if these have no tag."""
    return () if vlan is None else (PushVlan(vlan, 0),)


TagAction = PushLabel | PopLabel | PushVlan | PopVlan
Extension = Measure | LookUpAgain
Action = TagAction | SetDscp | SetEcn | SetQueue | Output | ToGroup | SetEthernet | LowerTtl | ToController | Extension

ACTION_SET_ORDER = (PopVlan, PopLabel, PushLabel, PushVlan, SetDscp, SetEcn, SetQueue, ToGroup, Output)
"""Execution order of an action set (OpenFlow 1.3.5, 5.10); buckets are action sets too (5.6)."""


@dataclass(frozen=True, slots=True)
class FlowEntry:
    """A flow entry: its actions on the packets it matches, and their next table (OpenFlow 1.3.5, 5.9 and 5.10).

    Attributes:
        priority: the matching entry of a table with the greatest priority is used.
        match: the packets.
        actions: applied at once, in this order.
        table_id: the table it is in; packets start in table 0.
        written: added to the packet's action set, which is executed when no table follows: pop, push, set fields, set
            queue, then group or else output, in this order however they were written.
        goto_table: a later table in which the packet is looked up next.
    """

    priority: int
    match: Match
    actions: tuple[Action, ...] = ()
    table_id: int = 0
    written: tuple[Action, ...] = ()
    goto_table: int | None = None


@dataclass(frozen=True, slots=True)
class UnreportedEntry(FlowEntry):
    """An entry whose removal its switch does not report; equal to none whose removal it reports."""

    @classmethod
    def of(cls, entry: FlowEntry) -> UnreportedEntry:
        values = (getattr(entry, each.name) for each in fields(FlowEntry))
        return cls(*values)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Actions of one bucket, and the port or group that decides its liveness (fast failover).

    Open vSwitch refuses a fast-failover bucket that watches neither (OpenFlow 1.3.5, 5.6.1, leaves it open).
    """

    actions: tuple[Action, ...]
    watch_port: int | None = None
    watch_group: int | None = None


class GroupType(Enum):
    """Rule by which a group chooses among its buckets (OpenFlow 1.3.5, 5.6.1)."""

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
    """Complete tables of a switch; a group comes after the groups that its buckets use or watch."""

    groups: tuple[Group, ...]
    flows: tuple[FlowEntry, ...]
