"""A network of boxes, behind the interface that labs and experiments know (`testbed.fabric`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple
from types import TracebackType
from typing import Any

from kuijia_app.bfd import BfdSession
from kuijia_app.queues import QueueLayout
from kuijia_app.wiring import Wiring
from te_solver.errors import InputError
from te_solver.topology import Topology
from testbed.bfd import EndState
from testbed.boxes.fleet import Fleet
from testbed.boxes.hosts import BoxHost
from testbed.boxes.inventory import Box, Inventory, SwitchBox
from testbed.boxes.plans import Target
from testbed.boxes.ssh import BoxError, Connection
from testbed.bridges import Bridge, controller_arguments
from testbed.calibration import LinkCalibration
from testbed.fabric import LabelWatch
from testbed.flow_keys import FlowKey, Mark
from testbed.link_rates import require_possible_links
from testbed.network import HARMLESS_FRAME, NetworkOptions
from testbed.ovs import Datapath
from testbed.queue_counters import QueueCounters, parse_queue_counters
from testbed.run_directory import RunDirectory

Report = Callable[[str], None]
_EMPTYING = ("del-flows", "del-groups")


class BoxNetwork:
    """Switches and hosts that are boxes, from `start` to `stop`.

    What the boxes were not before `start` they are not after `stop`. What dies in between is reported by the method
    that needs it; `stop` puts back what still answers.
    """

    def __init__(self, target: Target, report: Report) -> None:
        self._target = target
        self._report = report
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
        """Userspace where any switch's is, as its queues are then chosen by tags."""
        kinds = {box.datapath for box in self._switches}
        return Datapath.USERSPACE if Datapath.USERSPACE in kinds else Datapath.KERNEL

    @property
    def is_alive(self) -> bool:
        try:
            self._fleet.ask(
                "run", lambda box: {"argv": self._vsctl(box, "show")} if isinstance(box, SwitchBox) else None
            )
        except BoxError:
            return False
        return True

    @property
    def forwarding_process(self) -> int | None:
        return None

    def start(self) -> None:
        require_possible_links(self.topology)
        self._target.inventory.require_fit(self.topology)
        with ExitStack() as undo:
            undo.callback(self._fleet.close)
            self._fleet.connect()
            if self._fleet.build(self._target, self._report):
                undo.callback(self._fleet.put_back_what_answers, self._report)
            else:
                undo.callback(self._empty_switches)
            for box in self._switches:
                if box.datapath is Datapath.USERSPACE:
                    self._enlarge_send_buffers(box)
            facts = self._fleet.examine(self._target).facts
            hosts = [facts[box.name]["congestion_controls"] for box in self._target.inventory.hosts.values()]
            self._congestion_controls = frozenset.intersection(*map(frozenset, hosts)) if hosts else frozenset()
            kept = ("name", "kernel", "python", "programs", "switch")
            self._versions = {name: {key: found[key] for key in kept if key in found} for name, found in facts.items()}
            self._undo = undo.pop_all()

    def connect(self, controller_port: int) -> None:
        address = self._target.inventory.controller_address
        for box in self._switches:
            bridge = Bridge(box.bridge, self.wiring.datapath_id(box.node), ())
            command = self._vsctl(box, *controller_arguments(bridge, controller_port, address))
            self._fleet.connection(box).call("run", argv=command)

    def stop(self) -> None:
        self._undo.close()

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

    def queue_counters(self, switch: str, port: int) -> tuple[QueueCounters, ...]:
        interface = self._target.interface(switch, port)
        connection = self._fleet.connection(self._target.inventory.switches[switch])
        command = ["tc", "-json", "-statistics", "qdisc", "show", "dev", interface]
        return parse_queue_counters(interface, connection.call("run", argv=command), self.layout)

    def calibrate(self, report: Report) -> tuple[LinkCalibration, ...]:
        """Nothing yet: links of boxes are not measured beforehand."""
        report("links between boxes are not calibrated")
        return ()

    def describe(self) -> dict[str, Any]:
        return {
            "datapath": self.datapath.value,
            "system_ovs": True,
            "buffer_packets": self._target.options.buffer_packets,
            "boxes": self._versions,
        }

    def add_sessions(self, sessions: Sequence[BfdSession], interval_ms: int) -> None:  # noqa: ARG002
        """Raises InputError: BFD over tunnels needs cables within a switch, which boxes are not given."""
        if sessions:
            raise InputError("option", "--liveness", "bfd is not possible on boxes", "controller")

    def remove_sessions(self, sessions: Iterable[BfdSession]) -> None:
        """There are none."""

    def session_states(self) -> dict[BfdSession, dict[str, EndState]]:
        return {}

    def wait_for_sessions(self, sessions: Iterable[BfdSession], *, up: bool) -> None:
        """There are none."""

    @property
    def _switches(self) -> tuple[SwitchBox, ...]:
        return tuple(self._target.inventory.switches.values())

    def _enlarge_send_buffers(self, box: SwitchBox) -> None:
        """See `testbed.send_buffer`: the switch must have sent a packet before."""
        packet_out = f"in_port=controller packet={HARMLESS_FRAME} actions=output:1"
        management = f"unix:{box.ovs_directory / f'{box.bridge}.mgmt'}"
        connection = self._fleet.connection(box)
        command = ["ovs-ofctl", "-O", "OpenFlow13", "--timeout=20", "packet-out", management, packet_out]
        connection.call("run", argv=command)
        connection.call("enlarge_send_buffers", ovs_directory=str(box.ovs_directory))

    def _empty_switches(self) -> None:
        """Take away controller, entries and groups from bridges that stay."""
        for box in self._switches:
            management = f"unix:{box.ovs_directory / f'{box.bridge}.mgmt'}"
            commands = [
                self._vsctl(box, "del-controller", box.bridge),
                *(
                    ["ovs-ofctl", "-O", "OpenFlow13", "--timeout=20", word, management]
                    for word in ("del-flows", "del-groups")
                ),
            ]
            try:
                for command in commands:
                    self._fleet.connection(box).call("run", argv=command)
            except BoxError as error:
                self._report(f"{box.name} is not emptied: {error}")

    @staticmethod
    def _vsctl(box: SwitchBox, *arguments: str) -> list[str]:
        return ["ovs-vsctl", f"--db=unix:{box.ovs_directory / 'db.sock'}", "--timeout=20", *arguments]


