"""Base of the controller and the scheduler: connects what decides with the framework, with peers and with signals."""

from __future__ import annotations

import signal
import time
from abc import abstractmethod
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from kuijia_app.control.controller_roles import ControllerRoles
from kuijia_app.control.openflow import Messages
from kuijia_app.control.openflow_reading import port_state
from kuijia_app.control.pair import Pair
from kuijia_app.control.port_states import PortState
from kuijia_app.control.sliced_work import SlicedWork
from kuijia_app.control.switch_metrics import SwitchMetrics
from kuijia_app.control.switches import ControlledSwitches, Runtime
from kuijia_app.framework import event_log
from kuijia_app.framework.addresses import peer_addresses
from kuijia_app.framework.certificate_expiry import ExpiryWatch
from kuijia_app.framework.guarded_app import GuardedApp, give_back_freed_memory
from kuijia_app.framework.handover_request import ANSWER_SECONDS, REQUEST, answer_to_request
from kuijia_app.framework.metrics.address import EXPECTED, parse_page_address
from kuijia_app.framework.metrics.server import MetricsServer
from kuijia_app.framework.peer_links import Message, PeerLinks
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
from kuijia_app.framework.switch_limits import repeated
from kuijia_app.framework.tls import TlsFiles
from kuijia_app.gate.application import EntriesRemoved, GateReport, PacketArrived, Polled
from kuijia_app.tables.identifiers import LINK_PROBE_COOKIE
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


PEER_OPTIONS = [
    cfg.ListOpt("peers", default=[], help="addresses HOST:PORT of other controllers of the same switches"),
    cfg.StrOpt("peer_listen", help="address HOST:PORT at which they find this one"),
]
"""Options on peers."""

_MOST_WAITING = 64
"""Messages of peers that wait for the application; then their connections are not read."""


