"""The gateway of hosts over connections: which of its entries a switch lacks or has otherwise, as polls show."""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import Mock

import pytest

from kuijia_app.control.findings import Findings
from kuijia_app.control.gateway import PORTLESS, Gateway
from kuijia_app.control.ipv6_frames import NeighbourFrame
from kuijia_app.control.neighbours import PORT_BURST, PORT_RATE, LearnedHosts
from kuijia_app.control.openflow import Messages
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.sliced_work import at_once
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.control.switches import ControlledSwitches
from kuijia_app.control.table_differences import Differing, TableDifferences
from kuijia_app.tables.identifiers import HOST_PRIORITY
from kuijia_app.tables.neighbours import LINK_LOCAL_GATEWAY, Segment, host_entries, standing_entries
from kuijia_app.tables.rules import FlowEntry, LookUpAgain, LowerTtl, Match, Measure, Output, SetEthernet
from kuijia_app.tables.wiring import Wiring
from tests.kuijia_app.control.test_neighbours import EAST, GATEWAY, A, B, asks, packet, says
from tests.kuijia_app.control.test_neighbours import gateway as learned_hosts
from tests.kuijia_app.control.test_openflow_reading import frameworks, library
from tests.kuijia_app.plans import motivation_plan

Metered = tuple[FlowEntry, int | None]
Result = TypeVar("Result")


class Switch:
    """A switch with what it was sent for hosts, over a connection that acknowledges at once unless it is slow."""

    def __init__(self) -> None:
        self.switch = "e"
        self.table: dict[FlowKey, Metered] = {}
        self.packets: dict[FlowKey, int] = {}
        self.by_bytes: dict[bytes, tuple[FlowKey, Metered]] = {}
        self.read = 0
        self.is_slow = False
        self.refuses: Callable[[], object] = lambda: None
        """Called when entries that measure packets are put."""
        self.meters: dict[int, tuple[int, int] | None] = {}
        self.messages: Any = SimpleNamespace(
            put_neighbour=lambda entry, _, meter: partial(self.table.update, {FlowKey.of(entry): (entry, meter)}),
            delete_neighbour=lambda entry: partial(self.table.pop, FlowKey.of(entry), None),
            put_meter=lambda number, *limits: (partial(self.meters.update, {number: limits}),),
            reports_of_ports=lambda: lambda: None,
            send_frame=lambda *_: lambda: None,
            polled_entries=lambda answer: answer,
            is_for_hosts=lambda described: described in self.by_bytes,
            polled_host_entry=self._polled,
        )

    def send_for_hosts(self, messages: Iterable[Callable[[], None]], then: Callable[[], None] | None = None) -> None:
        if self.is_slow:
            list(messages)
            return
        before = set(self.table)
        for message in messages:
            message()
        if any(isinstance(key.match, Match) and key.match.metadata is not None for key in self.table.keys() - before):
            self.refuses()
        if then is not None:
            then()

    def described(self) -> list[tuple[bytes, int]]:
        """Return the entries as bytes, with their packets, after one that is not for hosts."""
        self.by_bytes = {repr(each).encode(): each for each in self.table.items()}
        packets = [(described, self.packets.get(key, 0)) for described, (key, _) in self.by_bytes.items()]
        return [(b"of the plan", 1), *packets]

    def _polled(self, described: bytes) -> tuple[FlowKey, Metered]:
        self.read += 1
        return self.by_bytes[described]


def result_of(task: Generator[None, None, Result]) -> Result:
    """Run a task to its end, and return what it returns."""
    found: list[Result] = []

    def running() -> Iterator[None]:
        found.append((yield from task))

    at_once(running())
    return found[0]


