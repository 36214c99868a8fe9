"""The proof refuses what OpenFlow has switches refuse: each rule at its limit and just beyond it."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Any

import pytest

from kuijia_app.proof.acceptance import refusals
from kuijia_app.tables.rules import (
    Action,
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    Match,
    Output,
    PushLabel,
    PushVlan,
    SetDscp,
    SetEcn,
    SwitchTables,
    ToGroup,
)

IPV4, IPV6, MPLS, TCP, UDP = 0x0800, 0x86DD, 0x8847, 6, 17


def refused(*entries: FlowEntry) -> list[str]:
    return list(refusals(SwitchTables((), entries)))


def refused_match(**fields: Any) -> list[str]:  # noqa: ANN401  # of several types
    return refused(FlowEntry(1, Match(**fields)))


@pytest.mark.parametrize(
    ("field", "bits", "others"),
    [
        ("ip_dscp", 6, {"eth_type": IPV4}),
        ("ip_ecn", 2, {"eth_type": IPV6}),
        ("ip_proto", 8, {"eth_type": IPV6}),
        ("mpls_label", 20, {"eth_type": MPLS}),
        ("mpls_tc", 3, {"eth_type": MPLS}),
        ("mpls_bos", 1, {"eth_type": MPLS}),
        ("vlan_pcp", 3, {"vlan_vid": 5}),
        *((f"tcp_{end}", 16, {"eth_type": IPV4, "ip_proto": TCP}) for end in ("src", "dst")),
        *((f"udp_{end}", 16, {"eth_type": IPV4, "ip_proto": UDP}) for end in ("src", "dst")),
    ],
)
def test_a_field_of_a_match_holds_as_much_as_its_header(field: str, bits: int, others: dict[str, Any]) -> None:
    assert refused_match(**others, **{field: 2**bits - 1}) == []
    (problem,) = refused_match(**others, **{field: 2**bits})
    assert problem.endswith(f": {field} {2**bits} has more than {bits} bits")


def test_a_vlan_id_has_twelve_bits_unless_it_stands_for_any() -> None:
    assert [len(refused_match(vlan_vid=vid)) for vid in (4095, 0x1000, 0x1001)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("match", "problem"),
    [
        (Match(ip_dscp=1), "ip_dscp without EtherType 0x0800 or 0x86dd"),
        (Match(eth_type=MPLS, ip_ecn=1), "ip_ecn without EtherType 0x0800 or 0x86dd"),
        (Match(eth_type=IPV4, mpls_label=16), "mpls_label without EtherType 0x8847"),
        (Match(eth_type=IPV6, ipv4_dst=IPv4Network("10.0.0.0/8")), "ipv4_dst without EtherType 0x0800"),
        (Match(eth_type=IPV4, ipv6_src=IPv6Network("2001:db8::/32")), "ipv6_src without EtherType 0x86dd"),
        (Match(eth_type=IPV4, ip_proto=UDP, tcp_dst=80), "tcp_dst without protocol 6"),
        (Match(eth_type=IPV4, udp_src=53), "udp_src without protocol 17"),
        (Match(vlan_pcp=1), "vlan_pcp without a VLAN id"),
        (Match(vlan_vid=0, vlan_pcp=1), "vlan_pcp without a VLAN id"),
    ],
)
def test_a_field_comes_with_those_that_it_needs(match: Match, problem: str) -> None:
    (told,) = refused(FlowEntry(1, match))
    assert told.endswith(f": {problem}")


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        (ToGroup(7), "group 7 does not exist yet"),
        (PushLabel(1 << 20, 7), "mpls_label 1048576 has more than 20 bits"),
        (PushLabel(16, 8), "mpls_tc 8 has more than 3 bits"),
        (PushVlan(4096, 7), "vlan_vid 4096 has more than 12 bits"),
        (PushVlan(1, 8), "vlan_pcp 8 has more than 3 bits"),
        (PushVlan(0, 1), "pushes VLAN id 0"),
        (SetDscp(64), "ip_dscp 64 has more than 6 bits"),
        (SetEcn(4), "ip_ecn 4 has more than 2 bits"),
    ],
)
def test_an_action_is_refused_wherever_it_stands(action: Action, problem: str) -> None:
    for entry in (FlowEntry(1, Match(), (action,)), FlowEntry(1, Match(), written=(action,))):
        assert refused(entry) == [f"table 0 entry : {problem}"]
    group = Group(6, GroupType.SELECT, (Bucket((Output(1),)), Bucket((action,))))
    assert list(refusals(SwitchTables((group,), ()))) == [f"group 6: bucket 1: {problem}"]


def test_entries_lead_to_later_tables_only() -> None:
    tables = [(1, 2), (1, 1), (2, 1)]
    found = [len(refused(FlowEntry(1, Match(), table_id=table, goto_table=following))) for table, following in tables]
    assert found == [0, 1, 1]


def test_groups_come_once_after_those_that_they_use_or_watch_and_their_buckets_watch_something() -> None:
    first = Group(1, GroupType.FAST_FAILOVER, (Bucket((Output(2),), watch_port=2),))
    second = Group(2, GroupType.FAST_FAILOVER, (Bucket((ToGroup(1),), watch_group=1), Bucket((Output(3),))))
    entry = FlowEntry(1, Match(), (ToGroup(2),))
    unwatched = "group 2: bucket 1: watches nothing"
    early = ["group 2: bucket 0: group 1 does not exist yet"] * 2
    assert list(refusals(SwitchTables((first, second), (entry,)))) == [unwatched]
    assert list(refusals(SwitchTables((second, first), (entry,)))) == [*early, unwatched]
    assert list(refusals(SwitchTables((first, first), ()))) == ["group 1 is given twice"]
