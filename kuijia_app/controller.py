"""The Ryu application: installs a plan's tables and tells ingresses of failures they cannot see themselves.

Runs under `ryu-manager --config-file FILE kuijia_app.controller` and under `kuijia controller`. Its options are in the
section [kuijia] of the configuration file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from kuijia_app import event_log
from kuijia_app.identifiers import liveness_label
from kuijia_app.liveness import LivenessChange, LivenessTracker
from kuijia_app.openflow import Messages
from kuijia_app.pipeline import PipelineOptions, Scheme, build_tables, liveness_group
from kuijia_app.routes import directions
from kuijia_app.seam import FRAMEWORK, BaseApp, cfg, handler, ofp_event, ofproto, on
from kuijia_app.slots import DEFAULT_SLOT_COUNT
from kuijia_app.wiring import Wiring
from te_solver.errors import InputError
from te_solver.plan import Plan
from te_solver.plan_file import load_plan

OPTION_GROUP = "kuijia"
OPTIONS = [
    cfg.StrOpt("plan", help="the plan file to install"),
    cfg.StrOpt("scheme", default=Scheme.KUIJIA.value, choices=[scheme.value for scheme in Scheme]),
    cfg.IntOpt("slots", default=DEFAULT_SLOT_COUNT, help="hash slots per pair"),
    cfg.StrOpt("events", help="file that events are appended to as JSON lines"),
]
cfg.CONF.register_opts(OPTIONS, group=OPTION_GROUP)

ECHO_INTERVAL = 1.0
"""Seconds between two requests for a sign of life of a switch."""

UNANSWERED_ECHOES = 10
"""More requests than these without an answer end a connection; a busy switch may be late with a few."""

# Without echo requests a switch that hangs is never given up, and under os-ken not even one that has gone: its thread
# that waits for something to send does not see that the connection has been closed.
cfg.CONF.set_default("echo_request_interval", ECHO_INTERVAL)
cfg.CONF.set_default("maximum_unreplied_echo_requests", UNANSWERED_ECHOES)


class _Connection:
    """One connected switch: what is sent to it in order, and what waits for its barriers."""

    def __init__(self, datapath: Any, switch: str) -> None:
        self.switch = switch
        self.messages = Messages(datapath)
        self.groups_acknowledged = False
        self._datapath = datapath
        self._barriers = count(1)
        self._waiting: dict[int, Callable[[], None]] = {}
        self._described: dict[int, bool] = {}

    def owns(self, datapath: Any) -> bool:
        return self._datapath is datapath

    def send(self, messages: Iterable[Any], then: Callable[[], None] | None = None) -> None:
        """Send messages; call `then` once the switch has acknowledged all of them."""
        for message in messages:
            self._datapath.send_msg(message)
        if then is not None:
            barrier = self.messages.barrier()
            # Ids of our own: those of the framework may repeat, as several threads count them up.
            barrier.set_xid(next(self._barriers))
            # Registered before it is sent: the reply may overtake us on another thread.
            self._waiting[barrier.xid] = then
            self._datapath.send_msg(barrier)

    def acknowledged(self, xid: int) -> None:
        then = self._waiting.pop(xid, None)
        if then is not None:
            then()

    def described(self, live_by_port: Mapping[int, bool], *, more: bool) -> dict[int, bool] | None:
        """Take a part of the switch's port list in; returns the whole list with its last part, None before."""
        self._described.update(live_by_port)
        if more:
            return None
        whole, self._described = self._described, {}
        return whole


