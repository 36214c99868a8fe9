"""Sites whose hosts send packets with a VLAN tag of their own: carried under another tag, and delivered with it."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address
from itertools import product
from pathlib import Path

import pytest

from kuijia_app.proof.model.packet import Packet, VlanTag
from kuijia_app.proof.model.switch import ModelSwitch
from kuijia_app.proof.verification import Verifier
from kuijia_app.tables.needs import needs_of
from kuijia_app.tables.options import Form, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import ETH_TYPE_IPV4, FlowEntry, Match, Output, PopVlan, SwitchTables
from kuijia_app.tables.stated_wiring import StatedWiring
from kuijia_app.tables.wiring import Neighbours
from kuijia_app.tables.wiring_file import load_wiring, wiring_text
from kuijia_base.errors import InputError
from te_solver.model.failures import single_links
from tests.kuijia_app.tables.test_trunks import FIRST_TUNNEL, PLAN, trunks


def tagged(*sites: str) -> StatedWiring:
    """Return a wiring in which the hosts of some sites may send tags."""
    found = trunks()
    switches = dict(found.switches)
    for name in sites:
        host = switches[name].host
        assert host is not None
        switches[name] = replace(switches[name], host=replace(host, tagged=True))
    return StatedWiring("tagged", switches)


BOTH = tagged("s1", "s4")


def violations(options: PipelineOptions, tables: dict[str, SwitchTables]) -> set[str]:
    return {each.rule for each in Verifier(PLAN, tables, options).run(single_links(PLAN.topology)).violations}


@pytest.mark.parametrize(("form", "tagging"), list(product(Form, Tagging)))
def test_packets_with_a_tag_are_carried_and_delivered_with_it(form: Form, tagging: Tagging) -> None:
    options = PipelineOptions(form=form, tagging=tagging, wiring=BOTH)
    assert violations(options, build_tables(PLAN, options)) == set()


def test_they_are_carried_between_sites_of_no_pair_and_into_the_vlan_of_a_trunk() -> None:
    behind = trunks(s4=7).switches["s4"]
    wiring = replace(BOTH, switches={**tagged("s1", "s2").switches, "s4": behind})
    options = PipelineOptions(tagging=Tagging.VLAN, wiring=wiring, other_traffic=OtherTraffic.FORWARD)
    assert violations(options, build_tables(PLAN, options)) == set()


def test_the_proof_notices_an_ingress_that_takes_only_packets_without_a_tag() -> None:
    promised = PipelineOptions(tagging=Tagging.VLAN, wiring=BOTH)
    tables = build_tables(PLAN, replace(promised, wiring=trunks()))
    assert "delivered" in violations(promised, tables)


def test_only_tables_of_vlan_tags_and_only_at_the_site_are_others() -> None:
    for tagging in Tagging:
        usual = build_tables(PLAN, PipelineOptions(tagging=tagging, wiring=trunks()))
        tables = build_tables(PLAN, PipelineOptions(tagging=tagging, wiring=tagged("s1")))
        changed = {name for name in usual if usual[name] != tables[name]}
        assert changed == ({"s1"} if tagging is Tagging.VLAN else set())


def test_a_switch_reads_the_address_behind_one_tag_but_not_behind_two() -> None:
    entries = (
        FlowEntry(2, Match(in_port=1, eth_type=ETH_TYPE_IPV4), (Output(2),)),
        FlowEntry(1, Match(in_port=1, vlan_vid=FIRST_TUNNEL), (PopVlan(),), goto_table=3),
        FlowEntry(1, Match(eth_type=ETH_TYPE_IPV4), (Output(3),), table_id=3),
    )
    switch = ModelSwitch("any", SwitchTables((), entries), lambda _: True)
    one, other = IPv4Address("10.0.1.1"), IPv4Address("10.0.4.1")
    tag, inner = VlanTag(FIRST_TUNNEL, 0), VlanTag(5, 0)
    sent = [switch.process(Packet(1, one, other, vlans=vlans)).sent for vlans in ((), (tag,), (tag, inner))]
    assert [[port for port, _ in each] for each in sent] == [[2], [2], []]


def test_links_carry_another_tag_and_switches_of_such_sites_must_read_one_alone() -> None:
    for tagging, mtu in ((Tagging.MPLS, 1512), (Tagging.DSCP_ECN, 1504), (Tagging.VLAN, 1508)):
        options = PipelineOptions(tagging=tagging, wiring=tagged("s1"))
        needs = needs_of(PLAN, options, options.wired(PLAN.topology))
        assert {port.mtu for each in needs.values() for port in each.ports.values() if not port.is_host} == {mtu}
        assert {name for name, each in needs.items() if each.reads_one_tag} == (
            {"s1"} if tagging is Tagging.VLAN else set()
        )


def test_hosts_that_send_tags_are_never_learned() -> None:
    wiring = PipelineOptions(wiring=BOTH, neighbours=Neighbours.LEARNED).wired(PLAN.topology)
    assert [name for name in PLAN.topology.nodes if not wiring.gateways(name)] == ["s1", "s4"]


def test_a_wiring_file_states_them_and_is_written_back(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    for as_json in (False, True):
        path.write_text(wiring_text(BOTH, as_json=as_json))
        assert load_wiring(path).switches == BOTH.switches
    assert load_wiring(path).untagged.switches == trunks().switches


@pytest.mark.parametrize("more", ["vlan: 5", "gateway: 10.0.1.9", "vlan: 7, gateway: 10.0.1.9"])
def test_tags_behind_which_a_host_would_have_to_be_found_are_refused(tmp_path: Path, more: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(wiring_text(tagged("s1")).replace("tagged: true", f"tagged: true, {more}"))
    with pytest.raises(
        InputError, match=r"own\.yaml:switches\.s1\.host\.tagged: a site with tags of its own, expected no"
    ):
        load_wiring(path)