class Rig:
    """The gateway of one switch, which is polled each second."""

    def __init__(self, learned: LearnedHosts | None = None) -> None:
        self.now = 0.0
        self.told: list[str] = []
        self.learned: LearnedHosts = learned or learned_hosts()
        self.switch = Switch()
        connections: Any = {"e": self.switch}
        self.gateway = Gateway(self.learned, connections, Findings(), lambda: self.now, at_once)
        self.gateway.read("e")
        self.says(A, "10.0.1.1")

    def refused(self, reason: str, times: int) -> None:
        self.told += filter(None, (self.gateway.refused("e", reason) for _ in range(times)))

    def says(self, mac: bytes, address: str) -> None:
        self.gateway.arrived("e", 1, says(mac, address))

    def puts_many_again(self) -> Iterator[None]:
        """Return the task that puts the entries of many hosts on the switch, which has lost them."""
        for number in range(2, 60):
            self.says(bytes((2, 0, 0, 0, 1, number)), f"10.0.1.{number}")
        tasks: list[Iterator[None]] = []
        connections: Any = {"e": self.switch}
        gateway = Gateway(self.learned, connections, Findings(), lambda: self.now, tasks.append)
        self.switch.table.clear()
        gateway.read("e")
        (task,) = tasks
        return task

    def key_of(self, address: str) -> FlowKey:
        (key,) = (FlowKey.of(each) for each in self.learned.entries("e") if f"{address}/32" == str(each.match.ipv4_dst))
        return key

    def poll(self, meanwhile: Callable[[], None] = lambda: None) -> Differing:
        """Return what is wrong by a poll that begins in a second; something happens until its answer comes."""
        self.now += 1.0
        answer = self.switch.described()
        told: dict[str, Any] = {"hosts": len(answer) - 1, "answer": answer, "meters": dict(self.switch.meters)}
        snapshot = Snapshot("e", self.now, self.now + 0.1, {}, {}, {}, {}, {}, None, **told)
        meanwhile()
        return result_of(self.gateway.compared(snapshot, self.switch.messages))


def test_what_was_put_on_a_switch_is_right_and_read_once() -> None:
    rig = Rig()
    assert not rig.poll()
    entries = len([*standing_entries(EAST), *rig.learned.entries("e")])
    assert (rig.switch.read, len(rig.switch.table)) == (entries, entries)
    assert not rig.poll()
    assert rig.switch.read == entries


def test_a_deleted_entry_is_missing_and_a_changed_one_is_changed_until_they_are_put_again() -> None:
    rig = Rig()
    rig.says(B, "10.0.1.2")
    assert not rig.poll()
    gone, other = rig.key_of("10.0.1.1"), rig.key_of("10.0.1.2")
    standing = FlowKey.of(next(standing_entries(EAST)).entry)
    rig.switch.table[other] = replace(rig.switch.table[other][0], actions=()), None
    del rig.switch.table[gone], rig.switch.table[standing]
    for _ in range(2):
        found = rig.poll()
        assert (set(found.missing), found.changed) == ({gone, standing}, (other,))
    rig.gateway.read("e")
    assert not rig.poll()


def test_an_entry_with_another_meter_is_changed_unless_the_switch_has_no_meters() -> None:
    rig = Rig()
    for key, (entry, _) in rig.switch.table.items():
        rig.switch.table[key] = entry, None
    metered = {FlowKey.of(each.entry) for each in standing_entries(EAST) if each.meter is not None}
    assert set(rig.poll().changed) == metered
    rig.gateway.refused("e", "OFPET_METER_MOD_FAILED/OFPMMFC_OUT_OF_METERS")
    assert not rig.poll()


@pytest.mark.parametrize("limits", [(40, 500), (201, 500), (100, 249), (100, 1001), None])
def test_a_changed_meter_changes_its_entries_until_it_is_put_again(limits: tuple[int, int] | None) -> None:
    rig = Rig()
    assert not rig.poll()
    rig.switch.meters[1] = limits
    limited = {FlowKey.of(each.entry) for each in standing_entries(EAST) if each.meter == 1}
    for _ in range(2):
        assert set(rig.poll().changed) == limited != set()
    rig.gateway.put_again("e")
    assert not rig.poll()
    assert rig.switch.meters[1] == (PORT_RATE, PORT_BURST)


def test_a_deleted_meter_is_put_again_and_a_rounded_one_is_right() -> None:
    rig = Rig()
    rig.switch.meters[1] = 128, 512
    assert not rig.poll()
    del rig.switch.meters[1]
    assert rig.poll().changed
    assert rig.gateway.has_meters("e")
    rig.gateway.refused("e", "OFPET_METER_MOD_FAILED/OFPMMFC_OUT_OF_METERS")
    assert not rig.gateway.has_meters("e")
    assert not rig.poll().changed


def test_what_is_put_after_a_poll_has_begun_may_be_missing_in_it() -> None:
    rig = Rig()
    assert not rig.poll(lambda: rig.says(B, "10.0.1.2"))
    assert not rig.poll()
    del rig.switch.table[rig.key_of("10.0.1.2")]
    assert rig.poll().missing == (rig.key_of("10.0.1.2"),)


def test_nothing_is_missing_while_all_is_about_to_be_put_again() -> None:
    rig = Rig()
    rig.switch.table.clear()
    rig.switch.is_slow = True
    rig.gateway.read("e")
    assert not rig.poll()
    rig.switch.is_slow = False
    rig.gateway.read("e")
    assert not rig.poll()
    rig.switch.table.clear()
    assert rig.poll()


