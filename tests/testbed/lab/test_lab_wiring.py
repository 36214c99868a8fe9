"""A lab with permuted numbers forwards and fails over as the default one, and discovery finds those numbers."""

from __future__ import annotations

import socket
import subprocess
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from kuijia_app.framework import event_log
from kuijia_app.tables.stated_wiring import Mask, StatedWiring, datapath_text
from kuijia_app.tables.wiring import HostEnd
from kuijia_app.tables.wiring_file import load_wiring, mask_text, wiring_text
from kuijia_base.commands import MODULES, kuijia_command
from te_solver.model.topology import Topology
from testbed.controllers.application_process import LISTEN_PORT, Event
from testbed.lab.cuts import REACTION_TIMEOUT
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.wirings import permuted
from tests.testbed.lab.sent_packets import PINGS, sent

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.slow]

CAPACITY = 20.0
DISCOVERY_PORT = LISTEN_PORT + 1
STRANGER = 0xEE00_0000_0000_0001
SECOND_PREFIX = "192.168.44.0/24"
OTHERS = Mask(0xEE << 56, 0xFF << 56)


def connect_stranger(lab: Lab, *ports: int) -> None:
    """Connect a switch of somebody else to controllers at these ports."""
    settings = ["datapath_type=netdev", "fail_mode=secure", "protocols=OpenFlow13"]
    settings.append(f"other_config:datapath-id={STRANGER:016x}")
    lab.emulated_network.ovs.vsctl(
        *("--may-exist", "add-br", "other", "--", "set", "Bridge", "other", *settings),
        *("--", "set-controller", "other", *(f"tcp:127.0.0.1:{port}" for port in ports)),
    )


def has_left_stranger_alone(events: list[Event]) -> bool:
    found = [event["datapath_id"] for event in events if event["event"] == event_log.SWITCH_NOT_OURS]
    return found == [datapath_text(STRANGER)]


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def discovered(lab: Lab, wiring: StatedWiring, folder: Path) -> StatedWiring:
    """Return what discovery finds; the switches connect to it beside their controller."""
    network = lab.emulated_network
    output = folder / "found.json"
    named = [f"--switch={name}={wiring.switches[name].datapath_id:#x}" for name in ("s1", "s2")]
    left = ["--not-ours", mask_text(OTHERS)]
    command = kuijia_command("wiring", "discover", "fig1", *named, *left)
    command += ["--port", str(DISCOVERY_PORT), "--seconds", "60", "-o", str(output)]
    with subprocess.Popen(
        command, cwd=MODULES, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        wait_until(lambda: is_listening(DISCOVERY_PORT), "discovery listens")
        connect_stranger(lab, DISCOVERY_PORT)
        assert any(f"switch {STRANGER:016x} is not ours: left alone" in line for line in process.stderr)
        for node in lab.plan.topology.nodes:
            targets = [f"tcp:127.0.0.1:{port}" for port in (LISTEN_PORT, DISCOVERY_PORT)]
            network.ovs.vsctl("set-controller", network.bridge(node), *targets)
        _, said = process.communicate(timeout=90)
    assert process.returncode == 0, said
    return load_wiring(output)


def stated_wiring(topology: Topology) -> StatedWiring:
    """Return permuted numbers; s1 has an unusual prefix, s4 a second one."""
    drawn = permuted(topology, seed=9)
    switches = dict(drawn.switches)
    for node, address, prefixes in (
        ("s1", "172.20.3.7", ["172.20.0.0/16"]),
        ("s4", "10.0.4.1", ["10.0.4.0/24", SECOND_PREFIX]),
    ):
        host = HostEnd(switches[node].ports[-1], IPv4Address(address), tuple(map(IPv4Network, prefixes)))
        switches[node] = replace(switches[node], host=host)
    return StatedWiring("permuted", switches, (OTHERS,))


def numbers(wiring: StatedWiring) -> dict[str, tuple[int, dict[str, int], tuple[int, ...]]]:
    return {name: (each.datapath_id, dict(each.links), each.ports) for name, each in wiring.switches.items()}


def test_permuted_numbers_forward_fail_over_and_are_found(tmp_path: Path) -> None:
    plan = motivation_plan((0.0, 1.0, 0.0)).with_rates_times(CAPACITY / 200)
    plan = replace(plan, topology=plan.topology.with_capacity(CAPACITY))
    wiring = stated_wiring(plan.topology)
    file = tmp_path / "wiring.yaml"
    file.write_text(wiring_text(wiring))
    with Lab(plan, LabOptions(wiring=str(file)), lambda _: None) as lab:
        connect_stranger(lab, LISTEN_PORT)
        assert sent(lab) == {("s4", "normal"): PINGS}
        assert sent(lab, "192.168.44.200") == {("s4", "normal"): PINGS}
        lab.fail("s1", "s4")
        ((to, queue), count), *others = sent(lab).items()
        assert (to != "s4", queue, count, others) == (True, "victim", PINGS, [])
        lab.heal("s1", "s4")
        cut = lab.fail("s2", "s4")
        assert cut.tunnels_told == 1
        assert [tunnel["nodes"] for tunnel in lab.status()["tunnels"] if not tunnel["alive"]] == [["s1", "s2", "s4"]]
        lab.heal("s2", "s4")
        assert sent(lab) == {("s4", "normal"): PINGS}
        assert lab.controller.wait_for(has_left_stranger_alone, REACTION_TIMEOUT)
        assert lab.emulated_network.ovs.ofctl("dump-flows", "other").splitlines()[1:] == []
        found = discovered(lab, wiring, tmp_path)
        assert numbers(found) == numbers(wiring)
        flows = lab.emulated_network.ofctl("s1", "dump-flows")
        assert "0x88cc" not in flows
        assert sent(lab) == {("s4", "normal"): PINGS}
