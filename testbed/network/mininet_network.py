"""A network as Mininet builds it: hosts in namespaces, switch ports and the cables between them; no switch software.

Mininet's own switch, link and limit-setting code assume the machine's Open vSwitch, its `tc` classes and its network
namespace; these subclasses replace just that, and leave bridges to
`testbed.network.bridges` and queues to `kuijia_app.preparation.queues`.
"""

from __future__ import annotations

import os
import resource
import subprocess
from typing import Any

from mininet.link import Link
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Host, Node, Switch
from mininet.topo import Topo

from kuijia_app.tables.needs import HOST_MTU
from kuijia_app.tables.wiring import Wiring
from kuijia_base.commands import find_program, run_batch, run_command, search_path
from te_solver.model.topology import Topology
from testbed.machine.network_namespace import disable_ipv6, network_of
from testbed.network.bridges import LINK_MTU, SiteHostSettings, bridge_name, host_name, site_commands, site_host

_OPEN_FILES, _OPEN_FILES_BEFORE, _OPEN_FILES_PER_NODE = 16384, 256, 16
_SHELL_STARTERS = ("mnexec", "env", "bash")


class LabMininet(Mininet):  # type: ignore[misc]  # Mininet has no types
    """A Mininet without controllers that changes nothing outside its namespaces."""

    def __init__(self, topology: Topology, wiring: Wiring) -> None:
        setLogLevel("critical")
        os.environ["PATH"] = search_path()  # Mininet searches its programs there
        Mininet.inited = True  # Mininet.init() would raise limits and sysctls of the whole machine
        topo = LabTopo(topology, wiring)
        super().__init__(topo=topo, switch=PortsOnlySwitch, host=LabHost, link=LabLink, controller=None, build=False)
        self._node_count = len(topology.nodes) + len(wiring.sites)

    def build(self) -> None:
        # Mininet keeps terminals open per node, and for each it closes every possible descriptor, one by one.
        _limit_open_files(_OPEN_FILES_BEFORE + _OPEN_FILES_PER_NODE * self._node_count)
        try:
            super().build()
        finally:
            _limit_open_files(_OPEN_FILES)


class LabTopo(Topo):  # type: ignore[misc]
    """Our topology and wiring in Mininet's terms."""

    def build(self, topology: Topology, wiring: Wiring) -> None:
        sites = wiring.sites
        for node in topology.nodes:
            self.addSwitch(bridge_name(wiring, node), dpid=f"{wiring.datapath_id(node):x}")
        for number, site in enumerate(sites, start=1):
            others = {other.name: other.mac for other in sites if other is not site}
            self.addHost(host_name(number), setup=site_host(site, wiring, others))
        for a, b in topology.edges:
            ports = wiring.port(a, b), wiring.port(b, a)
            macs = {
                f"addr{end}": _port_mac(wiring, node, port)
                for end, node, port in zip((1, 2), (a, b), ports, strict=True)
            }
            self.addLink(bridge_name(wiring, a), bridge_name(wiring, b), *ports, **macs, up=None)
        for number, site in enumerate(sites, start=1):
            for place, port in enumerate(site.ports):  # the host uses the first one only
                far = site.mac if place == 0 else _port_mac(wiring, site.switch, port, of_host=True)
                macs = {"addr1": _port_mac(wiring, site.switch, port), "addr2": far}
                self.addLink(bridge_name(wiring, site.switch), host_name(number), port, place, **macs, up=None)


class LabNode(Node):  # type: ignore[misc]
    """A node whose shell is started by its path."""

    def _popen(self, cmd: list[str], **parameters: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
        # mnexec OPTIONS env VARIABLE bash OPTIONS: each starts the next by its name.
        started = [find_program(word) or word if word in _SHELL_STARTERS else word for word in cmd]
        process: subprocess.Popen[bytes] = super()._popen(started, **parameters)
        return process


class PortsOnlySwitch(LabNode, Switch):  # type: ignore[misc]
    """The ports of a switch; the Network creates and removes the bridge that joins them."""

    def start(self, controllers: list[Any]) -> None:
        pass

    def stop(self, deleteIntfs: bool = True) -> None:  # noqa: FBT001, FBT002, N803  # Mininet's signature
        pass


class LabHost(LabNode, Host):  # type: ignore[misc]
    """A site's host: answers to all addresses of the site, and knows the others in advance; no offloading, no IPv6
    unless it has addresses of it.

    It sends from one address by default.

    Segments larger than a frame, or without a checksum, must not leave a host: the userspace datapath would truncate
    the former and forward the latter unchanged.
    """

    def config(self, setup: SiteHostSettings, **_: Any) -> None:  # noqa: ANN401
        """Configure the host."""
        interface = f"{self.name}-eth0"
        with network_of(self.pid):
            if not setup.has_ipv6:
                disable_ipv6()
            run_batch("ip", site_commands(interface, setup))
            offloads = [word for feature in ("tx", "rx", "tso", "gso", "gro") for word in (feature, "off")]
            run_command(["ethtool", "-K", interface, *offloads])


class LabLink(Link):  # type: ignore[misc]
    """A veth pair, large enough for labels between switches."""

    @classmethod
    def makeIntfPair(  # noqa: N802  # Mininet's signature
        cls,
        intfname1: str,
        intfname2: str,
        addr1: str,
        addr2: str,
        node1: Any,  # noqa: ANN401
        node2: Any,  # noqa: ANN401
        **_: Any,  # noqa: ANN401
    ) -> None:
        mtu = str(LINK_MTU if isinstance(node2, Switch) else HOST_MTU)
        ends = [
            ["name", name, "address", address, "mtu", mtu, "netns", str(node.pid)]
            for name, address, node in ((intfname1, addr1, node1), (intfname2, addr2, node2))
        ]
        run_command(["ip", "link", "add", *ends[0], "type", "veth", "peer", *ends[1]])

    def stop(self) -> None:
        pass  # the Network deletes the interfaces, all at once


def _limit_open_files(wanted: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, wanted), most))


def _port_mac(wiring: Wiring, switch: str, port: int, *, of_host: bool = False) -> str:
    octets = (2, 2 if of_host else 1, *wiring.number(switch).to_bytes(2, "big"), *port.to_bytes(2, "big"))
    return ":".join(f"{octet:02x}" for octet in octets)
