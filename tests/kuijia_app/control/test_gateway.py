"""The gateway of hosts over connections: what it puts on switches again, and which entries are its own."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from kuijia_app.control.findings import Findings
from kuijia_app.control.gateway import HOSTS_RENEWED, RENEWED, Gateway
from kuijia_app.control.neighbours import LearnedHosts
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.tables.neighbours import standing_entries
from kuijia_app.tables.rules import FlowEntry
from tests.kuijia_app.control.test_neighbours import EAST, says
from tests.kuijia_app.control.test_neighbours import gateway as learned_hosts

EVERY_HOST = 2 * HOSTS_RENEWED + 1


class Connection:
    """A connection that keeps what it is to send for hosts."""

    def __init__(self, switch: str) -> None:
        self.switch = switch
        self.sent: list[FlowEntry] = []
        self.messages = SimpleNamespace(
            put_neighbour=lambda entry, *_: entry, put_meter=lambda *_: None, reports_of_ports=lambda: None
        )

    def send_for_hosts(self, messages: Iterable[Any], then: object = None) -> None:
        del then  # nobody answers
        self.sent += messages


class Rig:
    """The gateway of one switch, with hosts that have said who they are."""

    def __init__(self, hosts: int) -> None:
        self.now = 0.0
        self.learned: LearnedHosts = learned_hosts()
        self.connection = Connection("e")
        connections: Any = {"e": self.connection}
        self.gateway = Gateway(self.learned, connections, Findings(), lambda: self.now)
        self.gateway._put_all(connections["e"])
        for number in range(1, hosts + 1):
            self.learned.arrived("e", 1, says(bytes((2, 0, 0, 0, 0, number)), f"10.0.1.{number}"), 0.0)
        self.standing = [each.entry for each in standing_entries(EAST)]

    def turn(self) -> list[FlowEntry]:
        """Return the entries of hosts that are put on the switch when the next turn has come."""
        self.connection.sent.clear()
        self.now += RENEWED
        self.gateway.tend()
        assert self.connection.sent[: len(self.standing)] == self.standing
        return self.connection.sent[len(self.standing) :]


def test_the_entries_of_few_hosts_are_put_on_a_switch_again_in_each_turn() -> None:
    rig = Rig(3)
    assert rig.turn() == rig.turn() == list(rig.learned.entries("e"))


def test_those_of_many_hosts_have_their_turns_one_after_the_other() -> None:
    rig = Rig(EVERY_HOST)
    turns = [rig.turn() for _ in range(4)]
    entries = list(rig.learned.entries("e"))
    assert [len(turn) for turn in turns[:3]] == [HOSTS_RENEWED, HOSTS_RENEWED, 1]
    assert [*turns[0], *turns[1], *turns[2]] == entries
    assert turns[3] == turns[0]


def test_its_own_entries_are_the_standing_ones_and_those_of_hosts() -> None:
    rig = Rig(2)
    wanted = [*rig.standing, *rig.learned.entries("e")]
    assert rig.gateway.entries("e") == {FlowKey.of(entry): entry for entry in wanted}
    assert rig.gateway.entries("a switch without hosts") == {}