class KuijiaController(BaseApp):  # type: ignore[misc]  # the base class is one of two untyped ones
    """Installs the plan on every switch that connects and keeps the liveness groups of the ingresses right.

    Groups are acknowledged before the entries that use them are sent: threads of os-ken pace nothing by themselves.
    """

    OFP_VERSIONS = (ofproto.OFP_VERSION,)

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        options = cfg.CONF[OPTION_GROUP]
        try:
            plan = _configured_plan()
            self._tables = build_tables(plan, PipelineOptions(Scheme(options.scheme), options.slots))
            self._log = event_log.EventLog(Path(options.events) if options.events else None)
        except ValueError as error:
            # The frameworks would print a traceback.
            source = "" if isinstance(error, InputError) else f"{options.plan}: "
            print(f"error: {source}{error}", file=sys.stderr)  # noqa: T201
            raise SystemExit(InputError.exit_status) from error
        self._wiring = Wiring(plan.topology)
        self._tracker = LivenessTracker(plan)
        self._first_port = {
            (direction.ingress, route.label): self._wiring.port(direction.ingress, route.next_hop)
            for direction in directions(plan)
            for route in direction.routes
        }
        self._connections: dict[int, _Connection] = {}

    @on(ofp_event.EventOFPSwitchFeatures, handler.CONFIG_DISPATCHER)
    def switch_connected(self, event: Any) -> None:
        # Not the connection's `id`: under os-ken another thread sets it, perhaps after we are told.
        datapath_id = event.msg.datapath_id
        switch = self._wiring.switch_of(datapath_id)
        if switch is None:
            self._log.write(event_log.SWITCH_UNKNOWN, datapath_id=datapath_id)
            self.logger.warning("switch with datapath id %d is not in the plan: left alone", datapath_id)
            return
        connection = _Connection(event.msg.datapath, switch)
        self._connections[datapath_id] = connection

        def flows_acknowledged() -> None:
            self._log.write(event_log.SWITCH_READY, switch=switch, framework=FRAMEWORK)
            self.logger.info("switch %s is programmed", switch)

        def groups_acknowledged() -> None:
            connection.groups_acknowledged = True
            dead = [LivenessChange(switch, label, alive=False) for label in sorted(self._tracker.dead_labels(switch))]
            self._tell_ingresses(dead)
            connection.send(connection.messages.add_flows(self._tables[switch]), then=flows_acknowledged)

        def cleared() -> None:
            connection.send(connection.messages.add_groups(self._tables[switch]), then=groups_acknowledged)

        def groups_described() -> None:
            connection.send([*connection.messages.clear(), connection.messages.port_descriptions()], then=cleared)

        connection.send([connection.messages.group_descriptions()], then=groups_described)

    @on(ofp_event.EventOFPGroupDescStatsReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def groups_described(self, event: Any) -> None:
        """What a switch still has from a controller before us: the empty liveness groups are those it emptied."""
        connection = self._connection(event.msg.datapath)
        if connection is not None:
            labels = [liveness_label(group.group_id) for group in event.msg.body if not group.buckets]
            known = [label for label in labels if label is not None]
            self._tell_ingresses(self._tracker.found_dead(connection.switch, known))

    @on(ofp_event.EventOFPBarrierReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def barrier_replied(self, event: Any) -> None:
        connection = self._connection(event.msg.datapath)
        if connection is not None:
            connection.acknowledged(event.msg.xid)

    @on(ofp_event.EventOFPPortDescStatsReply, handler.MAIN_DISPATCHER)
    def ports_described(self, event: Any) -> None:
        connection = self._connection(event.msg.datapath)
        if connection is None:
            return
        part = {port.port_no: _is_live(port) for port in event.msg.body}
        live = connection.described(part, more=bool(event.msg.flags & ofproto.OFPMPF_REPLY_MORE))
        if live is not None:
            self._tell_ingresses(self._tracker.ports_described(connection.switch, live))

    @on(ofp_event.EventOFPPortStatus, handler.MAIN_DISPATCHER)
    def port_status(self, event: Any) -> None:
        connection = self._connection(event.msg.datapath)
        if connection is None:
            return
        port = event.msg.desc
        live = event.msg.reason != ofproto.OFPPR_DELETE and _is_live(port)
        self._log.write(event_log.PORT_STATUS, switch=connection.switch, port=port.port_no, live=live)
        self._tell_ingresses(self._tracker.port_changed(connection.switch, port.port_no, live=live))

    @on(ofp_event.EventOFPErrorMsg, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def switch_refused(self, event: Any) -> None:
        message = event.msg
        connection = self._connection(message.datapath)
        switch = connection.switch if connection is not None else f"datapath id {message.datapath.id}"
        self._log.write(event_log.SWITCH_ERROR, switch=switch, error_type=message.type, code=message.code)
        self.logger.error("switch %s refused a message: type %d, code %d", switch, message.type, message.code)

    @on(ofp_event.EventOFPStateChange, handler.DEAD_DISPATCHER)
    def switch_disconnected(self, event: Any) -> None:
        connection = self._connection(event.datapath)
        if connection is not None:
            del self._connections[event.datapath.id]
            self._log.write(event_log.SWITCH_GONE, switch=connection.switch)

    def _connection(self, datapath: Any) -> _Connection | None:
        connection = self._connections.get(datapath.id)
        return connection if connection is not None and connection.owns(datapath) else None

    def _tell_ingresses(self, changes: Iterable[LivenessChange]) -> None:
        """Fill or empty liveness groups; an ingress that has no groups yet gets its changes with them."""
        for change in changes:
            connection = self._connections.get(self._wiring.datapath_id(change.ingress))
            if connection is None or not connection.groups_acknowledged:
                continue
            port = self._first_port[change.ingress, change.label]
            group = liveness_group(change.label, port, alive=change.alive)

            def acknowledged(change: LivenessChange = change) -> None:
                self._log.write(
                    event_log.TUNNEL_LIVENESS, ingress=change.ingress, path_id=change.label, alive=change.alive
                )

            connection.send([connection.messages.modify_group(group)], then=acknowledged)


def _configured_plan() -> Plan:
    path = cfg.CONF[OPTION_GROUP].plan
    if not path:
        raise InputError(f"[{OPTION_GROUP}]", "plan", "not set", "the path of a plan file")
    return load_plan(Path(path))


def _is_live(port: Any) -> bool:
    return not (port.state & ofproto.OFPPS_LINK_DOWN or port.config & ofproto.OFPPC_PORT_DOWN)
