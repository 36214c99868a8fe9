"""Tunnels avoid ports that flap, links that one end does not see failing, and switches that lack their tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, permutations
from pathlib import Path
from types import SimpleNamespace

import pytest

from kuijia_app.control.findings import FindingKey, FindingKind
from kuijia_app.controller import KuijiaController, Tick
from kuijia_app.framework import event_log
from kuijia_app.tables.identifiers import (
    TUNNEL_PRIORITY,
    control_last_resort_group,
    last_resort_group,
    liveness_group,
)
from kuijia_app.tables.wiring import Wiring
from tests.kuijia_app.control.applications import application_of
from tests.kuijia_app.control.fake_switch import PARSER, S1, S2, T1, FakeSwitch, connected, events
from tests.kuijia_app.plans import both_ways, plan_of


def test_tunnels_avoid_a_switch_that_refuses_its_tables(application: KuijiaController) -> None:
    ingress = connected(application, S1)
    switch = FakeSwitch(application, S2)
    switch.refuses = PARSER.OFPFlowMod
    switch.connect()
    switch.answer()
    switch.port_goes(1, live=True)
    assert ingress.emptied_groups() == [liveness_group(T1)]


def test_a_tunnel_over_a_switch_that_refuses_its_tables_is_used_once_its_pair_has_no_other(
    application: KuijiaController,
) -> None:
    ingress = connected(application, S1)
    switch = FakeSwitch(application, S2)
    switch.refuses = PARSER.OFPFlowMod
    switch.connect()
    switch.answer()
    ingress.answer()
    before = len(ingress.changes())
    wiring = Wiring(application._control.rollout.in_force.plan.topology)
    for neighbour in ("s3", "s4"):
        ingress.port_goes(wiring.port("s1", neighbour), live=False)
    ingress.answer()
    (filled,) = ingress.changes()[before:]
    assert (filled.group_id, len(filled.buckets)) == (liveness_group(T1), 1)


def test_tunnels_avoid_a_switch_that_comes_back_empty_until_it_is_programmed(application: KuijiaController) -> None:
    ingress, switch = connected(application, S1), connected(application, S2)
    application.switch_disconnected(SimpleNamespace(datapath=switch))
    back = FakeSwitch(application, S2)
    back.connect()
    while not back.changes():
        back.answer(1)
    assert ingress.emptied_groups() == [liveness_group(T1)]
    ingress.answer()
    before = len(ingress.changes())
    back.answer()
    (filled,) = ingress.changes()[before:]
    assert (filled.group_id, len(filled.buckets)) == (liveness_group(T1), 1)


def test_a_flapping_port_is_held_down(application: KuijiaController, tmp_path: Path) -> None:
    ingress, switch = connected(application, S1), connected(application, S2)
    for _ in range(10):
        switch.port_goes(2, live=False)
        switch.port_goes(2, live=True)
        ingress.answer()
    assert [event["port"] for event in events(tmp_path, event_log.PORT_DAMPED)] == [2]
    told = events(tmp_path, event_log.TUNNEL_LIVENESS)
    assert not told[-1]["alive"]
    assert len(told) == 7


def test_a_tunnel_over_a_flapping_port_is_used_once_its_pair_has_no_other(application: KuijiaController) -> None:
    ingress, switch = connected(application, S1), connected(application, S2)
    for _ in range(10):
        switch.port_goes(2, live=False)
        switch.port_goes(2, live=True)
    ingress.answer()
    assert set(ingress.emptied_groups()) == {liveness_group(T1)}
    wiring = Wiring(application._control.rollout.in_force.plan.topology)
    before = len(ingress.changes())
    for neighbour in ("s3", "s4"):
        ingress.port_goes(wiring.port("s1", neighbour), live=False)
    ingress.answer()
    (filled,) = ingress.changes()[before:]
    assert (filled.group_id, len(filled.buckets)) == (liveness_group(T1), 1)
    ingress.port_goes(wiring.port("s1", "s4"), live=True)
    assert ingress.emptied_groups()[-1] == liveness_group(T1)


def test_a_first_link_that_is_down_at_its_far_end_alone_is_told_to_the_ingress_and_healed(
    application: KuijiaController, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(100, 200))
    ingress, switch = connected(application, S1), connected(application, S2)
    monkeypatch.setattr(application._runtime, "now", lambda: float(next(clock)))
    switch.port_goes(1, live=False)
    application.time_passed(Tick(None))
    assert ingress.emptied_groups() == []
    application.time_passed(Tick(None))
    assert ingress.emptied_groups() == [liveness_group(T1)]
    before = len(ingress.changes())
    switch.port_goes(1, live=True)
    ingress.answer()
    application.time_passed(Tick(None))
    (healed,) = ingress.changes()[before:]
    assert healed.group_id == liveness_group(T1)
    assert len(healed.buckets) == 1


class Ring:
    """Four connected switches, of which a sends to c by b alone, and links that fail."""

    def __init__(self, application: KuijiaController) -> None:
        self.application = application
        self.wiring = application.switches.wiring
        self.switches = {name: FakeSwitch(application, self.wiring.datapath_id(name)) for name in "abcd"}
        for name, switch in self.switches.items():
            switch.ports = dict.fromkeys(self.wiring.ports(name), True)
            switch.connect()
        self.answer()

    def answer(self) -> None:
        for _ in range(9):
            for switch in self.switches.values():
                switch.answer()

    def cut(self, link: str, *, live: bool = False) -> None:
        for one, other in permutations(link):
            self.switches[one].port_goes(self.wiring.port(one, other), live=live)

    def named(self) -> list[FindingKey]:
        found = (finding.key for finding in self.application.switches.findings)
        return [key for key in found if key.kind is FindingKind.PAIR_CUT_OFF]


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ring]:
    now = count(1000, 0.3)
    with application_of(plan_of(both_ways("ring", "a b c d", "a-b b-c c-d d-a"), "a-b-c"), tmp_path) as made:
        monkeypatch.setattr(made._runtime, "now", lambda: float(next(now)))
        yield Ring(made)


def test_a_pair_without_a_tunnel_is_carried_by_other_switches_at_once(ring: Ring, tmp_path: Path) -> None:
    transit, ingress = ring.switches["d"], ring.switches["a"]
    before = len(transit.changes())
    ring.cut("bc")
    assert {each.priority for each in transit.changes()[before:]} == {TUNNEL_PRIORITY}
    before = len(ingress.changes())
    ring.answer()
    changed = {each.group_id for each in ingress.changes()[before:] if isinstance(each, PARSER.OFPGroupMod)}
    assert changed == {last_resort_group(3, 0), control_last_resort_group(3)}
    told = [(each["state"], each["ingress"], each["path"]) for each in events(tmp_path, event_log.RESTORATION)]
    assert told == [("carried", "a", ["a", "d", "c"]), ("carried", "c", ["c", "d", "a"])]


def test_a_pair_that_no_link_connects_is_named_until_one_does(ring: Ring, tmp_path: Path) -> None:
    ring.cut("bc")
    ring.answer()
    assert ring.named() == []
    ring.cut("cd")
    ring.answer()
    assert sorted((key.switch, key.detail) for key in ring.named()) == [("a", "c"), ("c", "a")]
    ring.cut("cd", live=True)
    ring.answer()
    assert ring.named() == []
    ring.cut("bc", live=True)
    for _ in range(40):
        ring.application.time_passed(Tick())
        ring.answer()
    told = [each["state"] for each in events(tmp_path, event_log.RESTORATION) if each["ingress"] == "a"]
    assert told == ["carried", "cut-off", "carried", "ended"]
