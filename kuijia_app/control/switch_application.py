"""Base of the controller and the scheduler: finds the connection of an event and passes the event on to it."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from kuijia_app.control.flap_damping import FlapDamping
from kuijia_app.control.roles import generation
from kuijia_app.control.sliced_work import SlicedWork
from kuijia_app.control.switch_connection import ReadBack, Reports, SwitchConnection, is_live
from kuijia_app.control.switch_metrics import SwitchMetrics
from kuijia_app.framework import event_log
from kuijia_app.framework.guarded_app import GuardedApp
from kuijia_app.framework.seam import (
    Event,
    EventBase,
    Harm,
    handler,
    native_threading,
    native_time,
    ofp_event,
    ofproto,
    on,
    on_own,
    unpatched,
)
from kuijia_app.framework.switch_limits import ENTRIES_PER_WANTED, MOST_ENTRIES, SwitchFaultError
from kuijia_app.gate.application import Report
from kuijia_app.tables.rules import Group, SwitchTables
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import InputError, quoted
from kuijia_base.metrics.address import EXPECTED, parse_page_address
from kuijia_base.metrics.server import MetricsServer

MOST_ERRORS = 16
"""Different errors of one switch that are reported one by one; a switch can invent four thousand million."""

MOST_UNKNOWN_NAMED = 16
"""Unknown datapath ids that are reported one by one."""

_OTHER_ERRORS = "other errors"


class SwitchApplication(GuardedApp):
    """Keeps one connection for each switch of a network, and drops switches that break the rules.

    Subclasses decide what follows from messages. The application runs in one thread, one event after another.
    """

    _wiring: Wiring

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        self._metrics = SwitchMetrics("kuijia", time.monotonic)
        self._metrics_server: MetricsServer | None = None
        self._tick_period = 0.0
        self._connections: dict[str, SwitchConnection] = {}
        self._generation = generation(time.time())
        self._is_displaced = False
        self._is_tick_waiting = False
        self._has_sliced_work = Event()
        self._sliced_work = SlicedWork(time.monotonic, self._has_sliced_work.set)
        self._noted_errors: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._noted_unknown: set[int] = set()
        self._noted_ports: dict[tuple[str, int], bool] = {}
        self._damping: FlapDamping[tuple[str, int]] = FlapDamping()

    @on_own(Report)
    def gate_reported(self, event: Report) -> None:
        self._log.write(event.name, switch=self._wiring.switch_of(event.datapath_id), **event.details)

    @on(ofp_event.EventOFPSwitchFeatures, handler.CONFIG_DISPATCHER)
    def switch_connected(self, event: Any) -> None:
        # Not the connection's `id`: under os-ken another thread sets it, perhaps after this event.
        datapath_id, datapath = event.msg.datapath_id, event.msg.datapath
        switch = self._wiring.switch_of(datapath_id)
        if switch is None:
            self._note_other(datapath_id)
            return
        before = self._owner(datapath)
        if before is not None and before.switch != switch:
            raise SwitchFaultError("it gives its connection a second datapath id")
        reports = Reports(
            read=partial(self._switch_read, switch),
            done=partial(self._installed, switch),
            group_done=partial(self._group_done, switch),
            refused=partial(self._switch_refused, switch),
            displaced=partial(self._displaced, switch),
        )
        replaced = self._connections.get(switch)
        if replaced is not None:
            replaced.give_up()
        self._begun(switch)
        self._metrics.began(switch)
        wanted = self._wanted(switch)
        most = max(MOST_ENTRIES, ENTRIES_PER_WANTED * (len(wanted.groups) + len(wanted.flows)))
        connection = self._connections[switch] = SwitchConnection(
            datapath, switch, reports, wanted, most, self._sliced_work.add
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
            connection.give_up()  # sliced work for it may be left
            del self._connections[connection.switch]
            self._log.write(event_log.SWITCH_GONE, switch=connection.switch)
            self._ended(connection.switch)

    def start(self) -> None:
        """Start, and serve the metrics, if any."""
        super().start()
        if self._metrics_server is not None:
            self._metrics_server.start()

    def _serve_metrics(self, address: str | None) -> None:
        """Take the address for metrics, if there is one, to serve them from `start` on.

        Raises:
            InputError: it is no address.
            PortTakenError: listening there is not possible.
        """
        if address is None:
            return
        found = parse_page_address(address)
        if found is None:
            raise InputError("option", "metrics", quoted(address), EXPECTED)
        self._metrics_server = MetricsServer(
            found, self._metrics.tally, sockets=unpatched("socket"), threads=native_threading, clock=native_time
        )

    def _installed(self, switch: str, tables: SwitchTables) -> None:
        self._metrics.installed(switch, tables)
        self._switch_done(switch, tables)

    def _is_known(self, datapath_id: int) -> bool:
        return self._wiring.switch_of(datapath_id) is not None

    def _tell_time(self, period: float, tick: Callable[[], EventBase]) -> None:
        """Send the application a tick every `period` seconds, and one after another while sliced work is left.

        No tick is sent while one waits: otherwise a busy application would collect a queue of ticks, and for a long
        queue the gate stops reading switches.
        """
        self._tick_period = period
        while self.is_active:
            self._has_sliced_work.wait(period)
            self._has_sliced_work.clear()
            if not self._is_tick_waiting:
                self._is_tick_waiting = True
                self.send_event(self.name, tick())

    def _tick_handled(self) -> None:
        """Allow the next tick and do a slice of the work that is left; a tick's handler must call this first."""
        self._is_tick_waiting = False
        self._metrics.ticked(self._tick_period)
        self._sliced_work.work()

    @abstractmethod
    def _wanted(self, switch: str) -> SwitchTables:
        """Return the tables that the switch should have now."""

    @abstractmethod
    def _begun(self, switch: str) -> None:
        """Forget the switch's earlier connection: a new one begins."""

    @abstractmethod
    def _ended(self, switch: str) -> None:
        """React to the end of the switch's connection."""

    @abstractmethod
    def _answered(self) -> None:
        """Continue after a switch's answer, which its connection has handled."""

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
            self.logger.error("switch %s has another master now (%s): this controller stays quiet", switch, reason)

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
        """Log a port-status that says something new, but none of a port that is held down: it may go on without end."""
        if not is_damped and self._noted_ports.get((switch, port)) != live:
            self._noted_ports[switch, port] = live
            self._log.write(event_log.PORT_STATUS, switch=switch, port=port, live=live)

    def _note_other(self, datapath_id: int) -> None:
        """Log that a switch is not ours, or not in the network, within limits: a peer may claim any datapath id."""
        is_listed = self._wiring.is_not_ours(datapath_id)
        kind = event_log.SWITCH_NOT_OURS if is_listed else event_log.SWITCH_UNKNOWN
        if len(self._noted_unknown) < MOST_UNKNOWN_NAMED:
            self._noted_unknown.add(datapath_id)
        named = datapath_id if datapath_id in self._noted_unknown else None
        times = self._reports.occurred((kind, named), time.monotonic())
        if times is None:
            return
        self._log.write(kind, datapath_id=datapath_id, times=times)
        if is_listed:
            self.logger.info("switch with datapath id %016x is not ours: left alone (%d times)", datapath_id, times)
        else:
            words = "switch with datapath id %d is not in the network: left alone (%d times)"
            self.logger.warning(words, datapath_id, times)

    def _note_refusal(self, kind: str, switch: str, error: str) -> None:
        """Log that the switch refuses a message, in an event of a kind, within limits: it may repeat that."""
        noted = self._noted_errors[kind, switch]
        if len(noted) < MOST_ERRORS:
            noted.add(error)
        times = self._reports.occurred((kind, switch, error if error in noted else _OTHER_ERRORS), time.monotonic())
        if times is not None:
            self._log.write(kind, switch=switch, error=error, times=times)
            self.logger.error("switch %s refused a message (%d times): %s", switch, times, error)

    def _connection(self, datapath: Any) -> SwitchConnection | None:
        """Return the connection if it is its switch's present one and not given up, else None."""
        switch = self._wiring.switch_of(datapath.id or 0)
        connection = None if switch is None else self._connections.get(switch)
        return connection if connection is not None and connection.hears(datapath) else None

    def _owner(self, datapath: Any) -> SwitchConnection | None:
        """Return the same even if it is given up or the switch has changed its datapath id meanwhile."""
        return next((each for each in self._connections.values() if each.datapath is datapath), None)

    def _want(self, switches: Iterable[str]) -> None:
        """Bring switches to their wanted tables, one after the other as time permits."""
        with self._sliced_work.gathered():
            for switch in switches:
                connection = self._connections.get(switch)
                if connection is not None:
                    self._metrics.wants(switch)
                    connection.want(self._wanted(switch))

    def _drop_silent(self, now: float) -> None:
        """Drop the connections of switches that have owed an answer for too long: they connect again."""
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
