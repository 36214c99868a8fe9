"""The application behind `kuijia wiring discover`: probes the links between the switches that connect to it.

It needs one temporary flow entry in each switch, for the probes that arrive there, and changes nothing else. Its
options are in the section [discovery] of the configuration. When it has found all switches and links that it was told
to expect, or its time is over, it writes what it has found as JSON and ends with status 0.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kuijia_app.control.openflow_reading import port_state
from kuijia_app.control.probe_frames import KEY_BYTES
from kuijia_app.discovery.findings import MOST_PORTS, MOST_SWITCHES, DiscoveredNetwork
from kuijia_app.discovery.lldp import COOKIE, DiscoveryMessages, origin, probe
from kuijia_app.framework.guarded_app import GuardedApp, background
from kuijia_app.framework.seam import Event, EventBase, Harm, cfg, handler, ofp_event, ofproto, on, on_own
from kuijia_app.framework.switch_limits import BackOff, repeated
from kuijia_app.gate.application import GateReport, PacketArrived
from kuijia_app.gate.server import stand_before
from kuijia_app.tables.stated_wiring import datapath_text
from kuijia_app.tables.wiring_file import parse_mask

OPTION_GROUP = "discovery"
OPTIONS = [
    cfg.StrOpt("result", help="file for the findings, in JSON"),
    cfg.FloatOpt("seconds", default=30.0, help="longest time to probe"),
    cfg.IntOpt("switches", default=0, help="switches to expect, 0 if unknown"),
    cfg.IntOpt("links", default=0, help="links to expect between them"),
    cfg.ListOpt("not_ours", default=[], help="datapath ids, perhaps with masks, of switches to leave alone"),
    cfg.StrOpt("tls_bind", help="file that binds certificates to datapath ids"),
]
cfg.CONF.register_opts(OPTIONS, group=OPTION_GROUP)

TICK = 0.25
PROBE_INTERVAL = 0.5
"""Seconds between two probes out of the same port: one is lost if the far end is not ready yet."""

PROBING = 0.1
"""Seconds of a tick that go into probes; in a large network the others follow in the next ones."""

_NAMED_OTHERS = 16
"""Switches that are left alone and logged one by one."""

_RELEASE_TIMEOUT = 2.0
_ENTRY_MARGIN = 10
"""Seconds for which an entry stays after the time of discovery if it is not removed."""


class DiscoveryTick(EventBase):  # type: ignore[misc]  # the base class is one of two untyped ones
    """Time has passed."""


class Discovery(GuardedApp):
    """Describes the switches that connect, and the cables between them."""

    OFP_VERSIONS = (ofproto.OFP_VERSION,)
    part = "discovery"

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        self._options = options = cfg.CONF[OPTION_GROUP]
        self._masks = [parse_mask(text) for text in options.not_ours]
        self._findings = DiscoveredNetwork()
        self._key = secrets.token_bytes(KEY_BYTES)
        self._datapaths: dict[int, Any] = {}
        self._ends_at = time.monotonic() + options.seconds
        self._round_began = 0.0
        self._round: Iterator[tuple[int, int]] | None = None
        self._unreleased: set[int] = set()
        self._is_ending = False
        self._lines = BackOff()
        stand_before(self, self._is_taken_in, options.tls_bind, packets_of={COOKIE})

    @background
    def _watch_clock(self) -> None:
        pause = Event()
        while self.is_active:
            pause.wait(TICK)
            self.send_event(self.name, DiscoveryTick())

    @on_own(GateReport)
    def gate_reported(self, event: GateReport) -> None:
        self._warn(event.datapath_id, event.name)

    @on(ofp_event.EventOFPSwitchFeatures, handler.CONFIG_DISPATCHER)
    def switch_connected(self, event: Any) -> None:
        datapath_id = event.msg.datapath_id
        if not self._is_taken_in(datapath_id):
            self._leave_alone(datapath_id)
            return
        datapath = self._datapaths[datapath_id] = event.msg.datapath
        self._findings.described(datapath_id, {})
        datapath.send_msg(DiscoveryMessages(datapath).catch_lldp(int(self._options.seconds) + _ENTRY_MARGIN))

    @on(
        ofp_event.EventOFPPortDescStatsReply,
        handler.CONFIG_DISPATCHER,
        handler.MAIN_DISPATCHER,
        harms=Harm.CONNECTION,
    )
    def ports_described(self, event: Any) -> None:
        datapath_id = event.msg.datapath.id
        if datapath_id in self._datapaths:
            self._findings.described(
                datapath_id, {port.port_no: port_state(ofproto, port).is_up for port in event.msg.body}
            )
            if self._findings.is_full and self._lines.occurred("too many ports", time.monotonic()) is not None:
                self.logger.warning("switches describe more than %d ports: the others are left out", MOST_PORTS)

    @on_own(PacketArrived)
    def packet_arrived(self, event: PacketArrived) -> None:
        datapath_id, in_port = event.datapath.id, event.packet.in_port
        sent_by = origin(self._key, event.packet.data)
        if sent_by is not None and datapath_id in self._datapaths and in_port is not None:
            self._findings.arrived(sent_by, (datapath_id, in_port))

    @on(ofp_event.EventOFPErrorMsg, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def switch_answered_with_an_error(self, event: Any) -> None:
        error = f"error type {event.msg.type}, code {event.msg.code}"
        self._warn(event.msg.datapath.id or 0, "it refused a message", error)

    @on(ofp_event.EventOFPBarrierReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def barrier_replied(self, event: Any) -> None:
        self._unreleased.discard(event.msg.datapath.id)

    @on(ofp_event.EventOFPStateChange, handler.DEAD_DISPATCHER)
    def switch_disconnected(self, event: Any) -> None:
        datapath_id = event.datapath.id
        if self._datapaths.get(datapath_id) is event.datapath:
            del self._datapaths[datapath_id]
            self._unreleased.discard(datapath_id)

    @on_own(DiscoveryTick)
    def time_passed(self, _event: DiscoveryTick) -> None:
        now = time.monotonic()
        if self._is_ending:
            if not self._unreleased or now >= self._ends_at:
                self._end()
        elif now >= self._ends_at or self._is_complete():
            self._release(now)
        else:
            self._probe(now)

    def _is_ours(self, datapath_id: int) -> bool:
        return not any(mask.covers(datapath_id) for mask in self._masks)

    def _is_taken_in(self, datapath_id: int) -> bool:
        return self._is_ours(datapath_id) and self._findings.has_room(datapath_id)

    def _leave_alone(self, datapath_id: int) -> None:
        others = self._findings.others
        if self._is_ours(datapath_id):
            if self._lines.occurred("too many", time.monotonic()) is not None:
                self.logger.warning("more than %d switches connect: the others are left alone", MOST_SWITCHES)
        elif datapath_id not in others:
            others.add(datapath_id)
            if len(others) <= _NAMED_OTHERS:
                self.logger.info("switch %s is not ours: left alone", datapath_text(datapath_id))
            elif len(others) == _NAMED_OTHERS + 1:
                self.logger.info("more switches are not ours: left alone")

    def _warn(self, datapath_id: int, what: str, detail: str = "") -> None:
        """Log what a switch has done, ever less often if it goes on."""
        times = self._lines.occurred((datapath_id, what), time.monotonic())
        if times is not None:
            said = f"{what} ({detail})" if detail else what
            self.logger.warning("switch %s: %s%s", datapath_text(datapath_id), said, repeated(times))

    def _is_complete(self) -> bool:
        expected = self._options.switches
        return expected > 0 and self._findings.is_complete(expected, self._options.links)

    def _probe(self, now: float) -> None:
        """Send probes out of ports that none has come to yet; sent before the entry there, they would be lost."""
        if self._round is None:
            if now < self._round_began + PROBE_INTERVAL:
                return
            self._round_began = now
            self._round = self._findings.to_probe(self._datapaths)
        for switch, port in self._round:
            datapath = self._datapaths.get(switch)
            if datapath is not None:
                datapath.send_msg(DiscoveryMessages(datapath).send_frame(port, probe(self._key, switch, port)))
            if time.monotonic() >= now + PROBING:
                return
        self._round = None

    def _release(self, now: float) -> None:
        """Remove our entries from the switches; end when they have confirmed that, or soon."""
        self._is_ending, self._ends_at = True, now + _RELEASE_TIMEOUT
        for datapath_id, datapath in self._datapaths.items():
            messages = DiscoveryMessages(datapath)
            self._unreleased.add(datapath_id)
            datapath.send_msg(messages.release())
            datapath.send_msg(messages.barrier())

    def _end(self) -> None:
        with self._watchdog.long_work():
            Path(self._options.result).write_text(json.dumps(self._findings.to_json()))
        os._exit(0)  # the framework cannot end its threads

    def _drop(self, datapath: Any, reason: str) -> None:
        self._warn(datapath.id or 0, f"its connection is dropped: {reason}")
        self._close(datapath)
