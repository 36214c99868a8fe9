"""Target state of each box for a topology: derived from the inventory, the wiring and the state of the boxes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from kuijia_app.preparation.queues import clearing_commands, htb_commands, tag_filter_commands
from kuijia_app.tables.needs import HOST_MTU, port_rate
from kuijia_app.tables.wiring import Wiring
from testbed.boxes.changes import (
    REMOVE_BRIDGE,
    REMOVE_CABLES,
    BoxStep,
    Facts,
    HostPlan,
    PortPlan,
    host_steps,
    switch_steps,
)
from testbed.boxes.inventory import Box, BoxInventory, HostBox, SwitchBox
from testbed.machine.ovs import Datapath
from testbed.network.bridges import (
    LAB_KEY,
    LINK_MTU,
    Bridge,
    NetworkOptions,
    Port,
    bridge_arguments,
    site_commands,
    site_host,
)

_NAMESPACE = "kuijia"
_NO_HOST = "-none"


def _numbers(wiring: Wiring) -> list[list[object]]:
    nodes = wiring.topology.nodes
    sites = [[site.name, str(site.address), *map(str, site.prefixes)] for site in wiring.sites]
    return [[[wiring.datapath_id(node), *wiring.ports(node)] for node in nodes], list(sites)]


@dataclass(frozen=True)
class Target:
    """Target state of all boxes.

    Raises:
        InputError: the inventory has a host for which a wiring file has no port.
    """

    inventory: BoxInventory
    wiring: Wiring
    options: NetworkOptions

    def __post_init__(self) -> None:
        self.wiring.require_hosts(self.inventory.hosts)

    def steps(self, box: Box, facts: Mapping[str, Facts]) -> list[BoxStep]:
        """Return the changes that configure a box, to be applied after its interfaces are up."""
        if isinstance(box, SwitchBox):
            bridge = self._bridge(box)
            vsctl = ("ovs-vsctl", f"--db=unix:{box.ovs_directory / 'db.sock'}", "--timeout=20")
            mark = f"boxes-{box.node.encode().hex()}"  # distinct from switches with a bridge of the same name
            make = (*vsctl, *bridge_arguments(bridge, box.datapath, mark, self.options.layout.queues))
            directory = str(box.ovs_directory)
            removals = (
                (REMOVE_CABLES, directory, box.bridge),
                (REMOVE_BRIDGE, directory, box.bridge, f"{LAB_KEY}={mark}"),
            )
            return switch_steps(self._ports(box), make, removals, facts[box.name])
        sites = [other for other in self.inventory.hosts.values() if other.node != box.node]
        macs = {other.node: facts[other.name]["interfaces"][other.interface]["mac"] for other in sites}
        return host_steps(self._host(box, macs), facts[box.name])

    def fingerprint(self) -> str:
        """Return a digest that differs between targets that configure the same boxes differently."""
        described = [
            [box.role, box.node, [asdict(port) for port in self._ports(box)]]
            for box in self.inventory.switches.values()
        ]
        hosts = [[host.node, host.interface] for host in self.inventory.hosts.values()]
        parts: list[object] = [described, hosts, [str(box) for box in self.inventory.boxes]]
        numbers, usual = _numbers(self.wiring), _numbers(Wiring(self.wiring.topology))
        text = json.dumps(parts if numbers == usual else [*parts, numbers])
        return hashlib.sha256(text.encode()).hexdigest()

    def interface(self, switch: str, port: int) -> str:
        """Return the device of a switch's port."""
        box = self.inventory.switches[switch]
        neighbour = self.wiring.neighbour_at(switch, port)
        found = box.links[neighbour] if neighbour is not None else box.host
        assert found is not None, "hosts have been required where they are used"
        return found

    def namespace(self, host: HostBox) -> str:
        return f"{_NAMESPACE}-{self.wiring.number(host.node)}"

    def cables(self) -> list[tuple[tuple[str, str], tuple[str, str]]]:
        """Return the expected cables: box name and interface at either end."""
        switches = self.inventory.switches
        found = [
            ((switches[a].name, switches[a].links[b]), (switches[b].name, switches[b].links[a]))
            for a, b in self.wiring.topology.edges
        ]
        for node, host in self.inventory.hosts.items():
            near = switches[node].host
            assert near is not None, "the inventory has no host without one"
            found.append(((switches[node].name, near), (host.name, host.interface)))
        return found

    def _bridge(self, box: SwitchBox) -> Bridge:
        numbers = self.wiring.link_ports(box.node)
        rates = {number: port_rate(self.wiring, box.node, number) for number in self.wiring.ports(box.node)}
        ports = [Port(self.interface(box.node, number), number, LINK_MTU, rates[number]) for number in numbers]
        if self.wiring.has_host(box.node):
            last = self.wiring.host_port(box.node)
            if box.host is not None:
                ports.append(Port(box.host, last, HOST_MTU, rates[last]))
            else:  # the plan's tables need a port there anyway
                ports.append(Port(f"{box.bridge}{_NO_HOST}", last, HOST_MTU, rates[last], internal=True))
        return Bridge(box.bridge, self.wiring.datapath_id(box.node), tuple(ports))

    def _ports(self, box: SwitchBox) -> list[PortPlan]:
        layout, tagging = self.options.layout, self.options.tagging
        plans = []
        for port in self._bridge(box).ports:
            if port.internal:
                continue
            commands = htb_commands(port.interface, port.rate, layout, self.options.buffer_packets)
            if box.datapath is Datapath.USERSPACE:  # where `set_queue` has no effect
                commands += tag_filter_commands(port.interface, layout, tagging)
            clearing = clearing_commands(port.interface, layout)
            plans.append(PortPlan(port.interface, port.mtu, json.dumps([clearing, commands])))
        return plans

    def _host(self, box: HostBox, macs: Mapping[str, str]) -> HostPlan:
        site = next(site for site in self.wiring.sites if site.name == box.node)
        commands = site_commands(box.interface, site_host(site, self.wiring, macs))
        return HostPlan(self.namespace(box), box.interface, HOST_MTU, tuple(map(tuple, commands)))
