"""The controller's own code on simulated time, with simulated files and connections."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from kuijia_app.control.control import Control, ControlSettings
from kuijia_app.control.controller_metrics import ControllerMetrics
from kuijia_app.control.findings import FindingKind
from kuijia_app.control.pair import Beat, Pair
from kuijia_app.control.plan_source import PlanReading, PlanSource
from kuijia_app.control.port_states import PortState
from kuijia_app.control.restoration import Layer
from kuijia_app.control.roles import Claims
from kuijia_app.control.rollout import DEFAULT_DRAIN, Stages, Version
from kuijia_app.control.sliced_work import SLICE, SlicedWork
from kuijia_app.control.switch_connection import SwitchConnection
from kuijia_app.control.switches import Runtime
from kuijia_app.framework import event_log
from kuijia_app.framework.switch_limits import BackOff
from kuijia_app.tables.options import PipelineOptions
from tests.rehearsal.connections import Pipe, SimulatedConnection
from tests.rehearsal.messages import Message, PlainMessages, RehearsedKind, SimulatedRefusal
from tests.rehearsal.plans import PlanStore, ProcessEndedError, tables_of
from tests.rehearsal.timeline import SimulatedTime

TICK = 0.1
"""Seconds between two looks at the clock; the real controller looks twice as often."""

_SLOWEST_WRITE = 0.2
_SLOWEST_READ = 0.5
"""Seconds."""

_GATE_XID = 1 << 31

_QUIET = logging.getLogger("kuijia.rehearsal")
_QUIET.setLevel(logging.CRITICAL + 1)


class RehearsedController:
    """One process of a controller, from its start to its end.

    Attributes:
        control: the controller's own code.
        switches: those under its control.
        roles: whether it acts.
        name: differs from those of all other processes.
        files: its plan files.
        is_alive: the process has not ended.
        is_frozen: it handles nothing for a while.
        hears_by: connections of its peers.
        events: names of its events.
    """

    def __init__(  # parts of a world
        self,
        name: str,
        time: SimulatedTime,
        files: PlanStore,
        options: PipelineOptions,
        instance: int,
        gray_loss: float | None,
        *,
        is_slow: bool,
        is_paired: bool = False,
    ) -> None:
        self.name = name
        self.files = files
        self.is_alive = True
        self.is_frozen = False
        self.connections: dict[str, SimulatedConnection] = {}
        self.waiting: dict[str, SimulatedConnection] = {}
        self.hears_by: list[Pipe] = []
        self.events: list[str] = []
        self._time = time
        self._is_slow = is_slow
        self._slice_clock = 0.0
        self._read_at = 0.0
        self._sliced_work = SlicedWork(self._look, lambda: time.after(0.0005, self._work))
        self._source = PlanSource(files, partial(tables_of, options=options), is_long_lived=False)
        runtime = Runtime(
            lambda: time.now,
            lambda connection: time.after(0.001, lambda: self.close(connection)),
            lambda _connection: PlainMessages(),
            self,
            _QUIET,
            BackOff(),
            self._sliced_work,
        )
        settings = ControlSettings(options, DEFAULT_DRAIN, gray_loss=gray_loss)
        parts = self._source, ControllerMetrics(runtime.now), self._source.first(), settings, Claims(instance)
        self.control = Control(runtime, self, *parts)
        self.switches, self.roles = self.control.switches, self.control.roles
        self.tell_peers: Callable[[Beat, Stages | None], None] = lambda _beat, _stages: None
        if is_paired:
            self.roles.join(Pair(instance, time.now))
        self._tick()

    @property
    def is_acting(self) -> bool:
        return self.is_alive and self.roles.acts

    def hand_over(self) -> None:
        self.roles.ask_to_hand_over()

    def hear(self, beat: Beat, stages: Stages | None) -> None:
        """Take in a peer's message."""
        if self.is_running:
            self.control.heard_peer(beat, stages)

    def send_to_peers(self, beat: Beat, stages: Stages | None) -> None:
        """Send a message to peers."""
        self.tell_peers(beat, stages)

    @property
    def is_running(self) -> bool:
        return self.is_alive and not self.is_frozen

    @property
    def failed_edges(self) -> frozenset[frozenset[str]]:
        """Ends of the links that it takes for dead."""
        return self.control.tracker.failed_edges

    @property
    def is_settled(self) -> bool:
        """True if no update is under way, and no switch refuses its tables or denies it its role."""
        are_settled = self.control.rollout.is_settled and self.control._second_chances.is_empty
        return are_settled and not (self.resting or self.denying)

    @property
    def is_at_rest(self) -> bool:
        """True if it is settled, and no switch still has to be given or rid of what carries pairs without a tunnel."""
        return self.is_settled and self.control._restoration.is_done

    @property
    def resting(self) -> set[str]:
        """ControlledSwitches whose tables it leaves as they are for now, as somebody keeps changing them."""
        return {
            switch for switch in self.control.rollout.in_force.tables if self.switches.table_watch.is_resting(switch)
        }

    @property
    def defeated(self) -> set[str]:
        """ControlledSwitches at which it names entries of others that defeat its own."""
        return {each.key.switch for each in self.switches.findings if each.key.kind is FindingKind.FOREIGN_ENTRY}

    @property
    def in_force(self) -> Version:
        return self.control.rollout.in_force

    @property
    def is_displaced(self) -> bool:
        """True if it stays quiet until it is started again, as another controller has claimed a switch."""
        return self.roles.is_displaced

    def generation_of(self, switch: str) -> int:
        """Return the generation id of its latest claim of a switch."""
        return self.roles.claims.of(switch)

    @property
    def denying(self) -> set[str]:
        """ControlledSwitches that it leaves alone for now, as they say that they have another master."""
        return set(self.roles.verification.denials(self.switches.connections))

    def told_dead(self, ingress: str) -> frozenset[int]:
        """Return the path ids of the tunnels whose liveness groups are empty."""
        if not self.control._tells_ingresses:
            return frozenset()
        return self.control.tracker.dead_path_ids(ingress)

    def on_top(self, switch: str) -> Layer:
        """Return what a switch is to have in addition to the tables of plans."""
        layer, detours = self.control._restoration.told(switch), self.control._detours.taken(switch)
        return replace(layer, groups={**self.control._detours.last_resorts(switch), **layer.groups, **detours})

    def end(self, writes: int) -> None:
        """End the process; if a plan waits for its files, so many changes to them come first."""
        self.is_alive = False
        put = (
            None
            if self.is_frozen
            else next((put for put, _ in self.control.progress.take_files() if put is not None), None)
        )
        if put is not None:
            self.files.ends_after = writes
            with suppress(ProcessEndedError):
                put()
            self.files.ends_after = None

    def freeze(self, *, is_frozen: bool) -> None:
        self.is_frozen = is_frozen
        if not is_frozen:
            for connection in [*self.connections.values(), *self.waiting.values()]:
                connection.up.pump()
            for pipe in self.hears_by:
                self._time.after(self._time.random.uniform(0.0, TICK), pipe.pump)

    def write(self, event: str, **details: object) -> None:
        """Note an event, in the place of the event log."""
        self.events.append(event)
        if event == event_log.FAILURE:
            raise AssertionError(details)

    def ask_for_plan(self) -> None:
        self._source.ask()

    def withdraw(self) -> None:
        self._source.ask_to_withdraw()

    def admitted(self, connection: SimulatedConnection) -> None:
        """Let a connection in, as the gate does once no other has its datapath id."""
        self.connections[connection.switch] = connection
        connection.is_admitted = True
        self.switches.connected(connection.id, connection)
        connection.send_msg(Message(RehearsedKind.PORTS, xid=_GATE_XID))
        for item in connection.held:
            self.received(connection, item)
        connection.held.clear()

    def ended(self, connection: SimulatedConnection) -> None:
        """Note the end of a connection."""
        connection.is_up_at_controller = False
        if self.waiting.get(connection.switch) is connection:
            del self.waiting[connection.switch]
        if connection.is_admitted and self.connections.get(connection.switch) is connection:
            del self.connections[connection.switch]
            self.switches.disconnected(connection)
            waiting = self.waiting.pop(connection.switch, None)
            if waiting is not None:
                self.admitted(waiting)

    def received(self, connection: SimulatedConnection, item: Any) -> None:  # noqa: ANN401  # any answer of a switch
        """Handle a message of a switch, as the framework's handlers do."""
        if not connection.is_admitted:
            connection.held.append(item)
        elif isinstance(item, SimulatedRefusal):
            its = self.switches.connection(connection)
            if its is not None:
                its.error(item)
                self._follow_rollout()
        else:
            self._received_answer(connection, *item)

    def _received_answer(self, connection: SimulatedConnection, kind: RehearsedKind, xid: int, content: Any) -> None:  # noqa: ANN401
        its = self.switches.connection(connection)
        if kind is RehearsedKind.PORTS:
            connection.is_described = True
        if its is None:
            return
        match kind:
            case RehearsedKind.CHANGE:
                self._received_port(connection, *content)
            case RehearsedKind.BARRIER:
                if its.acknowledged(xid):
                    self._follow_rollout()
            case RehearsedKind.ROLE if content is not None:
                its.role_told(xid, content)
            case RehearsedKind.GROUPS:
                its.groups_described(xid, content)
            case RehearsedKind.FLOWS:
                its.flows_described(xid, content)
            case RehearsedKind.PORTS:
                its.ports_described(content)
            case _:
                self._received_of_watch(its, kind, xid, content)

    def _received_of_watch(self, its: SwitchConnection, kind: RehearsedKind, xid: int, content: Any) -> None:  # noqa: ANN401
        if kind is RehearsedKind.POLL:
            its.poll_answered(xid, content, lambda: self._time.now)
        elif kind is RehearsedKind.REMOVED:
            self.switches.entries_removed(its.switch)

    def _received_port(self, connection: SimulatedConnection, port: int, live: bool, is_there: bool) -> None:  # noqa: FBT001  # a message
        state = PortState(port, is_up=live)
        if connection.is_described:
            self.control.port_status(connection, state, is_there=is_there)

    def close(self, connection: SimulatedConnection) -> None:
        """End a connection at this end; replaced by the world, which tells the other end."""
        self.ended(connection)

    def ask_again(self, reading: PlanReading) -> None:
        """Have a plan read again."""
        self._source.ask_again(reading)  # all plans come from files here

    def _follow_rollout(self) -> None:
        self._note_in_force()
        self.control.follow_rollout()

    def _pass_time(self, plan: PlanReading | None = None, then: Callable[[], object] | None = None) -> None:
        self.control.time_passed(plan, then)
        self._note_in_force()

    def _note_in_force(self) -> None:
        """Note which plan is in force: it may be missing in the files from now on."""
        if self.roles.acts:
            self.files.know(self.control.rollout.in_force.plan)

    def files_wait(self) -> None:
        """Write a plan to a file soon."""
        self._time.after(self._time.random.uniform(0.0, _SLOWEST_WRITE), self._write_next)

    def _write_next(self) -> None:
        if not self.is_alive:
            return
        if self.is_frozen:
            self._time.after(TICK, self._write_next)
            return
        for put, then in self.control.progress.take_files():
            if put is not None:
                put()
            self._time.after(self._time.random.uniform(0.0, TICK), partial(self._handle, then=then))
            break
        if self._source.problems and not self.files.was_full:
            raise AssertionError(self._source.problems)
        self._source.problems.clear()

    def _tick(self) -> None:
        if not self.is_alive:
            return
        if not self.is_frozen:
            self._sliced_work.work()
            self._pass_time()
            if self._source.is_asked and not self.control.progress._files:  # one thread writes and reads
                made = self._source.read_if_asked(self.control.rollout)
                if made is not None:
                    read_at = self._time.now + self._time.random.uniform(0.0, _SLOWEST_READ)
                    self._read_at = max(self._read_at, read_at)  # what is read first is handled first
                    self._time.after(self._read_at - self._time.now, lambda: self._handle(made))
        self._time.after(TICK, self._tick)

    def _handle(self, plan: PlanReading | None = None, then: Any = None) -> None:  # noqa: ANN401  # an action
        if not self.is_alive:
            return
        if self.is_frozen:
            self._time.after(TICK, lambda: self._handle(plan, then))
            return
        self._pass_time(plan, then)

    def _work(self) -> None:
        if self.is_running:
            self._sliced_work.work()

    def _look(self) -> float:
        if self._is_slow:
            self._slice_clock += SLICE
        return self._slice_clock