class BoxGround:
    """Lets a lab stand on boxes."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    @property
    def controller_host(self) -> str:
        return self._inventory.controller_address

    @property
    def controller_port(self) -> int:
        return self._inventory.controller_port

    def require(self, report: Report) -> None:
        """Boxes need nothing of this machine but SSH."""

    @contextmanager
    def network(
        self,
        wiring: Wiring,
        run: RunDirectory,  # noqa: ARG002 - what is done is recorded on the boxes
        options: NetworkOptions,
        report: Report,
    ) -> Iterator[BoxNetwork]:
        yield BoxNetwork(Target(self._inventory, wiring, options), report)


class _BoxWatch:
    """Watches on several boxes at once."""

    def __init__(self, watched: Sequence[tuple[Connection, list[str]]]) -> None:
        self._connections = [connection for connection, _ in watched]
        for connection, interfaces in watched:
            connection.call("observe", interfaces=interfaces)

    def __enter__(self) -> _BoxWatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._connections:
            if connection.is_alive:
                connection.call("end_observation")

    def watch(
        self, flows: Iterable[FlowKey], seconds: float, ignored: Collection[int] = frozenset()
    ) -> dict[FlowKey, Mark]:
        keys = list(flows)
        labels = sorted(ignored)
        arguments = {"flows": [astuple(key) for key in keys], "seconds": seconds, "ignored": labels}
        orders = [(connection, connection.begin("watch", **arguments)) for connection in self._connections]
        seen: dict[FlowKey, Mark] = {}
        for connection, order in orders:
            for position, label, traffic_class in connection.result(order):
                seen[keys[position]] = Mark(label, traffic_class)
        return seen
