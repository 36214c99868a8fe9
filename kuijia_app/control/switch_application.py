"""Base of the controller and the scheduler: passes the framework's events on to the keeper of switches."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kuijia_app.control.openflow_reading import port_state
from kuijia_app.control.sliced_work import SlicedWork
from kuijia_app.control.switch_keeper import SwitchKeeper
from kuijia_app.framework import event_log
from kuijia_app.framework.certificate_expiry import ExpiryWatch
from kuijia_app.framework.guarded_app import GuardedApp
from kuijia_app.framework.metrics.address import EXPECTED, parse_page_address
from kuijia_app.framework.metrics.server import MetricsServer
from kuijia_app.framework.seam import (
    FRAMEWORK,
    Event,
    EventBase,
    Harm,
    cfg,
    handler,
    native_threading,
    native_time,
    ofp_event,
    ofproto,
    on,
    on_own,
    unpatched,
)
from kuijia_app.gate.application import EntriesRemoved, GateReport, PacketArrived, Polled
from kuijia_base.errors import InputError, quoted
from kuijia_base.log_lines import (
    DEFAULT_FORM,
    DEFAULT_LEVEL,
    LineFormatter,
    require_log_options,
    take_over_logs,
)

OUTLETS = [
    cfg.StrOpt("events", help="file to which events are appended as JSON lines"),
    cfg.IntOpt("events_size", default=event_log.LARGEST_FILE, help="bytes from which on a new file of events begins"),
    cfg.IntOpt("events_kept", default=event_log.KEPT_FILES, help="earlier files of events that are kept"),
    cfg.StrOpt("log_level", default=DEFAULT_LEVEL, help="least level of the lines that are logged"),
    cfg.StrOpt("log_format", default=DEFAULT_FORM, help="text or json"),
    cfg.StrOpt("metrics", help="[ADDRESS:]PORT where metrics are served"),
]
"""Options of what an application says: events, logs and metrics."""


class SwitchApplication(SwitchKeeper, GuardedApp):
    """A keeper of switches that the framework runs, in one thread, one event after another."""

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        self._metrics_server: MetricsServer | None = None
        self._tick_period = 0.0
        self._is_tick_waiting = False
        self._expiry = ExpiryWatch(_certificates(), self._note_expiry)
        self._has_sliced_work = Event()
        self._sliced_work = SlicedWork(time.monotonic, self._has_sliced_work.set)

    def _now(self) -> float:
        return time.monotonic()

    def _close(self, datapath: Any) -> None:
        super(SwitchKeeper, self)._close(datapath)

    @on_own(GateReport)
    def gate_reported(self, event: GateReport) -> None:
        self._log.write(event.name, switch=self._wiring.switch_of(event.datapath_id), **event.details)

    @on_own(PacketArrived)
    def packet_arrived(self, event: PacketArrived) -> None:
        connection = self._connection(event.datapath)
        if connection is not None and event.packet.in_port is not None:
            packet = event.packet
            self._packet_arrived(connection.switch, event.packet.in_port, packet.data, packet.cookie)

    @on_own(Polled)
    def poll_answered(self, event: Polled) -> None:
        connection = self._connection(event.datapath)
        if connection is not None:
            connection.poll_answered(event.answer.xid, event.answer.bodies, self._now)

    @on_own(EntriesRemoved)
    def entries_removed(self, event: EntriesRemoved) -> None:
        connection = self._connection(event.datapath)
        if connection is not None:
            self._entries_removed(connection.switch)

    @on(ofp_event.EventOFPSwitchFeatures, handler.CONFIG_DISPATCHER)
    def switch_connected(self, event: Any) -> None:
        # Not the connection's `id`: under os-ken another thread sets it, perhaps after this event.
        self._connected(event.msg.datapath_id, event.msg.datapath)

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

    @on(ofp_event.EventOFPRoleReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER, harms=Harm.CONNECTION)
    def role_replied(self, event: Any) -> None:
        connection = self._connection(event.msg.datapath)
        if connection is not None:
            connection.role_told(event.msg.xid, event.msg.generation_id)

    @on(ofp_event.EventOFPBarrierReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def barrier_replied(self, event: Any) -> None:
        connection = self._connection(event.msg.datapath)
        if connection is not None and connection.acknowledged(event.msg.xid):
            self._answered()

    @on(ofp_event.EventOFPStateChange, handler.DEAD_DISPATCHER)
    def switch_disconnected(self, event: Any) -> None:
        self._disconnected(event.datapath)

    def start(self) -> None:
        """Start, and serve the metrics, if any."""
        self._look_at_certificates()  # here, as it is slow for the first time
        super().start()
        if self._metrics_server is not None:
            self._metrics_server.start()

    def _open_outlets(self, section: str) -> None:
        """Open the file of events, and set up logs and metrics, by the `OUTLETS` in a section of the configuration.

        Raises:
            InputError: an option cannot be used.
            PortTakenError: listening for metrics is not possible.
        """
        options = cfg.CONF[section]
        require_log_options(section, options.log_level, options.log_format)
        if options.events_size < 1 or not 1 <= options.events_kept <= event_log.MOST_KEPT:
            found = f"{options.events_size} bytes, {options.events_kept} files"
            expected = f"at least one byte, and 1 to {event_log.MOST_KEPT} files"
            raise InputError(f"[{section}]", "events_size, events_kept", found, expected)
        if FRAMEWORK == "ryu" and cfg.CONF.log_config_file is None:
            take_over_logs(options.log_level, options.log_format)
        self._formatter = LineFormatter(options.log_format)
        path = Path(options.events) if options.events else None
        self._log = event_log.EventLog(path, self._metrics.heard, options.events_size, options.events_kept)
        self._serve_metrics(options.metrics)

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
            found,
            self._metrics.tally,
            sockets=unpatched("socket"),
            threads=native_threading,
            clock=native_time,
            polling=unpatched("select"),
        )

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
        self._look_at_certificates()

    def _look_at_certificates(self) -> None:
        """Log when certificates expire, if it is time to look."""
        news, warnings = self._expiry.look()
        for line in news:
            self.logger.info(line)
        for line in warnings:
            self._log.write(event_log.CERTIFICATE_EXPIRES, warning=line)
            self.logger.warning(line)

    def _note_expiry(self, certificate: str, until: float) -> None:
        self._metrics.certificate_expires(certificate, until)  # subclasses put other metrics into the place

    def _changed_port_of(self, event: Any) -> tuple[str, int, bool] | None:
        """Return the switch, the number and the state of a port from its port-status; None if it is none of ours."""
        state = port_state(ofproto, event.msg.desc)
        is_there = event.msg.reason != ofproto.OFPPR_DELETE
        changed = self._changed_port(event.msg.datapath, state, is_there=is_there)
        return None if changed is None else (changed[0], state.number, changed[1])


def _certificates() -> dict[str, Path]:
    """Return the files of certificates in use by their names in the metrics; none without TLS."""
    conf = cfg.CONF
    if conf.ctl_privkey is None or conf.ctl_cert is None:
        return {}
    files = {"own": conf.ctl_cert, "authority": conf.ca_certs}
    return {name: Path(file) for name, file in files.items() if file is not None}
