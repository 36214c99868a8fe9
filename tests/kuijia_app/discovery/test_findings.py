"""A wiring follows from probes that were heard, or it is said what they leave open."""

from __future__ import annotations

import json
import random
from collections import Counter

import networkx as nx
import pytest

from kuijia_app.discovery.findings import (
    MOST_REMARKS,
    MOST_SWITCHES,
    Cable,
    DiscoveredNetwork,
    match_names,
    wiring_found,
)
from kuijia_app.tables.stated_wiring import StatedWiring
from kuijia_app.tables.wiring import Neighbours
from kuijia_base.errors import UnsoundError
from te_solver.model.topology import Link, Topology
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
    wiring = permuted(topology, seed=4, neighbours=Neighbours.LEARNED)
    findings = observed(topology, wiring)
    assert findings.is_complete(6, 6)
    assert not findings.is_complete(6, 7)
    found, remarks = wiring_found(findings, topology, {}, ())
    assert (found.switches, remarks) == (wiring.switches, [])


def test_switches_that_could_change_places_are_to_be_named() -> None:
    wiring = permuted(LOPSIDED, seed=5, neighbours=Neighbours.LEARNED)
    findings = observed(LOPSIDED, wiring)
    with pytest.raises(UnsoundError, match=r"switches\.c: c could be .*, expected --switch c=DATAPATH-ID"):
        wiring_found(findings, LOPSIDED, {}, ())
    found, _ = wiring_found(findings, LOPSIDED, {"c": wiring.switches["c"].datapath_id}, ())
    assert found.switches == wiring.switches
    with pytest.raises(UnsoundError, match="the cables between the 4 switches are not those of lopsided"):
        wiring_found(findings, LOPSIDED, {"a": wiring.switches["b"].datapath_id}, ())


def test_a_cable_counts_when_probes_come_both_ways() -> None:
    topology = motivation_plan().topology
    findings = observed(topology, permuted(topology, seed=6, neighbours=Neighbours.LEARNED))
    findings.heard.pop()
    assert len(findings.cables) == len(topology.edges) - 1
    with pytest.raises(UnsoundError, match="4 links were found, expected 5, as fig1 has"):
        wiring_found(findings, topology, {}, ())


def test_without_a_topology_switches_are_named_by_their_datapath_ids() -> None:
    wiring = permuted(LOPSIDED, seed=7, neighbours=Neighbours.LEARNED)
    findings = observed(LOPSIDED, wiring)
    number = wiring.switches["a"].datapath_id
    found, _ = wiring_found(findings, None, {"a": number}, ())
    assert found.switches["a"].datapath_id == number
    assert {name for name in found.switches if name != "a"} == {
        f"switch-{ends.datapath_id:016x}" for name, ends in wiring.switches.items() if name != "a"
    }


def test_a_name_for_a_switch_that_is_not_there_is_refused() -> None:
    findings = observed(LOPSIDED, permuted(LOPSIDED, seed=7, neighbours=Neighbours.LEARNED))
    for topology in (LOPSIDED, None):
        with pytest.raises(UnsoundError, match=r"switches\.a: .*0000000000000001"):
            wiring_found(findings, topology, {"a": 1}, ())


def test_a_choice_of_host_ports_is_left_to_the_user() -> None:
    wiring = permuted(LOPSIDED, seed=8, neighbours=Neighbours.LEARNED)
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


def network_of(ports: int) -> DiscoveredNetwork:
    """Return two switches with so many ports, live and without a cable."""
    findings = DiscoveredNetwork()
    for switch in (1, 2):
        findings.described(switch, dict.fromkeys(range(1, ports + 1), True))
    return findings


def test_ports_that_were_never_described_and_too_many_at_one_port_are_not_believed() -> None:
    findings = network_of(100)
    for number in range(1, 5000):
        findings.arrived((1, number), (2, 1))
        findings.arrived((1, 1), (2, 100 + number))
        findings.arrived((3, 1), (2, 2))
    assert {at for _, at in findings.heard} == {(2, 1)}
    assert len(findings.heard) == 16
    findings.arrived((1, 1), (2, 2))
    assert ((1, 1), (2, 2)) in findings.heard


