"""A wiring follows from probes that were heard, or it is said what they leave open."""

from __future__ import annotations

import pytest

from kuijia_app.discovery.findings import DiscoveredNetwork, wiring_found
from kuijia_app.tables.stated_wiring import StatedWiring
from kuijia_base.errors import UnsoundError
from te_solver.topology import Topology
from tests.kuijia_app.plans import both_ways, motivation_plan
from tests.kuijia_app.wirings import permuted

LOPSIDED = both_ways("lopsided", "a b c d", "a-b b-c b-d c-d")
"""Only c and d could change places."""


def observed(topology: Topology, wiring: StatedWiring) -> DiscoveredNetwork:
    fitted = wiring.of(topology)
    findings = DiscoveredNetwork()
    for node in topology.nodes:
        findings.described(fitted.datapath_id(node), dict.fromkeys([*fitted.ports(node), 0xFFFF_FFFE], True))
        for other in topology.neighbours[node]:
            ends = (node, other), (other, node)
            one, two = ((fitted.datapath_id(near), fitted.port(near, far)) for near, far in ends)
            findings.heard.add((one, two))
    return DiscoveredNetwork.from_json(findings.to_json())


def test_the_wiring_that_was_observed_is_found() -> None:
    topology = both_ways("uneven", "a b c d e f", "a-b b-c c-d d-e c-f d-f")
    wiring = permuted(topology, seed=4)
    findings = observed(topology, wiring)
    assert findings.is_complete(6, 6)
    assert not findings.is_complete(6, 7)
    found, remarks = wiring_found(findings, topology, {}, ())
    assert (found.switches, remarks) == (wiring.switches, [])


def test_switches_that_could_change_places_are_to_be_named() -> None:
    wiring = permuted(LOPSIDED, seed=5)
    findings = observed(LOPSIDED, wiring)
    with pytest.raises(UnsoundError, match=r"switches\.c: c could be .*, expected --switch c=DATAPATH-ID"):
        wiring_found(findings, LOPSIDED, {}, ())
    found, _ = wiring_found(findings, LOPSIDED, {"c": wiring.switches["c"].datapath_id}, ())
    assert found.switches == wiring.switches
    with pytest.raises(UnsoundError, match="the cables between the 4 switches are not those of lopsided"):
        wiring_found(findings, LOPSIDED, {"a": wiring.switches["b"].datapath_id}, ())


def test_a_cable_counts_when_probes_come_both_ways() -> None:
    topology = motivation_plan().topology
    findings = observed(topology, permuted(topology, seed=6))
    findings.heard.pop()
    assert len(findings.cables) == len(topology.edges) - 1
    with pytest.raises(UnsoundError, match="4 links were found, expected 5, as fig1 has"):
        wiring_found(findings, topology, {}, ())


def test_without_a_topology_switches_are_named_by_their_datapath_ids() -> None:
    wiring = permuted(LOPSIDED, seed=7)
    findings = observed(LOPSIDED, wiring)
    number = wiring.switches["a"].datapath_id
    found, _ = wiring_found(findings, None, {"a": number}, ())
    assert found.switches["a"].datapath_id == number
    assert {name for name in found.switches if name != "a"} == {
        f"switch-{ends.datapath_id:016x}" for name, ends in wiring.switches.items() if name != "a"
    }


def test_a_name_for_a_switch_that_is_not_there_is_refused() -> None:
    findings = observed(LOPSIDED, permuted(LOPSIDED, seed=7))
    for topology in (LOPSIDED, None):
        with pytest.raises(UnsoundError, match=r"switches\.a: .*0000000000000001"):
            wiring_found(findings, topology, {"a": 1}, ())


def test_a_choice_of_host_ports_is_left_to_the_user() -> None:
    wiring = permuted(LOPSIDED, seed=8)
    findings = observed(LOPSIDED, wiring)
    ends = wiring.switches["a"]
    assert ends.host is not None
    findings.described(ends.datapath_id, {4000: False})
    given = {"c": wiring.switches["c"].datapath_id}
    found, remarks = wiring_found(findings, LOPSIDED, given, ())
    assert (found.switches["a"].host, remarks) == (ends.host, [])
    findings.described(ends.datapath_id, {4000: True})
    found, (remark,) = wiring_found(findings, LOPSIDED, given, ())
    assert found.switches["a"].host is None
    assert remark == f"a has no host: each of the ports {ends.host.port}, 4000 could lead to it"
