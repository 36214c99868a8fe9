"""All obstacles to boxes becoming a testbed are reported in words, derived from facts alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.boxes.check import amiss, box_faults, cable_faults
from testbed.boxes.inventory import HostBox, Login, SwitchBox
from testbed.machine.ovs import Datapath

LOGIN = Login("192.0.2.11")
SWITCH = SwitchBox("a", LOGIN, "eth0", {"b": "eth1"}, datapath=Datapath.USERSPACE)
HOST = HostBox("a", LOGIN, "eth0", "eth1")
MAC = "02:00:00:00:00:01"
IDLE = {
    "mac": MAC,
    "up": True,
    "carrier": True,
    "addresses": [],
    "master": None,
    "carries": [],
    "own_queues": [],
    "max_mtu": 0,
}
FACTS: dict[str, Any] = {
    "is_root": True,
    "python": "3.11.2",
    "programs": dict.fromkeys(("ip", "tc", "ethtool", "sysctl", "ovs-vsctl", "iperf3"), "3.12"),
    "reached_by": "eth0",
    "queues": {"htb": True, "u32": True, "pfifo_head_drop": True},
    "interfaces": {"eth1": IDLE},
    "devices": ["lo", "eth0", "eth1"],
    "namespaces": ["theirs"],
    "switch": {"version": "3.1.0", "datapaths": ["system", "netdev"], "bridges": {"br0": ["eth9"]}},
}


def faults(box: SwitchBox | HostBox, *, ours: bool = False, tls: bool = False, **changes: Any) -> list[str]:  # noqa: ANN401
    return list(box_faults(box, {**FACTS, **changes}, changed=box.interfaces if ours else None, tls=tls))


def test_boxes_as_they_should_be_have_no_faults() -> None:
    assert faults(SWITCH) == []
    assert faults(HOST) == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"is_root": False}, "the user is not root"),
        ({"python": "3.9.2"}, "Python 3.9.2 is older than 3.10"),
        ({"programs": {**FACTS["programs"], "tc": None}}, "tc not found"),
        ({"reached_by": None}, "the interface of the SSH connection is unknown"),
        ({"reached_by": "eth1"}, "eth1 is cabled in the inventory, but SSH uses it"),
        ({"reached_by": "eth7"}, "SSH uses eth7"),
        ({"interfaces": {}}, "there is no interface eth1"),
        (
            {"interfaces": {"eth1": {**IDLE, "addresses": ["192.0.2.9"]}}},
            "it has the address 192.0.2.9",
        ),
        ({"interfaces": {"eth1": {**IDLE, "mac": None}}}, "eth1 has no Ethernet address"),
        ({"interfaces": {"eth1": {**IDLE, "master": "bond0"}}}, "eth1 is in use: it is a port of bond0"),
        ({"interfaces": {"eth1": {**IDLE, "own_queues": ["htb"]}}}, "eth1 already has queues (htb)"),
        ({"interfaces": {"eth1": {**IDLE, "carries": ["eth1.7"]}}}, "eth1 is in use: eth1.7 is built on it"),
        ({"interfaces": {"eth1": {**IDLE, "carrier": False}}}, "eth1 has no carrier"),
        ({"interfaces": {"eth1": {**IDLE, "max_mtu": 1500}}}, "eth1 carries packets of 1500 bytes at most"),
        ({"queues": {"htb": True, "u32": False, "pfifo_head_drop": True}}, "the kernel has no u32"),
        ({"switch": {"fault": "no such socket"}}, "does not answer: no such socket"),
        ({"switch": {**FACTS["switch"], "version": "2.9.0"}}, "Open vSwitch 2.9.0 is older than 2.13"),
        ({"switch": {**FACTS["switch"], "datapaths": ["system"]}}, "has no datapath netdev"),
        ({"switch": {**FACTS["switch"], "bridges": {"kuijia": []}}}, "there is a bridge kuijia already"),
        ({"devices": ["eth1", "kuijia"]}, "there is a device kuijia already"),
        ({"switch": {**FACTS["switch"], "bridges": {"br0": ["eth1"]}}}, "eth1 is in use: it is a port of bridge br0"),
    ],
)
def test_a_fault_is_said(changes: dict[str, Any], fault: str) -> None:
    assert any(fault in said for said in faults(SWITCH, **changes))


def test_labels_need_room_between_switches_alone() -> None:
    found = {"eth1": {**IDLE, "max_mtu": 1508}, "eth2": {**IDLE, "max_mtu": 1500}}
    assert faults(replace(SWITCH, host="eth2"), interfaces=found) == []
    assert faults(HOST, interfaces={"eth1": {**IDLE, "max_mtu": 1500}}) == []
    assert len(faults(HOST, interfaces={"eth1": {**IDLE, "max_mtu": 1492}})) == 1


def test_without_the_programs_that_look_nothing_is_said_of_what_they_would_have_seen() -> None:
    programs = {**FACTS["programs"], "ip": None}
    assert faults(SWITCH, programs=programs, interfaces={}, reached_by=None) == ["ip not found"]


def test_a_namespace_of_somebody_else_is_not_taken_for_ours() -> None:
    assert list(box_faults(HOST, FACTS, "kuijia-1", changed=None)) == []
    assert list(box_faults(HOST, FACTS, "theirs", changed=HOST.interfaces)) == []
    assert list(box_faults(HOST, FACTS, "theirs", changed=None)) == ["there is a network namespace theirs already"]


def test_a_switch_without_a_key_is_a_fault_where_the_controller_asks_for_one() -> None:
    without = {**FACTS["switch"], "tls": False}
    assert faults(SWITCH, switch=without) == []
    assert faults(SWITCH, tls=True, switch={**without, "tls": True}) == []
    [fault] = faults(SWITCH, tls=True, switch=without)
    assert "ovs-vsctl set-ssl" in fault


def test_what_we_have_made_ourselves_is_no_fault() -> None:
    switch = {**FACTS["switch"], "bridges": {"kuijia": ["eth1"]}}
    assert faults(SWITCH, ours=True, switch=switch, interfaces={"eth1": {**IDLE, "own_queues": ["htb"]}}) == []
    assert faults(HOST, ours=True, interfaces={}) == []


def test_an_interface_that_we_have_never_changed_is_looked_at_where_others_are_ours() -> None:
    said = list(box_faults(SWITCH, {**FACTS, "interfaces": {}}, changed=["eth2"]))
    assert said == ["there is no interface eth1"]


UP: dict[str, Any] = {**IDLE, "own_queues": ["htb"]}


@pytest.mark.parametrize(
    ("ports", "interface", "said"),
    [
        (["eth1", "kuijia-none"], {"eth1": UP}, []),
        (["kuijia-none"], {"eth1": UP}, ["eth1 is not a port of kuijia"]),
        (["eth1"], {}, ["there is no interface eth1"]),
        (["eth1"], {"eth1": {**UP, "up": False}}, ["eth1 is down"]),
        (["eth1"], {"eth1": IDLE}, ["eth1 has lost its queues"]),
    ],
)
def test_what_is_not_as_it_was_made_is_told(ports: list[str], interface: dict[str, Any], said: list[str]) -> None:
    switch = {**FACTS["switch"], "bridges": {"kuijia": ports}}
    assert list(amiss(SWITCH, {**FACTS, "switch": switch, "interfaces": interface})) == said


def test_a_host_is_as_it_was_made_where_its_interface_is_out_of_sight() -> None:
    assert list(amiss(HOST, {**FACTS, "interfaces": {}})) == []
    assert list(amiss(HOST, FACTS)) == ["eth1 is not in the host's namespace"]


def test_swapped_cables_are_found_at_all_their_ends() -> None:
    cables = [(("switch a", "eth1"), ("switch b", "eth1")), (("switch a", "eth2"), ("switch c", "eth1"))]
    heard: dict[str, dict[str, list[list[str]]]] = {
        "switch a": {"eth1": [["switch c", "eth1"]], "eth2": [["switch b", "eth1"]]},
        "switch b": {"eth1": [["switch a", "eth2"]]},
        "switch c": {"eth1": []},
    }
    assert cable_faults(cables, heard) == [
        "switch a eth1 receives from switch c eth1 instead of switch b eth1",
        "switch b eth1 receives from switch a eth2 instead of switch a eth1",
        "switch a eth2 receives from switch b eth1 instead of switch c eth1",
        "switch c eth1 receives from nothing instead of switch a eth2",
    ]
    assert cable_faults(cables[1:], heard, [("switch c", "eth1")]) == []


def test_places_are_as_the_inventory_says() -> None:
    elsewhere = SwitchBox("a", LOGIN, "eth0", {"b": "eth1"}, ovs_directory=Path("/opt/ovs"))
    assert faults(elsewhere, switch={"fault": "gone"}) == ["Open vSwitch at /opt/ovs does not answer: gone"]