class SwitchApplication(GuardedApp):
    """Passes events of switches on in one thread, one after another, and has peers if there are any.

    Subclasses set `_metrics`, call `_open_outlets`, make `switches` and `roles` with `_runtime`, and join peers.

    Attributes:
        switches: the switches under control.
        roles: whether this controller is their master.
    """

    switches: ControlledSwitches
    roles: ControllerRoles
    _metrics: SwitchMetrics
    _runtime: Runtime

    _unwatched_cookies: Collection[int] = ()
    """Cookies of entries that an application puts on switches in addition to their tables, and that no poll reads."""

    _own_cookies: Collection[int] = (LINK_PROBE_COOKIE,)
    """Cookies of further entries of its own, which polls read as if they were somebody else's."""

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        give_back_freed_memory()
        self._peers: PeerLinks | None = None
        # Peers are heard on threads of the operating system, which under Ryu may not touch what belongs to green ones.
        self._heard: Any = unpatched("queue").Queue(_MOST_WAITING)
        self._metrics_server: MetricsServer | None = None
        self._tick_period = 0.0
        self._is_tick_waiting = False
        self._expiry = ExpiryWatch(_certificates(), self._note_expiry)
        self._has_sliced_work = Event()

    def _messages_for(self, datapath: Any) -> Messages:
        return Messages(datapath, self._unwatched_cookies, self._own_cookies)

    def _is_known(self, datapath_id: int) -> bool:
        return self.switches.is_known(datapath_id)

    def _drop(self, datapath: Any, reason: str) -> None:
        self.switches.drop(datapath, reason)

    @abstractmethod
    def _answered(self) -> None:
        """Continue after a switch's answer, which its connection has handled."""

    @abstractmethod
    def _decoded(self, line: bytes) -> Callable[[], None]:
        """Return the action for a peer's message; on threads of connections. Raises ValueError if it is none."""

    @on_own(GateReport)
    def gate_reported(self, event: GateReport) -> None:
        self._log.write(event.name, switch=self.switches.wiring.switch_of(event.datapath_id), **event.details)

    @on_own(PacketArrived)
    def packet_arrived(self, event: PacketArrived) -> None:
        connection = self.switches.connection(event.datapath)
        if connection is not None and event.packet.in_port is not None:
            packet = event.packet
            self.switches.packet_arrived(connection.switch, event.packet.in_port, packet.data, packet.cookie)

    @on_own(Polled)
    def poll_answered(self, event: Polled) -> None:
        connection = self.switches.connection(event.datapath)
        if connection is not None:
            connection.poll_answered(event.answer.xid, event.answer.bodies, self._runtime.now)

    @on_own(EntriesRemoved)
    def entries_removed(self, event: EntriesRemoved) -> None:
        connection = self.switches.connection(event.datapath)
        if connection is not None:
            self.switches.entries_removed(connection.switch)

    @on(ofp_event.EventOFPSwitchFeatures, handler.CONFIG_DISPATCHER)
    def switch_connected(self, event: Any) -> None:
        # Not the connection's `id`: under os-ken another thread sets it, perhaps after this event.
        self.switches.connected(event.msg.datapath_id, event.msg.datapath)

    @on(
        ofp_event.EventOFPPortDescStatsReply,
        handler.CONFIG_DISPATCHER,
        handler.MAIN_DISPATCHER,
        harms=Harm.CONNECTION,
    )
    def ports_described(self, event: Any) -> None:
        connection = self.switches.connection(event.msg.datapath)
        if connection is not None:
            connection.ports_described(event.msg.body)

    @on(
        ofp_event.EventOFPGroupDescStatsReply,
        handler.CONFIG_DISPATCHER,
        handler.MAIN_DISPATCHER,
        harms=Harm.CONNECTION,
    )
    def groups_described(self, event: Any) -> None:
        connection = self.switches.connection(event.msg.datapath)
        if connection is not None:
            connection.groups_described(event.msg.xid, event.msg.body)

    @on(ofp_event.EventOFPFlowStatsReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER, harms=Harm.CONNECTION)
    def flows_described(self, event: Any) -> None:
        connection = self.switches.connection(event.msg.datapath)
        if connection is not None:
            connection.flows_described(event.msg.xid, event.msg.body)

    @on(ofp_event.EventOFPRoleReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER, harms=Harm.CONNECTION)
    def role_replied(self, event: Any) -> None:
        connection = self.switches.connection(event.msg.datapath)
        if connection is not None:
            connection.role_told(event.msg.xid, event.msg.generation_id)

    @on(ofp_event.EventOFPBarrierReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def barrier_replied(self, event: Any) -> None:
        connection = self.switches.connection(event.msg.datapath)
        if connection is not None and connection.acknowledged(event.msg.xid):
            self._answered()

    @on(ofp_event.EventOFPStateChange, handler.DEAD_DISPATCHER)
    def switch_disconnected(self, event: Any) -> None:
        self.switches.disconnected(event.datapath)

    def start(self) -> None:
        """Start, serve the metrics, and hear peers and the signal for a handover; called in the main thread."""
        self._look_at_certificates()  # here, as it is slow for the first time
        signal.signal(signal.SIGUSR2, lambda _number, _frame: self.roles.ask_to_hand_over())
        super().start()
        if self._peers is not None:
            self._peers.start()
        if self._metrics_server is not None:
            self._metrics_server.start()

    def _open_outlets(self, section: str) -> None:
        """Open the file of events, set up logs and metrics, and make `_runtime`, by the `OUTLETS` in a section.

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
        work = SlicedWork(time.monotonic, self._has_sliced_work.set)
        parts = self._log, self.logger, self._reports, work
        self._runtime = Runtime(time.monotonic, self._close, self._messages_for, *parts)

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
        self._runtime.sliced_work.work()
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

    def _listen_to_peers(self, options: Any) -> None:  # the framework's
        """Listen for other controllers if the options name any; raises InputError if they cannot be used."""
        if options.peers:
            listen, others = peer_addresses(options.peer_listen or "", options.peers)
            tls, conf = tls_files(), cfg.CONF
            if tls is None and conf.ctl_privkey and conf.ctl_cert:
                raise InputError("[DEFAULT]", "ca_certs", "not set", "the authority that proves who the peers are")
            self._peers = PeerLinks(listen, others, tls, self._line_heard, self._peer_trouble)

    def _join_peers(self, options: Any) -> None:  # the framework's
        """Be one of several controllers if there are others."""
        if self._peers is not None:
            self.roles.join(Pair(self.roles.claims.instance, self._runtime.now()), str(options.peer_listen))

    def _send_line(self, message: Message) -> None:
        if self._peers is not None:
            self._peers.send(message)

    def _line_heard(self, line: bytes) -> bytes | None:
        """Take in a line; return the answer if it is a request. On threads of connections."""
        if line.strip() == REQUEST:
            answers: Any = unpatched("queue").Queue()
            self._heard.put(lambda: self.roles.ask_to_hand_over(answers.put))
            try:
                return answer_to_request(answers.get(timeout=ANSWER_SECONDS))
            except unpatched("queue").Empty:
                return answer_to_request("this controller does not answer")
        self._heard.put(self._decoded(line))
        return None

    def _peer_trouble(self, host: str, error: str) -> None:
        """Take in that a connection has ended; on threads of connections."""
        self._heard.put(lambda: self._log_trouble(host, error))

    def _log_trouble(self, host: str, error: str) -> None:
        times = self._reports.occurred(("peer", host), self._runtime.now())
        if times is not None:
            self.logger.warning("connection of peer %s ended%s: %s", host, repeated(times), error)

    def _take_in_peers(self) -> None:
        """Take in what peers have said; call this before `roles` look at the clock."""
        for _ in range(self._heard.qsize()):  # and no more: a peer may be faster than this thread
            self._heard.get()()


def port_status_of(event: Any) -> tuple[PortState, bool]:
    """Return the state of the port of a port-status, and whether the port is there."""
    return port_state(ofproto, event.msg.desc), event.msg.reason != ofproto.OFPPR_DELETE


def _certificates() -> dict[str, Path]:
    """Return the files of certificates in use by their names in the metrics; none without TLS."""
    conf = cfg.CONF
    if conf.ctl_privkey is None or conf.ctl_cert is None:
        return {}
    files = {"own": conf.ctl_cert, "authority": conf.ca_certs}
    return {name: Path(file) for name, file in files.items() if file is not None}


def tls_files() -> TlsFiles | None:
    """Return the files with which this controller proves who it is; None unless all of them are given."""
    conf = cfg.CONF
    if not (conf.ctl_privkey and conf.ctl_cert and conf.ca_certs):
        return None
    return TlsFiles(Path(conf.ctl_privkey), Path(conf.ctl_cert), Path(conf.ca_certs))
