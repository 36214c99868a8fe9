"""A lab: the emulated network of a plan with its controller, from start to stop, and what can be done to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from kuijia_app import event_log
from kuijia_app.liveness import LivenessChange, LivenessTracker
from kuijia_app.slots import DEFAULT_SLOT_COUNT
from kuijia_app.wiring import Wiring
from te_solver.plan import Plan
from te_solver.plan_file import save_plan
from testbed.calibration import LinkCalibration, calibrate
from testbed.controller_process import LISTEN_PORT, ControllerProcess, Event, Framework
from testbed.errors import TestbedError
from testbed.failures import LinkEvent, fail_link, heal_link
from testbed.leftovers import remove_leftovers
from testbed.link_state import is_running
from testbed.machine import require_emulation
from testbed.network import Network, NetworkOptions
from testbed.network_namespace import private_network
from testbed.queue_counters import read_queue_counters
from testbed.run_directory import RunDirectory

REACTION_TIMEOUT = 5.0
"""Seconds the controller may take to tell the ingresses of a failure; it takes milliseconds unless it hangs."""


@dataclass(frozen=True)
class LabOptions:
    """What a plan leaves open.

    Attributes:
        scheme: "kuijia" or "rescaling".
        slot_count: hash slots per pair.
        framework: what the controller runs under.
        network: of the emulation itself.
    """

    scheme: str = "kuijia"
    slot_count: int = DEFAULT_SLOT_COUNT
    framework: Framework = "os-ken"
    network: NetworkOptions = field(default_factory=NetworkOptions)


@dataclass(frozen=True)
class NoticedLinkEvent(LinkEvent):
    """A link that was taken down or brought up, and what the controller made of it.

    Attributes:
        tunnels_told: how many tunnels the controller had to tell the ingress of, at either or both of their ends.
        reaction_seconds: from the request until the last ingress had acknowledged; None without a controller and when
            nobody had to be told.
    """

    tunnels_told: int
    reaction_seconds: float | None


class Lab:
    """An emulated network with its controller. Everything raises TestbedError when a part of it fails.

    Used as a context manager, or by `start` and `stop`; to be started in the main thread, which lives in the lab's
    network namespace until it is stopped.
    """

    def __init__(self, plan: Plan, options: LabOptions, report: Callable[[str], None]) -> None:
        """`report` is told in one line each of what takes time and of what is not as asked for."""
        self.plan = plan
        self.options = options
        self.wiring = Wiring(plan.topology)
        self._report = report
        self._running: ExitStack | None = None
        self._run: RunDirectory
        self._network: Network
        self._controller: ControllerProcess
        self._links: LivenessTracker

    @property
    def is_running(self) -> bool:
        return self._running is not None

    @property
    def directory(self) -> Path:
        """The run directory, which exists while the lab is running."""
        return self._run.path

    @property
    def network(self) -> Network:
        return self._network

    @property
    def controller(self) -> ControllerProcess:
        return self._controller

    def start(self) -> None:
        """Build the network and program it; what killed labs left behind is removed first.

        Raises:
            InputError: this machine cannot run an emulation, or not this one; nothing is left behind.
        """
        require_emulation()
        remove_leftovers(self._report)
        with ExitStack() as started:
            self._run = started.enter_context(RunDirectory.create())
            if not self.options.network.system_ovs:
                started.enter_context(private_network())
            topology = self.plan.topology
            self._report(f"starting {len(topology.nodes)} switches and {len(topology.edges)} links")
            self._network = Network(topology, self.wiring, self._run, self.options.network, self._report)
            started.callback(self._network.stop)
            self._network.start()
            self._start_controller(started)
            self._links = LivenessTracker(self.plan)
            self._running = started.pop_all()

    def stop(self) -> None:
        """Take everything away; harmless when it is not running."""
        if self._running is not None:
            running, self._running = self._running, None
            running.close()

    def __enter__(self) -> Lab:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def fail(self, a: str, b: str) -> NoticedLinkEvent:
        """Cut the link between two switches; return when they and the ingresses concerned have noticed.

        Raises:
            InputError: there is no such link, or it is down already.
        """
        return self._switch_link(a, b, up=False)

    def heal(self, a: str, b: str) -> NoticedLinkEvent:
        """Bring a link up again; return when the switches and the ingresses concerned have noticed.

        Raises:
            InputError: there is no such link, or it is up already.
        """
        return self._switch_link(a, b, up=True)

    def kill_controller(self) -> None:
        """End the controller as a crash would; the switches keep their tables."""
        self._controller.kill()

    def calibrate(self) -> tuple[LinkCalibration, ...]:
        """Measure every link, with no traffic on the network; raises TestbedError naming one that is off."""
        return calibrate(self._network, report=self._report)

    def status(self) -> dict[str, Any]:
        """What is running and how it is, as JSON data."""
        topology = self.plan.topology
        links_up = {frozenset(edge): self._is_up(*edge) for edge in topology.edges}
        return {
            "lab": self._run.lab_id,
            "topology": topology.name,
            "scheme": self.options.scheme,
            "datapath": self._network.ovs.datapath.value,
            "controller": {
                "framework": self._controller.framework,
                "pid": self._controller.pid,
                "switches": self._controller.programmed_switches(),
            },
            "links": [
                {"a": a, "b": b, "capacity": topology.link(a, b).capacity, "up": links_up[frozenset((a, b))]}
                for a, b in topology.edges
            ],
            "tunnels": [
                {
                    "path_id": tunnel.path_id,
                    "nodes": list(tunnel.nodes),
                    "weight": tunnel.weight,
                    "alive": all(links_up[frozenset(hop)] for hop in tunnel.hops),
                }
                for tunnel in self.plan.tunnels
            ],
            "queues": [
                {"switch": switch, "to": neighbour, **asdict(counters)}
                for switch in topology.nodes
                for neighbour in topology.neighbours[switch]
                for counters in read_queue_counters(self._interface(switch, neighbour), self._network.options.layout)
            ],
            "hosts": [{"node": node, "address": str(self._network.host(node).address)} for node in topology.nodes],
        }

    def environment_of(self, node: str) -> dict[str, Any]:
        """What a program needs to run in a node's host and to end with the lab, as JSON data.

        Raises:
            InputError: there is no such node.
        """
        return {"lab": self._run.lab_id, "namespace_pid": self._network.host(node).namespace_pid}

    def _start_controller(self, started: ExitStack) -> None:
        plan_file = self._run.path / "plan.json"
        save_plan(self.plan, plan_file)
        options = self.options
        self._report(f"starting the controller ({options.framework}, {options.scheme})")
        self._controller = ControllerProcess(
            self._run.path, plan_file, options.scheme, options.slot_count, options.framework
        )
        started.callback(self._controller.stop)
        self._controller.start()
        self._network.connect(LISTEN_PORT)
        self._controller.wait_until_ready(self.plan.topology.nodes)

    def _switch_link(self, a: str, b: str, *, up: bool) -> NoticedLinkEvent:
        known = len(self._controller.events())
        event = (heal_link if up else fail_link)(self._network, a, b)
        changes = [
            change
            for switch, other in ((a, b), (b, a))
            for change in self._links.port_changed(switch, self.wiring.port(switch, other), live=up)
        ]
        if not changes or not self._controller.is_alive:
            return NoticedLinkEvent(**vars(event), tunnels_told=0, reaction_seconds=None)
        acknowledged: dict[LivenessChange, float] = {}

        def all_told(events: list[Event]) -> bool:
            acknowledged.update(_acknowledgements(events[known:]))
            return acknowledged.keys() >= set(changes)

        if not self._controller.wait_for(all_told, REACTION_TIMEOUT):
            raise TestbedError(f"the controller has not told every ingress of link {a}-{b} in {REACTION_TIMEOUT:g} s")
        last = max(acknowledged[change] for change in changes)
        told = len({change.label for change in changes})
        return NoticedLinkEvent(**vars(event), tunnels_told=told, reaction_seconds=last - event.requested_at)

    def _is_up(self, a: str, b: str) -> bool:
        return is_running(self._interface(a, b)) and is_running(self._interface(b, a))

    def _interface(self, switch: str, neighbour: str) -> str:
        return self._network.interface(switch, self.wiring.port(switch, neighbour))


def _acknowledgements(events: list[Event]) -> list[tuple[LivenessChange, float]]:
    return [
        (LivenessChange(event["ingress"], event["path_id"], alive=event["alive"]), event["time"])
        for event in events
        if event["event"] == event_log.TUNNEL_LIVENESS
    ]
