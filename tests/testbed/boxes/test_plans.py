"""The target state of boxes follows from the topology, and touches only interfaces that the inventory names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kuijia_app.tables.stated_wiring import stated
from kuijia_app.tables.wiring import Neighbours, Wiring
from kuijia_app.tables.wiring_file import emulated_wiring, wiring_text
from kuijia_base.errors import InputError
from te_solver.model.topology import Link, Topology
from testbed.boxes.changes import wake_steps
from testbed.boxes.inventory import read_inventory
from testbed.boxes.plans import Target
from testbed.network.bridges import NetworkOptions

INVENTORY = """\
controller: {address: 192.0.2.1}
switches:
  - {node: a, address: 192.0.2.11, management: mgmt, links: {c: east, b: west}, host: south, datapath: netdev}
  - {node: b, address: 192.0.2.12, management: mgmt, links: {a: west, c: east}}
  - {node: c, address: 192.0.2.13, management: mgmt, links: {a: west, b: east}, host: south}
hosts:
  - {node: a, address: 192.0.2.21, management: mgmt, interface: north}
  - {node: c, address: 192.0.2.23, management: mgmt, interface: north}
"""
DEFAULTS = NetworkOptions()
ENDS = (("a", "b"), ("b", "c"), ("a", "c"))


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return target_of(tmp_path, 20.0)


def target_of(folder: Path, capacity: float, options: NetworkOptions = DEFAULTS) -> Target:
    path = folder / "inventory.yaml"
    path.write_text(INVENTORY)
    links = tuple(Link(*ends, capacity) for a, b in ENDS for ends in ((a, b), (b, a)))
    topology = Topology("triangle", ("a", "b", "c"), links)
    return Target(read_inventory(path), Wiring(topology), options)


def facts_of(target: Target) -> dict[str, Any]:
    busy = {"up": False, "mtu": 9000, "gso_max_segs": 7, "ipv6": True, "offloads": ["gro", "lro", "tso", "gso", "tx"]}
    busy |= {"settings": {}, "promiscuous": False}
    return {
        box.name: {
            "interfaces": {name: {**busy, "mac": f"02:00:00:00:00:{number:02x}"} for name in (*box.interfaces, "mgmt")}
        }
        for number, box in enumerate(target.inventory.boxes)
    }


def commands_for(target: Target, name: str) -> list[tuple[str, ...]]:
    facts = facts_of(target)
    box = next(box for box in target.inventory.boxes if box.name == name)
    steps = [*wake_steps(box.interfaces, facts[name]), *target.steps(box, facts)]
    return [command for step in steps for command in (*step.do, *step.undo)]


def test_only_interfaces_of_the_inventory_are_touched(target: Target) -> None:
    for box in target.inventory.boxes:
        commands = commands_for(target, box.name)
        assert not any("mgmt" in word for command in commands for word in command)
        devices = [command[command.index("dev") + 1] for command in commands if "dev" in command]
        devices += [command[2] for command in commands if command[0] == "ethtool"]
        devices += [
            words[words.index("dev") + 1]
            for command in commands
            if command[0] == "complete-queues"
            for part in json.loads(command[1])
            for words in part
        ]
        assert devices
        assert set(devices) <= {*box.interfaces, "lo"}


def test_ports_are_numbered_as_in_the_plan_whatever_their_names(target: Target) -> None:
    assert [target.interface("a", port) for port in (1, 2, 3)] == ["west", "east", "south"]
    (bridge,) = [command for command in commands_for(target, "switch a") if "add-br" in command]
    said = " ".join(bridge)
    assert "Interface west ofport_request=1 mtu_request=1508" in said
    assert "Interface south ofport_request=3 mtu_request=1500" in said
    assert "datapath_type=netdev" in said


def test_a_site_without_a_host_has_a_port_of_the_bridge_in_its_place(target: Target) -> None:
    commands = commands_for(target, "switch b")
    (bridge,) = [command for command in commands if "add-br" in command]
    assert "Interface kuijia-none ofport_request=3 mtu_request=1500 type=internal" in " ".join(bridge)
    assert not [command for command in commands if command[0] == "complete-queues" and "kuijia-none" in command[1]]


def test_queues_are_found_by_tags_where_the_switch_cannot_choose_them(target: Target) -> None:
    filters = {
        node: [command for command in commands_for(target, f"switch {node}") if '"mpls_uc"' in command[-1]]
        for node in "ab"
    }
    assert filters["a"]
    assert not filters["b"]


def test_hosts_know_each_other_by_the_addresses_their_cards_have(target: Target) -> None:
    said = [" ".join(command) for command in commands_for(target, "host a")]
    assert "ip -n kuijia-1 neighbour replace 10.0.3.1 lladdr 02:00:00:00:00:04 dev north nud permanent" in said
    assert "ip -n kuijia-1 address add 10.0.1.1/8 dev north" in said


def test_hosts_whose_gateway_answers_know_it_alone(target: Target) -> None:
    learned = replace(target, wiring=replace(target.wiring, neighbours=Neighbours.LEARNED))
    said = [" ".join(command) for command in commands_for(learned, "host a")]
    assert "ip -n kuijia-1 address add 10.0.1.1/24 dev north" in said
    assert "ip -n kuijia-1 route add default via 10.0.1.254 dev north" in said
    assert not [words for words in said if "neighbour replace" in words]


def test_every_link_and_every_host_has_its_cable(target: Target) -> None:
    assert target.cables() == [
        (("switch a", "west"), ("switch b", "west")),
        (("switch b", "east"), ("switch c", "east")),
        (("switch a", "east"), ("switch c", "west")),
        (("switch a", "south"), ("host a", "north")),
        (("switch c", "south"), ("host c", "north")),
    ]


def test_targets_are_told_apart(tmp_path: Path) -> None:
    prints = {
        target_of(tmp_path, 20.0).fingerprint(),
        target_of(tmp_path, 10.0).fingerprint(),
        target_of(tmp_path, 20.0, NetworkOptions(buffer_packets=7)).fingerprint(),
    }
    assert len(prints) == 3
    assert target_of(tmp_path, 20.0).fingerprint() in prints


STATED = """\
version: 1
switches:
  a: {datapath_id: "0xabc", links: {b: 40, c: 7}, host: {port: 9, prefixes: [10.9.0.0/16, 192.168.1.0/24]}}
  b: {datapath_id: "0xabd", links: {a: 3, c: 2}}
  c: {datapath_id: "0xabe", links: {a: 1, b: 2}, host: {port: 3, prefixes: [172.16.0.0/24], address: 172.16.0.9}}
