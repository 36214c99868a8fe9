"""What the application makes of what switches say, message by message, whatever the framework's threads do."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.controller import OPTION_GROUP, KuijiaController
from kuijia_app.identifiers import liveness_group
from kuijia_app.seam import cfg, ofproto
from te_solver.plan_file import save_plan
from tests.kuijia_app.plans import motivation_plan

PARSER = import_module("os_ken.ofproto.ofproto_v1_3_parser")
T1 = 16
S1, S2 = 1, 2
"""Datapath ids."""


class FakeSwitch:
    """One connection of a switch: records what it is sent."""

    ofproto = ofproto
    ofproto_parser = PARSER

    def __init__(self, application: KuijiaController, datapath_id: int) -> None:
        self._application = application
        self._datapath_id = datapath_id
        self.id: int | None = None
        self.sent: list[Any] = []

    def send_msg(self, message: object) -> None:
        self.sent.append(message)

    def connect(self) -> None:
        """Report the features, and only then let the framework note the datapath id, as os-ken's threads may do."""
        self._application.switch_connected(self._event(datapath_id=self._datapath_id))
        self.id = self._datapath_id

    def acknowledge(self) -> None:
        """Answer every barrier, also those that are sent meanwhile."""
        position = 0
        while position < len(self.sent):
            message = self.sent[position]
            if isinstance(message, PARSER.OFPBarrierRequest):
                self._application.barrier_replied(self._event(xid=message.xid))
            position += 1

    def describe_ports(self, live: dict[int, bool], *, more: bool = False) -> None:
        body = [
            SimpleNamespace(port_no=number, config=0, state=0 if is_live else ofproto.OFPPS_LINK_DOWN)
            for number, is_live in live.items()
        ]
        flags = ofproto.OFPMPF_REPLY_MORE if more else 0
        self._application.ports_described(self._event(body=body, flags=flags))

    def emptied_groups(self) -> list[int]:
        return [
            message.group_id
            for message in self.sent
            if isinstance(message, PARSER.OFPGroupMod)
            and message.command == ofproto.OFPGC_MODIFY
            and not message.buckets
        ]

    def _event(self, **details: object) -> SimpleNamespace:
        return SimpleNamespace(msg=SimpleNamespace(datapath=self, **details))


@pytest.fixture
def application(tmp_path: Path) -> Iterator[KuijiaController]:
    save_plan(motivation_plan(), tmp_path / "plan.json")
    cfg.CONF([], project="kuijia", default_config_files=[])
    cfg.CONF.set_override("plan", str(tmp_path / "plan.json"), group=OPTION_GROUP)
    yield KuijiaController()
    cfg.CONF.reset()
    cfg.CONF.clear_override("plan", group=OPTION_GROUP)


def test_a_switch_is_known_by_its_features_before_its_connection_has_an_id(application: KuijiaController) -> None:
    switch = FakeSwitch(application, S1)
    switch.connect()
    switch.acknowledge()
    assert sum(isinstance(message, PARSER.OFPFlowMod) for message in switch.sent) > 1


def test_a_port_list_in_several_parts_is_judged_as_a_whole(application: KuijiaController) -> None:
    ingress, switch = FakeSwitch(application, S1), FakeSwitch(application, S2)
    for each in (ingress, switch):
        each.connect()
        each.acknowledge()
    switch.describe_ports({1: True}, more=True)
    switch.describe_ports({2: True, 3: True})
    assert ingress.emptied_groups() == []
    switch.describe_ports({1: True}, more=True)
    switch.describe_ports({2: False, 3: True})
    assert ingress.emptied_groups() == [liveness_group(T1)]


def test_every_barrier_has_an_id_of_its_own(application: KuijiaController) -> None:
    switch = FakeSwitch(application, S1)
    switch.connect()
    switch.acknowledge()
    ids = [message.xid for message in switch.sent if isinstance(message, PARSER.OFPBarrierRequest)]
    assert len(ids) == len(set(ids)) == 4


def test_what_an_old_connection_still_says_is_not_taken_for_the_new_one(application: KuijiaController) -> None:
    old, new = FakeSwitch(application, S1), FakeSwitch(application, S1)
    old.connect()
    new.connect()
    before = len(new.sent)
    old.acknowledge()
    application.switch_disconnected(SimpleNamespace(datapath=old))
    assert len(new.sent) == before
    new.acknowledge()
    assert sum(isinstance(message, PARSER.OFPFlowMod) for message in new.sent) > 1
