"""Several sites at one port, told apart by VLAN: tables, what the proof notices, the wiring file, and the gateway."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from kuijia_app.control.host_frames import ArpFrame, read_frame, tagged
from kuijia_app.control.neighbours import LearnedHosts
from kuijia_app.proof.acceptance import refusals
from kuijia_app.proof.trace import parse_packet
from kuijia_app.proof.verification import Verifier
from kuijia_app.tables.identifiers import HOST_TABLE
from kuijia_app.tables.needs import needs_of
from kuijia_app.tables.neighbours import GATEWAY_MAC, host_entries, segments_of, standing_entries
from kuijia_app.tables.options import PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import IN_PORT, NO_VLAN, FlowEntry, Output, PushVlan, SwitchTables
from kuijia_app.tables.stated_wiring import StatedWiring
from kuijia_app.tables.wiring import HostEnd
from kuijia_app.tables.wiring_file import emulated_wiring, load_wiring, wiring_text
from kuijia_base.errors import InputError
from te_solver.model.failures import single_links
from tests.kuijia_app.control.test_neighbours import A, B, asks, echo, packet
from tests.kuijia_app.tables.test_trunks import FIRST_TUNNEL, FORMS, PLAN, trunks

GATEWAY = bytes.fromhex(GATEWAY_MAC.replace(":", ""))
VLANS: dict[str, tuple[int | None, ...]] = {"s1": (100, 200), "s4": (None, 17)}
"""Of the further sites at each switch: s1 has one without a tag, too, s4 one in the VLAN of a tunnel."""


def shared(*, gateways: bool = False) -> StatedWiring:
    """Return a wiring in which both ends of the plan's pair have three sites at one port."""
    found = trunks(gateways=gateways, s4=FIRST_TUNNEL)
    switches = dict(found.switches)
    for name, vlans in VLANS.items():
        ends, more = switches[name], []
        assert ends.host is not None
        for place, vlan in enumerate(vlans, start=1):
            prefix = IPv4Network(f"10.{place}.{name[1]}.0/24")
            routers = (prefix[254],) if gateways else ()
            more.append(HostEnd(ends.host.port, prefix[1], (prefix,), gateways=routers, vlan=vlan))
        switches[name] = replace(ends, more_hosts=tuple(more))
    return StatedWiring("shared", switches)


def violations(tables: dict[str, SwitchTables], options: PipelineOptions) -> set[str]:
    return {each.rule for each in Verifier(PLAN, tables, options).run(single_links(PLAN.topology)).violations}


@pytest.mark.parametrize("options", FORMS)
def test_tables_of_several_sites_at_a_port_are_proved(options: PipelineOptions) -> None:
    given = replace(options, wiring=shared())
    tables = build_tables(PLAN, given)
    assert violations(tables, given) == set()
    assert [problem for each in tables.values() for problem in refusals(each)] == []


@pytest.mark.parametrize("tagging", [Tagging.MPLS, Tagging.VLAN])
def test_they_are_proved_for_learned_hosts_and_when_only_some_are(tagging: Tagging) -> None:
    every = shared(gateways=True)
    host = every.switches["s4"].host
    assert host is not None
    mixed = {**every.switches, "s4": replace(every.switches["s4"], host=replace(host, gateways=()))}
    for wiring in (every, replace(every, switches=mixed)):
        options = PipelineOptions(tagging=tagging, wiring=wiring)
        assert violations(build_tables(PLAN, options), options) == set()


def test_other_switches_have_the_tables_that_they_had() -> None:
    usual = build_tables(PLAN, PipelineOptions(wiring=trunks(s4=FIRST_TUNNEL)))
    tables = build_tables(PLAN, PipelineOptions(wiring=shared()))
    assert {name for name in usual if usual[name] != tables[name]} == {"s1", "s4"}


def any_tag(entry: FlowEntry) -> FlowEntry:
    return replace(entry, match=replace(entry.match, vlan_vid=None)) if entry.match.vlan_vid == NO_VLAN else entry