"""


def stated_target(folder: Path, target: Target, text: str) -> Target:
    (folder / "wiring.yaml").write_text(text)
    return replace(target, wiring=emulated_wiring(target.wiring.topology, str(folder / "wiring.yaml")))


def test_boxes_get_the_numbers_and_prefixes_of_a_wiring_file(target: Target, tmp_path: Path) -> None:
    stated = stated_target(tmp_path, target, STATED)
    (bridge,) = [" ".join(command) for command in commands_for(stated, "switch a") if "add-br" in command]
    assert "other_config:datapath-id=0000000000000abc" in bridge
    assert "Interface west ofport_request=40 mtu_request=1508" in bridge
    assert "Interface east ofport_request=7 mtu_request=1508" in bridge
    assert "Interface south ofport_request=9 mtu_request=1500" in bridge
    (bridge,) = [" ".join(command) for command in commands_for(stated, "switch b") if "add-br" in command]
    assert "kuijia-none" not in bridge, "b has no host in the file either"
    said = [" ".join(command) for command in commands_for(stated, "host c") if "kuijia-3" in command]
    assert [line for line in said if " address add " in line or " route add " in line] == [
        "ip -n kuijia-3 address add 172.16.0.9/32 dev north",
        "ip -n kuijia-3 route add 10.9.0.1 dev north",
        "ip -n kuijia-3 route add 10.9.0.0/16 via 10.9.0.1 dev north",
        "ip -n kuijia-3 route add 192.168.1.0/24 via 10.9.0.1 dev north",
        "ip -n kuijia-3 route add local 172.16.0.0/24 dev lo",
    ]


def test_boxes_that_are_up_by_other_numbers_are_not_taken_for_the_same(target: Target, tmp_path: Path) -> None:
    usual = wiring_text(stated(target.wiring))
    assert stated_target(tmp_path, target, usual).fingerprint() == target.fingerprint()
    others = (STATED, usual.replace("0000000000000001", "0000000000000009"), usual.replace("10.0.3.", "10.0.4."))
    assert len({stated_target(tmp_path, target, text).fingerprint() for text in others} - {target.fingerprint()}) == 3


def test_a_host_without_a_port_in_the_wiring_file_is_refused(target: Target, tmp_path: Path) -> None:
    without = STATED.replace(", host: {port: 3, prefixes: [172.16.0.0/24], address: 172.16.0.9}", "")
    with pytest.raises(InputError, match=r"wiring\.yaml:switches\.c: it has no host, but one is needed"):
        stated_target(tmp_path, target, without)
