"""Sites behind VLAN trunks with real packets: hosts stated or learned, a cut, other VLANs and sites on the trunk."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from kuijia_app.tables.options import OptionWords
from tests.kuijia_app.own_switches import SITES, OwnSwitches, second

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.slow]

TRUNKS = {"paris": 100, "rome": 16}
"""Rome's VLAN has the number of a tunnel."""


@pytest.mark.parametrize("neighbours", ["static", "learned"])
@pytest.mark.parametrize("tagging", ["mpls", "vlan"])
def test_sites_behind_trunks_reach_each_other_also_after_a_cut(tmp_path: Path, tagging: str, neighbours: str) -> None:
    with OwnSwitches(tmp_path, trunks=TRUNKS) as network:
        network.make_queues()
        network.set_mtu(1504)
        if neighbours == "learned":
            network.use_gateways()
        words = OptionWords(wiring=str(network.wiring_file), tagging=tagging, neighbours=neighbours)
        with network.controller(words=words, missing="refuse") as controller:
            controller.wait_until_ready(network.plan.topology.nodes)
            for source in SITES:
                assert all(network.sends(source, target, count=3) for target in SITES if target != source)
            network.cut("paris", "rome")
            assert network.sends("paris", "rome", 1400) == 1.0
            network.ovs.vsctl("set", "Port", "h-paris-acc", "tag=101")
            assert network.sends("paris", "rome", count=3) == 0.0


FULL = 1372
"""Bytes of data in a ping of 1,400 bytes."""

BESIDE = {"paris": 200, "london": 300}
"""Paris has two VLANs at its port, London one beside a site without a tag, Rome one site."""


@pytest.mark.parametrize("neighbours", ["static", "learned"])
@pytest.mark.parametrize("tagging", ["mpls", "vlan"])
def test_a_port_and_a_vlan_name_a_site(tmp_path: Path, tagging: str, neighbours: str) -> None:
    with OwnSwitches(tmp_path, trunks={"paris": 100}, beside=BESIDE) as network:
        network.make_queues()
        network.set_mtu(1504)
        if neighbours == "learned":
            network.use_gateways()
        words = OptionWords(wiring=str(network.wiring_file), tagging=tagging, neighbours=neighbours)
        with network.controller(words=words, missing="refuse", host_mtu=1400) as controller:
            controller.wait_until_ready(network.plan.topology.nodes)
            switch_of = {**{site: site for site in SITES}, **{second(site): site for site in BESIDE}}
            for source, target in permutations(switch_of, 2):
                is_carried = switch_of[source] != switch_of[target] or neighbours == "learned"
                assert (network.sends(source, target, count=3) > 0.5) == is_carried, (source, target)
            if neighbours == "learned":
                assert network.sends(second("paris"), "rome", FULL, count=3) == 1.0
                assert network.sends(second("paris"), "rome", FULL + 1, count=1) == 0.0
                assert network.sends(second("paris"), "paris", FULL + 1, count=3) == 1.0, "over no link"
            network.ovs.vsctl("set", "Port", "h2-paris-acc", "tag=201")
            assert network.sends(second("paris"), "rome", count=3) == 0.0
            assert network.sends("paris", "rome", count=3) == 1.0


@pytest.mark.parametrize("tagging", ["mpls", "vlan"])
def test_packets_with_a_tag_of_their_hosts_are_carried_and_keep_it(tmp_path: Path, tagging: str) -> None:
    with OwnSwitches(tmp_path, own_tag=16) as network:  # the number of a tunnel
        network.make_queues()
        network.set_mtu(1508)
        words = OptionWords(wiring=str(network.wiring_file), tagging=tagging)
        with network.controller(words=words, missing="refuse") as controller:
            controller.wait_until_ready(network.plan.topology.nodes)
            for source, target in permutations(SITES, 2):
                assert network.sends(source, target, 1400, count=3) == 1.0
            network.cut("paris", "rome")
            assert network.sends("paris", "rome", 1400) == 1.0
