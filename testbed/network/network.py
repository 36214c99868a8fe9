"""The emulated network of a topology: real switches, real queues, and the hosts of its wiring.

It is built in the network namespace of the thread that calls `start`, normally a private one (see
`testbed.machine.network_namespace`); all calls must be made in that namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from kuijia_app.preparation.completion import complete_queues
from kuijia_app.preparation.queues import clearing_commands, htb_commands, tag_filter_commands
from kuijia_app.preparation.send_buffer import HARMLESS_FRAME, enlarge_send_buffers
from kuijia_app.preparation.sessions import SessionEnd, ends_of
from kuijia_app.tables.needs import HOST_MTU, port_rate
from kuijia_app.tables.queues import QueueLayout
from kuijia_app.tables.wiring import Wiring
from kuijia_base.commands import run_batch
from kuijia_base.errors import InputError, TestbedError
from te_solver.model.topology import Topology
from testbed.links.label_observer import LabelObserver
from testbed.links.link_probes import ProbeSink, ProbeStream, ProbeTiming, run_probes
from testbed.links.load_counters import LoadCounters
from testbed.links.port_status import SwitchPort, is_running, switch_ports
from testbed.machine.network_namespace import network_of
from testbed.machine.ovs import (
    SYSTEM_DIRECTORY,
    Datapath,
    Ovs,
    PrivateOvs,
    kernel_datapath_available,
    kernel_delays_available,
    require_port_numbers,
)
from testbed.machine.packet_origin import forget_origin
from testbed.machine.run_directory import MachineObject, RunDirectory
from testbed.network.bfd import BfdCables, cable_objects
from testbed.network.bridges import (
    LINK_MTU,
    Bridge,
    NetworkOptions,
    Port,
    bridge_arguments,
    bridge_name,
    controller_arguments,
    host_interface,
    host_name,
    interface_rate_commands,
    port_name,
    require_possible_links,
)
from testbed.network.calibration import LinkCalibration, ProbeRate, calibrate
from testbed.network.hosts import Host
from testbed.network.leftovers import claim_machine_objects, interfaces, remove_machine_objects, require_free_names
from testbed.network.queue_counters import PortCounters, QueueTotals, read_all_queue_counters, read_queue_counters


class ThisMachine:
    """The machine of all emulated switches (`testbed.network.bfd.SwitchMachine`)."""

    def __init__(self, ovs: Ovs) -> None:
        self.vsctl = ovs.vsctl
        self.appctl = ovs.appctl

    def make_links(self, commands: Sequence[list[str]]) -> None:
        run_batch("ip", commands)

    def delete_links(self, names: Sequence[str]) -> None:
        present = interfaces()
        run_batch("ip", [["link", "delete", name] for name in names if name in present])


_T = TypeVar("_T")

CONGESTION_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

_PROBE_TIMING = ProbeTiming(settle=0.1, measure=0.4)

_DEFAULT_OPTIONS = NetworkOptions()


class EmulatedNetwork:
    """Switches, cables and hosts of a topology, from `start` to `stop`.

    Nodes are named as in the topology, also in errors. Everything raises TestbedError when a switch, an interface or a
    program fails, InputError for a node that does not exist.
    """

    def __init__(
        self,
        topology: Topology,
        wiring: Wiring,
        run: RunDirectory,
        options: NetworkOptions = _DEFAULT_OPTIONS,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Create a network; `report` receives a line about features of the topology that cannot be emulated."""
        self.topology = topology
        self.wiring = wiring
        self.run = run
        self.options = options
        self._report = report
        self._hosts: dict[str, Host] = {}
        self._undo = ExitStack()

    @cached_property
    def ovs(self) -> Ovs:
        datapath = self.options.datapath
        if datapath is None:
            datapath = Datapath.KERNEL if kernel_datapath_available() else Datapath.USERSPACE
        if self.options.system_ovs:
            return Ovs(SYSTEM_DIRECTORY, datapath)
        return PrivateOvs(self.run.path / "ovs", datapath, self.run.storage)

    def start(self) -> None:
        """Build everything; return when all ports forward, all queues exist and entries can reach all hosts.

        Raises:
            InputError: a link of the topology is one-way, too slow or too fast, or (with the machine's own Open
                vSwitch) a name is taken. Nothing is left behind then, nor after any other error.
        """
        require_possible_links(self.topology)
        if any(link.delay > 0 for link in self.topology.links) and not self.has_delays:
            self._report("link delays are ignored: they need the kernel's datapath and netem")
        with ExitStack() as undo:
            undo.callback(self.bfd.delete_devices)
            if isinstance(self.ovs, PrivateOvs):
                require_free_names(self._objects(), interfaces())
            else:
                claim_machine_objects(self.run, self.ovs, self._objects())
                undo.callback(remove_machine_objects, self._objects(), self.run.lab_id, self.ovs)
            self._start_mininet(undo)
            if isinstance(self.ovs, PrivateOvs):
                undo.callback(self.ovs.stop)
                self.ovs.start()
            undo.callback(self._end_programs)
            self._start_bridges()
            self._complete_queues()
            self._undo = undo.pop_all()

    def connect(self, controller_port: int, *others: int) -> None:
        """Connect all switches to the controllers at these TCP ports of 127.0.0.1, which should already listen.

        A switch whose attempt fails tries again after 1, 2, 4 and then every 8 seconds: Open vSwitch 3.1 ignores its
        setting `max_backoff`.
        """
        self.connect_each(dict.fromkeys(self.topology.nodes, (controller_port, *others)))

    def connect_each(self, ports: Mapping[str, Sequence[int]]) -> None:
        """Connect each switch to its own TCP ports of 127.0.0.1, in place of what it was connected to."""
        pairs = zip(self.topology.nodes, self._bridges, strict=True)
        self.ovs.vsctl(
            *_flat(controller_arguments(bridge, ports[switch][0], others=ports[switch][1:]) for switch, bridge in pairs)
        )

    def stop(self) -> None:
        """End the hosts' programs and remove everything; has no effect if nothing was started."""
        self._undo.close()

    @property
    def layout(self) -> QueueLayout:
        return self.options.layout

    @property
    def datapath(self) -> Datapath:
        return self.ovs.datapath

    def dead_switches(self) -> frozenset[str]:
        return frozenset() if self.ovs.is_alive else frozenset(self.topology.nodes)

    @property
    def forwarding_process(self) -> int | None:
        return self.ovs.switch_pid() if self.datapath is Datapath.USERSPACE else None

    def count_box_loads(self) -> dict[str, LoadCounters]:
        return {}

    def ofctl(self, switch: str, command: str, *arguments: str, stdin: str | None = None) -> str:
        return self.ovs.ofctl(command, self.bridge(switch), *arguments, stdin=stdin)

    @cached_property
    def bfd(self) -> BfdCables:
        machine = ThisMachine(self.ovs)
        return BfdCables(lambda _: machine, lambda session: ends_of(session, self.bridge), self._claim_cables)

    def _claim_cables(self, ends: Iterable[SessionEnd]) -> None:
        """Raise InputError if, with the machine's own Open vSwitch, a cable's name is taken."""
        if not isinstance(self.ovs, PrivateOvs):
            claim_machine_objects(self.run, self.ovs, cable_objects(ends))

    def __enter__(self) -> EmulatedNetwork:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def has_host(self, site: str) -> bool:
        return site in self._hosts

    def host(self, name: str) -> Host:
        if name not in self._hosts:
            expected = f"one of {', '.join(self._hosts)}"
            raise InputError(
                "testbed", name, "there is no such node" if name not in self.topology.nodes else "has no host", expected
            )
        return self._hosts[name]

    def bridge(self, switch: str) -> str:
        self._require_node(switch)
        return bridge_name(self.wiring, switch)

    def interface(self, switch: str, port: int) -> str:
        """Return the name of the network device of a switch's port."""
        self._require_node(switch)
        return port_name(self.wiring, switch, port)

    @cached_property
    def has_delays(self) -> bool:
        """True if links have the delays of the topology.

        The leaves that delay drop at the tail, which makes the userspace datapath lose packets of all queues.
        """
        return self.datapath is Datapath.KERNEL and kernel_delays_available()

    def port_capacity(self, switch: str, port: int) -> float:
        """Return the rate of the port's queues in Mbit/s."""
        return port_rate(self.wiring, switch, port)

    def core_interfaces(self, switch: str) -> list[str]:
        """Return the devices of a switch's ports to other switches."""
        return [self.interface(switch, port) for port in self.wiring.link_ports(switch)]

    def observe(self, *switches: str) -> LabelObserver:
        return LabelObserver(interface for switch in switches for interface in self.core_interfaces(switch))

    def congestion_controls(self) -> frozenset[str]:
        return frozenset(CONGESTION_CONTROLS.read_text().split())

    def is_up(self, a: str, b: str) -> bool:
        return all(is_running(port.interface) for port in self._ends(a, b).values())

    def links_up(self, links: Iterable[tuple[str, str]]) -> dict[tuple[str, str], bool | TestbedError]:
        return {link: self._state_of(*link) for link in links}

    def _state_of(self, a: str, b: str) -> bool | TestbedError:
        try:
            return self.is_up(a, b)
        except TestbedError as error:
            return error

    def switch_link(self, a: str, b: str, *, up: bool) -> tuple[float, dict[str, float]]:
        return switch_ports(self._ends(a, b), up=up)

    def queue_counters(self, switch: str, port: int) -> tuple[QueueTotals, ...]:
        return read_queue_counters(self.interface(switch, port), self.layout)

    def queue_counters_of(self, ports: Iterable[tuple[str, int]]) -> dict[tuple[str, int], PortCounters]:
        return read_all_queue_counters({each: self.interface(*each) for each in ports}, self.layout)

    def calibrate(self, report: Callable[[str], None]) -> tuple[LinkCalibration, ...]:
        return calibrate(self, report=report)

    def datapath_of(self, switch: str) -> Datapath:  # noqa: ARG002 - it is the same for all
        return self.datapath

    def probe(
        self, streams: Sequence[tuple[str, ProbeStream]], sinks: Sequence[tuple[str, ProbeSink]]
    ) -> list[ProbeRate]:
        counts = run_probes([stream for _, stream in streams], [sink for _, sink in sinks], _PROBE_TIMING)
        return [
            ProbeRate(sent / counts.seconds, arrived / counts.seconds)
            for sent, arrived in zip(counts.sent, counts.arrived, strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        return {
            "datapath": self.datapath.value,
            "system_ovs": self.options.system_ovs,
            "buffer_packets": self.options.buffer_packets,
            "link_delays": self.has_delays,
        }

    def _ends(self, a: str, b: str) -> dict[str, SwitchPort]:
        """Return the port at each end of a link, by switch."""
        numbers = {a: self.wiring.port(a, b), b: self.wiring.port(b, a)}
        return {
            switch: SwitchPort(self.interface(switch, number), number, self.ovs.management(self.bridge(switch)))
            for switch, number in numbers.items()
        }

    @cached_property
    def _bridges(self) -> tuple[Bridge, ...]:
        def ports(switch: str) -> tuple[Port, ...]:
            links = self.wiring.link_ports(switch)
            return tuple(
                Port(
                    self.interface(switch, number),
                    number,
                    LINK_MTU if number in links else HOST_MTU,
                    self.port_capacity(switch, number),
                )
                for number in self.wiring.ports(switch)
            )

        return tuple(
            Bridge(self.bridge(switch), self.wiring.datapath_id(switch), ports(switch))
            for switch in self.topology.nodes
        )

    def _objects(self) -> list[MachineObject]:
        ports = [MachineObject("interface", port.interface) for bridge in self._bridges for port in bridge.ports]
        return [MachineObject("bridge", bridge.name) for bridge in self._bridges] + ports

    def _start_mininet(self, undo: ExitStack) -> None:
        # Computed experiments import this module, also where Python does not see Mininet.
        from testbed.network.mininet_network import LabMininet  # noqa: PLC0415  # see above

        mininet = LabMininet(self.topology, self.wiring)
        undo.callback(mininet.stop)
        undo.callback(self._delete_cables)
        mininet.build()
        for number, site in enumerate(self.wiring.sites, start=1):
            holder = mininet[host_name(number)].pid
            self._hosts[site.name] = Host(site.name, site.address, host_interface(number), holder)
        run_batch("ip", [["link", "set", port.interface, "up"] for bridge in self._bridges for port in bridge.ports])

    def _end_programs(self) -> None:
        for host in self._hosts.values():
            host.end_programs()

    def _delete_cables(self) -> None:
        """Delete one end of every veth pair, and with it the other."""
        cables = [self.interface(a, self.wiring.port(a, b)) for a, b in self.topology.edges]
        cables += [self.interface(site.switch, port) for site in self.wiring.sites for port in site.ports]
        present = interfaces()
        run_batch("ip", [["link", "delete", cable] for cable in cables if cable in present])

    def _start_bridges(self) -> None:
        datapath, mark, queues = self.ovs.datapath, self.run.lab_id, self.layout.queues
        self.ovs.vsctl(*_flat(bridge_arguments(bridge, datapath, mark, queues) for bridge in self._bridges))
        wanted = {port.interface: port.number for bridge in self._bridges for port in bridge.ports}
        require_port_numbers(self.ovs.vsctl, wanted)

    def _complete_queues(self) -> None:
        layout, buffer_packets = self.options.layout, self.options.buffer_packets
        capacities = {port.interface: port.rate for bridge in self._bridges for port in bridge.ports}
        delays = {
            self.interface(link.source, self.wiring.port(*link.ends)): link.delay
            for link in self.topology.links
            if self.has_delays
        }
        building = _flat(
            htb_commands(name, rate, layout, buffer_packets, delays.get(name, 0.0)) for name, rate in capacities.items()
        )
        if self.ovs.datapath is Datapath.USERSPACE:
            building += _flat(tag_filter_commands(name, layout, self.options.tagging) for name in capacities)
        complete_queues(_flat(clearing_commands(name, layout) for name in capacities), building)
        self._limit_hosts()
        if self.ovs.datapath is Datapath.KERNEL:
            forget_origin(self.interface(site.switch, site.port) for site in self.wiring.sites)
        else:
            self.enlarge_send_buffer()

    def enlarge_send_buffer(self) -> None:
        """Give the switches' daemon room for the packets of all queues (`kuijia_app.preparation.send_buffer`)."""
        # Open vSwitch creates its sending socket for the first packet it sends, and one socket serves all ports.
        first = next(bridge for bridge in self._bridges if bridge.ports)
        packet_out = f"in_port=controller packet={HARMLESS_FRAME} actions=output:{first.ports[0].number}"
        self.ovs.ofctl("packet-out", first.name, packet_out)
        enlarge_send_buffers(self.ovs.switch_pid())

    def _limit_hosts(self) -> None:
        """Limit the sending rate of hosts with a given capacity."""
        for site in self.wiring.sites:
            if site.capacity is None:
                continue
            host = self._hosts[site.name]
            with network_of(host.namespace_pid):
                # One frame at a time: otherwise TCP would hand tc up to 64 kB at once.
                run_batch("ip", [["link", "set", "dev", host.interface, "gso_max_segs", "1"]])
                run_batch("tc", interface_rate_commands(host.interface, site.capacity, self.options.buffer_packets))

    def _require_node(self, node: str) -> None:
        if node not in self.topology.nodes:
            raise InputError("testbed", node, "there is no such node", f"one of {', '.join(self.topology.nodes)}")


def _flat(parts: Iterable[list[_T]]) -> list[_T]:
    return [item for part in parts for item in part]
