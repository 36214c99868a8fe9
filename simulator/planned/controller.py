"""The controller in the loop: its own logic on messages that take time to come and go, and the switches it sees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from kuijia_app.control.flap_damping import FlapDamping
from kuijia_app.control.liveness import LivenessChange, LivenessTracker, Port
from kuijia_app.control.plan_update import renumber, require_same_network
from kuijia_app.control.reconciliation import AddGroup, Change, KnownTables, ModifyGroup
from kuijia_app.control.rollout import Rollout, RolloutProgress, Version
from kuijia_app.control.sender import Batch, Sender
from kuijia_app.tables.failover import emptied_liveness_group
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import SwitchTables
from simulator.packet.simulation import Simulation
from simulator.planned.events import Timing
from simulator.planned.network import PlannedNetwork
from simulator.planned.table_rows import group_rows, table_rows
from te_solver.model.plan import Plan


class Switches:
    """The tables of all switches, and the packet model's copies of them, which packets meet from then on."""

    def __init__(self, simulation: Simulation, network: PlannedNetwork, tables: Mapping[str, SwitchTables]) -> None:
        self._simulation, self._network = simulation, network
        self._present = {switch: KnownTables.of(of_switch) for switch, of_switch in tables.items()}
        for switch, of_switch in tables.items():
            simulation.set_tables(network.switches[switch], table_rows(of_switch))

    def present(self, switch: str) -> KnownTables:
        """Return a copy of a switch's present tables."""
        return self._present[switch].copy()

    def apply(self, switch: str, changes: Iterable[Change]) -> None:
        """Apply changes in order; packets meet all of them at once."""
        listed = list(changes)
        for change in listed:
            self._present[switch].apply(change)
        node = self._network.switches[switch]
        if all(isinstance(change, AddGroup | ModifyGroup) for change in listed):
            groups = [change.group for change in listed if isinstance(change, AddGroup | ModifyGroup)]
            self._simulation.set_groups(node, group_rows(groups))
            return
        present = self._present[switch]
        groups = [group for group in present.groups.values() if group is not None]
        entries = [entry for entry in present.flows.values() if entry is not None]
        self._simulation.set_tables(node, table_rows(SwitchTables(tuple(groups), tuple(entries))))


_TICK = 0.1
"""Seconds between two looks at the clock during a change of plan."""

_DAMPING_TICK = 0.05
"""Seconds between two looks at ports that are held down."""

_BFD_SETTLE = 3.5
"""Seconds from a new plan's preparation to its use, so that its BFD sessions can come up, as the controller waits."""