def test_a_host_that_has_moved_is_judged_by_its_new_entry_alone() -> None:
    rig = Rig()
    assert not rig.poll()
    rig.says(B, "10.0.1.1")
    assert not rig.poll()
    rig.switch.is_slow = True  # the next entry is lost
    rig.says(A, "10.0.1.1")
    assert rig.poll().changed == (rig.key_of("10.0.1.1"),)


def test_entries_that_another_controller_has_left_are_read_once_and_left_to_end() -> None:
    rig = Rig()
    left = replace(next(rig.learned.entries("e")), priority=77)
    rig.switch.table[FlowKey.of(left)] = left, None
    assert not rig.poll()
    read = rig.switch.read
    assert not rig.poll()
    assert rig.switch.read == read


def test_an_entry_for_a_prefix_that_was_behind_a_router_is_deleted_once_it_is_on_the_cable() -> None:
    router = IPv4Address("10.0.9.1")
    behind = replace(EAST, prefixes=(*EAST.prefixes, IPv4Network("10.0.9.0/24")), gateways=(), router=router)
    others = [FlowKey.of(entry) for entry in host_entries(behind, router, str(B), 1)]
    rig = Rig()
    rig.switch.table |= dict.fromkeys(others, (next(rig.learned.entries("e")), None))
    rig.gateway.read("e")
    assert [key for key in others if key in rig.switch.table] == others[:2]  # those to the router alone


def test_an_entry_that_another_controller_has_left_is_judged_once_its_host_is_known() -> None:
    rig = Rig()
    other = learned_hosts()
    other.arrived("e", 1, says(A, "10.0.1.9"), 0.0)
    (left,) = other.entries("e")
    rig.switch.table[FlowKey.of(left)] = left, None
    assert not rig.poll()
    rig.switch.is_slow = True
    rig.says(B, "10.0.1.9")
    assert rig.poll().changed == (rig.key_of("10.0.1.9"),)


def test_packets_that_nothing_carries_are_counted_by_their_entries() -> None:
    rig = Rig()
    refusing = [FlowKey.of(each.entry) for each in standing_entries(EAST) if each.refuses]
    rig.switch.packets = dict.fromkeys(rig.switch.table, 10) | {refusing[0]: 3, refusing[1]: 4}
    rig.poll()
    assert sorted(rig.gateway.refused_packets("e").values()) == [3, 4]


def test_a_switch_that_refuses_entries_for_hosts_is_not_watched_for_them_until_it_is_read_again() -> None:
    rig = Rig()
    assert rig.gateway.is_watching("e")
    assert not rig.gateway.is_watching("a switch without hosts")
    rig.gateway.refused("e", "OFPET_FLOW_MOD_FAILED/OFPFMFC_TABLE_FULL")
    assert not rig.gateway.is_watching("e")
    rig.gateway.read("e")
    assert rig.gateway.is_watching("e")


def test_a_host_that_is_forgotten_while_entries_are_put_again_has_none_afterwards() -> None:
    rig = Rig()
    task = rig.puts_many_again()
    next(task)
    last = rig.key_of("10.0.1.59")
    assert last not in rig.switch.table, "that comes in a later step"
    rig.learned.forget()
    at_once(task)
    assert last not in rig.switch.table


def test_a_host_that_moves_while_entries_are_put_again_has_its_new_entry_afterwards() -> None:
    rig = Rig()
    task = rig.puts_many_again()
    for number, _ in enumerate(task):
        for host in range(2, 60):
            rig.says(bytes((2, 0, 0, 0, 2 + number, host)), f"10.0.1.{host}")
    assert number >= 1
    assert sorted(map(str, rig.learned.entries("e"))) == sorted(
        str(entry) for entry, _ in rig.switch.table.values() if entry.priority == HOST_PRIORITY
    )


def test_two_addresses_whose_numbers_are_equal_modulo_a_prime_are_two_entries() -> None:
    site = Segment("e", (1,), (IPv6Network("2001:db8:1::/64"),), (IPv6Address("2001:db8:1::1"),))
    one, other = IPv6Address("2001:db8:1::5"), IPv6Address("2001:db8:1:0:2000::4")
    assert hash(one) == hash(other)
    rig = Rig(LearnedHosts((site,), site.prefixes, 0.0))
    for address in (one, other):
        asked = NeighbourFrame(True, LINK_LOCAL_GATEWAY, GATEWAY, address)
        rig.gateway.arrived("e", 1, asked.answer(A))
    assert len(list(rig.learned.entries("e"))) == 2
    assert not rig.poll()
    assert not rig.poll()
    gone = next(
        FlowKey.of(each) for each in rig.learned.entries("e") if each.match.ipv6_dst == IPv6Network((other, 128))
    )
    del rig.switch.table[gone]
    assert rig.poll() == Differing(missing=(gone,))


