"""A network of boxes behind the interface that labs and experiments use (`testbed.network.lab_network`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from kuijia_app.framework.listening import require_free
from kuijia_app.preparation.send_buffer import HARMLESS_FRAME
from kuijia_app.preparation.sessions import ends_of
from kuijia_app.tables.families import Address
from kuijia_app.tables.queues import QueueLayout
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import TestbedError
from te_solver.model.topology import Topology
from testbed.boxes.fleet import BoxesNote, Fleet, put_back_boxes
from testbed.boxes.inventory import Box, BoxInventory, SwitchBox
from testbed.boxes.plans import Target
from testbed.boxes.ssh import BoxError, SshConnection
from testbed.controllers.application_process import Listening
from testbed.links.label_observer import EgressFlowKey, IngressMark
from testbed.links.link_probes import ProbeSink, ProbeStream, ProbeTiming
from testbed.links.load_counters import LoadCounters
from testbed.links.port_status import CARRIER_SECONDS
from testbed.machine.ovs import Datapath
from testbed.machine.processes import SocketKind
from testbed.machine.programs import ClockOffset, ask_clock
from testbed.machine.run_directory import RunDirectory
from testbed.network.bfd import BfdCables
from testbed.network.bridges import Bridge, NetworkOptions, controller_arguments, require_possible_links
from testbed.network.calibration import LinkCalibration, ProbeRate, calibrate
from testbed.network.lab_network import LabelWatch
from testbed.network.leftovers import remove_leftovers
from testbed.network.queue_counters import (
    SHOW_ALL,
    PortCounters,
    QueueTotals,
    parse_all_queue_counters,
    parse_queue_counters,
)

_POLL_SECONDS = 0.05


class BoxHost:
    """Remote counterpart of `testbed.network.hosts.Host`."""

    def __init__(self, name: str, address: Address, interface: str, namespace: str, connection: SshConnection) -> None:
        self.name = name
        self.address = address
        self.interface = interface
        self._namespace = namespace
        self._connection = connection

    def launch(self, argv: Sequence[str]) -> BoxProgram:
        number = self._connection.call("launch", argv=[*self._prefix, *argv])
        return BoxProgram(self._connection, argv[0], number)

    def launch_python(self, file: Path, arguments: Sequence[str]) -> BoxProgram:
        number = self._connection.call(
            "launch_python", prefix=self._prefix, source=file.read_text(), arguments=list(arguments)
        )
        return BoxProgram(self._connection, file.name, number)

    def batch(self, program: Literal["ip", "tc"], commands: Sequence[list[str]]) -> None:
        self._connection.call("batch", namespace=self._namespace, program=program, commands=commands)

    def clock(self) -> ClockOffset:
        return ask_clock(lambda: float(self._connection.call("monotonic_clock")), time.monotonic)

    @property
    def _prefix(self) -> list[str]:
        return ["ip", "netns", "exec", self._namespace]  # which replaces itself by the program


class BoxProgram:
    """A program on a box; see `testbed.machine.programs.StartedProgram`."""

    def __init__(self, connection: SshConnection, name: str, number: int) -> None:
        self._connection = connection
        self._name = name
        self._number = number
        self._stopped = False

    def status(self) -> int | None:
        status: int | None = self._connection.call("program_status", program=self._number)
        return status

    def wait(self, seconds: float) -> int:
        deadline = time.monotonic() + seconds
        while (status := self.status()) is None:
            if time.monotonic() > deadline:
                raise TestbedError(f"{self._connection.name}: {self._name} does not end")
            time.sleep(_POLL_SECONDS)
        return status

    def output(self) -> str:
        return str(self._connection.call("program_output", program=self._number))

    def owns_socket(self, kind: SocketKind, local_port: int, remote_port: int = 0) -> bool:
        return bool(
            self._connection.call(
                "program_owns_socket",
                program=self._number,
                protocol=kind.protocol,
                state=kind.state,
                local_port=local_port,
                remote_port=remote_port,
            )
        )

    def bytes_read(self) -> int:
        return int(self._connection.call("program_bytes_read", program=self._number))

    def terminate(self) -> None:
        self._connection.call("terminate_program", program=self._number)

    def stop(self) -> None:
        """End the program; has no effect if it was ended before, or the box is dead."""
        if not self._stopped and self._connection.is_alive:
            self._connection.call("stop_program", program=self._number)
        self._stopped = True


class BoxSwitchMachine:
    """A switch's box, used by sessions as a `testbed.network.bfd.SwitchMachine`; everything raises BoxError."""

    def __init__(self, box: SwitchBox, connection: SshConnection) -> None:
        self.box = box
        self.connection = connection

    @property
    def management(self) -> str:
        """OpenFlow socket of the bridge."""
        return f"unix:{self.box.ovs_directory / f'{self.box.bridge}.mgmt'}"

    def vsctl(self, *arguments: str) -> str:
        return self._run("ovs-vsctl", f"--db=unix:{self.box.ovs_directory / 'db.sock'}", "--timeout=20", *arguments)

    def appctl(self, *arguments: str) -> str:
        return self._run("env", f"OVS_RUNDIR={self.box.ovs_directory}", "ovs-appctl", "--timeout=20", *arguments)

    def ofctl(self, command: str, *arguments: str, stdin: str | None = None) -> str:
        tool = ("ovs-ofctl", "-O", "OpenFlow13", "--timeout=20")
        return self._run(*tool, command, self.management, *arguments, stdin=stdin)

    def make_links(self, commands: Sequence[list[str]]) -> None:
        self.connection.call("batch", namespace=None, program="ip", commands=commands)

    def delete_links(self, names: Sequence[str]) -> None:
        self.connection.call("delete_links", names=names)

    def empty(self) -> None:
        """Remove the controller, BFD sessions, entries and groups."""
        self.vsctl("del-controller", self.box.bridge)
        self.connection.call("remove_cables", directory=str(self.box.ovs_directory), bridge=self.box.bridge)
        for command in ("del-flows", "del-groups"):
            self.ofctl(command)

    def _run(self, *argv: str, stdin: str | None = None) -> str:
        return str(self.connection.call("run", argv=argv, stdin=stdin))