class SimulatedController:
    """Keeps all switches at the tables that the rollout wants, and liveness groups right, as the real controller does.

    Tracker, damping, rollout and senders are those of the real one; here their messages travel for the times of
    `Timing`.

    Attributes:
        progress: what became of changes of plan, with the time in seconds.
        damped: when the controller began to hold a port down: seconds, switch and port.
    """

    def __init__(
        self, simulation: Simulation, switches: Switches, first: Version, options: PipelineOptions, timing: Timing
    ) -> None:
        self.progress: list[tuple[float, RolloutProgress]] = []
        self.damped: list[tuple[float, str, int]] = []
        self._damping: FlapDamping[tuple[str, int]] = FlapDamping()
        self._held: set[tuple[str, int]] = set()
        self._waiting: dict[str, list[Batch]] = {}
        self._simulation, self._switches = simulation, switches
        self._options, self._timing = options, timing
        self._tells_ingresses = options.liveness is Liveness.CONTROLLER
        self._tracker = LivenessTracker(first.plan, options.wired(first.plan.topology))
        self._rollout = Rollout(first, timing.drain, 0.0 if self._tells_ingresses else _BFD_SETTLE)
        self._senders = {switch: Sender(switches.present(switch)) for switch in first.tables}
        for switch, sender in self._senders.items():
            sender.want(self._rollout.wanted(switch))
        self._updates = 0

    @property
    def plans(self) -> tuple[Plan, ...]:
        """All plans that may carry traffic now or soon."""
        return self._rollout.plans

    def port_changed(self, switch: str, port: int, *, live: bool) -> None:
        """Note that a switch has seen its port fail or come back now; it sends a message."""
        self._after(self._timing.to_controller(switch), partial(self._port_status, switch, port, live=live))

    def switch_left(self, switch: str) -> None:
        """Note that a switch has failed: what is sent to it waits, and no update waits for it to delete entries."""
        self._waiting.setdefault(switch, [])
        self._note(self._rollout.left(switch))

    def switch_returned(self, switch: str) -> None:
        """Note that a switch works again: it gets what waits for it, in order."""
        waiting = self._waiting.pop(switch, [])
        for batch in waiting:
            self._arrived(switch, batch)
        if not waiting and self._senders[switch].is_done:
            self._done(switch)

    def replace(self, plan: Plan) -> None:
        """Begin to replace the plan in force.

        Raises:
            UnsoundError: the plan has another network, or cannot be on the switches beside those in use.
        """
        require_same_network(plan, self._rollout.in_force.plan)
        self._updates += 1
        numbered = renumber(plan, self._rollout.in_force.plan, self._rollout.unavailable)
        version = Version(f"update {self._updates}", numbered, build_tables(numbered, self._options))
        self._note(self._rollout.propose(self._rollout.prepared(version), self._simulation.now))
        self._tell_ingresses(self._tracker.follow(self._rollout.plans))
        self._tick()

    def _port_status(self, switch: str, port: int, *, live: bool) -> None:
        believed = self._damping.observed((switch, port), self._simulation.now, live=live)
        if self._damping.is_held((switch, port)) and (switch, port) not in self._held:
            self.damped.append((self._simulation.now, switch, port))
            if not self._held:
                self._after(_DAMPING_TICK, self._release)
            self._held.add((switch, port))
        self._believe({(switch, port): believed})

    def _release(self) -> None:
        """Look again and again at ports that are held down, until none is."""
        if released := self._damping.released(self._simulation.now):
            self._believe(dict.fromkeys(released, True))
        self._held = {port for port in self._held if self._damping.is_held(port)}
        if self._held:
            self._after(_DAMPING_TICK, self._release)

    def _believe(self, live_by_port: Mapping[Port, bool]) -> None:
        changes = self._tracker.ports_changed(live_by_port, self._damping.doubted())
        self._after(self._timing.reaction, partial(self._tell_ingresses, changes))

    def _tell_ingresses(self, changes: Iterable[LivenessChange]) -> None:
        """Fill or empty liveness groups."""
        if not self._tells_ingresses:
            return
        by_ingress: defaultdict[str, list[LivenessChange]] = defaultdict(list)
        for change in changes:
            by_ingress[change.ingress].append(change)
        for ingress, its_changes in by_ingress.items():
            for change in its_changes:
                group = emptied_liveness_group(change.path_id)
                self._senders[ingress].want_instead(group.group_id, None if change.alive else group)
            self._proceed(ingress)

    def _follow_rollout(self) -> None:
        changed = self._rollout.take_changed()
        if changed:
            self._tell_ingresses(self._tracker.follow(self._rollout.plans))
        for switch in sorted(changed):
            self._senders[switch].want(self._rollout.wanted(switch))
            self._proceed(switch)

    def _proceed(self, switch: str) -> None:
        """Send what may be sent to a switch now, urgent changes first."""
        sender = self._senders[switch]
        for batches in (sender.urgent_batch, sender.next_batch):
            while (batch := batches()) is not None:
                self._after(self._timing.to_controller(switch), partial(self._arrived, switch, batch))
        if sender.is_done:
            self._done(switch)

    def _arrived(self, switch: str, batch: Batch) -> None:
        if switch in self._waiting:
            self._waiting[switch].append(batch)
            return
        self._switches.apply(switch, batch.changes)
        self._after(self._timing.to_controller(switch), partial(self._answered, switch, batch.number))

    def _answered(self, switch: str, number: int) -> None:
        self._senders[switch].acknowledged(number)
        self._proceed(switch)

    def _done(self, switch: str) -> None:
        if self._senders[switch].wanted is self._rollout.wanted(switch):
            self._note(self._rollout.acknowledged(switch, self._simulation.now))
            self._follow_rollout()

    def _note(self, progress: Iterable[RolloutProgress]) -> None:
        self.progress += [(self._simulation.now, each) for each in progress]

    def _tick(self) -> None:
        """Look at the clock again and again during a change: settled plans come into force, drained ones end."""
        self._note(self._rollout.passed(self._simulation.now))
        self._follow_rollout()
        if not self._rollout.is_settled:
            self._after(_TICK, self._tick)

    def _after(self, delay: float, call: Callable[[], object]) -> None:
        self._simulation.at(self._simulation.now + delay, call)