def test_no_switch_waits_until_all_ports_of_a_large_one_are_probed() -> None:
    findings = network_of(2000)
    findings.described(3, {1: True})
    probed = list(findings.to_probe([1, 2, 3]))
    assert len(probed) == len(set(probed)) == 4001
    assert {switch for switch, _ in probed[:200]} == {1, 2, 3}


def test_ports_with_a_cable_are_probed_no_more() -> None:
    small = network_of(2)
    small.arrived((1, 1), (2, 1))
    small.arrived((2, 1), (1, 1))
    assert list(small.to_probe([1, 2])) == list(small.to_probe([1, 2])) == [(1, 2), (2, 2)]


def test_no_more_ports_are_noted_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kuijia_app.discovery.findings.MOST_PORTS", 300)
    findings = network_of(200)
    assert findings.is_full
    assert [len(ports) for ports in findings.ports.values()] == [200, 100]
    findings.described(2, {1: False, 200: True})
    assert findings.ports[2][1] is False
    assert len(findings.ports[2]) == 100


def test_findings_survive_json() -> None:
    findings = network_of(3)
    findings.arrived((1, 1), (2, 2))
    findings.arrived((2, 2), (1, 1))
    findings.others.add(9)
    again = DiscoveredNetwork.from_json(json.loads(json.dumps(findings.to_json())))
    assert again == findings
    assert again.is_complete(2, 1)
    assert not again.is_complete(2, 2)


def test_no_more_switches_are_taken_in_than_the_limit() -> None:
    findings = DiscoveredNetwork()
    for switch in range(MOST_SWITCHES):
        assert findings.has_room(switch)
        findings.described(switch, {})
    assert findings.has_room(7)
    assert not findings.has_room(MOST_SWITCHES)


def test_remarks_stay_short_and_few_whatever_a_switch_says() -> None:
    findings = network_of(60_000)
    for number in range(1, 500):
        findings.arrived((1, number), (2, number))
        findings.arrived((2, number), (1, number))
    _, remarks = wiring_found(findings, None, {}, ())
    assert len(remarks) == MOST_REMARKS + 1
    assert max(map(len, remarks)) < 200
    assert remarks[-1] == "450 more of such notes"
    findings = network_of(60_000)
    findings.arrived((1, 1), (2, 1))
    findings.arrived((2, 1), (1, 1))
    _, remarks = wiring_found(findings, None, {}, ())
    assert "each of the ports 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 59987 more could lead to it" in remarks[0]


NODES = 200


def regular(seed: int) -> nx.Graph[int]:
    """Return a random network in which each switch has four links."""
    graph: nx.Graph[int] = nx.random_regular_graph(4, NODES, seed)
    return graph


def topology_of(graph: nx.Graph[int]) -> Topology:
    links = (Link(f"n{one}", f"n{other}", 100.0, 0.0) for edge in graph.edges for one, other in (edge, edge[::-1]))
    return Topology("net", tuple(f"n{node}" for node in range(NODES)), tuple(links))


def cables_of(graph: nx.Graph[int], numbers: list[int]) -> list[Cable]:
    """Return the cables of the network whose node i is the switch with the i-th of these datapath ids."""
    ports: Counter[int] = Counter()
    cables = []
    for edge in graph.edges:
        ports.update(edge)
        cables.append(frozenset((numbers[node], ports[node]) for node in edge))
    return cables


def test_switches_with_as_many_links_each_are_told_apart() -> None:
    graph, numbers = regular(1), random.Random(1).sample(range(1, 10_000), NODES)
    assert match_names(topology_of(graph), numbers, cables_of(graph, numbers), {}) == {
        f"n{node}": number for node, number in enumerate(numbers)
    }


def test_another_network_with_as_many_links_is_refused_at_once() -> None:
    numbers = list(range(1, NODES + 1))
    with pytest.raises(UnsoundError, match="are not those of net"):
        match_names(topology_of(regular(1)), numbers, cables_of(regular(2), numbers), {})