Report = Callable[[str], None]

_LOOK_SECONDS = 10.0
"""Time that boxes have to answer those who look at them."""

_PROBE_TIMING = ProbeTiming(settle=0.5, measure=1.0, overrun=0.5)
"""Boxes receive the order to measure one after the other."""

_PROBE_FRAMES_PER_SECOND = 30_000
"""Low enough for boxes that are containers on one machine."""


class BoxNetwork:
    """Switches and hosts that are boxes, from `start` to `stop`.

    `stop` restores the boxes to their state before `start`. A box that dies in between is reported by the method that
    needs it; `stop` restores those that still answer.
    """

    def __init__(self, target: Target, report: Report, note: BoxesNote | None = None) -> None:
        """Make a network that does not stand yet; in `note`, `start` notes that it changes boxes."""
        self._target = target
        self._report = report
        self._note = note
        self._fleet = Fleet(target.inventory)
        self._undo = ExitStack()
        self._congestion_controls: frozenset[str] = frozenset()
        self._versions: dict[str, Any] = {}

    @property
    def topology(self) -> Topology:
        return self._target.wiring.topology

    @property
    def wiring(self) -> Wiring:
        return self._target.wiring

    @property
    def layout(self) -> QueueLayout:
        return self._target.options.layout

    @property
    def datapath(self) -> Datapath:
        """Userspace if any switch uses it, as its queues are then chosen by tags."""
        kinds = {box.datapath for box in self._target.inventory.switches.values()}
        return Datapath.USERSPACE if Datapath.USERSPACE in kinds else Datapath.KERNEL

    def dead_switches(self) -> frozenset[str]:
        alive, _ = self._fleet.ask_each(
            "is_forwarding",
            lambda box: {"ovs_directory": str(box.ovs_directory)} if isinstance(box, SwitchBox) else None,
            _LOOK_SECONDS,
        )
        switches = self._target.inventory.switches
        return frozenset(node for node, box in switches.items() if not alive.get(box.name, False))

    @cached_property
    def bfd(self) -> BfdCables:
        switches = self._target.inventory.switches
        return BfdCables(
            lambda node: self._machines[node], lambda session: ends_of(session, lambda node: switches[node].bridge)
        )

    @property
    def forwarding_process(self) -> int | None:
        return None

    def count_box_loads(self) -> dict[str, LoadCounters]:
        def arguments(box: Box) -> dict[str, object]:
            if isinstance(box, SwitchBox) and box.datapath is Datapath.USERSPACE:
                return {"ovs_directory": str(box.ovs_directory)}
            return {"ovs_directory": None}

        found = self._fleet.ask("count_load", arguments)
        return {name: LoadCounters(**counters) for name, counters in found.items()}

    def ofctl(self, switch: str, command: str, *arguments: str, stdin: str | None = None) -> str:
        return self._machines[switch].ofctl(command, *arguments, stdin=stdin)

    def start(self) -> None:
        require_possible_links(self.topology)
        self._target.inventory.require_fit(self.topology)
        with ExitStack() as undo:
            undo.callback(self._fleet.close)
            self._fleet.connect()
            if self._note is not None:
                self._note.write()
                undo.callback(self._note.remove)
            if self._fleet.build(self._target, self._report):
                undo.callback(self._fleet.put_back_what_answers, self._report)
            else:
                if self._note is not None:
                    self._note.remove()  # whoever set them up wants them to stay
                self._empty_switches()  # a killed run may have left something in them
                undo.callback(self._empty_switches)
                self._require_carriers()
            for machine in self._machines.values():
                if machine.box.datapath is Datapath.USERSPACE:
                    _enlarge_send_buffers(machine)
            facts = self._fleet.facts
            hosts = [facts[box.name]["congestion_controls"] for box in self._target.inventory.hosts.values()]
            self._congestion_controls = frozenset.intersection(*map(frozenset, hosts)) if hosts else frozenset()
            kept = ("name", "kernel", "python", "programs", "switch")
            self._versions = {name: {key: found[key] for key in kept if key in found} for name, found in facts.items()}
            self._undo = undo.pop_all()

    def connect(self, controller_port: int, *others: int) -> None:
        controller = self._target.inventory.controller
        for node, machine in self._machines.items():
            bridge = Bridge(machine.box.bridge, self.wiring.datapath_id(node), ())
            machine.vsctl(*controller_arguments(bridge, controller_port, controller.host, controller.protocol, others))

    def stop(self) -> None:
        self._undo.close()

    def has_host(self, site: str) -> bool:
        return site in self._target.inventory.hosts

    def host(self, node: str) -> BoxHost:
        self._target.inventory.require_hosts({node})
        box = self._target.inventory.hosts[node]
        return BoxHost(
            node,
            self.wiring.host_address(node),
            box.interface,
            self._target.namespace(box),
            self._fleet.connection(box),
        )

    def congestion_controls(self) -> frozenset[str]:
        return self._congestion_controls

    def observe(self, *switches: str) -> LabelWatch:
        boxes = [self._target.inventory.switches[switch] for switch in switches]
        return _BoxWatch([(self._fleet.connection(box), list(box.links.values())) for box in boxes])

    def is_up(self, a: str, b: str) -> bool:
        inventory = self._target.inventory
        ends = [(inventory.switches[a], b), (inventory.switches[b], a)]
        return all(self._fleet.connection(box).call("is_running", interface=box.links[other]) for box, other in ends)

    def links_up(self, links: Iterable[tuple[str, str]]) -> dict[tuple[str, str], bool | TestbedError]:
        wanted = tuple(links)
        switches = self._target.inventory.switches
        found, faults = self._fleet.ask_each(
            "are_running",
            lambda box: {"interfaces": list(box.links.values())} if isinstance(box, SwitchBox) else None,
            _LOOK_SECONDS,
        )
        running: dict[tuple[str, str], bool] = {
            (node, other): up
            for node, box in switches.items()
            if box.name in found
            for other, up in zip(box.links, found[box.name], strict=True)
        }

        def state(a: str, b: str) -> bool | TestbedError:
            silent = [switches[node].name for node in (a, b) if switches[node].name not in found]
            if silent:
                return TestbedError(faults.get(silent[0], f"{silent[0]} is not connected"))
            return running[a, b] and running[b, a]

        return {link: state(*link) for link in wanted}

    def switch_link(self, a: str, b: str, *, up: bool) -> tuple[float, dict[str, float]]:
        other = {a: b, b: a}

        def arguments(box: Box) -> dict[str, object] | None:
            if not isinstance(box, SwitchBox) or box.node not in other:
                return None
            return {
                "interface": box.links[other[box.node]],
                "number": self.wiring.port(box.node, other[box.node]),
                "management": str(box.ovs_directory / f"{box.bridge}.mgmt"),
                "up": up,
            }

        requested_at = time.time()
        delays = self._fleet.ask("switch_port", arguments)
        return requested_at, {node: delays[self._target.inventory.switches[node].name] for node in (a, b)}

    def queue_counters(self, switch: str, port: int) -> tuple[QueueTotals, ...]:
        interface = self._target.interface(switch, port)
        connection = self._fleet.connection(self._target.inventory.switches[switch])
        command = ["tc", "-json", "-statistics", "qdisc", "show", "dev", interface]
        return parse_queue_counters(interface, connection.call("run", argv=command), self.layout)

    def queue_counters_of(self, ports: Iterable[tuple[str, int]]) -> dict[tuple[str, int], PortCounters]:
        of_switch: dict[str, dict[tuple[str, int], str]] = {}
        for switch, port in ports:
            of_switch.setdefault(switch, {})[switch, port] = self._target.interface(switch, port)
        shown, faults = self._fleet.ask_each(
            "run",
            lambda box: {"argv": list(SHOW_ALL)} if isinstance(box, SwitchBox) and box.node in of_switch else None,
            _LOOK_SECONDS,
        )
        found: dict[tuple[str, int], PortCounters] = {}
        for switch, interfaces in of_switch.items():
            name = self._target.inventory.switches[switch].name
            if name in shown:
                found |= parse_all_queue_counters(interfaces, shown[name], self.layout)
            else:
                found |= dict.fromkeys(interfaces, BoxError(faults.get(name, f"{name} is not connected")))
        return found

    def interface(self, switch: str, port: int) -> str:
        return self._target.interface(switch, port)

    def datapath_of(self, switch: str) -> Datapath:
        return self._target.inventory.switches[switch].datapath

    def calibrate(self, report: Report) -> tuple[LinkCalibration, ...]:
        return calibrate(self, report=report, frames_per_second=_PROBE_FRAMES_PER_SECOND)

    def probe(
        self, streams: Sequence[tuple[str, ProbeStream]], sinks: Sequence[tuple[str, ProbeSink]]
    ) -> list[ProbeRate]:
        switches = {switch for switch, _ in (*streams, *sinks)}

        def arguments(box: Box) -> dict[str, object] | None:
            if not isinstance(box, SwitchBox) or box.node not in switches:
                return None
            return {
                "streams": [astuple(stream) for switch, stream in streams if switch == box.node],
                "sinks": [astuple(sink) for switch, sink in sinks if switch == box.node],
                "timing": astuple(_PROBE_TIMING),
            }

        counts = self._fleet.ask("probe_links", arguments)
        sent: dict[str, Iterator[float]] = {}
        arrived: dict[str, Iterator[float]] = {}
        for switch in switches:
            of_streams, of_sinks, seconds = counts[self._target.inventory.switches[switch].name]
            sent[switch] = iter([count / seconds for count in of_streams])
            arrived[switch] = iter([count / seconds for count in of_sinks])
        return [
            ProbeRate(next(sent[source]), next(arrived[target]))
            for (source, _), (target, _) in zip(streams, sinks, strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        return {
            "datapath": self.datapath.value,
            "system_ovs": True,
            "buffer_packets": self._target.options.buffer_packets,
            "boxes": self._versions,
        }

    @cached_property
    def _machines(self) -> dict[str, BoxSwitchMachine]:
        """Machines by node; raises BoxError if a switch is not connected."""
        switches = self._target.inventory.switches
        return {node: BoxSwitchMachine(box, self._fleet.connection(box)) for node, box in switches.items()}

    def _empty_switches(self) -> None:
        for machine in self._machines.values():
            try:
                machine.empty()
            except BoxError as error:
                self._report(f"{machine.box.name} is not emptied: {error}")
        try:
            self._bring_up(0.0)  # links that were cut
        except BoxError as error:
            self._report(f"links that were cut may be down: {error}")

    def _require_carriers(self) -> None:
        """Wait for carriers of links that the last run cut; raises TestbedError naming ports without one."""
        silent = self._bring_up(CARRIER_SECONDS)
        faults = [f"{name}: {', '.join(found)} has no carrier" for name, found in silent.items() if found]
        if faults:
            raise TestbedError("; ".join(faults))

    def _bring_up(self, seconds: float) -> dict[str, list[str]]:
        def arguments(box: Box) -> dict[str, object] | None:
            return {"interfaces": box.interfaces, "seconds": seconds} if isinstance(box, SwitchBox) else None

        return self._fleet.ask("bring_up", arguments)


def _enlarge_send_buffers(machine: BoxSwitchMachine) -> None:
    """Enlarge the send buffers of a switch, which must have sent a packet before."""
    machine.ofctl("packet-out", f"in_port=controller packet={HARMLESS_FRAME} actions=output:1")
    machine.connection.call("enlarge_send_buffers", ovs_directory=str(machine.box.ovs_directory))


class BoxGround:
    """Network of a lab on boxes."""

    def __init__(self, inventory: BoxInventory) -> None:
        self._inventory = inventory

    @property
    def listening(self) -> Listening:
        return self._inventory.controller

    def has_own_loopback(self, options: NetworkOptions) -> bool:  # noqa: ARG002  # whatever they are
        return False

    def require(self, report: Report) -> None:
        """Put back what killed labs left; raise InputError if the controller cannot listen at its address here."""
        try:
            remove_leftovers(report, put_back=put_back_boxes)
        except TestbedError as error:
            report(str(error))
        self._inventory.require_controller_here()
        require_free(self._inventory.controller.host, self._inventory.controller.port)

    @contextmanager
    def network(
        self,
        wiring: Wiring,
        run: RunDirectory,
        options: NetworkOptions,
        report: Report,
    ) -> Iterator[BoxNetwork]:
        yield BoxNetwork(Target(self._inventory, wiring, options), report, BoxesNote(run.path, self._inventory.path))


class _BoxWatch:
    """Watches labels on several boxes at once."""

    def __init__(self, watched: Sequence[tuple[SshConnection, list[str]]]) -> None:
        self._connections = [connection for connection, _ in watched]
        for connection, interfaces in watched:
            connection.call("observe", interfaces=interfaces)

    def __enter__(self) -> _BoxWatch:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._connections:
            if connection.is_alive:
                connection.call("end_observation")

    def watch(
        self, flows: Iterable[EgressFlowKey], seconds: float, ignored: Collection[int] = frozenset()
    ) -> dict[EgressFlowKey, IngressMark]:
        keys = list(flows)
        labels = sorted(ignored)
        arguments = {"flows": [astuple(key) for key in keys], "seconds": seconds, "ignored": labels}
        orders = [(connection, connection.begin("watch", **arguments)) for connection in self._connections]
        seen: dict[EgressFlowKey, IngressMark] = {}
        for connection, order in orders:
            for position, label, traffic_class in connection.result(order):
                seen[keys[position]] = IngressMark(label, traffic_class)
        return seen
