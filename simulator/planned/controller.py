"""The controller in the loop: its own logic on messages that take time to come and go, and the switches it sees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from random import Random

from kuijia_app.control.flap_damping import FlapDamping
from kuijia_app.control.liveness import LivenessChange, LivenessTracker, Port
from kuijia_app.control.plan_update import renumber, require_same_network
from kuijia_app.control.reconciliation import AddGroup, Change, KnownTables, ModifyGroup
from kuijia_app.control.rollout import Rollout, RolloutProgress, Version
from kuijia_app.control.sender import Batch, Sender
from kuijia_app.tables.bfd import BfdSession
from kuijia_app.tables.failover import emptied_liveness_group
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import SwitchTables
from simulator.packet.simulation import Simulation
from simulator.planned.events import Bfd, Timing
from simulator.planned.network import Ends, PlannedNetwork
from simulator.planned.table_rows import group_rows, table_rows
from te_solver.model.plan import Plan

_DOWN, _INIT, _UP = range(3)
"""States of a session's end (6.2)."""

_LEAST = 0.75
"""Share of the interval after which the next packet leaves at the earliest (6.8.7)."""


@dataclass
class _Session:
    """A session and the state of its ends.

    Attributes:
        cut: cables of its path that are cut.
        up: True for each end that is up.
        deadline: for ends that hear nothing, when they will be down.
        turn: counts failures and repairs, so that what was planned before is ignored.
    """

    session: BfdSession
    cut: set[frozenset[str]] = field(default_factory=set)
    up: dict[str, bool] = field(default_factory=dict)
    deadline: dict[str, float] = field(default_factory=dict)
    turn: int = 0


class BfdWatch:
    """The sessions of all plans in use: sets the liveness of the ports that they watch."""

    def __init__(
        self, simulation: Simulation, network: PlannedNetwork, delays: Mapping[Ends, float], rules: Bfd, seed: int
    ) -> None:
        self._simulation, self._network = simulation, network
        self._delays, self._rules = delays, rules
        self._random = Random(seed)
        self._sessions: dict[int, _Session] = {}
        self._cut: set[frozenset[str]] = set()

    def follow(self, sessions: Iterable[BfdSession]) -> None:
        """Add sessions that are new: those of the first plan are up, others come up as after a repair."""
        is_first = not self._sessions
        for session in sessions:
            if session.path_id in self._sessions:
                continue
            ends = session.nodes[0], session.nodes[-1]
            state = _Session(session, {edge for edge in _edges(session) if edge in self._cut})
            state.up = dict.fromkeys(ends, is_first)
            self._sessions[session.path_id] = state
            if not is_first:
                for end in ends:
                    self._set(state, end, up=False)
                if not state.cut:
                    self._come_up(state, self._now)

    def cut(self, edge: frozenset[str]) -> None:
        """Note that a cable fails now."""
        self._cut.add(edge)
        for state in self._sessions.values():
            if edge not in _edges(state.session):
                continue
            was_whole = not state.cut
            state.cut.add(edge)
            if was_whole:
                self._lose(state, edge)

    def heal(self, edge: frozenset[str]) -> None:
        """Note that a cable works again."""
        self._cut.discard(edge)
        for state in self._sessions.values():
            if edge in state.cut:
                state.cut.discard(edge)
                if not state.cut:
                    self._hear_again(state, edge)

    @property
    def _now(self) -> float:
        return self._simulation.now

    def _lose(self, state: _Session, edge: frozenset[str]) -> None:
        """Each end that is up will be down when nothing has come for as long as the multiplier says."""
        state.turn += 1
        for end, is_up in state.up.items():
            if is_up:
                last = self._now - self._random.random() * self._gap(self._rules.interval)
                arrived = last + self._delay_after(state.session, edge, end)
                silent = max(self._now, arrived + self._rules.multiplier * self._rules.interval)
                state.deadline[end] = silent
                self._at(silent, partial(self._expire, state, end, silent))

    def _hear_again(self, state: _Session, edge: frozenset[str]) -> None:
        """Ends that hear from the other in time stay up, unless that one is down and says so."""
        for end, silent in list(state.deadline.items()):
            first = self._random.random() * self._gap(self._rules.interval)
            if self._now + first + self._delay_after(state.session, edge, end) < silent:
                del state.deadline[end]
        falls = list(state.deadline.values())
        if falls or not all(state.up.values()):
            begins = max(self._now, min(falls, default=self._now))
            delay = self._delay(state.session.nodes)
            for end, is_up in state.up.items():
                if is_up:
                    told = min(state.deadline.get(end, begins + delay), begins + delay)
                    state.deadline[end] = told
                    self._at(told, partial(self._expire, state, end, told))
            self._come_up(state, begins)

    def _come_up(self, state: _Session, begins: float) -> None:
        state.turn += 1
        one, other = state.session.nodes[0], state.session.nodes[-1]
        delay = self._delay(state.session.nodes)
        for end, time in zip((one, other), self._handshake(begins, delay), strict=True):
            self._at(time, partial(self._rise, state, end, state.turn))

    def _handshake(self, begins: float, delay: float) -> tuple[float, float]:
        """Return when each end is up: it sends its state at slow intervals, and answers that of the other (6.2)."""
        slow = self._rules.slow
        sends = [begins + self._random.random() * self._gap(slow) for _ in range(2)]
        states, ups = [_DOWN, _DOWN], [0.0, 0.0]
        arriving: list[tuple[float, int, int]] = []
        while min(states) != _UP:
            sender = min((0, 1), key=lambda end: sends[end])
            if arriving and min(arriving)[0] <= sends[sender]:
                time, end, heard = arriving.pop(arriving.index(min(arriving)))
                if states[end] == _DOWN and heard == _DOWN:
                    states[end] = _INIT
                elif states[end] != _UP and heard != _DOWN:
                    states[end], ups[end] = _UP, time
                continue
            arriving.append((sends[sender] + delay, 1 - sender, states[sender]))
            sends[sender] += self._gap(slow)
        return ups[0], ups[1]

    def _expire(self, state: _Session, end: str, silent: float) -> None:
        if state.deadline.get(end) == silent:
            del state.deadline[end]
            self._set(state, end, up=False)

    def _rise(self, state: _Session, end: str, turn: int) -> None:
        if state.turn == turn:
            state.deadline.pop(end, None)
            self._set(state, end, up=True)

    def _set(self, state: _Session, end: str, *, up: bool) -> None:
        state.up[end] = up
        self._simulation.set_port(self._network.switches[end], state.session.watched_port, live=up)

    def _gap(self, interval: float) -> float:
        """Draw the seconds until the next packet."""
        return interval * (_LEAST + (1 - _LEAST) * self._random.random())

    def _delay_after(self, session: BfdSession, edge: frozenset[str], end: str) -> float:
        """Return the seconds from the far side of a cable to an end of the session."""
        nodes = session.nodes if session.nodes[-1] == end else session.nodes[::-1]
        crossed = next(place for place, hop in enumerate(pairwise(nodes), start=1) if frozenset(hop) == edge)
        return self._delay(nodes[crossed:])

    def _delay(self, nodes: tuple[str, ...]) -> float:
        return sum(self._delays[hop] for hop in pairwise(nodes))

    def _at(self, time: float, call: partial[None]) -> None:
        self._simulation.at(max(time, self._now), call)


def _edges(session: BfdSession) -> frozenset[frozenset[str]]:
    return frozenset(map(frozenset, session.hops))


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
