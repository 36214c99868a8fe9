"""Base of the controller and the scheduler: finds the connection of an event and passes the event on to it."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from kuijia_app.control.chores import Chores
from kuijia_app.control.flap_damping import FlapDamping
from kuijia_app.control.roles import generation
from kuijia_app.control.switch_connection import ReadBack, Reports, SwitchConnection, is_live
from kuijia_app.framework import event_log
from kuijia_app.framework.guarded_app import GuardedApp
from kuijia_app.framework.seam import Event, EventBase, Harm, handler, ofp_event, ofproto, on, on_own
from kuijia_app.framework.switch_limits import ENTRIES_PER_WANTED, MOST_ENTRIES, SwitchFaultError
from kuijia_app.gate.application import Report
from kuijia_app.tables.rules import Group, SwitchTables
from kuijia_app.tables.wiring import Wiring

MOST_ERRORS = 16
"""Different errors of one switch that are told of each by itself; a switch can make up four thousand million."""

MOST_STRANGERS_NAMED = 16
"""Datapath ids that are not in the network and are told of each by itself."""

_OTHER_ERRORS = "other errors"


class SwitchApplication(GuardedApp):
    """Keeps the connection of each switch of a network, and ends those whose switch does what none may do.

    What becomes of what switches say is up to the application, which runs in one thread, one event after the other.
    """

    _wiring: Wiring

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        self._connections: dict[str, SwitchConnection] = {}
        self._generation = generation(time.time())
        self._is_displaced = False
        self._is_tick_waiting = False
        self._has_chores = Event()
        self._chores = Chores(time.monotonic, self._has_chores.set)
        self._noted_errors: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._noted_strangers: set[int] = set()
        self._noted_ports: dict[tuple[str, int], bool] = {}
        self._damping: FlapDamping[tuple[str, int]] = FlapDamping()

    @on_own(Report)
    def gate_reported(self, event: Report) -> None:
        self._log.write(event.name, switch=self._wiring.switch_of(event.datapath_id), **event.details)

    @on(ofp_event.EventOFPSwitchFeatures, handler.CONFIG_DISPATCHER)
    def switch_connected(self, event: Any) -> None:
        # Not the connection's `id`: under os-ken another thread sets it, perhaps after we are told.
        datapath_id, datapath = event.msg.datapath_id, event.msg.datapath
        switch = self._wiring.switch_of(datapath_id)
        if switch is None:
            self._note_stranger(datapath_id)
            return
        before = self._owner(datapath)
        if before is not None and before.switch != switch:
            raise SwitchFaultError("it gives itself a second datapath id")
        reports = Reports(
            read=partial(self._switch_read, switch),
            done=partial(self._switch_done, switch),
            group_done=partial(self._group_done, switch),
            refused=partial(self._switch_refused, switch),
            displaced=partial(self._displaced, switch),
        )
        replaced = self._connections.get(switch)
        if replaced is not None:
            replaced.give_up()
        self._begun(switch)
        wanted = self._wanted(switch)
        most = max(MOST_ENTRIES, ENTRIES_PER_WANTED * (len(wanted.groups) + len(wanted.flows)))
        connection = self._connections[switch] = SwitchConnection(
            datapath, switch, reports, wanted, most, self._chores.add
        )
        connection.start(self._generation)

    @on(
        ofp_event.EventOFPPortDescStatsReply,
        handler.CONFIG_DISPATCHER,
        handler.MAIN_DISPATCHER,
        harms=Harm.CONNECTION,
    )
    def ports_described(self, event: Any) -> None:
        connection = self._connection(event.msg.datapath)
        if connection is not None:
            connection.ports_described(event.msg.body)

    @on(
        ofp_event.EventOFPGroupDescStatsReply,
        handler.CONFIG_DISPATCHER,
        handler.MAIN_DISPATCHER,
        harms=Harm.CONNECTION,
    )
    def groups_described(self, event: Any) -> None:
        connection = self._connection(event.msg.datapath)
        if connection is not None:
            connection.groups_described(event.msg.xid, event.msg.body)

    @on(ofp_event.EventOFPFlowStatsReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER, harms=Harm.CONNECTION)
    def flows_described(self, event: Any) -> None:
        connection = self._connection(event.msg.datapath)
        if connection is not None:
            connection.flows_described(event.msg.xid, event.msg.body)

    @on(ofp_event.EventOFPBarrierReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def barrier_replied(self, event: Any) -> None:
        connection = self._connection(event.msg.datapath)
        if connection is not None and connection.acknowledged(event.msg.xid):
            self._answered()

    @on(ofp_event.EventOFPStateChange, handler.DEAD_DISPATCHER)
    def switch_disconnected(self, event: Any) -> None:
        connection = self._owner(event.datapath)
        if connection is not None:
            connection.give_up()  # chores for it may be left
            del self._connections[connection.switch]
            self._log.write(event_log.SWITCH_GONE, switch=connection.switch)
            self._ended(connection.switch)

    def _is_known(self, datapath_id: int) -> bool:
        return self._wiring.switch_of(datapath_id) is not None

    def _tell_time(self, period: float, tick: Callable[[], EventBase]) -> None:
        """Send ourselves a tick every `period` seconds, and as soon as another has been handled while chores are left.

        None is sent while one waits: while we are busy the gate reads no switch for a queue of ticks.
        """
        while self.is_active:
            self._has_chores.wait(period)
            self._has_chores.clear()
            if not self._is_tick_waiting:
                self._is_tick_waiting = True
                self.send_event(self.name, tick())

    def _tick_handled(self) -> None:
        """Let the next tick come, and do some of the work that is left; a tick's handler has to call this first."""
        self._is_tick_waiting = False
        self._chores.work()

    @abstractmethod
    def _wanted(self, switch: str) -> SwitchTables:
        """Return the tables that the switch is to have at present."""

    @abstractmethod
    def _begun(self, switch: str) -> None:
        """Forget what is known of the switch's connection before: a new one begins."""

    @abstractmethod
    def _ended(self, switch: str) -> None:
        """Do without the switch: its connection has ended."""

    @abstractmethod
    def _answered(self) -> None:
        """Do what a switch's answer, which has been passed on, may have made possible."""

    @abstractmethod
    def _switch_read(self, switch: str, has: ReadBack) -> None:
        """See `Reports.read`."""

    @abstractmethod
    def _switch_done(self, switch: str, tables: SwitchTables) -> None:
        """See `Reports.done`."""

    @abstractmethod
    def _group_done(self, switch: str, group: Group) -> None:
        """See `Reports.group_done`."""

    @abstractmethod
    def _switch_refused(self, switch: str, tables: SwitchTables | None, reason: str) -> None:
        """See `Reports.refused`."""

    def _displaced(self, switch: str, reason: str) -> None:
        if not self._is_displaced:
            self._is_displaced = True
            self._log.write(event_log.ROLE_LOST, switch=switch, error=reason)
            self.logger.error("switch %s obeys another controller now (%s): this one keeps quiet", switch, reason)

    def _changed_port(self, event: Any) -> tuple[str, int, bool] | None:
        """Return the switch, the number and the state of a port from its port-status; None if it is none of ours."""
        connection = self._connection(event.msg.datapath)
        port = event.msg.desc.port_no
        if connection is None or port not in self._wiring.ports(connection.switch):
            return None
        is_there = event.msg.reason != ofproto.OFPPR_DELETE
        live = is_there and is_live(ofproto, event.msg.desc)
        connection.port_changed(port, live=live, is_there=is_there)
        return connection.switch, port, live

    def _believed_ports(self, switch: str, ports: Mapping[int, bool]) -> dict[int, bool]:
        """Return which of its ports are live by a switch's description; one of the network's that it lacks is not."""
        return {
            port: self._damping.described((switch, port), live=ports.get(port, False))
            for port in {*ports, *self._wiring.ports(switch)}
        }

    def _note_port(self, switch: str, port: int, *, live: bool, is_damped: bool) -> None:
        """Note a port-status that says something new; a port that is held down may say so without an end."""
        if not is_damped and self._noted_ports.get((switch, port)) != live:
            self._noted_ports[switch, port] = live
            self._log.write(event_log.PORT_STATUS, switch=switch, port=port, live=live)

    def _note_stranger(self, datapath_id: int) -> None:
        """Note that a switch is not in the network; a peer may say that it is any of them."""
        if len(self._noted_strangers) < MOST_STRANGERS_NAMED:
            self._noted_strangers.add(datapath_id)
        named = datapath_id if datapath_id in self._noted_strangers else None
        times = self._reports.occurred((event_log.SWITCH_UNKNOWN, named), time.monotonic())
        if times is not None:
            self._log.write(event_log.SWITCH_UNKNOWN, datapath_id=datapath_id, times=times)
            words = "switch with datapath id %d is not in the network: left alone (%d times)"
            self.logger.warning(words, datapath_id, times)

    def _note_refusal(self, kind: str, switch: str, error: str) -> None:
        """Note that the switch refuses a message, in an event of a kind; it may say so again and again."""
        noted = self._noted_errors[kind, switch]
        if len(noted) < MOST_ERRORS:
            noted.add(error)
        times = self._reports.occurred((kind, switch, error if error in noted else _OTHER_ERRORS), time.monotonic())
        if times is not None:
            self._log.write(kind, switch=switch, error=error, times=times)
            self.logger.error("switch %s refused a message (%d times): %s", switch, times, error)

    def _connection(self, datapath: Any) -> SwitchConnection | None:
        """Return the connection that is heard: its switch's present one, and not given up."""
        switch = self._wiring.switch_of(datapath.id or 0)
        connection = None if switch is None else self._connections.get(switch)
        return connection if connection is not None and connection.hears(datapath) else None

    def _owner(self, datapath: Any) -> SwitchConnection | None:
        """Return the same, given up or not, even where the switch has changed its datapath id meanwhile."""
        return next((each for each in self._connections.values() if each.datapath is datapath), None)

    def _want(self, switches: Iterable[str]) -> None:
        """Have switches head for what is wanted of them, one after the other as there is time."""
        with self._chores.gathered():
            for switch in switches:
                connection = self._connections.get(switch)
                if connection is not None:
                    connection.want(self._wanted(switch))

    def _drop_silent(self, now: float) -> None:
        """Drop the connections of switches that owe an answer for too long: they connect again and begin anew."""
        for connection in self._connections.values():
            trouble = None if connection.is_given_up else connection.lost_patience(now)
            if trouble is not None:
                self._drop(connection.datapath, f"it {trouble}")

    def _drop(self, datapath: Any, reason: str) -> None:
        connection = self._owner(datapath)
        switch = None
        if connection is not None:
            connection.give_up()
            switch = connection.switch
        times = self._reports.occurred(("dropped", switch), time.monotonic())
        if times is not None:
            self._log.write(event_log.SWITCH_DROPPED, switch=switch, reason=reason, times=times)
            self.logger.error("connection of switch %s is dropped (%d times): %s", switch, times, reason)
        self._close(datapath)
