"""What one switch says of roles is verified with the others; standing down ends."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from kuijia_app.control.pair import Pair
from kuijia_app.control.roles import UNDEFINED, first_generation, is_later
from kuijia_app.controller import KuijiaController
from kuijia_app.framework import event_log
from kuijia_app.framework.seam import ofproto
from tests.kuijia_app.control.fake_switch import PARSER, S1, S2, FakeSwitch, connected, events

LEASE, LONGEST_WAIT = 0.8, 51.2

S3, S4 = 3, 4
IS_SLAVE = ofproto.OFPET_BAD_REQUEST, ofproto.OFPBRC_IS_SLAVE
STALE = ofproto.OFPET_ROLE_REQUEST_FAILED, ofproto.OFPRRFC_STALE


class Network:
    """A controller with all switches of its plan, on simulated time."""

    def __init__(self, application: KuijiaController, monkeypatch: pytest.MonkeyPatch) -> None:
        self.application, self.now = application, 100.0
        monkeypatch.setattr(application._runtime, "now", lambda: self.now)
        self.switches = {number: connected(application, number) for number in (S1, S2, S3, S4)}

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.1)):
            self.now += 0.1
            self.application._control.time_passed()
            for switch in self.switches.values():
                switch.answer()

    def deny(self, number: int, error: tuple[int, int] = IS_SLAVE) -> None:
        """Let a switch refuse the first change that it was sent."""
        self.switches[number].refuse(self.switches[number].changes()[0], *error)

    def come_again(self, number: int, generation: int = UNDEFINED) -> FakeSwitch:
        """Let a switch come back, empty, with a generation id that it has seen."""
        self.application.switch_disconnected(SimpleNamespace(datapath=self.switches[number]))
        switch = self.switches[number] = FakeSwitch(self.application, number)
        switch.generation = generation
        switch.connect()
        switch.answer()
        return switch


@pytest.fixture
def network(application: KuijiaController, monkeypatch: pytest.MonkeyPatch) -> Network:
    return Network(application, monkeypatch)


def masters(switch: FakeSwitch) -> list[int]:
    """Return the generation ids by which a switch was claimed."""
    asked = (message for message in switch.sent if isinstance(message, PARSER.OFPRoleRequest))
    return [message.generation_id for message in asked if message.role == ofproto.OFPCR_ROLE_MASTER]


@pytest.mark.parametrize("error", [IS_SLAVE, STALE])
def test_a_role_error_of_one_switch_leaves_the_others_to_the_controller(
    network: Network, tmp_path: Path, error: tuple[int, int]
) -> None:
    network.deny(S3, error)
    network.pass_time(0.1)
    assert events(tmp_path, event_log.ROLE_LOST) == []
    (denied,) = events(tmp_path, event_log.ROLE_DENIED)
    assert denied["switch"] == "s3"
    network.switches[S2].port_goes(2, live=False)
    assert network.switches[S1].emptied_groups()
    assert network.come_again(S2).changes(), "a wiped switch that reconnects is programmed"


def kinds_sent(network: Network, number: int, seconds: float) -> set[str]:
    """Let time pass; return the kinds of messages that a switch is sent meanwhile."""
    switch = network.switches[number]
    before = len(switch.sent)
    network.pass_time(seconds)
    return {type(message).__name__ for message in switch.sent[before:]}


def test_a_switch_that_denies_is_not_even_polled_until_it_is_claimed_again(network: Network) -> None:
    assert "OFPFlowStatsRequest" in kinds_sent(network, S3, 60.0)
    network.deny(S3)
    assert kinds_sent(network, S3, LEASE - 0.2) <= {"OFPRoleRequest"}


def test_a_controller_that_stands_down_sends_nothing_to_switches_that_did_not_deny_it(network: Network) -> None:
    for number in (S1, S2, S3):
        network.deny(number, STALE)
    network.pass_time(0.1)
    assert kinds_sent(network, S4, LEASE - 0.2) <= {"OFPRoleRequest"}


def test_a_later_id_of_one_switch_that_comes_again_leaves_the_others_to_the_controller(
    network: Network, tmp_path: Path
) -> None:
    liar = network.come_again(S3, first_generation(900, 1))
    assert liar.changes() == []
    network.pass_time(0.1)
    assert events(tmp_path, event_log.ROLE_LOST) == []
    assert network.come_again(S2).changes()


def test_a_switch_that_denies_is_claimed_again_above_what_it_tells(network: Network) -> None:
    later = first_generation(900, 1)
    liar = network.come_again(S3, later)
    network.pass_time(LEASE + 0.2)
    assert is_later(masters(liar)[-1], later)
    assert liar.changes(), "it is programmed again"


def test_a_switch_that_denies_every_claim_is_claimed_ever_less_often(network: Network, tmp_path: Path) -> None:
    for _ in range(300):
        liar = network.switches[S3]
        claims = [each for each in liar.sent if isinstance(each, PARSER.OFPRoleRequest)]
        liar.refuse(claims[-1], *STALE)
        network.pass_time(0.3)
    assert 3 <= len(masters(network.switches[S3])) <= 10
    assert len(events(tmp_path, event_log.ROLE_DENIED)) <= 6
    assert events(tmp_path, event_log.ROLE_LOST) == []


def test_a_controller_stands_down_when_most_switches_deny_it_and_says_so_once(network: Network, tmp_path: Path) -> None:
    for number in (S1, S2):
        network.deny(number, STALE)
    network.pass_time(0.1)
    assert events(tmp_path, event_log.ROLE_LOST) == [], "two of four are not most"
    network.deny(S3, STALE)
    (lost,) = events(tmp_path, event_log.ROLE_LOST)
    assert lost["switches"] == 3
    before = len(network.switches[S4].changes())
    network.switches[S2].port_goes(2, live=False)
    assert len(network.switches[S4].changes()) == before


def test_a_controller_that_has_stood_down_wrongly_acts_again(network: Network, tmp_path: Path) -> None:
    for number in (S1, S2, S3):
        network.deny(number, STALE)
    network.pass_time(LEASE + 0.5)  # asked for their ids, they tell none that is later
    assert len(events(tmp_path, event_log.ROLE_LOST, event_log.ROLE_TAKEN)) == 2
    assert network.come_again(S2).changes()


def test_a_controller_that_has_stood_down_rightly_stays_quiet(network: Network, tmp_path: Path) -> None:
    later = first_generation(2, 9)
    for number in (S1, S2, S3):
        network.switches[number].generation = later
        network.deny(number, STALE)
    network.pass_time(2 * LONGEST_WAIT)
    assert len(events(tmp_path, event_log.ROLE_LOST, event_log.ROLE_TAKEN)) == 1
    assert network.come_again(S2, later).changes() == []


def test_a_switch_alone_with_a_controller_does_not_silence_it_for_those_that_come_later(
    application: KuijiaController, tmp_path: Path
) -> None:
    liar = connected(application, S3)
    liar.refuse(liar.changes()[0], *STALE)
    assert len(events(tmp_path, event_log.ROLE_LOST)) == 1
    honest = connected(application, S1)
    application._control.time_passed()
    honest.answer()
    assert honest.changes()


def test_one_switch_does_not_make_one_of_a_pair_stand_by(network: Network, tmp_path: Path) -> None:
    pair = Pair(1, network.now)
    network.application.roles.join(pair)
    pair.is_acting = True
    network.deny(S3)
    network.pass_time(5.0)
    assert pair.is_acting
    assert events(tmp_path, event_log.ROLE_YIELDED) == []
    claims = masters(network.switches[S1])
    assert len(claims) > 40, "it goes on renewing its claims"
    for number in (S1, S2):
        network.deny(number, STALE)
    network.deny(S3, STALE)
    assert not pair.is_acting
