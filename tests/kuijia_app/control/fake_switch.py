"""A switch whose messages reach the application one by one, whatever the framework's threads do."""

from __future__ import annotations

import json
import threading
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kuijia_app.control.roles import UNDEFINED
from kuijia_app.framework.seam import ofproto
from kuijia_app.tables.identifiers import NO_PRIORITY
from tests.kuijia_app.control.applications import Application

PARSER = import_module("os_ken.ofproto.ofproto_v1_3_parser")
T1 = 16
S1, S2 = 1, 2
"""Datapath ids."""

MOST_MESSAGES = 1000
"""Of one connection."""

EMPTYING = (ofproto.OFPGC_ADD, ofproto.OFPGC_MODIFY)


class FakeSwitch:
    """One connection of a switch that knows no bundles: records what it is sent, and answers when it is told to."""

    ofproto = ofproto
    ofproto_parser = PARSER
    answered_at_once = 2
    """Messages: the question for its role, and the barrier after it."""

    def __init__(self, application: Application, datapath_id: int) -> None:
        self._application = application
        self._datapath_id = datapath_id
        self._answered = 0
        self.id: int | None = None
        self.sent: list[Any] = []
        self.ports = dict.fromkeys(range(1, 5), True)
        self.ports_in_a_part = 4
        self.generation = UNDEFINED
        self.refuses: type | None = None
        self.is_closed = threading.Event()
        self.address = ("127.0.0.1", 1)

    def send_msg(self, message: object) -> None:
        self.sent.append(message)

    def close(self) -> None:
        self.is_closed.set()

    def connect(self) -> None:
        """Report the features, and only then let the framework note the datapath id, as os-ken's threads may do."""
        self._application.switch_connected(self._event(datapath_id=self._datapath_id))
        self.id = self._datapath_id
        self.answer(self.answered_at_once)

    def answer(self, at_most: int = 1000) -> None:
        """Answer what it was sent, also what is sent meanwhile."""
        end = self._answered + at_most
        while self._answered < min(len(self.sent), end):
            assert self._answered < MOST_MESSAGES, "it is sent messages without end"
            message = self.sent[self._answered]
            self._answered += 1
            self._reply(message)

    def refuse(self, message: Any, error_type: int, code: int) -> None:  # noqa: ANN401
        self._application.switch_answered_with_an_error(self._event(xid=message.xid, type=error_type, code=code))

    def port_goes(self, port: int, *, live: bool) -> None:
        description = SimpleNamespace(port_no=port, name=b"", config=0, state=self._state(live=live))
        self._application.port_status(self._event(desc=description, reason=ofproto.OFPPR_MODIFY))

    def changes(self) -> list[Any]:
        """The messages that change its tables."""
        sent = [message for message in self.sent if isinstance(message, PARSER.OFPFlowMod | PARSER.OFPGroupMod)]
        return [message for message in sent if getattr(message, "priority", None) != NO_PRIORITY]

    def emptied_groups(self) -> list[int]:
        return [
            message.group_id
            for message in self.sent
            if isinstance(message, PARSER.OFPGroupMod) and not message.buckets and message.command in EMPTYING
        ]

    def _reply(self, message: object) -> None:
        """Do as one message says, and answer it."""
        if isinstance(message, PARSER.OFPBarrierRequest):
            self._application.barrier_replied(self._event(xid=message.xid))
        elif isinstance(message, PARSER.OFPRoleRequest):
            reply = self._event(xid=message.xid, role=message.role, generation_id=self.generation)
            self._application.role_replied(reply)
        elif isinstance(message, PARSER.OFPPortDescStatsRequest):
            self._describe_ports()
        elif isinstance(message, PARSER.ONFBundleCtrlMsg):
            self.refuse(message, ofproto.OFPET_BAD_REQUEST, ofproto.OFPBRC_BAD_EXPERIMENTER)
        elif self.refuses is not None and isinstance(message, self.refuses):
            self.refuse(message, ofproto.OFPET_GROUP_MOD_FAILED, ofproto.OFPGMFC_OUT_OF_GROUPS)

    @staticmethod
    def _state(*, live: bool) -> int:
        return 0 if live else int(ofproto.OFPPS_LINK_DOWN)

    def _describe_ports(self) -> None:
        numbers = list(self.ports)
        for start in range(0, len(numbers), self.ports_in_a_part):
            body = [
                SimpleNamespace(
                    port_no=number, name=b"", config=0, state=0 if self.ports[number] else ofproto.OFPPS_LINK_DOWN
                )
                for number in numbers[start : start + self.ports_in_a_part]
            ]
            more = start + self.ports_in_a_part < len(numbers)
            flags = ofproto.OFPMPF_REPLY_MORE if more else 0
            self._application.ports_described(self._event(body=body, flags=flags))

    def _event(self, **details: object) -> SimpleNamespace:
        return SimpleNamespace(msg=SimpleNamespace(datapath=self, **details))


def events(tmp_path: Path, *kinds: str) -> list[dict[str, Any]]:
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] in kinds]


def connected(application: Application, datapath_id: int) -> FakeSwitch:
    switch = FakeSwitch(application, datapath_id)
    switch.connect()
    switch.answer()
    return switch
