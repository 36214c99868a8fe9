"""Hosts of a data centre with only an address and a default route; switches with ids and ports of their own."""

from __future__ import annotations

import time
from collections import Counter
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from pathlib import Path

import pytest

from experiments.hedera.lab import hedera_lab
from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.scheduling.options import SchedulerOptions, build
from hedera.scheduling.tables import Routing
from kuijia_app.tables.families import Family, family_of
from kuijia_app.tables.wiring import Neighbours
from kuijia_base.errors import InputError
from testbed.controllers.application_process import Framework
from testbed.network.bridges import NetworkOptions
from tests.kuijia_app.dummy_switches import wait_until

CENTRE = DataCentre(FatTree(4))


def wiring_text(
    ports: str = "[21, 22]",
    prefixes: str = "172.16.N.0/24",
    address: str = "172.16.N.2",
    gateway: str = "172.16.N.1",
) -> str:
    """Return a file for the fat-tree of four ports: ids from 0x100, ports from 11; N stands for a switch's number."""
    lines = ["version: 1", "switches:"]
    topology = CENTRE.wiring.topology
    for number, node in enumerate(topology.nodes):
        links = ", ".join(f"{other}: {11 + place}" for place, other in enumerate(topology.neighbours[node]))
        host = ""
        if node in CENTRE.hosts_of:
            host = f", host: {{port: {ports}, prefixes: [{prefixes}], gateway: [{gateway}], address: [{address}]}}"
        lines.append(
            f'  {node}: {{datapath_id: "0x{0x100 + number:x}", links: {{{links}}}{host.replace("N", f"{number}")}}}'
        )
    return "\n".join(lines) + "\n"


def test_a_wiring_file_renumbers_switches_ports_and_hosts(tmp_path: Path) -> None:
    file = tmp_path / "wiring.yaml"
    file.write_text(wiring_text())
    centre, _ = build(SchedulerOptions(wiring=str(file)))
    wiring = centre.wiring
    assert wiring.datapath_id("p0e0") == 0x100 + wiring.topology.nodes.index("p0e0")
    assert [site.port for site in centre.hosts_of["p0e0"]] == [21, 22]
    number = wiring.topology.nodes.index("p0e0")
    assert [str(site.address) for site in centre.hosts_of["p0e0"]] == [f"172.16.{number}.2", f"172.16.{number}.3"]
    assert dict(centre.edges)["p0e0"] == (IPv4Network(f"172.16.{number}.0/24"),)
    tables, usual = Routing(centre).tables(), Routing(CENTRE).tables()
    sizes = [{name: (len(each.groups), len(each.flows)) for name, each in found.items()} for found in (tables, usual)]
    assert sizes[0] == sizes[1]
    assert {each.switch for each in centre.segments} == set(CENTRE.hosts_of)


def dual_stack(folder: Path) -> Path:
    """Return a file in which hosts have addresses of both families."""
    file = folder / "wiring.yaml"
    file.write_text(wiring_text(prefixes='172.16.N.0/24, "2001:db8:0:N::/64"'))
    return file


def test_hosts_have_an_address_of_each_family_and_all_entries_of_routes_come_twice(tmp_path: Path) -> None:
    centre, _ = build(SchedulerOptions(wiring=str(dual_stack(tmp_path))))
    one, other = centre.hosts_of["p0e0"]
    number = centre.wiring.topology.nodes.index("p0e0")
    assert one.addresses == (IPv4Address(f"172.16.{number}.2"), IPv6Address(f"2001:db8:0:{number}::1"))
    assert other.addresses == (IPv4Address(f"172.16.{number}.3"), IPv6Address(f"2001:db8:0:{number}::2"))
    assert {centre.host_at(address) for address in other.addresses} == {centre.wiring.sites.index(other)}
    assert centre.segments[0].families == tuple(Family)
    for tables in Routing(centre).tables().values():
        by_family = {family: Counter[object]() for family in Family}
        for entry in tables.flows[1:]:
            assert entry.match.destination is not None
            by_family[family_of(entry.match.destination)][entry.priority, entry.actions] += 1
        assert by_family[Family.IPV4] == by_family[Family.IPV6] != Counter()


