"""Sites with several ports and prefixes, with a router, and hosts that move; each has an address and a route."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from kuijia_base.commands import run_batch, run_command
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.machine.network_namespace import network_of
from testbed.network.hosts import Host
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.plans import motivation_plan

pytestmark = pytest.mark.emulation

SAME_MAC = "02:07:07:07:07:07"
WIRING = """
version: 1
switches:
  s1: {datapath_id: 1, links: {s2: 1, s3: 2, s4: 3}, host: {port: 4, prefixes: [10.0.1.0/24], gateway: 10.0.1.254}}
  s2: {datapath_id: 2, links: {s1: 1, s4: 2}, host: {port: 3, prefixes: [10.0.2.0/24], gateway: 10.0.2.254}}
  s3:
    datapath_id: 3
    links: {s1: 1, s4: 2}
    host:
      port: [3, 4, 5]
      prefixes: [10.0.3.0/24, 172.16.3.0/24]
      address: 10.0.3.1
      gateway: [10.0.3.254, 172.16.3.254]
  s4:
    datapath_id: 4
    links: {s1: 1, s2: 2, s3: 3}
    host: {port: [4, 5], prefixes: [10.0.4.0/24, 192.168.7.0/24], gateway: 10.0.4.254, router: 10.0.4.9}
"""


class ExtraHosts:
    """Hosts beside those of a lab, in namespaces that end with it."""

    def __init__(self, lab: Lab, undo: ExitStack) -> None:
        self._network = lab.emulated_network
        self._undo = undo

    def add(self, name: str, switch: str, port: int, address: str, gateway: str, mac: str) -> Host:
        """Return a host at a port of a switch, with an address and a default route."""
        pid = self._new_network()
        ends = ["name", f"{name}-cable"], ["name", "eth0", "netns", str(pid)]
        run_command(["ip", "link", "add", *ends[0], "type", "veth", "peer", *ends[1]])
        self.plug(name, switch, port)
        return self._configured(name, pid, address, gateway, mac)

    def add_beside(self, name: str, other: Host, address: str, gateway: str, mac: str) -> Host:
        """Return a host at the same cable as another one; what they send each other goes to the switch and back."""
        pid = self._new_network()
        with network_of(other.namespace_pid):
            kind = ["type", "macvlan", "mode", "vepa"]
            run_command(["ip", "link", "add", "link", "eth0", "name", "eth1", *kind])
            run_command(["ip", "link", "set", "eth1", "name", "eth0", "netns", str(pid)])
        return self._configured(name, pid, address, gateway, mac)

    def _new_network(self) -> int:
        """Return a process with a network of its own."""
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self._undo.callback(holder.wait)
        self._undo.callback(holder.kill)
        own = Path("/proc/self/ns/net").readlink()
        wait_until(lambda: Path(f"/proc/{holder.pid}/ns/net").readlink() != own, "it has a network of its own")
        return holder.pid

    @staticmethod
    def _configured(name: str, pid: int, address: str, gateway: str, mac: str) -> Host:
        with network_of(pid):
            run_batch(
                "ip",
                [
                    ["link", "set", "lo", "up"],
                    ["link", "set", "eth0", "address", mac],
                    ["address", "add", address, "dev", "eth0"],
                    ["link", "set", "eth0", "up"],
                    ["route", "add", "default", "via", gateway],
                ],
            )
        return Host(name, IPv4Address(address.partition("/")[0]), "eth0", pid)

    def plug(self, name: str, switch: str, port: int) -> None:
        """Connect a host's cable to a port, out of the one in which it is, and in the place of what is there."""
        cable = f"{name}-cable"
        add = ["add-port", self._network.bridge(switch), cable, "--", "set", "Interface", cable]
        before = self._network.ovs.vsctl("--bare", "--columns=name", "find", "Interface", f"ofport={port}").split()
        at_switch = self._network.ovs.vsctl("list-ports", self._network.bridge(switch)).split()
        for each in {cable, *before} & {cable, *at_switch}:
            self._network.ovs.vsctl("--if-exists", "del-port", each)
        self._network.ovs.vsctl(*add, f"ofport_request={port}")
        run_command(["ip", "link", "set", cable, "up"])


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, ExtraHosts]]:
    wiring = tmp_path_factory.mktemp("wiring") / "wiring.yaml"
    wiring.write_text(WIRING)
    options = LabOptions(wiring=str(wiring), other_traffic="forward")
    with Lab(motivation_plan(), options, lambda _: None) as lab, ExitStack() as undo:
        for site in ("s3", "s4"):
            host = lab.emulated_network.host(site)
            for line in host.run(["ip", "route", "show", "table", "local"]).stdout.splitlines():
                kind, address, *_ = line.split()
                if kind == "local" and "/" in address:  # a lab's host answers to all addresses of its site
                    host.run(["ip", "route", "del", "local", address])
        yield lab, ExtraHosts(lab, undo)


def answers(host: Host, target: str) -> bool:
    return " 1 received" in host.run(["ping", "-c", "1", "-W", "1", target]).stdout


def test_hosts_of_several_ports_and_prefixes_reach_each_other_and_one_that_moves_is_found(
    scene: tuple[Lab, ExtraHosts],
) -> None:
    lab, extra = scene
    far, near = lab.emulated_network.host("s1"), lab.emulated_network.host("s3")
    moving = extra.add("m", "s3", 4, "172.16.3.7/24", "172.16.3.254", "02:00:00:00:03:07")
    beside = extra.add("b", "s3", 5, "10.0.3.8/24", "10.0.3.254", "02:00:00:00:03:08")
    assert answers(far, "172.16.3.7"), "the first ping"
    assert answers(near, "172.16.3.7"), "another prefix of the site"
    assert answers(near, "10.0.3.8"), "another port, the same prefix"
    assert answers(moving, "10.0.3.8")
    extra.add_beside("c", moving, "10.0.3.9/24", "10.0.3.254", "02:00:00:00:03:09")
    assert answers(moving, "10.0.3.9"), "another prefix at the same port: back out of the port"

    extra.plug("m", "s3", 3000)
    assert not answers(beside, "172.16.3.7")
    lab.emulated_network.ovs.vsctl("del-port", "b-cable")
    extra.plug("m", "s3", 5)
    began = time.monotonic()
    wait_until(lambda: answers(far, "172.16.3.7"), "it has moved to another port")
    assert time.monotonic() - began < 5
    assert answers(near, "172.16.3.7")


def test_packets_to_networks_behind_a_router_are_its_own_and_two_sites_may_have_one_ethernet_address(
    scene: tuple[Lab, ExtraHosts],
) -> None:
    lab, extra = scene
    far = lab.emulated_network.host("s1")
    router = extra.add("r", "s4", 5, "10.0.4.9/24", "10.0.4.254", SAME_MAC)
    assert not router.run(["ip", "address", "add", "192.168.7.1/24", "dev", "lo"]).stderr
    same = extra.add("t", "s3", 4, "172.16.3.9/24", "172.16.3.254", SAME_MAC)
    assert answers(far, "192.168.7.1"), "the first ping to what is behind the router"
    assert answers(same, "192.168.7.1"), "with the same Ethernet address at both ends"
    assert answers(far, "172.16.3.9")
    assert answers(router, "172.16.3.9")
