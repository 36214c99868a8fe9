"""Sites behind a VLAN trunk: their tables, what the proof notices, the wiring file, and the gateway's frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from kuijia_app.control.host_frames import tagged, untagged
from kuijia_app.proof.acceptance import refusals
from kuijia_app.proof.trace import parse_packet
from kuijia_app.proof.verification import Verifier
from kuijia_app.tables.options import Form, Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import ETH_TYPE_ARP, FlowEntry, Output, PopLabel, PopVlan, PushVlan, SwitchTables
from kuijia_app.tables.stated_wiring import StatedWiring
from kuijia_app.tables.wiring_file import emulated_wiring, load_wiring, wiring_text
from kuijia_base.errors import InputError
from te_solver.model.failures import single_links
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.tables.test_classifiers import RULES, classified
from tests.kuijia_app.wirings import dual_stack

PLAN = motivation_plan()
FIRST_TUNNEL = 16


def trunks(*, gateways: bool = False, **vlans: int) -> StatedWiring:
    """Return a wiring in which some sites are behind trunks."""
    found = dual_stack(PLAN.topology, gateways=gateways)
    switches = dict(found.switches)
    for name, vlan in vlans.items():
        host = switches[name].host
        assert host is not None
        switches[name] = replace(switches[name], host=replace(host, vlan=vlan))
    return StatedWiring("trunks", switches)


BOTH_ENDS = trunks(s1=100, s4=FIRST_TUNNEL)
FORMS = [
    PipelineOptions(form=form, tagging=tagging, liveness=liveness, other_traffic=other)
    for form, tagging, liveness, other in product(Form, Tagging, Liveness, OtherTraffic)
    if other is OtherTraffic.DROP or tagging is not Tagging.DSCP_ECN
]


def violations(tables: dict[str, SwitchTables], options: PipelineOptions) -> set[str]:
    return {each.rule for each in Verifier(PLAN, tables, options).run(single_links(PLAN.topology)).violations}


@pytest.mark.parametrize("options", FORMS)
@pytest.mark.parametrize("gateways", [False, True])
def test_tables_of_sites_behind_trunks_are_proved(options: PipelineOptions, *, gateways: bool) -> None:
    stated = replace(options, wiring=trunks(gateways=gateways, s1=100, s4=FIRST_TUNNEL))
    tables = build_tables(PLAN, stated)
    assert violations(tables, stated) == set()
    assert [problem for each in tables.values() for problem in refusals(each)] == []


def test_classifiers_see_packets_without_the_tag_of_their_trunk() -> None:
    options = PipelineOptions(layout=classified(*RULES), wiring=BOTH_ENDS)
    assert violations(build_tables(PLAN, options), options) == set()


def test_a_site_without_a_trunk_has_the_same_entries_whatever_the_others_have() -> None:
    usual = build_tables(PLAN, PipelineOptions(wiring=trunks()))
    one = build_tables(PLAN, PipelineOptions(wiring=trunks(s1=100)))
    assert {name for name in usual if usual[name] != one[name]} == {"s1"}


def changed(change: Callable[[FlowEntry], FlowEntry], switch: str) -> set[str]:
    options = PipelineOptions(wiring=BOTH_ENDS)
    tables = build_tables(PLAN, options)
    flows = tuple(map(change, tables[switch].flows))
    assert flows != tables[switch].flows
    tables[switch] = SwitchTables(tables[switch].groups, flows)
    return violations(tables, options)


def without(kind: type[PopVlan | PushVlan]) -> Callable[[FlowEntry], FlowEntry]:
    return lambda entry: replace(entry, actions=tuple(each for each in entry.actions if not isinstance(each, kind)))


def any_vlan(entry: FlowEntry) -> FlowEntry:
    return replace(entry, match=replace(entry.match, vlan_vid=None)) if entry.match.vlan_vid == 100 else entry


@pytest.mark.parametrize(
    ("change", "switch", "rule"),
    [(without(PopVlan), "s1", "header"), (without(PushVlan), "s4", "header"), (any_vlan, "s1", "stray")],
    ids=["tag kept", "tag missing", "any VLAN"],
)
def test_a_tag_that_is_kept_missing_or_not_looked_at_is_found(
    change: Callable[[FlowEntry], FlowEntry], switch: str, rule: str
) -> None:
    assert rule in changed(change, switch)


def test_a_violation_names_the_tag_of_traffic_of_no_site() -> None:
    options = PipelineOptions(wiring=BOTH_ENDS)
    tables = build_tables(PLAN, options)
    tables["s1"] = SwitchTables(tables["s1"].groups, tuple(map(any_vlan, tables["s1"].flows)))
    found = Verifier(PLAN, tables, options).run([]).violations
    abouts = {each.traffic for each in found if each.rule == "stray" and ", ecn 0" in each.traffic}
    assert {about.partition(", ecn 0")[2] for about in abouts} == {"", ", vlan 1 pcp 0"}


def test_a_traced_packet_enters_in_the_vlan_of_its_site_and_leaves_in_that_of_the_other() -> None:
    options = PipelineOptions(wiring=BOTH_ENDS)
    network = Verifier(PLAN, build_tables(PLAN, options), options)._network
    walk = network.walk("s1", parse_packet("s1->s4", PLAN.topology, options).entering(network))
    first, last = walk.hops[0].packet, walk.hops[-1].sent
    assert last is not None
    assert [tag.vid for tag in first.vlans] == [100]
    assert [(tag.vid, tag.pcp) for tag in last.vlans] == [(FIRST_TUNNEL, 0)]


@pytest.mark.parametrize("form", Form)
def test_an_egress_adds_the_tag_before_it_removes_a_label_so_that_a_packet_needs_no_second_pass(form: Form) -> None:
    tables = build_tables(PLAN, PipelineOptions(form=form, wiring=BOTH_ENDS))["s4"]
    delivering = [entry.actions + entry.written for entry in tables.flows if entry.match.mpls_label]
    assert delivering
    kinds = [[type(each) for each in actions if isinstance(each, PushVlan | PopLabel)] for actions in delivering]
    assert {tuple(each) for each in kinds if each} == {(PushVlan, PopLabel), (PushVlan, PopLabel, PopLabel)}


def test_learned_hosts_are_delivered_to_in_their_vlan() -> None:
    options = PipelineOptions(wiring=trunks(gateways=True, s4=7))
    tables = build_tables(PLAN, options)["s4"]
    assert not any(isinstance(each, Output) for entry in tables.flows if entry.goto_table for each in entry.actions)
    assert not any(isinstance(each, PushVlan) for entry in tables.flows for each in entry.actions)


def test_a_wiring_file_states_the_vlan_of_a_site_and_is_written_back(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(wiring_text(BOTH_ENDS))
    assert load_wiring(path).switches == BOTH_ENDS.switches
    assert "vlan: 100" in path.read_text()
    assert load_wiring(path).untagged.switches == trunks().switches


def test_a_network_whose_hosts_send_no_tags_refuses_trunks(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(wiring_text(BOTH_ENDS))
    with pytest.raises(InputError, match=r"own\.yaml:switches\.s1\.host\.vlan: hosts of a lab send no tags"):
        emulated_wiring(PLAN.topology, str(path))


@pytest.mark.parametrize("vlan", ["0", "4095", "1.5", "ten"])
def test_an_impossible_vlan_is_refused_with_its_line(tmp_path: Path, vlan: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(wiring_text(BOTH_ENDS).replace("vlan: 100", f"vlan: {vlan}"))
    with pytest.raises(InputError, match=r"own\.yaml:\d+: switches\.s1\.host\.vlan.*a VLAN id from 1 to 4094"):
        load_wiring(path)


def test_frames_lose_their_tag_which_names_their_vlan() -> None:
    frame = bytes(range(12)) + ETH_TYPE_ARP.to_bytes(2, "big") + bytes(46)
    assert tagged(frame, 100) == frame[:12] + b"\x81\x00\x00\x64" + frame[12:]
    assert untagged(tagged(frame, 100)) == (100, frame)
    urgent = frame[:12] + b"\x81\x00\xe0\x64" + frame[12:]
    assert untagged(urgent) == (100, frame)
    for other in (frame, frame[:15], b""):
        assert untagged(other) == (None, other)
