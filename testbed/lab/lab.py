"""A lab: the network of a plan with its controllers, from start to stop, and the operations on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Protocol

from kuijia_app.control.plan_update import renumber
from kuijia_app.framework import event_log
from kuijia_app.framework.metrics.address import PageAddress
from kuijia_app.preparation.sessions import require_possible_interval
from kuijia_app.tables.bfd import BfdSession, BfdSessions
from kuijia_app.tables.options import pipeline_options
from kuijia_app.tables.wiring import Wiring
from kuijia_app.tables.wiring_file import emulated_wiring
from kuijia_base.errors import InputError, TestbedError
from te_solver.formats.plan_file import save_plan
from te_solver.model.plan import Plan
from testbed.controllers.application_process import HERE, Listening
from testbed.controllers.controller_process import ControllerProcess, Peers
from testbed.controllers.controller_set import ControllerSet, Handover, LabController
from testbed.lab.cuts import Cuts, NodeEvent, NoticedLinkEvent, PlanUpdate
from testbed.lab.lab_flows import LabFlows
from testbed.lab.lab_options import LabOptions, metrics_addresses, positions_to_json, require_possible_controllers
from testbed.lab.state import counters, death_of, full_state
from testbed.machine.machine import require_emulation
from testbed.machine.network_namespace import private_network
from testbed.machine.run_directory import RunDirectory
from testbed.network.bridges import NetworkOptions
from testbed.network.calibration import LinkCalibration
from testbed.network.lab_network import LabNetwork
from testbed.network.leftovers import remove_leftovers
from testbed.network.network import EmulatedNetwork
from testbed.network.queue_counters import QueueRates

Report = Callable[[str], None]


class Ground(Protocol):
    """Gives a lab its network.

    Attributes:
        listening: where the controller waits for switches.
    """

    @property
    def listening(self) -> Listening: ...

    def has_own_loopback(self, options: NetworkOptions) -> bool:
        """Return True if the lab and its controllers have a network namespace of their own."""

    def require(self, report: Report) -> None:
        """Raise InputError if this machine cannot run a lab here; remove what killed labs left behind."""

    def network(
        self, wiring: Wiring, run: RunDirectory, options: NetworkOptions, report: Report
    ) -> AbstractContextManager[LabNetwork]:
        """Return a context that provides a network, not started yet, and its surroundings."""


class Emulation:
    """Provides emulated networks, in the lab's own network namespace unless it uses the machine's switch."""

    listening = HERE

    def has_own_loopback(self, options: NetworkOptions) -> bool:
        return not options.system_ovs

    def require(self, report: Report) -> None:
        require_emulation()
        remove_leftovers(report)

    @contextmanager
    def network(
        self, wiring: Wiring, run: RunDirectory, options: NetworkOptions, report: Report
    ) -> Iterator[LabNetwork]:
        network = EmulatedNetwork(wiring.topology, wiring, run, options, report)
        if options.system_ovs:
            yield network
        else:
            with private_network():
                yield network


class Lab:
    """A network with its controller, emulated by default.

    Everything raises TestbedError when a part of it fails.

    Used as a context manager, or by `start` and `stop`. It must be started and stopped in the main thread, which stays
    in the lab's network namespace in between. Threads that this one makes meanwhile are in it, too: any of them may
    read the lab's state, and one at a time may change it.
    """

    def __init__(
        self, plan: Plan, options: LabOptions, report: Callable[[str], None], ground: Ground | None = None
    ) -> None:
        """Create a lab; `report` receives a line about each slow step and each deviation from the request.

        `ground` provides the network; emulation by default.
        """
        self.plan = plan
        self.plan_number = 1
        self.options = options
        self.positions = positions_to_json(plan.topology)
        self.wiring = emulated_wiring(plan.topology, options.wiring, options.neighbours)
        self._report = report
        self._ground = ground or Emulation()
        self._own_loopback = self._ground.has_own_loopback(options.network)
        self._running: ExitStack | None = None
        self._run: RunDirectory
        self._network: LabNetwork
        self._flows: LabFlows
        self._controller: LabController
        self._cuts: Cuts
        self._sessions: tuple[BfdSession, ...] = ()
        self._rates = QueueRates(time.monotonic)
        self._following = threading.Lock()
        self._solved = 0

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
    def flows(self) -> LabFlows:
        """The flows that users have started."""
        return self._flows

    @property
    def sessions(self) -> tuple[BfdSession, ...]:
        return self._sessions

    @property
    def emulated_network(self) -> EmulatedNetwork:
        """The emulated network, if the lab has one."""
        assert isinstance(self._network, EmulatedNetwork), "the lab stands on boxes"
        return self._network

    @property
    def controller(self) -> LabController:
        return self._controller

    def start(self) -> None:
        """Build the network and program it, after removing what killed labs left behind.

        Raises:
            InputError: this machine cannot run an emulation, or not this one, or the options have an invalid layout of
                queues or interval; nothing is left behind.
        """
        tables = pipeline_options(self.options.words)
        require_possible_controllers(self.options.controllers)
        if self.options.reoptimise and self.options.liveness == "bfd" and self.options.inventory:
            raise InputError("lab", "reoptimise", "ports for sessions over new paths are not made on boxes", "no boxes")
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
            self._network.bfd.add(self._sessions, self.options.bfd_interval_ms)
            self._start_controller(started)
            if self._sessions:
                self._report(f"waiting for {len(self._sessions)} BFD sessions")
                self._network.bfd.wait_until(self._sessions, up=True)
            self._cuts = Cuts(self)
            self._rates = QueueRates(time.monotonic)
            self._flows = LabFlows(self._network)
            started.callback(self._flows.stop_all)
            self._running = started.pop_all()

    def stop(self) -> None:
        """Remove everything; has no effect if the lab is not running."""
        if self._running is not None:
            running, self._running = self._running, None
            running.close()

    def __enter__(self) -> Lab:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def fail(self, a: str, b: str) -> NoticedLinkEvent:
        """Cut the link between two switches; return when they and the ingresses concerned have noticed.

        Raises:
            InputError: there is no such link, or it is down already.
        """
        self._follow_controller()
        return self._cuts.switch_link(a, b, up=False)

    def heal(self, a: str, b: str) -> NoticedLinkEvent:
        """Bring a link up again; return when the switches and the ingresses concerned have noticed.

        Raises:
            InputError: there is no such link, or it is up already, or one of its switches is down.
        """
        self._follow_controller()
        return self._cuts.switch_link(a, b, up=True)

    def fail_node(self, node: str) -> NodeEvent:
        """Cut all links of a switch that are up; return when the switches and the ingresses concerned have noticed.

        Raises:
            InputError: there is no such switch, or it is down already.
        """
        self._follow_controller()
        return self._cuts.fail_node(node)

    def heal_node(self, node: str) -> NodeEvent:
        """Bring up the links that the switch's failure cut, except those to switches that are down.

        Raises:
            InputError: there is no such switch, or it is up.
        """
        self._follow_controller()
        return self._cuts.heal_node(node)

    @property
    def nodes_down(self) -> tuple[str, ...]:
        """The switches that are down by `fail_node`."""
        return self._cuts.nodes_down

    @property
    def switched(self) -> int:
        """Counts when links begin to be switched by the lab and when they have been: odd in between."""
        return self._cuts.switched

    def update(self, plan: Plan) -> PlanUpdate:
        """Replace the plan while traffic flows; return when the old one is gone from every switch.

        Raises:
            TestbedError: the controller is dead, or a switch is away or refuses it; the previous plan stays in force.
        """
        self.require_switches()
        self._follow_controller()
        began = time.monotonic()
        ids_in_use = frozenset(session.path_id for session in self._sessions)
        wanted = renumber(plan, self.plan, ids_in_use)
        if self.options.liveness == "bfd":
            new = tuple(session for session in BfdSessions(wanted) if session not in self._sessions)
            self._network.bfd.add(new, self.options.bfd_interval_ms)
            self._sessions += new
        before = self.plan
        try:
            self.plan = self._controller.update(wanted)
            self.plan_number += 1
        finally:
            self._keep_sessions_of(self.plan)
        self._cuts.follow(self.plan)
        return PlanUpdate.between(before, self.plan, time.monotonic() - began)

    def require_switches(self) -> None:
        """Raise TestbedError if there are no switches that could follow a plan."""
        dead = self._network.dead_switches()
        if dead:
            raise TestbedError(f"{death_of(dead, self.plan)}: there are no switches to update")

    def withdraw(self) -> PlanUpdate:
        """Take the plan out of force: no tunnel carries traffic any more, until the next `update`.

        Raises:
            InputError: there is none in force.
            TestbedError: as `update`.
        """
        if not self.plan.pairs:
            raise InputError("lab", "", "no plan is in force", "one, put in force with `kuijia lab update`")
        empty = replace(self.plan, pairs=(), objective_value=0.0, solve_seconds=0.0, upper_bound=None)
        return self.update(empty)

    def withdraw_update(self) -> None:
        """Make the controller give up the update that is under way; `update` then raises TestbedError."""
        self._controller.withdraw_update()

    def abandon(self) -> None:
        """Make a change that is under way in another thread end soon with an error; only `stop` may follow."""
        self._controller.kill()

    def kill_controller(self) -> None:
        """End the controller that acts as a crash would; the switches keep their tables."""
        controller = self._controller
        (controller.acting if isinstance(controller, ControllerSet) else controller).kill()

    def hand_over(self) -> Handover:
        """Have the controller that acts let another one act, and return when that does.

        Raises:
            InputError: the lab has one controller.
            TestbedError: there is no handover; the message says why.
        """
        if not isinstance(self._controller, ControllerSet):
            raise InputError("lab", "handover", "the lab has one controller", "a lab started with --controllers 2")
        return self._controller.hand_over()

    def restart_controller(self) -> None:
        """End the controller that acts as a crash would and start it again; return when all switches are programmed."""
        self.kill_controller()
        self._controller.start()
        self._controller.wait_until_ready(self.plan.topology.nodes)

    def calibrate(self) -> tuple[LinkCalibration, ...]:
        """Measure every link, with no traffic on the network; raises TestbedError naming one that is off."""
        return self._network.calibrate(self._report)

    def status(self) -> dict[str, Any]:
        """Return the lab's state as JSON data; parts that cannot be examined are left out and listed as faults."""
        self._follow_controller()
        return full_state(self, self._rates)

    def counters(self) -> dict[str, Any]:
        """Return what changes all the time as JSON data: several times a second costs little."""
        self._follow_controller()
        return counters(self)

    def described_options(self) -> dict[str, Any]:
        """Return the options as JSON data that are not the network's own."""
        return {each.name: getattr(self.options, each.name) for each in fields(self.options) if each.name != "network"}

    def environment_of(self, node: str) -> dict[str, Any]:
        """Return what a program needs to run in a node's host and to end with the lab, as JSON data.

        Raises:
            InputError: there is no such node, or its host is on a box.
        """
        if not isinstance(self._network, EmulatedNetwork):
            raise InputError("lab exec", "", "hosts of a lab on boxes are not on this machine", "SSH to the host's box")
        return {"lab": self._run.lab_id, "namespace_pid": self._network.host(node).namespace_pid}

    def _start_controller(self, started: ExitStack) -> None:
        options, listening = self.options, self._ground.listening
        several = "the controller" if options.controllers == 1 else f"{options.controllers} controllers"
        self._report(f"starting {several} ({options.framework}, {options.scheme})")
        database = ""
        if options.reoptimise and options.liveness == "bfd":
            database = self.emulated_network.ovs.database
        self._controller = controllers_of(self.plan, options, self._run, listening, self._pages(), database)
        started.callback(self._controller.stop)
        self._controller.start()
        self._network.connect(*ports_of(options, listening))
        self._controller.wait_until_ready(self.plan.topology.nodes)
        if isinstance(self._controller, ControllerSet) and not self._controller.wait_for_successor():
            self._report("no other controller is ready to take over")

    def _follow_controller(self) -> None:
        """Take over a plan that the controller has solved itself and put on the switches."""
        if not self.options.reoptimise:
            return
        with self._following:
            updates = [event for event in self._controller.events() if event["event"] == event_log.UPDATE_DONE]
            solved = sum(event.get("update") == event_log.REOPTIMISED for event in updates)
            if solved == self._solved:
                return
            self._solved = solved
            controller = self._controller
            self.plan = (controller.acting if isinstance(controller, ControllerSet) else controller).plan_in_file()
            self.plan_number += 1
            if self.options.liveness == "bfd":
                self.emulated_network.bfd.adopt(BfdSessions(self.plan))
                self._keep_sessions_of(self.plan)
            self._cuts.follow(self.plan)

    def _pages(self) -> tuple[PageAddress, ...]:
        """Return where the controllers serve metrics, if they do."""
        pages = metrics_addresses(self.options)[1:]
        return tuple(PageAddress(page.port) for page in pages) if self._own_loopback else pages

    def _keep_sessions_of(self, plan: Plan) -> None:
        """Remove the BFD sessions that a plan does not have."""
        kept = tuple(BfdSessions(plan)) if self.options.liveness == "bfd" else ()
        self._network.bfd.remove(session for session in self._sessions if session not in kept)
        self._sessions = kept


