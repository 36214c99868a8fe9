"""Simulated switches, links and controllers together: how they connect, and the end of all faults."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import inf
from random import Random
from typing import Any

from kuijia_app.control.loss_watch import DEFAULT_LIMIT
from kuijia_app.control.pair import Beat
from kuijia_app.control.reconciliation import Change
from kuijia_app.control.roles import UNDEFINED
from kuijia_app.control.rollout import Stages
from kuijia_app.tables.options import PipelineOptions
from te_solver.model.plan import Plan
from tests.rehearsal.connections import Pipe, SimulatedConnection
from tests.rehearsal.controller import RehearsedController
from tests.rehearsal.messages import RehearsedKind, SimulatedRole
from tests.rehearsal.peer_lines import PeerLines
from tests.rehearsal.plans import NETWORKS, OPTIONS, PlanStore
from tests.rehearsal.sessions import Sessions
from tests.rehearsal.switch import SimulatedSwitch
from tests.rehearsal.timeline import SimulatedTime
from tests.rehearsal.traffic import RehearsedTraffic
from tests.rehearsal.updates import Updates

_RETRY = 0.4
"""Greatest seconds between two attempts of a switch to connect."""

_SILENCE = 5.0
"""Seconds after which the gate drops a connection whose datapath id another one claims."""

_KEEPALIVE = 10.0
"""Seconds of silence after which either end gives a connection up."""

_USUAL_DELAY = 0.002

_START = 1.0
"""Least seconds from the end of a process to the start of the next."""

_OPTION_WEIGHTS = (5, 1, 1, 2)

Line = tuple[str, int]
"""A switch and the number of a controller."""


class World:
    """One network with its controllers, from the start to the end of a sequence.

    Attributes:
        random: source of all chance.
        time, plans, options, wiring, switches, traffic, updates, sessions, peers: its parts.
        controllers: the latest process of each.
        stores: plan files of each controller.
        connections: those that the switch knows to be up.
        delays: greatest seconds of messages on slow lines.
        faults: number of faults so far.
        faulted_at: when the last one began.
        tampered: switches that a foreign controller has written into.
    """

    def __init__(
        self,
        seed: int,
        controllers: int = 1,
        plan: Plan | None = None,
        options: PipelineOptions | None = None,
        gray_loss: float | None = DEFAULT_LIMIT,
    ) -> None:
        """Draw a network and options, unless a plan and some of `OPTIONS` are given, and start the controllers.

        `gray_loss` is as of `LossWatch`.
        """
        self.random = Random(seed)
        self.time = SimulatedTime(self.random)
        self.plans: tuple[Plan, ...] = NETWORKS[self.random.randrange(len(NETWORKS))]
        (self.options,) = self.random.choices(OPTIONS, _OPTION_WEIGHTS)
        if plan is not None:
            self.plans = (plan,)
        if options is not None:
            self.options = options
        self.wiring = self.options.wired(self.plans[0].topology)
        self._is_slow = self.random.random() < 0.5
        has_bundles = self.random.random() < 0.7
        lazy = self.random if self.random.random() < 0.3 else None
        self.switches = {
            name: SimulatedSwitch(
                name, dict.fromkeys(self.wiring.ports(name), True), self._tables_changed, has_bundles, lazy
            )
            for name in self.wiring.topology.nodes
        }
        self._gray_loss = gray_loss
        self._give_generations()
        self.traffic = RehearsedTraffic(self.plans, self.options, self.switches, self._is_session_up, self.time)
        self.traffic.is_news_late = self._is_news_late
        self.traffic.all_hit()
        self.updates = Updates(self.time)
        self.sessions = Sessions(self.time, self.wiring, self.switches, self.traffic)
        self.connections: dict[Line, SimulatedConnection] = {}
        self.delays: dict[Line, float] = {}
        self.tampered: set[str] = set()
        self.wanderers: set[str] = set()
        self.faults = 0
        self.faulted_at = -inf
        self._cuts: dict[tuple[Line, str], int] = {}
        self._frozen: dict[str, int] = {}
        self._acted: Stages | None = None
        self._actor = ""
        self._ended_with: Plan | None = None
        self.peers = PeerLines(self.time, controllers)
        named: list[Plan] = []
        self.stores = [PlanStore(self.plans[0], named) for _ in range(controllers)]
        self._processes = 0
        self.controllers = [self._process(number) for number in range(controllers)]
        for name in self.switches:
            for number in range(controllers):
                self._retry((name, number))

    def _give_generations(self) -> None:
        """Let switches remember masters of earlier days, perhaps just before the ids begin again at 0."""
        if self.random.random() < 0.5:
            first = self.random.choice((0, 1 << 48, (1 << 64) - (1 << 50), self.random.getrandbits(64)))
            for switch in self.switches.values():
                switch.generation = (first + self.random.getrandbits(50)) % UNDEFINED

    def _is_session_up(self, switch: str, port: int) -> bool:
        return (switch, port) in self.sessions.up

    def _is_news_late(self) -> bool:
        """Return True if a controller does not know yet that the connection of a switch has ended."""
        known = (connection for each in self.controllers if each.is_alive for connection in each.connections.values())
        return any(not connection.is_up_at_switch for connection in known)

    @property
    def acting(self) -> RehearsedController:
        """The controller that programs switches."""
        acting = [each for each in self.controllers if each.is_acting]
        return (acting or self.controllers)[0]

    def rest(self, longest: float = 120.0, quiet: float = 6.0) -> None:
        """Let time pass until nothing has happened for a while; raises AssertionError if that never comes."""
        end, quiet_since, before = self.time.now + longest, self.time.now, self._activity()
        while self.time.now < end:
            self._start_displaced()
            self.time.run_until(self.time.now + 0.5)
            after = self._activity()
            if after != before:
                before, quiet_since = after, self.time.now
            elif self.time.now - quiet_since >= quiet and self.acting.is_at_rest:
                return
        raise AssertionError("it never comes to rest")

    def end_faults(self) -> None:
        """Undo all faults but failed links."""
        self._cuts.clear()
        self.delays.clear()
        self._frozen.clear()
        self.peers.end_faults()
        self.sessions.end_faults()
        for store in self.stores:
            store.room = None
        for number, controller in enumerate(self.controllers):
            if not controller.is_alive:
                self.controllers[number] = self._process(number)
            controller.freeze(is_frozen=False)
        for name in sorted(self.tampered):
            self.leave_alone(name)
        for line, connection in list(self.connections.items()):
            self.set_delays(line, connection)
            connection.up.pump()
            connection.down.pump()
        self.wanderers.clear()
        for switch in self.switches.values():
            switch.lie = None
            switch.is_full = switch.is_table_full = False
            switch.refuses_after = None
            for port in sorted(switch.missing):
                self.port_goes(switch.name, port, live=True, is_there=True)

    def delete(self, name: str, changes: Iterable[Change]) -> None:
        """Let somebody delete entries and groups of a switch, who leaves it to the controller otherwise."""
        switch = self.switches[name]
        switch.overwrite(changes)
        for (other, _), connection in list(self.connections.items()):
            if other == name and switch.roles.get(connection) is not SimulatedRole.SLAVE:
                connection.up.send((RehearsedKind.REMOVED, 0, None))

    def is_only_fault(self, number: int) -> bool:
        """Return True if no fault has come since this one, and none that came before lasts."""
        are_honest = not self.wanderers and all(each.lie is None for each in self.switches.values())
        can_mend = self.acting.is_acting and self.acting.is_settled
        return are_honest and can_mend and self.is_only_lie(number)

    def is_only_lie(self, number: int) -> bool:
        """Return True if no fault has come since this one, and none lasts but what switches say of roles."""
        is_whole = not (self._cuts or self.delays or self._frozen or self.tampered or self.peers.is_cut)
        is_known = not self._is_news_late()
        expected = (len(self.switches) - len(self.wanderers)) * len(self.controllers)
        are_here = sum(name not in self.wanderers for name, _ in self.connections) == expected
        can_follow = all(each.is_running for each in self.controllers)
        takes_all = not any(
            each.is_full or each.is_table_full or each.missing or each.refuses_after is not None
            for each in self.switches.values()
        )
        return number == self.faults and is_whole and is_known and are_here and can_follow and takes_all

    def come_again(self, name: str) -> None:
        """Let a switch end its connections, which both ends know at once, and connect again."""
        for line, connection in list(self.connections.items()):
            if line[0] == name:
                self._end_now(line, connection)

    def wander(self, name: str) -> None:
        """Let a switch that connects only to controllers that stand by leave those that act."""
        for line, connection in list(self.connections.items()):
            if line[0] == name and self.controllers[line[1]].is_acting:
                self._end_now(line, connection)

    def _end_now(self, line: Line, connection: SimulatedConnection) -> None:
        self._end_at_switch(line, connection)
        self._end_at_controller(line, connection)

    def leave_alone(self, name: str) -> None:
        """Let a foreign controller end; a switch that stays connected would not be read again."""
        if name in self.tampered:
            self.tampered.discard(name)
            self.lose_all(name)

    def lose_all(self, name: str) -> None:
        """Lose all connections of a switch."""
        for number in range(len(self.controllers)):
            self.lose((name, number))

    def _start_displaced(self) -> None:
        """Start controllers again that stay quiet, as their manual says."""
        for number, controller in enumerate(self.controllers):
            if controller.is_displaced and controller.is_alive:
                self.kill(number)
                self._start(number)

    def _activity(self) -> object:
        written = sum(len(each.events) for each in self.controllers)
        return written, self._changes, len(self.connections), self.sessions.changes

    _changes = 0

    def _tables_changed(self, name: str) -> None:
        self._changes += 1
        self.traffic.changed(name)
        self.sessions.changed()

    def port_goes(self, name: str, port: int, *, live: bool, is_there: bool | None = None) -> None:
        """Change a port, and perhaps delete it or bring it back; the switch reports that."""
        self._changes += 1  # a controller does not log each change of a port that it holds down
        switch = self.switches[name]
        if is_there is None:
            if port in switch.missing or switch.ports[port] == live:
                return
        else:
            (switch.missing.discard if is_there else switch.missing.add)(port)
        switch.ports[port] = live
        self.traffic.port_hit(name, port)
        self.sessions.changed()
        self.report(name, (port, live, is_there is not False))

    def report(self, name: str, change: tuple[int, bool, bool]) -> None:
        """Tell all controllers of a change of a port."""
        for (switch, _), connection in list(self.connections.items()):
            if switch == name:
                connection.up.send((RehearsedKind.CHANGE, 0, change))

    def freeze_switch(self, name: str, seconds: float) -> None:
        self._frozen[name] = self._frozen.get(name, 0) + 1
        self.time.after(seconds, partial(self._thaw_switch, name))

    def _thaw_switch(self, name: str) -> None:
        if name in self._frozen:
            self._frozen[name] -= 1
            if not self._frozen[name]:
                del self._frozen[name]
        self._pump(name)

    def kill(self, number: int, writes: int = 0) -> None:
        """End a controller's process after so many writes of what waits; its switches learn of it soon after."""
        controller = self.controllers[number]
        if controller.is_acting:
            self._ended_with = controller.in_force.plan
        controller.end(writes)
        for line, connection in list(self.connections.items()):
            if line[1] == number and connection.owner == controller.name:
                connection.down.lose(self.random.choice((0, 1, 3, 1000)))
                self.time.after(self.random.uniform(0.0, 0.01), partial(self._end_at_switch, line, connection))

    def start_again(self, number: int, seconds: float) -> None:
        """Start a new process of a controller after some time."""
        self.time.after(_START + seconds, partial(self._start, number))

    def _start(self, number: int) -> None:
        if not self.controllers[number].is_alive:
            self.controllers[number] = self._process(number)

    def cut(self, line: Line, ways: tuple[str, ...], seconds: float) -> None:
        """Let one or both directions of a line carry nothing for some time."""
        for way in ways:
            self._cuts[line, way] = self._cuts.get((line, way), 0) + 1
        self.time.after(seconds, partial(self._mend, line, ways))
        connection = self.connections.get(line)
        if connection is not None:
            self.time.after(_KEEPALIVE, partial(self._keep_alive, line, connection))

    def _mend(self, line: Line, ways: tuple[str, ...]) -> None:
        for way in ways:
            if (line, way) in self._cuts:
                self._cuts[line, way] -= 1
                if not self._cuts[line, way]:
                    del self._cuts[line, way]
        self._pump(line[0])

    def _keep_alive(self, line: Line, connection: SimulatedConnection) -> None:
        """Give a connection up at both ends if it is still cut."""
        if self._is_cut(line, "up") or self._is_cut(line, "down"):
            self._end_at_switch(line, connection)
            self._end_at_controller(line, connection)

    def _tell_peers(self, number: int, beat: Beat, stages: Stages | None) -> None:
        if stages is not None:
            name = self.controllers[number].name
            goes_on = name == self._actor
            before = stages if self._acted is None or goes_on else self._acted
            known = [None, *(version.plan for version in stages.versions if version is not None)]
            if before.in_force.plan != stages.in_force.plan or self._ended_with not in known:
                self._bring_another_plan()  # peers cut off from it had another one
            if not goes_on:
                self.updates.taken_over()
            self._acted, self._actor, self._ended_with = stages, name, None
        self.peers.send(number, self.controllers, beat, stages)

    def _bring_another_plan(self) -> None:
        """Exempt all pairs, for a while also those that work: each switch changes to another plan on its own."""
        self.traffic.all_hit()
        self.traffic.disturbed(0.0)

    def _process(self, number: int) -> RehearsedController:
        self._processes += 1
        store, name = self.stores[number], f"process {self._processes}"
        if self._processes > len(self.stores):
            followed = self.controllers[number].in_force.plan
            is_put = store.plan is store.given and store.plan not in store.known
            if followed != store.plan and (is_put or store.is_pending_outdated() or followed != store.pending):
                self._bring_another_plan()  # somebody has replaced the file
        is_paired = len(self.stores) > 1
        instance = self.random.randrange(1 << 16)
        controller = RehearsedController(
            name,
            self.time,
            store,
            self.options,
            instance,
            self._gray_loss,
            is_slow=self._is_slow,
            is_paired=is_paired,
        )
        controller.tell_peers = partial(self._tell_peers, number)
        controller.close = self._closed_by_controller  # type: ignore[method-assign]
        return controller

    def _retry(self, line: Line) -> None:
        self.time.after(self.random.uniform(0.01, _RETRY), partial(self._try, line))

    def _try(self, line: Line) -> None:
        name, number = line
        if line in self.connections:
            return
        controller = self.controllers[number]
        is_cut = self._is_cut(line, "up") or self._is_cut(line, "down")
        is_cut = is_cut or (name in self.wanderers and controller.is_acting)
        if is_cut or not controller.is_alive or name in self._frozen:
            self._retry(line)
            return
        connection = SimulatedConnection(name, self.wiring.datapath_id(name), controller.name)
        connection.up = Pipe(
            self.time, partial(self._arrived_at_controller, line, controller, connection), lambda: self._goes_up(line)
        )
        connection.down = Pipe(
            self.time, partial(self._arrived_at_switch, line, connection), lambda: self._goes_down(line)
        )
        self.set_delays(line, connection)
        self.connections[line] = connection
        self.switches[name].joined(connection)
        connection.up.send(None)

    def set_delays(self, line: Line, connection: SimulatedConnection) -> None:
        connection.up.delay = connection.down.delay = self.delays.get(line, _USUAL_DELAY)

    def _goes_up(self, line: Line) -> bool:
        return not self._is_cut(line, "up") and not self.controllers[line[1]].is_frozen

    def _goes_down(self, line: Line) -> bool:
        return not self._is_cut(line, "down") and line[0] not in self._frozen

    def _is_cut(self, line: Line, way: str) -> bool:
        return (line, way) in self._cuts

    def _pump(self, name: str) -> None:
        for (switch, _), connection in list(self.connections.items()):
            if switch == name:
                connection.down.pump()
                connection.up.pump()

    def _arrived_at_controller(
        self,
        line: Line,
        controller: RehearsedController,
        connection: SimulatedConnection,
        item: Any,  # noqa: ANN401  # any message
    ) -> None:
        if not controller.is_alive or not connection.is_up_at_controller:
            return
        if item is not None:
            controller.received(connection, item)
            return
        holder = controller.connections.get(line[0])
        if holder is None:
            controller.admitted(connection)
            return
        before = controller.waiting.get(line[0])
        if before is not None:
            self._closed_by_controller(before)
        controller.waiting[line[0]] = connection
        self.time.after(self.random.uniform(0.0, _SILENCE), partial(self._closed_by_controller, holder))

    def _arrived_at_switch(self, line: Line, connection: SimulatedConnection, message: Any) -> None:  # noqa: ANN401  # any message
        switch = self.switches[line[0]]
        if connection.is_up_at_switch:
            for answer in switch.handle(connection, message):
                connection.up.send(answer)

    def lose(self, line: Line) -> None:
        """Lose a connection with some of what is on its way; the ends learn of it at different times."""
        connection = self.connections.get(line)
        if connection is None:
            return
        for pipe in (connection.up, connection.down):
            pipe.lose(self.random.choice((0, 1, 3, 10)))
        self._end_at_switch(line, connection)
        late = self.random.choice((0.001, 0.05, 1.0, _KEEPALIVE))
        self.time.after(self.random.uniform(0.0, late), partial(self._end_at_controller, line, connection))

    def _end_at_switch(self, line: Line, connection: SimulatedConnection) -> None:
        if connection.is_up_at_switch:
            connection.is_up_at_switch = False
            self.switches[line[0]].left(connection)
            if self.connections.get(line) is connection:
                del self.connections[line]
            self._retry(line)

    def _end_at_controller(self, line: Line, connection: SimulatedConnection) -> None:
        controller = self.controllers[line[1]]
        if not connection.is_up_at_controller or controller.name != connection.owner or not controller.is_alive:
            return
        if controller.is_frozen:
            self.time.after(0.1, partial(self._end_at_controller, line, connection))
            return
        if controller.is_acting and not connection.is_up_at_switch:
            self.traffic.disturbed(0.0)  # only from now on does the controller know what the switch has
        controller.ended(connection)

    def _closed_by_controller(self, connection: SimulatedConnection) -> None:
        line = next((line for line, each in self.connections.items() if each is connection), None)
        for number, controller in enumerate(self.controllers):
            if controller.name == connection.owner:
                self._end_at_controller((connection.switch, number), connection)
        if line is not None:
            self.time.after(0.001, partial(self._end_at_switch, line, connection))