@pytest.mark.parametrize(
    ("stated", "problem"),
    [
        ({"ports": "21"}, "1 ports"),
        ({"ports": "[21, 22, 23]"}, "3 ports"),
        ({"ports": "[21, 11]"}, "also the one"),
        ({"address": "172.16.N.255"}, "host h1 has no address, expected 2 addresses from 172.16.0.255 on"),
        ({"prefixes": "172.16.N.0/24, 172.17.N.0/24"}, "at most one of IPv4 and one of IPv6"),
        ({"prefixes": '172.16.N.0/24, "2001:db8:N::/128"'}, "2 addresses from 172.16.0.2 and 2001:db8:: on"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, stated: dict[str, str], problem: str) -> None:
    file = tmp_path / "wiring.yaml"
    file.write_text(wiring_text(**stated))
    with pytest.raises(InputError, match=problem):
        build(SchedulerOptions(wiring=str(file)))


def test_learned_hosts_find_the_gateway_at_the_first_address_of_their_edge_switch() -> None:
    centre = DataCentre(FatTree(4), neighbours=Neighbours.LEARNED)
    first = centre.segments[0]
    assert (first.switch, first.gateways) == ("p0e0", (IPv4Address("10.0.0.1"),))
    assert not CENTRE.segments
    assert Routing(centre).tables() == Routing(CENTRE).tables(), "no table of routes changes"


@pytest.mark.emulation
@pytest.mark.parametrize("framework", ["os-ken", "ryu"])
def test_the_first_ping_is_answered_within_a_second_near_and_far(framework: Framework) -> None:
    network = NetworkOptions()
    with hedera_lab(4, 5.0, "ecmp", 1.0, network, lambda _: None, learned=True, framework=framework) as lab:
        host = {name: lab.network.host(name) for name in ("h0", "h1", "h3", "h15")}
        for target in ("h15", "h1", "h3"):
            began = time.monotonic()
            answer = host["h0"].run(["ping", "-c", "1", "-W", "2", str(host[target].address)]).stdout
            assert " 1 received" in answer, target
            assert time.monotonic() - began < 1.0, target
        assert " 1 received" in host["h15"].run(["ping", "-c", "1", "-W", "2", "10.0.0.1"]).stdout
        lab.network.ovs.ofctl("del-flows", "s1", "cookie=0x4b55494a4e440000/-1")
        again = ["ping", "-c", "1", "-W", "1", str(host["h0"].address)]
        wait_until(lambda: " 1 received" in host["h15"].run(again).stdout, "deleted entries come back")


@pytest.mark.emulation
def test_the_first_ping_of_ipv6_is_answered_and_hosts_find_each_other_and_their_gateway(tmp_path: Path) -> None:
    file, network = dual_stack(tmp_path), NetworkOptions()
    with hedera_lab(4, 5.0, "ecmp", 1.0, network, lambda _: None, wiring_file=file) as lab:
        host = {name: lab.network.host(name) for name in ("h0", "h1", "h3", "h15")}
        sites = {site.name: site for site in lab.centre.wiring.sites}
        for target in ("h15", "h1", "h3"):
            for address in sites[target].addresses[::-1]:
                began = time.monotonic()
                answer = host["h0"].run(["ping", "-c", "1", "-W", "2", str(address)]).stdout
                assert " 1 received" in answer, (target, address)
                assert time.monotonic() - began < 1.0, (target, address)
        gateway = f"fe80::4b:55ff:fe49:4a47%{host['h15'].interface}"
        assert " 1 received" in host["h15"].run(["ping", "-c", "1", "-W", "2", gateway]).stdout
