from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.measuring.emulation import describe_run
from kuijia_app.tables.wiring import Wiring
from kuijia_base.commands import run_command
from kuijia_base.errors import InputError, TestbedError
from te_solver.model.topology import Link, Topology
from testbed.machine.machine import examine_machine
from testbed.machine.network_namespace import private_network
from testbed.machine.processes import processes_with_environment
from testbed.machine.run_directory import LAB_VARIABLE, RunDirectory
from testbed.network.leftovers import interfaces
from testbed.network.network import EmulatedNetwork
from tests.testbed.emulated import CAPACITY, NORMAL_PORT, VICTIM_PORT, program_path, running_network, topology

pytestmark = pytest.mark.emulation


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedNetwork]:
    """Run a triangle; packets between a and c go through b both ways."""
    with running_network(tmp_path_factory.mktemp("run")) as network:
        program_path(network, ["a", "b", "c"], label=16)
        program_path(network, ["c", "b", "a"], label=17)
        yield network


def start_load(network: EmulatedNetwork, port: int, rate: float, seconds: float) -> subprocess.Popen[bytes]:
    """Start UDP from a to c in packets that fill a frame."""
    options = f"--udp --bitrate {rate}M --length 1472 --time {seconds} --json".split()
    return network.host("a").start(
        ["iperf3", "--client", str(network.host("c").address), "--port", str(port), *options], stdout=subprocess.PIPE
    )


def lost_part(client: subprocess.Popen[bytes]) -> float:
    output, _ = client.communicate(timeout=30)
    return float(json.loads(output)["end"]["sum"]["lost_percent"]) / 100