def test_an_entry_that_a_packet_has_missed_is_missing_in_the_next_poll_though_it_was_put_again() -> None:
    rig = Rig()
    assert not rig.poll()
    rig.now += 1.0
    lost = rig.key_of("10.0.1.1")
    del rig.switch.table[lost]
    rig.gateway.arrived("e", 9, packet("10.0.2.1", "10.0.1.1"))
    assert lost in rig.switch.table
    assert rig.poll() == Differing(missing=(lost,))
    assert not rig.poll()


def test_a_switch_without_the_port_of_a_host_is_not_watched_for_a_while() -> None:
    rig = Rig()
    rig.gateway.refused("e", "OFPET_BAD_ACTION/OFPBAC_BAD_OUT_PORT")
    assert not rig.gateway.is_watching("e")
    rig.now += PORTLESS
    assert rig.gateway.is_watching("e")


def test_its_own_entries_are_the_standing_ones_and_those_of_hosts() -> None:
    rig = Rig()
    wanted = [*(each.entry for each in standing_entries(EAST)), *rig.learned.entries("e")]
    assert result_of(rig.gateway.entries("e")) == {FlowKey.of(entry): entry for entry in wanted}
    assert result_of(rig.gateway.entries("a switch without hosts")) == {}


def polled(messages: Messages, entry: FlowEntry, meter: int | None) -> tuple[bytes, int]:
    """Return an entry as a poll finds it, after 7 packets."""
    message = messages.put_neighbour(entry, 3600, meter)
    rest = bytearray()
    message.match.serialize(rest, 0)
    for instruction in message.instructions:
        instruction.serialize(rest, len(rest))
    head = (48 + len(rest), entry.table_id, 9, 0, entry.priority, 0, 3600, 0, message.cookie, 7, 99)
    (found,) = messages.polled_entries([struct.pack("!HBxIIHHHH4xQQQ", *head) + rest])
    return found


@frameworks
def test_entries_for_hosts_are_read_from_a_poll_as_they_were_sent(package: str) -> None:
    messages = Messages(library(package))
    rig = Rig()
    rig.gateway.arrived("e", 1, asks(B, "10.0.1.2", "10.0.1.254"))
    sent: list[Metered] = [(each.entry, each.meter) for each in standing_entries(EAST, 1496)]
    sent += ((entry, None) for entry in rig.learned.entries("e"))
    for entry, meter in sent:
        identity, packets = polled(messages, entry, meter)
        assert (messages.is_for_hosts(identity), messages.is_own(identity), packets) == (True, False, 7)
        assert messages.polled_host_entry(identity) == (FlowKey.of(entry), (entry, meter))


@frameworks
def test_a_changed_measurement_is_not_read_as_ours(package: str) -> None:
    messages = Messages(library(package))
    (entry,) = (each.entry for each in standing_entries(EAST, 1496) if Measure(1510) in each.entry.actions)
    sent, _ = polled(messages, entry, None)
    actions = sent.index(bytes.fromhex("0019 0010 8000 0408"))  # what marks the packet is the first one
    read = [messages.polled_host_entry(sent)[1]]
    for place in (actions + 15, *range(actions + 24, actions + 34), *range(actions + 48, actions + 53)):
        changed = bytearray(sent)
        changed[place] ^= 1
        read.append(messages.polled_host_entry(bytes(changed))[1])
    others = [replace(entry, actions=(Measure(1510 ^ bit), LookUpAgain())) for bit in (1 << 8, 1)]
    assert read == [(entry, None), *3 * [None], *((other, None) for other in others), *11 * [None]]


REFUSED = "OFPET_BAD_ACTION/OFPBAC_BAD_EXPERIMENTER"


def test_a_switch_that_does_not_measure_packets_has_all_other_entries_and_lacks_none() -> None:
    rig = Rig(learned_hosts(mtu=1496))
    measuring = {FlowKey.of(each.entry) for each in standing_entries(EAST, 1496) if each.measures}
    assert measuring <= rig.switch.table.keys()
    assert not rig.poll()
    for put in (rig.gateway.read, rig.gateway.put_again):
        rig.switch.table.clear()
        rig.switch.refuses = lambda: rig.refused(REFUSED, times=2)
        put("e")
        for key in measuring:
            rig.switch.table.pop(key, None)
        assert rig.gateway.is_watching("e")
        assert not rig.poll()
        assert not measuring & rig.switch.table.keys()
    assert rig.told == [f"it measures no packets ({REFUSED}): hosts do not hear of too large ones"]
    rig.switch.refuses = lambda: None  # it is a newer one
    rig.gateway.read("e")
    assert measuring <= rig.switch.table.keys()


