"""Strategies for any tables of a switch, for tests of code that sends them there."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Any

from hypothesis import strategies as st

from kuijia_app.tables.rules import (
    ANY_VLAN,
    ETH_TYPE_IPV4,
    ETH_TYPE_IPV6,
    ETH_TYPE_MPLS,
    ETH_TYPE_SERVICE_VLAN,
    ETH_TYPE_VLAN,
    NO_VLAN,
    TCP,
    UDP,
    Action,
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    Match,
    Output,
    PopLabel,
    PopVlan,
    PushLabel,
    PushVlan,
    SetDscp,
    SetEcn,
    SetQueue,
    SwitchTables,
    ToGroup,
)

PORTS = st.integers(1, 4)

ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(PushLabel, st.integers(16, 19), st.integers(0, 7)),
    st.builds(PopLabel, st.sampled_from([ETH_TYPE_IPV4, ETH_TYPE_IPV6, ETH_TYPE_MPLS])),
    st.builds(
        PushVlan, st.integers(1, 4094), st.integers(0, 7), st.sampled_from([ETH_TYPE_VLAN, ETH_TYPE_SERVICE_VLAN])
    ),
    st.just(PopVlan()),
    st.builds(SetDscp, st.integers(0, 63)),
    st.builds(SetEcn, st.integers(0, 3)),
    st.builds(SetQueue, st.integers(0, 2)),
    st.builds(Output, PORTS),
)

PREFIXES = st.builds(lambda bits, start: IPv4Network((start << 32 - bits, bits)), st.just(8), st.integers(1, 99))

_SOME_PORTS = st.none() | st.integers(1, 9)
TRANSPORTS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(dict, ip_proto=st.just(TCP), tcp_src=_SOME_PORTS, tcp_dst=_SOME_PORTS),
    st.builds(dict, ip_proto=st.just(UDP), udp_src=_SOME_PORTS, udp_dst=_SOME_PORTS),
    st.builds(dict, ip_proto=st.integers(0, 255)),
    st.just({}),
)

MATCHES = st.one_of(
    st.builds(
        lambda source, fields: Match(eth_type=ETH_TYPE_IPV6, ipv6_src=source, **fields),
        st.sampled_from([None, IPv6Network("2001:db8::/33"), IPv6Network("2001:db8::1")]),
        TRANSPORTS,
    ),
    st.builds(
        lambda source, fields: Match(eth_type=ETH_TYPE_IPV4, ipv4_src=source, **fields),
        st.none() | PREFIXES,
        TRANSPORTS,
    ),
    st.builds(
        Match,
        in_port=PORTS,
        eth_type=st.just(ETH_TYPE_MPLS),
        mpls_label=st.integers(16, 18),
        mpls_tc=st.none() | st.integers(0, 1),
        mpls_bos=st.none() | st.integers(0, 1),
    ),
    st.builds(
        Match,
        in_port=PORTS,
        eth_type=st.just(ETH_TYPE_IPV4),
        ipv4_dst=st.sampled_from([None, IPv4Network("10.0.1.0/24"), IPv4Network("10.0.2.1/32")]),
        ip_dscp=st.none() | st.integers(0, 1),
        ip_ecn=st.none() | st.integers(0, 1),
        vlan_vid=st.sampled_from([None, NO_VLAN]),
    ),
    st.builds(
        Match,
        in_port=PORTS,
        vlan_vid=st.sampled_from([1, 16, 4094, ANY_VLAN]),
        vlan_pcp=st.none() | st.integers(0, 1),
    ),
    st.builds(
        Match,
        in_port=PORTS,
        eth_type=st.just(ETH_TYPE_IPV6),
        ipv6_dst=st.sampled_from([None, IPv6Network("2001:db8::/33"), IPv6Network("2001:db8::1")]),
        ip_dscp=st.none() | st.integers(0, 1),
        vlan_vid=st.sampled_from([None, NO_VLAN]),
    ),
)


@st.composite
def tables(draw: st.DrawFn) -> SwitchTables:
    """Draw up to four groups that use and watch earlier ones, and up to six entries that use some of them."""
    groups: list[Group] = []
    for group_id in draw(st.lists(st.integers(1, 6), unique=True, max_size=4)):
        groups.append(draw(_group(group_id, [group.group_id for group in groups])))
    entries: dict[object, FlowEntry] = {}
    for match in draw(st.lists(MATCHES, max_size=6)):
        actions = draw(st.lists(ACTIONS, max_size=3))
        uses_group = draw(st.booleans())
        if groups and uses_group:
            actions.append(ToGroup(draw(st.sampled_from(groups)).group_id))
        written = tuple(draw(st.lists(ACTIONS, max_size=2)))
        goto_table = draw(st.none() | st.just(1))
        entry = FlowEntry(draw(st.integers(1, 2)), match, tuple(actions), 0, written, goto_table)
        entries[entry.priority, match] = entry
    return SwitchTables(tuple(groups), tuple(entries.values()))


@st.composite
def _group(draw: st.DrawFn, group_id: int, others: list[int]) -> Group:
    buckets = []
    for _ in range(draw(st.integers(0, 3))):
        actions = tuple(draw(st.lists(ACTIONS, max_size=3)))
        uses_group = draw(st.booleans())
        if others and uses_group:
            actions = (*actions, ToGroup(draw(st.sampled_from(others))))
        watch_group = draw(st.none() | st.sampled_from(others)) if others else None
        buckets.append(Bucket(actions, draw(st.none() | PORTS), watch_group))
    return Group(group_id, draw(st.sampled_from(GroupType)), tuple(buckets))
