"""Sites with prefixes of IPv6: what their tables share with those of IPv4, and what the proof notices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from itertools import product
from pathlib import Path

import pytest

from kuijia_app.proof.model.network import ModelNetwork
from kuijia_app.proof.model.packet import Packet, VlanTag, with_tag
from kuijia_app.proof.verification import Verifier
from kuijia_app.tables import identifiers
from kuijia_app.tables.families import Family
from kuijia_app.tables.ofctl_text import flow_text, group_text
from kuijia_app.tables.options import Form, Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables, ingresses_of
from kuijia_app.tables.rules import FlowEntry, GroupType, PopLabel, PushLabel, SwitchTables
from kuijia_app.tables.wiring_file import load_wiring, wiring_text
from kuijia_base.errors import InputError
from te_solver.model.failures import single_links
from te_solver.schemes.shipped.rescaling_renormalised import RENORMALISED
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.wirings import dual_stack

ETH_TYPE_IPV4, ETH_TYPE_IPV6, ETH_TYPE_MPLS, IPV6_EXPLICIT_NULL = 0x0800, 0x86DD, 0x8847, 2

PLAN = motivation_plan()
BOTH = dual_stack(PLAN.topology)
FORMS = [
    PipelineOptions(form=form, tagging=tagging, liveness=liveness, other_traffic=other)
    for form, tagging, liveness, other in product(Form, Tagging, Liveness, OtherTraffic)
    if other is OtherTraffic.DROP or tagging is not Tagging.DSCP_ECN
]


def violations(tables: dict[str, SwitchTables], options: PipelineOptions) -> list[str]:
    return [str(each) for each in Verifier(PLAN, tables, options).run(single_links(PLAN.topology)).violations]


@pytest.mark.parametrize("options", FORMS)
@pytest.mark.parametrize(
    "families", [{}, {"gateways": True}, {"ipv4": "s2"}, {"ipv6": "s4"}, {"ipv6": "s1 s2 s3 s4"}], ids=str
)
def test_tables_of_both_families_are_proved(options: PipelineOptions, families: dict[str, str]) -> None:
    stated = replace(options, wiring=dual_stack(PLAN.topology, **families))  # type: ignore[arg-type]  # bool or str
    assert violations(build_tables(PLAN, stated), stated) == []


@pytest.mark.parametrize("options", FORMS)
def test_ipv6_adds_to_the_groups_and_entries_of_ipv4_and_alters_none_on_the_way(options: PipelineOptions) -> None:
    usual, both = build_tables(PLAN, options), build_tables(PLAN, replace(options, wiring=BOTH))
    for switch, tables in usual.items():
        assert set(tables.groups) <= set(both[switch].groups)
        kept = [entry for entry in tables.flows if not any(isinstance(each, PopLabel) for each in entry.actions)]
        if options.form is Form.SINGLE:
            assert set(kept) <= set(both[switch].flows)


def tagged(tables: SwitchTables) -> list[FlowEntry]:
    return [entry for entry in tables.flows if entry.match.mpls_label or entry.match.vlan_vid]


@pytest.mark.parametrize("tagging", [Tagging.MPLS, Tagging.VLAN])
def test_transit_is_the_same_for_both_families_with_labels_and_vlan_tags(tagging: Tagging) -> None:
    options = PipelineOptions(tagging=tagging)
    usual, both = build_tables(PLAN, options), build_tables(PLAN, replace(options, wiring=BOTH))
    for switch in ("s2", "s3"):
        assert tagged(usual[switch])
        assert tagged(usual[switch]) == tagged(both[switch])


@pytest.mark.parametrize("ipv4", ["s1 s2 s3", ""])
def test_an_egress_delivers_both_families_from_a_vlan_by_the_same_entries(ipv4: str) -> None:
    options = PipelineOptions(tagging=Tagging.VLAN)
    usual = build_tables(PLAN, options)["s4"]
    both = build_tables(PLAN, replace(options, wiring=dual_stack(PLAN.topology, ipv4=ipv4)))["s4"]
    assert tagged(usual)
    assert tagged(usual) == tagged(both)


def test_a_host_reaches_no_tunnel_by_a_vlan_tag_of_its_own() -> None:
    options = PipelineOptions(tagging=Tagging.VLAN, wiring=BOTH)
    network = ModelNetwork(PLAN, build_tables(PLAN, options), options.liveness)
    packet = Packet.between(4, IPv6Address("2001:db8:0:1::1"), IPv6Address("2001:db8:0:4::1"))
    assert network.walk("s1", packet).delivered_to == ("s4", 4)
    for vid in (1, 16, 17, 4094):
        assert len(network.walk("s1", with_tag(packet, VlanTag(vid, 0))).hops) == 1
        assert network.walk("s1", with_tag(packet, VlanTag(vid, 0))).delivered_to is None


@pytest.mark.parametrize("tagging", Tagging)
def test_renormalised_ranges_grow_for_both_families_alike(tagging: Tagging) -> None:
    options = PipelineOptions(scheme=RENORMALISED, tagging=tagging, wiring=BOTH)
    ingress = ingresses_of(PLAN, options)["s1", "s4"]
    four, six = ingress.splits({16})
    assert [group.group_id for group in (four, six)] == [identifiers.split_group(4, 0, family) for family in Family]
    to = [[bucket.actions[-1] for bucket in group.buckets] for group in (four, six)]
    assert to[0] == to[1]
    named = {bucket.actions[:-1] for bucket in six.buckets}
    assert named == ({(PushLabel(IPV6_EXPLICIT_NULL, 0),)} if tagging is Tagging.MPLS else {()})
    installed = [group for group in build_tables(PLAN, options)["s1"].groups if group.group_type is GroupType.SELECT]
    assert [group for group in ingress.splits() if group not in installed] == []
    assert six not in installed


def test_packets_of_ipv6_are_hashed_before_a_label_hides_their_addresses() -> None:
    tables = build_tables(PLAN, PipelineOptions(wiring=BOTH))["s1"]
    groups = {group.group_id: group_text(group) for group in tables.groups}
    split = groups[identifiers.split_group(4, 0, Family.IPV6)]
    null = "push_mpls:0x8847,set_field:2->mpls_label,set_field:0->mpls_tc,"
    assert (
        split.replace(null, "").replace(f"={0x1100_0004},", f"={0x1000_0004},") == groups[identifiers.split_group(4, 0)]
    )
    assert split.count(null) == split.count("bucket=")
    (entry,) = (flow_text(each) for each in tables.flows if "ipv6_dst=2001:db8:0:4::/64,actions" in flow_text(each))
    assert entry.endswith(f"priority=100,ipv6,in_port=4,ipv6_dst=2001:db8:0:4::/64,actions=group:{0x1100_0004}")


def test_the_bottom_of_the_stack_tells_the_egress_what_to_write() -> None:
    tables = build_tables(PLAN, PipelineOptions(wiring=BOTH))["s4"]
    ends = {entry.match.mpls_bos: entry.actions[:-2] for entry in tables.flows if PopLabel in map(type, entry.actions)}
    assert ends == {
        1: (PopLabel(ETH_TYPE_IPV4),),
        0: (PopLabel(ETH_TYPE_MPLS), PopLabel(ETH_TYPE_IPV6)),
    }


@pytest.mark.parametrize("destination", ["10.0.4.1", "2001:db8:0:4::1"])
@pytest.mark.parametrize("tagging", Tagging)
def test_both_families_take_the_way_of_their_slot(destination: str, tagging: Tagging) -> None:
    options = PipelineOptions(wiring=BOTH, tagging=tagging)
    network = ModelNetwork(PLAN, build_tables(PLAN, options), options.liveness)
    source = IPv6Address("2001:db8:0:1::1") if ":" in destination else IPv4Address("10.0.1.1")
    target = IPv6Address(destination) if ":" in destination else IPv4Address(destination)
    ways = [network.walk("s1", Packet.between(4, source, target, slot=slot)) for slot in range(64)]
    assert {walk.delivered_to for walk in ways} == {("s4", 4)}
    four = [
        network.walk("s1", Packet.between(4, IPv4Address(0), IPv4Address("10.0.4.1"), slot=slot)) for slot in range(64)
    ]
    assert [(walk.nodes, walk.queues) for walk in ways] == [(walk.nodes, walk.queues) for walk in four]
    assert {walk.hops[-1].sent.eth_type for walk in ways if walk.hops[-1].sent} == {
        0x86DD if target.version == 6 else 0x800
    }


def _popped_as_ipv4(entry: FlowEntry) -> FlowEntry:
    wrong = tuple(PopLabel() if each == PopLabel(ETH_TYPE_IPV6) else each for each in entry.actions)
    return replace(entry, actions=wrong)


def _popped_once(entry: FlowEntry) -> FlowEntry:
    return replace(entry, actions=tuple(each for each in entry.actions if each != PopLabel(ETH_TYPE_MPLS)))


def _of_any_stack(entry: FlowEntry) -> FlowEntry:
    is_ipv4 = entry.match.mpls_bos == 1
    return replace(entry, match=replace(entry.match, mpls_bos=None), priority=entry.priority + 1) if is_ipv4 else entry


@pytest.mark.parametrize("broken", [_popped_as_ipv4, _popped_once, _of_any_stack])
def test_the_proof_notices_an_egress_that_takes_one_family_for_the_other(
    broken: Callable[[FlowEntry], FlowEntry],
) -> None:
    options = PipelineOptions(wiring=BOTH)
    tables = build_tables(PLAN, options)
    tables["s4"] = replace(tables["s4"], flows=tuple(map(broken, tables["s4"].flows)))
    assert any("2001:db8:0:4" in each and "EtherType" in each for each in violations(tables, options))


def test_the_proof_notices_a_prefix_of_ipv6_that_no_entry_serves() -> None:
    options = PipelineOptions(wiring=BOTH)
    assert any("2001:db8" in each for each in violations(build_tables(PLAN), options))


FILE = """\
version: 1
switches:
  a:
    datapath_id: 1
    links: {b: 1}
    host: {port: 2, prefixes: [10.1.0.0/16, "2001:db8:1::/48"], gateway: [10.1.0.1, "2001:db8:1::1"]}
  b:
    datapath_id: 2
    links: {a: 1}
    host: {port: 2, prefixes: ["2001:db8:2::/64"], address: "2001:db8:2::7"}