@pytest.mark.parametrize("mtu", [None, 0xFFFF - 13])
def test_entries_of_a_controller_that_measured_packets_go_if_this_one_does_not(mtu: int | None) -> None:
    rig = Rig(learned_hosts(mtu=mtu))
    plain = set(rig.switch.table)
    for each in standing_entries(EAST, 1496):
        rig.switch.table[FlowKey.of(each.entry)] = each.entry, each.meter
    assert len(rig.switch.table) == len(plain) + 3
    rig.gateway.read("e")
    assert set(rig.switch.table) == plain
    assert not rig.poll()


def test_a_switch_that_refuses_the_same_in_other_entries_is_named() -> None:
    rig = Rig(learned_hosts(mtu=1496))
    rig.gateway.refused("e", REFUSED)
    assert not rig.gateway.is_watching("e")


def test_a_changed_action_of_an_entry_is_told_from_the_one_that_was_sent() -> None:
    rig = Rig()
    key = rig.key_of("10.0.1.1")
    entry = rig.switch.table[key][0]
    lower, ethernet, output = entry.actions
    assert isinstance(lower, LowerTtl)
    assert isinstance(ethernet, SetEthernet)
    swapped = SetEthernet(ethernet.destination, ethernet.source)
    for other in ((lower, ethernet), (ethernet, output), (lower, swapped, output)):
        rig.switch.table[key] = replace(entry, actions=other), None
        assert rig.poll().changed == (key,)
    assert output == Output(1)


@pytest.mark.parametrize("reason", ["OFPMMFC_METER_EXISTS", "OFPMMFC_UNKNOWN_METER"])
def test_a_meter_that_is_there_or_that_somebody_has_deleted_is_no_lack_of_meters(reason: str) -> None:
    rig = Rig()
    rig.gateway.refused("e", f"OFPET_METER_MOD_FAILED/{reason}")
    assert rig.gateway.is_watching("e")
    assert not rig.poll()


def comparing() -> Generator[None, None, Differing]:
    yield
    return Differing()


def controlled_switches(tasks: list[Iterator[None]]) -> ControlledSwitches:
    runtime: Any = SimpleNamespace(
        now=lambda: 0.0, sliced_work=SimpleNamespace(add=tasks.append), log=Mock(), logger=Mock(), reports=Mock()
    )
    return ControlledSwitches(runtime, Mock(), Wiring(motivation_plan().topology), Mock())


def test_each_change_of_a_port_that_is_not_damped_is_taken_in_once() -> None:
    switches = controlled_switches([])
    switches.gateway = Mock()
    for live, is_damped in ((False, False), (False, False), (True, False), (False, True), (True, True)):
        switches.note_port("s1", 1, live=live, is_damped=is_damped)
    assert [each.kwargs["live"] for each in switches.gateway.port_changed.call_args_list] == [False, True]


def test_a_switch_is_not_asked_for_entries_for_hosts_while_they_are_compared() -> None:
    tasks: list[Iterator[None]] = []
    switches = controlled_switches(tasks)
    switches.gateway = Mock(compared=lambda *_: comparing(), is_watching=lambda _: True)
    connection = switches.connections["s1"] = Mock(unanswered_polls=lambda _: frozenset())
    for watch in (switches.table_watch, switches._host_watch):
        watch.begun("s1", 0.0)
    switches._tables_polled("s1", Snapshot("s1", 0.0, 0.1, {}, {}, {}, {}, {}, None, answer=()), TableDifferences())
    switches.watch_tables(2.0)
    connection.poll.assert_not_called()
    at_once(tasks[0])
    switches.watch_tables(3.0)
    connection.poll.assert_called_once()


def test_entries_for_hosts_are_compared_only_after_a_poll_that_has_asked_for_them() -> None:
    tasks: list[Iterator[None]] = []
    switches = controlled_switches(tasks)
    switches.gateway = Mock(compared=lambda *_: comparing(), is_watching=lambda _: True)
    for watch in (switches.table_watch, switches._host_watch):
        watch.begun("s1", 0.0)
    switches._tables_polled("s1", Snapshot("s1", 0.0, 0.1, {}, {}, {}, {}, {}, None), TableDifferences())
    assert not tasks