def swapped_vlans(entry: FlowEntry) -> FlowEntry:
    swapped = {17: FIRST_TUNNEL, FIRST_TUNNEL: 17}
    own = (PushVlan(swapped[each.vid], 0) if isinstance(each, PushVlan) else each for each in entry.actions)
    return replace(entry, actions=tuple(own)) if entry.table_id == HOST_TABLE else entry


def elsewhere(entry: FlowEntry) -> FlowEntry:
    own = (Output(each.port - 1) if isinstance(each, Output) else each for each in entry.actions)
    return replace(entry, actions=tuple(own)) if entry.table_id == HOST_TABLE else entry


@pytest.mark.parametrize(
    ("change", "switch", "rules"),
    [
        (any_tag, "s1", {"stray", "ambiguous"}),
        (swapped_vlans, "s4", {"header"}),
        (elsewhere, "s4", {"loop", "delivered", "path"}),
    ],
)
def test_a_packet_of_another_site_and_delivery_to_another_one_are_found(
    change: Callable[[FlowEntry], FlowEntry], switch: str, rules: set[str]
) -> None:
    options = PipelineOptions(wiring=shared())
    tables = build_tables(PLAN, options)
    flows = tuple(map(change, tables[switch].flows))
    assert flows != tables[switch].flows
    tables[switch] = SwitchTables(tables[switch].groups, flows)
    assert violations(tables, options) & rules


def test_a_traced_packet_enters_in_the_vlan_that_is_asked_for() -> None:
    options = PipelineOptions(wiring=shared())
    network = Verifier(PLAN, build_tables(PLAN, options), options)._network
    entering = parse_packet("s1->s4 vlan=200", PLAN.topology, options).entering(network)
    assert ([tag.vid for tag in entering.vlans], str(entering.source)) == ([200], "10.2.1.1")
    assert not parse_packet("s1->s4", PLAN.topology, options).entering(network).vlans
    with pytest.raises(InputError, match="packet:vlan: 300, expected a VLAN of a site at s1"):
        parse_packet("s1->s4 vlan=300", PLAN.topology, options).entering(network)


def test_a_shared_port_is_prepared_once() -> None:
    options = PipelineOptions(wiring=shared())
    wiring = options.wired(PLAN.topology)
    assert list(wiring.ports("s1")) == [1, 2, 3, 4]
    (host,) = (port for port in needs_of(PLAN, options, wiring)["s1"].ports.values() if port.is_host)
    assert (host.number, host.leads_to) == (4, "s1")


@pytest.mark.parametrize("gateways", [False, True])
def test_a_wiring_file_lists_the_sites_and_is_written_back(tmp_path: Path, *, gateways: bool) -> None:
    path, wiring = tmp_path / "own.yaml", shared(gateways=gateways)
    for as_json in (False, True):
        path.write_text(wiring_text(wiring, as_json=as_json))
        assert load_wiring(path).switches == wiring.switches
    joined = wiring.untagged.switches["s4"]
    assert joined.host is not None
    assert joined.host.addresses == wiring.switches["s4"].hosts[0].addresses
    assert (len(joined.host.prefixes), joined.host.vlan, joined.more_hosts) == (4, None, ())


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("vlan: 200", "vlan: 100", r"host\[2\]\.vlan: VLAN 100 at port 4 is also another site's"),
        (", vlan: 200", "", r"host\[2\]\.port: packets without a tag at port 4 are also another site's"),
        (
            "[10.2.1.0/24], address: 10.2.1.1",
            "[10.1.1.128/25], address: 10.1.1.129",
            r"host\[2\]\.prefixes\[0\]: 10.1.1.128/25 overlaps 10.1.1.0/24 of s1",
        ),
        (
            "{port: 4, prefixes: [10.2.1.0/24]",
            "{port: 3, prefixes: [10.2.1.0/24]",
            r"host\[2\].port: port 3 is also the one to s4",
        ),
        ("vlan: 200", "vlan: 4095", r"own\.yaml:\d+: switches\.s1\.host\[2\]\.vlan.*1 to 4094"),
    ],
)
def test_sites_that_could_not_be_told_apart_are_refused(tmp_path: Path, before: str, after: str, problem: str) -> None:
    path, text = tmp_path / "own.yaml", wiring_text(shared())
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))
    with pytest.raises(InputError, match=problem):
        load_wiring(path)


