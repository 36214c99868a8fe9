"""Numbering of ports, switches and sites follows from the topology alone."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest

from kuijia_app.tables.wiring import Wiring
from te_solver.model.topology import Topology
from tests.kuijia_app.plans import both_ways

MAX_SITES = 0xFFFF

RING = both_ways("ring", "a b c", "c-a a-b b-c")


def test_ports_follow_the_order_of_nodes_and_the_host_comes_last() -> None:
    wiring = Wiring(RING)
    assert [wiring.port("c", other) for other in ("a", "b")] == [1, 2]
    assert wiring.host_port("c") == 3
    assert [wiring.neighbour_at("c", port) for port in (0, 1, 2, 3)] == [None, "a", "b", None]


def test_datapath_ids_lead_back_to_their_switch() -> None:
    wiring = Wiring(RING)
    assert [wiring.switch_of(wiring.datapath_id(node)) for node in RING.nodes] == ["a", "b", "c"]
    assert wiring.switch_of(0) is None
    assert wiring.switch_of(4) is None


def test_sites_beyond_the_first_255_spread_over_the_second_octet() -> None:
    nodes = tuple(f"n{number}" for number in range(300))
    wiring = Wiring(Topology("line", nodes, ()))
    assert wiring.prefix("n0") == IPv4Network("10.0.1.0/24")
    assert wiring.prefix("n299") == IPv4Network("10.1.44.0/24")
    assert wiring.host_address("n299") == IPv4Address("10.1.44.1")
    assert wiring.sites[299].mac == "02:00:0a:01:2c:01"


def test_more_sites_than_prefixes_are_refused() -> None:
    nodes = tuple(str(number) for number in range(MAX_SITES + 1))
    assert Wiring(Topology("large", nodes[1:], ())).number(str(MAX_SITES)) == MAX_SITES
    with pytest.raises(ValueError, match="65536 switches, the address plan holds 65535"):
        Wiring(Topology("huge", nodes, ()))
