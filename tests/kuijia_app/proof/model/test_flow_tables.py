"""Look-ups by hashing find what going through all entries finds."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.proof.model.flow_tables import FlowTables
from kuijia_app.proof.model.packet import Label, Packet, Transport, VlanTag
from kuijia_app.tables.rules import ANY_VLAN, NO_VLAN, FlowEntry, Match, Output

IPV4, IPV6, MPLS, ARP, TCP, UDP = 0x0800, 0x86DD, 0x8847, 0x0806, 6, 17

IPV4_NETS = [IPv4Network(text) for text in ("10.0.0.0/8", "10.0.1.0/24", "0.0.0.0/0")]
IPV6_NETS = [IPv6Network(text) for text in ("2001:db8::/32", "2001:db8:0:1::/64")]
TWO = st.integers(0, 1)
PORT = st.integers(1, 2)
OUTER: dict[str, st.SearchStrategy[Any]] = {
    "in_port": PORT,
    "vlan_vid": st.sampled_from([NO_VLAN, 5, 6, ANY_VLAN]),
    "vlan_pcp": TWO,
}
OF_IP: dict[str, st.SearchStrategy[Any]] = {
    "ip_dscp": TWO,
    "ip_ecn": TWO,
    "ip_proto": st.sampled_from([TCP, UDP]),
    **dict.fromkeys(("tcp_src", "tcp_dst", "udp_src", "udp_dst"), PORT),
}
OF_TYPE: dict[int | None, dict[str, st.SearchStrategy[Any]]] = {
    IPV4: {**OF_IP, **dict.fromkeys(("ipv4_src", "ipv4_dst"), st.sampled_from(IPV4_NETS))},
    IPV6: {**OF_IP, **dict.fromkeys(("ipv6_src", "ipv6_dst"), st.sampled_from(IPV6_NETS))},
    MPLS: dict.fromkeys(("mpls_label", "mpls_tc", "mpls_bos"), TWO),
}
PROTOCOLS = {"tcp": TCP, "udp": UDP}


@st.composite
def entries(draw: st.DrawFn) -> FlowEntry:
    kind = draw(st.sampled_from([None, IPV4, IPV6, MPLS, ARP]))
    some = {**OUTER, **OF_TYPE.get(kind, {})}
    fields = {name: draw(values) for name, values in some.items() if draw(st.booleans())}
    if not fields.get("vlan_vid"):
        fields.pop("vlan_pcp", None)
    elif fields["vlan_vid"] == ANY_VLAN:
        fields["vlan_pcp"] = draw(TWO)  # any tag is asked for only with its priority
    for name in [name for name in fields if PROTOCOLS.get(name[:3], fields.get("ip_proto")) != fields.get("ip_proto")]:
        del fields[name]
    return FlowEntry(
        draw(st.integers(1, 3)), Match(eth_type=kind, **fields), (Output(draw(st.integers(1, 9))),), draw(TWO)
    )


@st.composite
def packets(draw: st.DrawFn) -> Packet:
    six = draw(st.booleans())
    nets = IPV6_NETS if six else IPV4_NETS
    other = IPv6Address("2001:db9::1") if six else IPv4Address("11.0.0.1")
    end = st.sampled_from([*(net.network_address + 1 for net in nets), other])
    return Packet(
        draw(st.integers(1, 2)),
        draw(end),
        draw(end),
        draw(TWO),
        draw(TWO),
        labels=tuple(Label(draw(TWO), draw(TWO)) for _ in range(draw(st.integers(0, 2)))),
        eth_type=draw(st.sampled_from([IPV6 if six else IPV4] * 3 + [ARP])),
        vlans=tuple(VlanTag(draw(st.sampled_from([5, 6])), draw(TWO)) for _ in range(draw(st.integers(0, 2)))),
        transport=Transport(draw(st.sampled_from([TCP, UDP])), draw(st.integers(1, 2)), draw(st.integers(1, 2))),
    )


def matches(match: Match, packet: Packet, *, is_hidden: bool) -> bool:
    """Return True if a packet has all fields of a match; of a hidden one only port and outermost tag are seen."""
    eth_type = MPLS if packet.labels else packet.eth_type
    top = packet.labels[0] if packet.labels else None
    tag = packet.vlans[0] if packet.vlans else None
    asked = {name: value for name in FIELD_NAMES if (value := getattr(match, name)) is not None}
    if is_hidden and asked.keys() - {"in_port", "vlan_vid", "vlan_pcp"}:
        return False
    has = {
        "in_port": packet.in_port,
        "eth_type": eth_type,
        "ip_dscp": packet.dscp,
        "ip_ecn": packet.ecn,
        "ip_proto": packet.transport.protocol,
        "mpls_label": None if top is None else top.label,
        "mpls_tc": None if top is None else top.traffic_class,
        "mpls_bos": None if top is None else int(len(packet.labels) == 1),
        "vlan_pcp": None if tag is None else tag.pcp,
        **{f"{each}_src": packet.transport.source_port for each in ("tcp", "udp")},
        **{f"{each}_dst": packet.transport.destination_port for each in ("tcp", "udp")},
    }
    for name, value in asked.items():
        if name == "vlan_vid":
            if (tag is None) if value == ANY_VLAN else value != (NO_VLAN if tag is None else tag.vid):
                return False
        elif name.startswith("ipv"):
            if (packet.source if name.endswith("src") else packet.destination) not in value:
                return False
        elif has[name] != value:
            return False
    return True


FIELD_NAMES = tuple(name for name in Match.__dataclass_fields__ if name != "eth_dst")


@given(st.lists(entries(), max_size=12), packets(), st.booleans())
def test_the_entry_of_greatest_priority_is_found_with_its_rivals(
    given_entries: list[FlowEntry],
    packet: Packet,
    is_hidden: bool,  # noqa: FBT001
) -> None:
    kept = {(each.table_id, each.priority, each.match): each for each in given_entries}
    tables = FlowTables(given_entries)
    for table_id in range(3):
        own = [
            each
            for each in kept.values()
            if each.table_id == table_id and matches(each.match, packet, is_hidden=is_hidden)
        ]
        most = max((each.priority for each in own), default=0)
        expected = [each for each in own if each.priority == most]
        found = tables.lookup(table_id, packet, is_hidden=is_hidden)
        assert (found.entry is None) is (expected == [])
        assert {found.entry, *found.rivals} - {None} == {*expected}
