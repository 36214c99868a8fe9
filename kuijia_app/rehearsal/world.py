"""Simulated switches, links and controllers together, and what faults do to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from kuijia_app.control.pair import Beat
from kuijia_app.control.rollout import Stages
from kuijia_app.rehearsal.connections import Connection, Pipe
from kuijia_app.rehearsal.controller import SimulatedController
from kuijia_app.rehearsal.faults import Fault, FaultKind
from kuijia_app.rehearsal.messages import Kind
from kuijia_app.rehearsal.plans import NETWORKS, OPTIONS, PlanStore
from kuijia_app.rehearsal.switch import SimulatedSwitch
from kuijia_app.rehearsal.timeline import Timeline
from kuijia_app.rehearsal.traffic import Traffic

_RETRY = 0.4
"""Greatest seconds between two attempts of a switch to connect."""

_SILENCE = 5.0
"""Seconds after which the gate drops a connection whose datapath id another one claims."""

_KEEPALIVE = 10.0
"""Seconds of silence after which either end gives a connection up."""

_USUAL_DELAY = 0.002
_SLOW_DELAY = 0.3

Line = tuple[str, int]
"""A switch and the number of a controller."""


class World:
    """One network with its controllers, from the start to the end of a sequence."""

    def __init__(self, seed: int, controllers: int = 1) -> None:
        self._random = Random(seed)
        self.time = Timeline(self._random)
        self.plans = NETWORKS[self._random.randrange(len(NETWORKS))]
        self.wiring = OPTIONS.wired(self.plans[0].topology)
        self._is_slow = self._random.random() < 0.5
        has_bundles = self._random.random() < 0.7
        self.switches = {
            name: SimulatedSwitch(name, dict.fromkeys(self.wiring.ports(name), True), self._tables_changed, has_bundles)
            for name in self.wiring.topology.nodes
        }
        self.traffic = Traffic(self.plans, self.switches)
        self.traffic.all_hit()
        self.connections: dict[Line, Connection] = {}
        self._cuts: dict[tuple[Line, str], int] = {}
        self._delays: dict[Line, float] = {}
        self._frozen: dict[str, int] = {}
        self._peer_cuts: dict[tuple[int, int], float] = {}
        self._acted: Stages | None = None
        self._actor = ""
        self._stores = [PlanStore(self.plans[0]) for _ in range(controllers)]
        self._processes = 0
        self.controllers = [self._process(number) for number in range(controllers)]
        for name in self.switches:
            for number in range(controllers):
                self._retry((name, number))

    @property
    def acting(self) -> SimulatedController:
        """The controller that programs switches."""
        acting = [each for each in self.controllers if each.is_acting]
        return (acting or self.controllers)[0]

    def rest(self, longest: float = 120.0, quiet: float = 8.0) -> None:
        """Let time pass until nothing has happened for a while; raises AssertionError if that never comes."""
        end, quiet_since, before = self.time.now + longest, self.time.now, self._activity()
        while self.time.now < end:
            self.time.run_until(self.time.now + 0.5)
            after = self._activity()
            if after != before:
                before, quiet_since = after, self.time.now
            elif self.time.now - quiet_since >= quiet and self.acting.is_settled:
                return
        raise AssertionError("it never comes to rest")

    def end_faults(self) -> None:
        """Undo all faults but failed links."""
        self._cuts.clear()
        self._delays.clear()
        self._frozen.clear()
        self._peer_cuts.clear()
        for number, controller in enumerate(self.controllers):
            if not controller.is_alive:
                self.controllers[number] = self._process(number)
            controller.freeze(is_frozen=False)
        for line, connection in list(self.connections.items()):
            self._set_delays(line, connection)
            connection.up.pump()
            connection.down.pump()
        for switch in self.switches.values():
            switch.is_full = False

    def _activity(self) -> object:
        written = sum(len(each.events) for each in self.controllers)
        return written, self._changes, len(self.connections)

    _changes = 0

    def _tables_changed(self, name: str) -> None:
        self._changes += 1
        self.traffic.changed(name)

    def hit(self, fault: Fault) -> None:
        """Begin a fault, and schedule its end."""
        self._effects()[fault.kind](fault)

    def _effects(self) -> dict[FaultKind, Callable[[Fault], None]]:
        return {
            FaultKind.LINK: self._hit_link,
            FaultKind.PORT: self._hit_port,
            FaultKind.FLAP: self._flap,
            FaultKind.RESTART: self._restart,
            FaultKind.SWITCH_FREEZE: self._freeze_switch,
            FaultKind.FULL: self._fill,
            FaultKind.KILL: self._kill,
            FaultKind.FREEZE: self._freeze,
            FaultKind.LOSS: lambda fault: self._lose(self._line(fault)),
            FaultKind.DELAY: self._slow_down,
            FaultKind.CUT_UP: lambda fault: self._cut(fault, ("up",)),
            FaultKind.CUT_DOWN: lambda fault: self._cut(fault, ("down",)),
            FaultKind.CUT: lambda fault: self._cut(fault, ("up", "down")),
            FaultKind.HANDOVER: lambda fault: self._controller(fault).hand_over(),
            FaultKind.PEERS: self._cut_peers,
            FaultKind.PLAN: self._replace_plan,
            FaultKind.WITHDRAW: lambda fault: self._controller(fault).withdraw(),
        }

    def _hit_link(self, fault: Fault) -> None:
        edges = sorted(self.wiring.topology.edges)
        a, b = edges[fault.pick % len(edges)]
        port = self.wiring.port(a, b)
        live = not self.switches[a].ports[port]
        self._port_goes(a, port, live=live)
        self._port_goes(b, self.wiring.port(b, a), live=live)

    def _hit_port(self, fault: Fault) -> None:
        name, port = self._port(fault)
        self._port_goes(name, port, live=not self.switches[name].ports[port])

    def _flap(self, fault: Fault) -> None:
        name, port = self._port(fault)
        for turn in range(2 * (1 + fault.pick % 6)):
            live = bool(turn % 2)
            self.time.after(turn * fault.span / 40, partial(self._port_goes, name, port, live=live))

    def _port_goes(self, name: str, port: int, *, live: bool) -> None:
        if self.switches[name].ports[port] == live:
            return
        self.switches[name].ports[port] = live
        self.traffic.port_hit(name, port)
        for (switch, _), connection in list(self.connections.items()):
            if switch == name:
                connection.up.send((Kind.CHANGE, 0, (port, live)))

    def _restart(self, fault: Fault) -> None:
        name = self._switch(fault)
        self.traffic.switch_hit(name)
        for number in range(len(self.controllers)):
            self._lose((name, number))
        self.switches[name].restart()

    def _freeze_switch(self, fault: Fault) -> None:
        name = self._switch(fault)
        self._frozen[name] = self._frozen.get(name, 0) + 1
        self.time.after(fault.span, partial(self._thaw_switch, name))

    def _thaw_switch(self, name: str) -> None:
        if name in self._frozen:
            self._frozen[name] -= 1
            if not self._frozen[name]:
                del self._frozen[name]
        self._pump(name)

    def _fill(self, fault: Fault) -> None:
        switch = self.switches[self._switch(fault)]
        switch.is_full = not switch.is_full
        self.traffic.switch_hit(switch.name)

    def _kill(self, fault: Fault) -> None:
        number = fault.pick % len(self.controllers)
        controller = self.controllers[number]
        if not controller.is_alive:
            return
        controller.is_alive = False
        for line, connection in list(self.connections.items()):
            if line[1] == number and connection.owner == controller.name:
                connection.down.lose(self._random.choice((0, 1, 3, 1000)))
                self.time.after(self._random.uniform(0.0, 0.01), partial(self._end_at_switch, line, connection))
        self.time.after(fault.span, partial(self._start_again, number))

    def _start_again(self, number: int) -> None:
        if not self.controllers[number].is_alive:
            self.controllers[number] = self._process(number)

    def _freeze(self, fault: Fault) -> None:
        controller = self._controller(fault)
        controller.freeze(is_frozen=True)
        self.time.after(fault.span, partial(controller.freeze, is_frozen=False))

    def _slow_down(self, fault: Fault) -> None:
        line = self._line(fault)
        self._delays[line] = _SLOW_DELAY
        self.time.after(fault.span, partial(self._speed_up, line))
        if line in self.connections:
            self._set_delays(line, self.connections[line])

    def _speed_up(self, line: Line) -> None:
        self._delays.pop(line, None)

    def _cut(self, fault: Fault, ways: tuple[str, ...]) -> None:
        line = self._line(fault)
        for way in ways:
            self._cuts[line, way] = self._cuts.get((line, way), 0) + 1
        self.time.after(fault.span, partial(self._mend, line, ways))
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

    def _keep_alive(self, line: Line, connection: Connection) -> None:
        """Give a connection up at both ends if it is still cut."""
        if self._is_cut(line, "up") or self._is_cut(line, "down"):
            self._end_at_switch(line, connection)
            self._end_at_controller(line, connection)

    def _cut_peers(self, fault: Fault) -> None:
        """Cut one or both ways between the first two controllers."""
        for way in ((0, 1), (1, 0))[: 1 + fault.other % 2] if fault.pick % 2 else ((1, 0),):
            self._peer_cuts[way] = max(self._peer_cuts.get(way, 0.0), self.time.now + fault.span)

    def _tell_peers(self, number: int, beat: Beat, stages: Stages | None) -> None:
        if stages is not None:
            before = stages if self._acted is None or self._goes_on(number) else self._acted
            if before.in_force.plan != stages.in_force.plan:
                self.traffic.all_hit()  # peers cut off from it had another plan: each switch changes on its own
            self._acted, self._actor = stages, self.controllers[number].name
        for other, controller in enumerate(self.controllers):
            if other != number and self._peer_cuts.get((number, other), 0.0) <= self.time.now:
                delay = self._random.uniform(0.0001, 0.01)
                self.time.after(delay, partial(controller.hear, beat, stages))

    def _goes_on(self, number: int) -> bool:
        """Return True if the controller that acts has acted before."""
        return self._actor == self.controllers[number].name

    def _replace_plan(self, fault: Fault) -> None:
        number = fault.pick % len(self.controllers)
        self._stores[number].plan = self.plans[fault.other % len(self.plans)]
        controller = self.controllers[number]
        if controller.is_alive:
            controller.ask_for_plan()

    def _switch(self, fault: Fault) -> str:
        names = list(self.switches)
        return names[fault.pick % len(names)]

    def _port(self, fault: Fault) -> tuple[str, int]:
        name = self._switch(fault)
        ports = sorted(self.wiring.link_ports(name))
        return name, ports[fault.other % len(ports)]

    def _line(self, fault: Fault) -> Line:
        return self._switch(fault), fault.other % len(self.controllers)

    def _controller(self, fault: Fault) -> SimulatedController:
        return self.controllers[fault.pick % len(self.controllers)]

    def _process(self, number: int) -> SimulatedController:
        self._processes += 1
        store, name = self._stores[number], f"process {self._processes}"
        if self._processes > len(self._stores) and store.plan != self.controllers[number].in_force.plan:
            self.traffic.all_hit()  # a plan that was never rolled out: each switch changes on its own
        is_paired = len(self._stores) > 1
        instance = self._random.randrange(1 << 16)
        controller = SimulatedController(name, self.time, store, instance, is_slow=self._is_slow, is_paired=is_paired)
        controller.tell_peers = partial(self._tell_peers, number)
        controller.close = self._closed_by_controller  # type: ignore[method-assign]
        return controller

    def _retry(self, line: Line) -> None:
        self.time.after(self._random.uniform(0.01, _RETRY), partial(self._try, line))

    def _try(self, line: Line) -> None:
        name, number = line
        if line in self.connections:
            return
        controller = self.controllers[number]
        is_cut = self._is_cut(line, "up") or self._is_cut(line, "down")
        if is_cut or not controller.is_alive or name in self._frozen:
            self._retry(line)
            return
        connection = Connection(name, self.wiring.datapath_id(name), controller.name)
        connection.up = Pipe(
            self.time, partial(self._arrived_at_controller, line, controller, connection), lambda: self._goes_up(line)
        )
        connection.down = Pipe(
            self.time, partial(self._arrived_at_switch, line, connection), lambda: self._goes_down(line)
        )
        self._set_delays(line, connection)
        self.connections[line] = connection
        self.switches[name].joined(connection)
        connection.up.send(None)

    def _set_delays(self, line: Line, connection: Connection) -> None:
        connection.up.delay = connection.down.delay = self._delays.get(line, _USUAL_DELAY)

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
        controller: SimulatedController,
        connection: Connection,
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
            self._end_at_controller(line, before)
        controller.waiting[line[0]] = connection
        self.time.after(self._random.uniform(0.0, _SILENCE), partial(self._end_at_controller, line, holder))

    def _arrived_at_switch(self, line: Line, connection: Connection, message: Any) -> None:  # noqa: ANN401  # any message
        switch = self.switches[line[0]]
        if connection.is_up_at_switch:
            for answer in switch.handle(connection, message):
                connection.up.send(answer)

    def _lose(self, line: Line) -> None:
        """Lose a connection with some of what is on its way; the ends learn of it at different times."""
        connection = self.connections.get(line)
        if connection is None:
            return
        for pipe in (connection.up, connection.down):
            pipe.lose(self._random.choice((0, 1, 3, 10)))
        self._end_at_switch(line, connection)
        late = self._random.choice((0.001, 0.05, 1.0, _KEEPALIVE))
        self.time.after(self._random.uniform(0.0, late), partial(self._end_at_controller, line, connection))

    def _end_at_switch(self, line: Line, connection: Connection) -> None:
        if connection.is_up_at_switch:
            connection.is_up_at_switch = False
            self.switches[line[0]].left(connection)
            if self.connections.get(line) is connection:
                del self.connections[line]
            self._retry(line)

    def _end_at_controller(self, line: Line, connection: Connection) -> None:
        controller = self.controllers[line[1]]
        if not connection.is_up_at_controller or controller.name != connection.owner or not controller.is_alive:
            return
        if controller.is_frozen:
            self.time.after(0.1, partial(self._end_at_controller, line, connection))
            return
        controller.ended(connection)

    def _closed_by_controller(self, connection: Connection) -> None:
        line = next((line for line, each in self.connections.items() if each is connection), None)
        for number, controller in enumerate(self.controllers):
            if controller.name == connection.owner:
                self._end_at_controller((connection.switch, number), connection)
        if line is not None:
            self.time.after(0.001, partial(self._end_at_switch, line, connection))