def ports_of(options: LabOptions, listening: Listening) -> list[int]:
    """Return the ports where the controllers wait for switches; they wait for each other at as many that follow."""
    return [listening.port + place for place in range(options.controllers)]


def controllers_of(
    plan: Plan,
    options: LabOptions,
    run: RunDirectory,
    listening: Listening,
    pages: Sequence[PageAddress] = (),
    database: str = "",
) -> LabController:
    """Return the controllers, which do not run yet; several have a subfolder each.

    They serve metrics at `pages`. With the address of a database they make the ports of BFD sessions there.
    """
    page_of = dict(enumerate(pages)).get
    if options.controllers == 1:
        return _controller(plan, options, run, "", listening, page_of(0), database)
    ports = ports_of(options, listening)
    addresses = [f"{listening.host}:{port + len(ports)}" for port in ports]
    members = []
    for place, port in enumerate(ports):
        own = replace(listening, port=port)
        member = _controller(plan, options, run, f"controller-{place + 1}", own, page_of(place), database)
        member.peers = Peers(addresses[place], tuple(addresses[:place] + addresses[place + 1 :]))
        members.append(member)
    return ControllerSet(members)


def _controller(
    plan: Plan,
    options: LabOptions,
    run: RunDirectory,
    name: str,
    listening: Listening,
    page: PageAddress | None,
    database: str,
) -> ControllerProcess:
    folder, plan_file = run.path / name, run.storage / name / "plan.json"
    for each in (folder, plan_file.parent):
        each.mkdir(exist_ok=True)
    save_plan(plan, plan_file)
    process = ControllerProcess(
        folder, plan_file, options.words, options.framework, listening, reoptimise=options.reoptimise, metrics=page
    )
    process.checks = {}  # all that the controller asks for by default, as the lab's switches have it
    if database:
        process.session_ports = {"ovsdb": database, "bfd_interval": options.bfd_interval_ms}
    return process
