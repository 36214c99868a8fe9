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
from pathlib import Path
from typing import Any

from kuijia_app.control.openflow_reading import port_state
from kuijia_app.control.probe_frames import KEY_BYTES
from kuijia_app.discovery.findings import DiscoveredNetwork
from kuijia_app.discovery.lldp import origin, probe
from kuijia_app.discovery.messages import COOKIE, DiscoveryMessages
from kuijia_app.framework.guarded_app import GuardedApp, background
from kuijia_app.framework.seam import Event, EventBase, Harm, cfg, handler, ofp_event, ofproto, on, on_own
from kuijia_app.gate.application import PacketArrived, Report
from kuijia_app.gate.server import stand_before
from kuijia_app.tables.stated_wiring import datapath_text
from kuijia_app.tables.wiring_file import parse_mask

OPTION_GROUP = "discovery"
OPTIONS = [
    cfg.StrOpt("result", help="file for the findings, in JSON"),
    cfg.FloatOpt("seconds", default=30.0, help="time after which it ends in any case"),
    cfg.IntOpt("switches", default=0, help="switches to expect, 0 if unknown"),
    cfg.IntOpt("links", default=0, help="links to expect between them"),
    cfg.ListOpt("not_ours", default=[], help="datapath ids, perhaps with masks, of switches to leave alone"),
    cfg.StrOpt("tls_bind", help="file that binds certificates to datapath ids"),
]
cfg.CONF.register_opts(OPTIONS, group=OPTION_GROUP)

TICK = 0.25
PROBE_INTERVAL = 0.5
"""Seconds between two probes out of the same port: one is lost if the far end is not ready yet."""

_RELEASE_TIMEOUT = 2.0
_ENTRY_MARGIN = 10
"""Seconds for which an entry stays after the time of discovery if it is not removed."""


class Tick(EventBase):  # type: ignore[misc]  # the base class is one of two untyped ones
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
        self._probed_at = 0.0
        self._unreleased: set[int] = set()
        self._is_ending = False
        stand_before(self, self._is_ours, options.tls_bind, packets_of=COOKIE)

    @background
    def _watch_clock(self) -> None:
        pause = Event()
        while self.is_active:
            pause.wait(TICK)
            self.send_event(self.name, Tick())

    @on_own(Report)
    def gate_reported(self, event: Report) -> None:
        self.logger.warning("switch %s: %s", datapath_text(event.datapath_id), event.name)

    @on(ofp_event.EventOFPSwitchFeatures, handler.CONFIG_DISPATCHER)
    def switch_connected(self, event: Any) -> None:
        datapath_id = event.msg.datapath_id
        if not self._is_ours(datapath_id):
            if datapath_id not in self._findings.others:
                self._findings.others.add(datapath_id)
                self.logger.info("switch %s is not ours: left alone", datapath_text(datapath_id))
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

    @on_own(PacketArrived)
    def packet_arrived(self, event: PacketArrived) -> None:
        datapath_id, in_port = event.datapath.id, event.packet.in_port
        sent_by = origin(self._key, event.packet.data)
        if sent_by is not None and datapath_id in self._datapaths and in_port is not None:
            self._findings.heard.add((sent_by, (datapath_id, in_port)))

    @on(ofp_event.EventOFPErrorMsg, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def switch_answered_with_an_error(self, event: Any) -> None:
        words = "switch %s refused a message (error type %d, code %d)"
        self.logger.warning(words, datapath_text(event.msg.datapath.id or 0), event.msg.type, event.msg.code)

    @on(ofp_event.EventOFPBarrierReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def barrier_replied(self, event: Any) -> None:
        self._unreleased.discard(event.msg.datapath.id)

    @on(ofp_event.EventOFPStateChange, handler.DEAD_DISPATCHER)
    def switch_disconnected(self, event: Any) -> None:
        datapath_id = event.datapath.id
        if self._datapaths.get(datapath_id) is event.datapath:
            del self._datapaths[datapath_id]
            self._unreleased.discard(datapath_id)

    @on_own(Tick)
    def time_passed(self, _event: Tick) -> None:
        now = time.monotonic()
        if self._is_ending:
            if not self._unreleased or now >= self._ends_at:
                self._end()
        elif now >= self._ends_at or self._is_complete():
            self._release(now)
        elif now >= self._probed_at + PROBE_INTERVAL:
            self._probed_at = now
            self._probe()

    def _is_ours(self, datapath_id: int) -> bool:
        return not any(mask.covers(datapath_id) for mask in self._masks)

    def _is_complete(self) -> bool:
        expected = self._options.switches
        return expected > 0 and self._findings.is_complete(expected, self._options.links)

    def _probe(self) -> None:
        """Send a probe out of each port that none has come to yet; sent before the entry there, they would be lost."""
        reached = {ends[1] for ends in self._findings.heard}
        answered = {ends[0] for ends in self._findings.heard}
        for datapath_id, datapath in self._datapaths.items():
            messages = DiscoveryMessages(datapath)
            for port in self._findings.ports[datapath_id]:
                if (datapath_id, port) not in reached & answered:
                    datapath.send_msg(messages.send_frame(port, probe(self._key, datapath_id, port)))

    def _release(self, now: float) -> None:
        """Remove our entries from the switches; end when they have confirmed that, or soon."""
        self._is_ending, self._ends_at = True, now + _RELEASE_TIMEOUT
        for datapath_id, datapath in self._datapaths.items():
            messages = DiscoveryMessages(datapath)
            self._unreleased.add(datapath_id)
            datapath.send_msg(messages.release())
            datapath.send_msg(messages.barrier())

    def _end(self) -> None:
        Path(self._options.result).write_text(json.dumps(self._findings.to_json()))
        os._exit(0)  # the framework cannot end its threads

    def _drop(self, datapath: Any, reason: str) -> None:
        self.logger.warning("connection of switch %s is dropped: %s", datapath_text(datapath.id or 0), reason)
        self._close(datapath)