def test_a_lab_has_one_site_at_a_switch(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(wiring_text(shared()))
    with pytest.raises(InputError, match=r"own\.yaml:switches\.s1\.host: several sites, expected one in a lab"):
        emulated_wiring(PLAN.topology, str(path))


SEGMENTS = segments_of(PipelineOptions(wiring=shared(gateways=True)).wired(PLAN.topology))


def learned() -> LearnedHosts:
    return LearnedHosts(SEGMENTS, [prefix for each in SEGMENTS for prefix in each.prefixes], 0.0)


def test_a_gateway_answers_in_the_vlan_of_the_site_alone() -> None:
    site = learned()
    for vlan, own in ((100, "10.1.1"), (200, "10.2.1")):
        (sent,) = site.arrived("s1", 4, tagged(asks(A, f"{own}.7", f"{own}.254"), vlan), 0.0).frames
        assert (sent.port, sent.vlan) == (4, vlan)
        assert isinstance(read_frame(sent.frame), ArpFrame)
        (other,) = site.arrived("s1", 4, asks(B, f"{own}.8", f"{own}.254"), 0.0).frames
        assert other.vlan is None, "for the site without a tag it is an address of another site"
    for strange in (asks(B, "10.1.1.9", "10.1.1.254"), echo("10.1.1.7", "10.1.1.254")):
        assert not site.arrived("s1", 4, tagged(strange, 300), 0.0).frames
    assert site.arrived("s1", 4, asks(A, "10.0.1.7", "10.0.1.254"), 0.0).frames[0].vlan is None
    assert site.known("s1") == 3


def test_packets_from_one_vlan_to_another_of_the_port_are_delivered_there() -> None:
    site = learned()
    site.arrived("s1", 4, tagged(asks(A, "10.1.1.7", "10.1.1.254"), 100), 0.0)
    sought = site.arrived("s1", 4, packet("10.1.1.7", "10.2.1.7"), 0.0)  # its entry has removed the tag
    assert [each.vlan for each in sought.frames] == [200]
    found = site.arrived("s1", 4, tagged(asks(B, "10.2.1.7", "10.2.1.254"), 200), 0.1)
    assert [each.vlan for each in found.frames] == [200, 200]
    answer = site.arrived("s1", 4, echo("10.1.1.7", "10.2.1.254"), 0.2)
    assert [(each.vlan, each.frame[:12]) for each in answer.frames] == [(100, A + GATEWAY)]


def test_entries_lead_packets_for_other_vlans_of_a_port_back_out_of_it() -> None:
    one, other = (each for each in SEGMENTS if each.switch == "s1" and each.vlan)
    to_other = [
        each.entry
        for each in standing_entries(one)
        if each.entry.match.destination == other.prefixes[0] and each.entry.goto_table == HOST_TABLE
    ]
    assert [(entry.match.in_port, entry.match.vlan_vid) for entry in to_other] == [(4, 100)]
    turned = list(host_entries(other, IPv4Address("10.2.1.7"), "02:00:00:00:00:07", 4))
    assert [entry.actions[-2:] for entry in turned] == [
        (PushVlan(200, 0), Output(4)),
        (PushVlan(200, 0), Output(IN_PORT)),
    ]


def test_a_site_without_a_tag_beside_others_takes_only_packets_without_one() -> None:
    (plain,) = (each for each in SEGMENTS if each.switch == "s1" and each.vlan is None)
    at_port = [each.entry.match for each in standing_entries(plain) if each.entry.match.in_port == 4]
    assert {match.vlan_vid for match in at_port} == {NO_VLAN}