def start_server(network: EmulatedNetwork, port: int) -> None:
    server = network.host("c").start(
        ["iperf3", "--server", "--port", str(port), "--forceflush"], stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    listening = b""
    while b"listening" not in listening:
        listening = server.stdout.readline()


def test_ports_are_numbered_as_the_wiring_says(network: EmulatedNetwork) -> None:
    shown = network.ovs.ofctl("show", network.bridge("b"))
    assert re.findall(r" (\d)\((s2-eth\d)\)", shown) == [("1", "s2-eth1"), ("2", "s2-eth2"), ("3", "s2-eth3")]
    assert "dpid:0000000000000002" in shown
    assert network.interface("b", network.wiring.port("b", "c")) == "s2-eth2"


def test_the_largest_packet_of_a_host_crosses_the_network_in_one_piece(network: EmulatedNetwork) -> None:
    ping = ["ping", "-c", "1", "-W", "5", "-M", "do", "-s", "1472", str(network.host("c").address)]
    assert network.host("a").run(ping).returncode == 0


def test_hosts_send_nothing_that_was_not_asked_for(network: EmulatedNetwork) -> None:
    host = network.host("b")
    assert host.run(["ip", "-6", "address"]).stdout == ""
    neighbours = host.run(["ip", "neighbour"]).stdout.splitlines()
    assert sorted(line.split()[0] for line in neighbours) == ["10.0.1.1", "10.0.3.1"]
    assert all(line.split()[-1] == "PERMANENT" for line in neighbours)


def test_normal_traffic_loses_nothing_to_victims_that_offer_more_than_the_link_carries(
    network: EmulatedNetwork,
) -> None:
    for port in (NORMAL_PORT, VICTIM_PORT):
        start_server(network, port)
    victim = start_load(network, VICTIM_PORT, rate=1.5 * CAPACITY, seconds=3)
    normal = start_load(network, NORMAL_PORT, rate=0.7 * CAPACITY, seconds=3)
    assert lost_part(normal) < 0.02
    assert lost_part(victim) > 0.5


def test_a_program_that_hangs_is_ended_and_named(network: EmulatedNetwork) -> None:
    with pytest.raises(TestbedError, match=r"^`sleep 60` on a did not end within 0.2 s$"):
        network.host("a").run(["sleep", "60"], timeout=0.2)


def test_there_is_no_host_or_switch_of_another_name(network: EmulatedNetwork) -> None:
    for look_up in (network.host, network.bridge):
        with pytest.raises(InputError, match=r"^testbed:d: there is no such node, expected one of a, b, c$"):
            look_up("d")


def test_a_hosts_port_carries_what_all_links_of_its_switch_bring(network: EmulatedNetwork) -> None:
    assert network.port_capacity("b", network.wiring.host_port("b")) == 2 * CAPACITY
    assert network.port_capacity("b", 1) == CAPACITY


def test_the_manifest_tells_the_circumstances(network: EmulatedNetwork) -> None:
    manifest = describe_run(examine_machine(), network, [], started_at=0.0, duration=1.5)
    assert json.loads(json.dumps(manifest)) == manifest
    assert manifest["started"] == "1970-01-01T00:00:00+00:00"
    assert manifest["datapath"] == network.ovs.datapath.value
    assert manifest["open_vswitch"]


def test_a_network_that_cannot_be_finished_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.network.network.htb_commands", lambda *_: [["qdisc", "add", "dev", "no-such-device"]])
    network_topology = topology([("a", "b")])
    with RunDirectory.create(tmp_path) as run, private_network():
        network = EmulatedNetwork(network_topology, Wiring(network_topology), run)
        with pytest.raises(TestbedError, match="no-such-device"):
            network.start()
        assert interfaces() == {"lo"}
        assert processes_with_environment(f"{LAB_VARIABLE}={run.lab_id}") == []


def test_a_name_that_is_taken_is_left_to_its_owner(tmp_path: Path) -> None:
    network_topology = topology([("a", "b")])
    with RunDirectory.create(tmp_path) as run, private_network():
        run_command(["ip", "link", "add", "name", "s2-eth1", "type", "veth", "peer", "name", "other"])
        with pytest.raises(InputError, match=r"^testbed:s2-eth1: this name is taken"):
            EmulatedNetwork(network_topology, Wiring(network_topology), run).start()
        assert interfaces() == {"lo", "s2-eth1", "other"}


def test_a_link_without_a_way_back_is_refused(tmp_path: Path) -> None:
    one_way = Topology("one way", ("a", "b"), (Link("a", "b", 10),))
    with (
        RunDirectory.create(tmp_path) as run,
        pytest.raises(InputError, match=r"^one way:link a-b: the link goes in one"),
    ):
        EmulatedNetwork(one_way, Wiring(one_way), run).start()


@pytest.mark.parametrize(("capacity", "shown"), [(0.01, "0.01"), (1e9, "1e+09")])
def test_a_link_too_slow_or_too_fast_is_refused(tmp_path: Path, capacity: float, shown: str) -> None:
    extreme = topology([("a", "b")]).with_capacity(capacity)
    with RunDirectory.create(tmp_path) as run, pytest.raises(InputError) as caught:
        EmulatedNetwork(extreme, Wiring(extreme), run).start()
    assert str(caught.value) == (
        f"test network:link a-b: {shown} Mbit/s cannot be emulated, expected 0.1 to 100000 Mbit/s"
    )


def test_a_site_without_links_has_a_host_that_reaches_nobody(tmp_path: Path) -> None:
    sites = Topology("islands", ("a", "b", "c"), topology([("a", "b")]).links)
    with RunDirectory.create(tmp_path) as run, private_network(), EmulatedNetwork(sites, Wiring(sites), run) as network:
        network.start()
        ping = ["ping", "-c", "1", "-W", "1", str(network.host("a").address)]
        assert network.host("c").run(ping).returncode == 1


def test_delays_that_are_not_emulated_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.network.network.kernel_delays_available", lambda: False)
    slow = Topology("slow", ("a", "b"), (Link("a", "b", 10, delay=0.01), Link("b", "a", 10, delay=0.01)))
    said: list[str] = []
    with (
        RunDirectory.create(tmp_path) as run,
        private_network(),
        EmulatedNetwork(slow, Wiring(slow), run, report=said.append) as network,
    ):
        network.start()
    assert said == ["link delays are ignored: they need the kernel's datapath and netem"]
