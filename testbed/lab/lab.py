"""A lab: the network of a plan with its controller, from start to stop, and the operations on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from kuijia_app.control.liveness import LivenessChange, LivenessTracker
from kuijia_app.control.plan_update import renumber
from kuijia_app.framework import event_log
from kuijia_app.tables.bfd import BfdSession, BfdSessions
from kuijia_app.tables.options import pipeline_options
from kuijia_app.tables.wiring_file import emulated_wiring
from te_solver.plan import Plan
from te_solver.plan_file import save_plan
from testbed.controllers.application_process import Event
from testbed.controllers.controller_process import ControllerProcess
from testbed.lab.failures import fail_link, heal_link
from testbed.lab.faults import Faults
from testbed.lab.grounds import Emulation, Ground
from testbed.lab.lab_changes import NoticedLinkEvent, PlanUpdate
from testbed.lab.lab_options import LabOptions
from testbed.machine.errors import TestbedError
from testbed.machine.run_directory import RunDirectory
from testbed.network.bfd import EndState, require_possible_interval
from testbed.network.calibration import LinkCalibration
from testbed.network.lab_network import LabNetwork
from testbed.network.network import Network
from testbed.network.queue_counters import QueueCounters, QueueRates

REACTION_TIMEOUT = 15.0
"""Seconds the controller may take to inform the ingresses of a failure; it takes milliseconds unless it hangs."""


OVS_DIED = "Open vSwitch has died"


class Lab:
    """A network with its controller, emulated by default.

    Everything raises TestbedError when a part of it fails.

    Used as a context manager, or by `start` and `stop`. It must be started in the main thread, which stays in the lab's
    network namespace until it is stopped.
    """

    def __init__(
        self, plan: Plan, options: LabOptions, report: Callable[[str], None], ground: Ground | None = None
    ) -> None:
        """Create a lab; `report` receives a line about each slow step and each deviation from the request.

        `ground` provides the network; emulation by default.
        """
        self.plan = plan
        self.options = options
        self.wiring = emulated_wiring(plan.topology, options.wiring)
        self._report = report
        self._ground = ground or Emulation()
        self._running: ExitStack | None = None
        self._run: RunDirectory
        self._network: LabNetwork
        self._controller: ControllerProcess
        self._links: LivenessTracker
        self._sessions: tuple[BfdSession, ...] = ()
        self._rates = QueueRates(time.monotonic)

    @property
    def is_running(self) -> bool:
        return self._running is not None

    @property
    def directory(self) -> Path:
        """Run directory, which exists while the lab is running."""
        return self._run.path

    @property
    def network(self) -> LabNetwork:
        return self._network

    @property
    def emulated_network(self) -> Network:
        """The emulated network, in a lab that stands on one."""
        assert isinstance(self._network, Network), "the lab stands on boxes"
        return self._network

    @property
    def controller(self) -> ControllerProcess:
        return self._controller

    @property
    def listening_port(self) -> int:
        """TCP port at which the controller waits for switches."""
        return self._ground.listening.port

    def start(self) -> None:
        """Build the network and program it, after removing what killed labs left behind.

        Raises:
            InputError: this machine cannot run an emulation, or not this one, or the options have an invalid layout of
                queues or interval; nothing is left behind.
        """
        tables = pipeline_options(self.options.words)
        if self.options.liveness == "bfd":
            require_possible_interval(self.options.bfd_interval_ms)
        self._ground.require(self._report)
        with ExitStack() as started:
            self._run = started.enter_context(RunDirectory.create())
            topology = self.plan.topology
            self._report(f"starting {len(topology.nodes)} switches and {len(topology.edges)} links")
            network = replace(self.options.network, layout=tables.layout, tagging=tables.tagging)
            self._network = started.enter_context(self._ground.network(self.wiring, self._run, network, self._report))
            started.callback(self._network.stop)
            self._network.start()
            self._sessions = tuple(BfdSessions(self.plan)) if self.options.liveness == "bfd" else ()
            self._network.add_sessions(self._sessions, self.options.bfd_interval_ms)
            self._start_controller(started)
            if self._sessions:
                self._report(f"waiting for {len(self._sessions)} BFD sessions")
                self._network.wait_for_sessions(self._sessions, up=True)
            self._links = LivenessTracker(self.plan, self.wiring)
            self._rates = QueueRates(time.monotonic)
            self._running = started.pop_all()

    def stop(self) -> None:
        """Remove everything; has no effect if the lab is not running."""
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

    def update(self, plan: Plan) -> PlanUpdate:
        """Replace the plan while traffic flows; return when the old one is gone from every switch.

        Raises:
            TestbedError: the controller is dead, or a switch is away or refuses it; the previous plan stays in force.
        """
        if not self._network.is_alive:
            raise TestbedError(f"{OVS_DIED}: there are no switches to update")
        began = time.monotonic()
        ids_in_use = frozenset(session.path_id for session in self._sessions)
        wanted = renumber(plan, self.plan, ids_in_use)
        if self.options.liveness == "bfd":
            new = tuple(session for session in BfdSessions(wanted) if session not in self._sessions)
            self._network.add_sessions(new, self.options.bfd_interval_ms)
            self._sessions += new
        before = self.plan
        try:
            self.plan = self._controller.update(wanted)
        finally:
            self._keep_sessions_of(self.plan)
        self._links.follow([self.plan])
        return PlanUpdate.between(before, self.plan, time.monotonic() - began)

    def kill_controller(self) -> None:
        """End the controller as a crash would; the switches keep their tables."""
        self._controller.kill()

    def restart_controller(self) -> None:
        """End the controller as a crash would and start another; return when it has programmed all switches."""
        self._controller.kill()
        self._controller.start()
        self._controller.wait_until_ready(self.plan.topology.nodes)

    def calibrate(self) -> tuple[LinkCalibration, ...]:
        """Measure every link, with no traffic on the network; raises TestbedError naming one that is off."""
        return self._network.calibrate(self._report)

    def status(self) -> dict[str, Any]:
        """Return the lab's state as JSON data; parts that cannot be examined are left out and listed as faults."""
        topology = self.plan.topology
        faults = Faults()
        no_counters: tuple[QueueCounters, ...] = ()
        has_ovs = self._network.is_alive
        if not has_ovs:
            faults.append(OVS_DIED)
        links_up = {
            frozenset(edge): faults.unless_found(partial(self._network.is_up, *edge), otherwise=False)
            for edge in topology.edges
        }
        sessions: dict[BfdSession, dict[str, EndState]] = {}
        if has_ovs:
            sessions = faults.unless_found(self._network.session_states, otherwise=sessions)
        dead = self._dead_tunnels(links_up, sessions)
        return {
            "lab": self._run.lab_id,
            "topology": topology.name,
            "scheme": self.options.scheme,
            "layout": self._network.layout.name,
            "tagging": self.options.tagging,
            "pipeline": self.options.pipeline,
            "liveness": self.options.liveness,
            "datapath": self._network.datapath.value,
            "controller": {
                "framework": self._controller.framework,
                "pid": self._controller.pid,
                "switches": self._controller.programmed_switches(),
                "errors": self._controller.errors(),
            },
            "links": [
                {"a": a, "b": b, "capacity": topology.link(a, b).capacity, "up": links_up[frozenset((a, b))]}
                for a, b in topology.edges
            ],
            "tunnels": [
                {
                    "path_id": tunnel.path_id,
                    "priority": pair.priority,
                    "nodes": list(tunnel.nodes),
                    "weight": tunnel.weight,
                    "alive": has_ovs and tunnel.path_id not in dead,
                }
                for pair in self.plan.pairs
                for tunnel in pair.tunnels
            ],
            "queues": self._rates.since_last(
                [
                    {"switch": switch, "to": neighbour, **asdict(counters)}
                    for switch in topology.nodes
                    for neighbour in topology.neighbours[switch]
                    for counters in faults.unless_found(
                        partial(self._network.queue_counters, switch, self.wiring.port(switch, neighbour)),
                        otherwise=no_counters,
                    )
                ]
            ),
            "sessions": [
                {
                    "path_id": session.path_id,
                    "nodes": list(session.nodes),
                    "ends": [{"switch": switch, **asdict(end)} for switch, end in ends.items()],
                }
                for session, ends in sessions.items()
            ],
            "hosts": [{"node": site.name, "address": str(site.address)} for site in self.wiring.sites],
            "faults": list(faults),
        }

    def environment_of(self, node: str) -> dict[str, Any]:
        """Return what a program needs to run in a node's host and to end with the lab, as JSON data.

        Raises:
            InputError: there is no such node.
        """
        return {"lab": self._run.lab_id, "namespace_pid": self.emulated_network.host(node).namespace_pid}

    def _start_controller(self, started: ExitStack) -> None:
        plan_file = self._run.path / "plan.json"
        save_plan(self.plan, plan_file)
        options = self.options
        self._report(f"starting the controller ({options.framework}, {options.scheme})")
        self._controller = ControllerProcess(
            self._run.path,
            plan_file,
            options.words,
            options.framework,
            self._ground.listening,
        )
        started.callback(self._controller.stop)
        self._controller.start()
        self._network.connect(self._ground.listening.port)
        self._controller.wait_until_ready(self.plan.topology.nodes)

    def _switch_link(self, a: str, b: str, *, up: bool) -> NoticedLinkEvent:
        known = len(self._controller.events())
        event = (heal_link if up else fail_link)(self._network, a, b)
        if self.options.liveness == "bfd":
            self._wait_for_sessions(a, b, up=up)
            return NoticedLinkEvent(**vars(event), tunnels_told=0, reaction_seconds=None)
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
            raise TestbedError(f"the controller did not inform every ingress of link {a}-{b} in {REACTION_TIMEOUT:g} s")
        last = max(acknowledged[change] for change in changes)
        told = len({change.path_id for change in changes})
        return NoticedLinkEvent(**vars(event), tunnels_told=told, reaction_seconds=last - event.requested_at)

    def _dead_tunnels(
        self, links_up: Mapping[frozenset[str], bool], sessions: Mapping[BfdSession, Mapping[str, EndState]]
    ) -> set[int]:
        """Return the path ids of the tunnels that carry nothing, or that an end considers dead."""
        unfit = self._controller.unfit_switches()
        dead = {
            tunnel.path_id
            for tunnel in self.plan.tunnels
            if not all(links_up[frozenset(hop)] for hop in tunnel.hops) or not unfit.isdisjoint(tunnel.nodes)
        }
        if self.options.liveness == "bfd":
            up = {session.nodes for session, ends in sessions.items() if all(end.up for end in ends.values())}
            return dead | {
                tunnel.path_id for tunnel in self.plan.tunnels if up.isdisjoint({tunnel.nodes, tunnel.nodes[::-1]})
            }
        return dead | self._controller.tunnels_told_dead()

    def _keep_sessions_of(self, plan: Plan) -> None:
        """Remove the BFD sessions that a plan does not have."""
        kept = tuple(BfdSessions(plan)) if self.options.liveness == "bfd" else ()
        self._network.remove_sessions(session for session in self._sessions if session not in kept)
        self._sessions = kept

    def _wait_for_sessions(self, a: str, b: str, *, up: bool) -> None:
        """Wait until the BFD sessions over a link are down, or up unless another of their links is down."""
        over = [session for session in self._sessions if (a, b) in session.hops or (b, a) in session.hops]
        if up:
            over = [session for session in over if all(self._network.is_up(*hop) for hop in session.hops)]
        self._network.wait_for_sessions(over, up=up)


def _acknowledgements(events: list[Event]) -> list[tuple[LivenessChange, float]]:
    return [
        (LivenessChange(event["ingress"], event["path_id"], alive=event["alive"]), event["time"])
        for event in events
        if event["event"] == event_log.TUNNEL_LIVENESS
    ]