"""


def test_a_file_states_prefixes_and_addresses_of_both_families(tmp_path: Path) -> None:
    path = tmp_path / "wiring.yaml"
    path.write_text(FILE)
    wiring = load_wiring(path)
    a, b = (wiring.switches[name].host for name in "ab")
    assert a is not None
    assert b is not None
    assert a.addresses == (IPv4Address("10.1.0.2"), IPv6Address("2001:db8:1::2"))
    assert (b.addresses, b.prefixes) == ((IPv6Address("2001:db8:2::7"),), (IPv6Network("2001:db8:2::/64"),))
    for as_json in (False, True):
        path.write_text(wiring_text(wiring, as_json=as_json))
        assert load_wiring(path).switches == wiring.switches


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"2001:db8:2::/64"', '"2001:db8:2::1/64"', "10: switches.b.host.prefixes: '2001:db8:2::1/64' has host bits"),
        (
            '"2001:db8:2::/64"',
            '"2001:db8::2::/64"',
            "10: switches.b.host.prefixes: '2001:db8::2::/64', expected a prefix",
        ),
        ('"2001:db8:2::/64"', '"fe80::/64"', "10: switches.b.host.prefixes: 'fe80::/64' is never routed"),
        ('"2001:db8:2::/64"', '"ff02::/64"', "10: switches.b.host.prefixes: 'ff02::/64' is never routed"),
        ('"2001:db8:2::7"', '"2001:db8:3::7"', "10: switches.b.host.address: 2001:db8:3::7 is in none of its prefixes"),
        (
            '"2001:db8:2::7"',
            '"2001:db8:2::7%eth0"',
            "10: switches.b.host.address: '2001:db8:2::7%eth0', expected an IP address w",
        ),
        (
            '"2001:db8:2::7"',
            '["2001:db8:2::7", "2001:db8:2::8"]',
            "10: switches.b.host.address: several of a family, expected at most one of IPv4",
        ),
        (
            '"2001:db8:2::/64"], address: "2001:db8:2::7"',
            '"2001:db8:1:7::/64"]',
            "switches.b.host.prefixes[0]: 2001:db8:1:7::/64 overlaps 2001:db8:1::/48 of a",
        ),
    ],
)
def test_prefixes_and_addresses_that_are_wrong_are_refused_in_one_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in FILE
    path = tmp_path / "wiring.yaml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(InputError) as error:
        load_wiring(path)
    assert str(error.value).startswith(f"{path}:{message}")
    assert "\n" not in str(error.value)


def test_hosts_of_ipv6_alone_have_ethernet_addresses_of_their_own() -> None:
    wiring = dual_stack(PLAN.topology, ipv6="s1 s2 s3 s4").of(PLAN.topology)
    macs = [site.mac for site in wiring.sites]
    assert len(set(macs)) == len(macs)
    assert all(mac.startswith("02:00:") for mac in macs)
