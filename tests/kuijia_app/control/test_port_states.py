"""All of a port's state counts: what is up and yet carries nothing is no live port, and is named."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest

from kuijia_app.control.findings import FindingKind
from kuijia_app.control.openflow_reading import port_state
from kuijia_app.control.port_states import PortState, PortStates
from kuijia_app.tables.identifiers import FIRST_BFD_PORT, LAST_PORT

MOST_COMING, MOST_OTHERS, SETTLES = 1024, 8, 1.0

USES = {3: "london", 7: "rome"}
GOOD = {number: PortState(number, f"eth{number}", is_live=True) for number in USES}


def kinds(states: PortStates, now: float = 10.0) -> dict[int | None, FindingKind]:
    return {each.key.port: each.key.kind for each in states.findings("paris", USES, (), now)}


def test_ports_that_are_right_are_live_and_have_no_finding() -> None:
    states = PortStates()
    assert states.described("paris", GOOD, USES, 0.0) == {3: True, 7: True}
    assert kinds(states) == {}
    assert states.is_usable("paris", 3)
    assert not states.dropping


def test_a_port_that_its_switch_does_not_call_live_is_down_and_named_unless_that_passes_soon() -> None:
    states = PortStates()
    assert states.described("paris", {**GOOD, 3: PortState(3)}, USES, 0.0) == {3: False, 7: True}
    assert kinds(states, SETTLES / 2) == {}
    assert kinds(states, SETTLES) == {3: FindingKind.PORT_NOT_LIVE}
    assert states.changed("paris", GOOD[3], 2.0, is_there=True)
    assert kinds(states) == {}


def test_a_port_that_ceases_to_be_live_while_it_runs_is_named_once_that_has_lasted() -> None:
    states = PortStates()
    states.described("paris", GOOD, USES, 0.0)
    for began in (5.0, 20.0):
        assert not states.changed("paris", PortState(3), began, is_there=True)
        states.changed("paris", PortState(3, "eth3"), began + SETTLES / 2, is_there=True)  # goes on as it was
        assert kinds(states, began + SETTLES * 3 / 4) == {}
        assert kinds(states, began + SETTLES) == {3: FindingKind.PORT_NOT_LIVE}
        states.changed("paris", GOOD[3], began + 2, is_there=True)
    for state, now in ((PortState(3), 40.0), (PortState(3, is_up=False), 41.0), (PortState(3), 50.0)):
        states.changed("paris", state, now, is_there=True)
    assert kinds(states, 50.0 + SETTLES / 2) == {}


def test_a_switch_that_calls_no_port_live_is_not_asked_for_it() -> None:
    states = PortStates()
    assert states.described("paris", {3: PortState(3), 7: PortState(7, is_up=False)}, USES, 0.0) == {3: True, 7: False}
    assert kinds(states) == {}
    # Once it has, it is.
    assert states.changed("paris", GOOD[7], 1.0, is_there=True)
    assert not states.is_usable("paris", 3)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (PortState(3, is_live=True, no_forward=True), "has no-forward"),
        (PortState(3, is_live=True, no_receive=True), "has no-receive"),
        (PortState(3, is_live=True, is_blocked=True), "is blocked"),
    ],
)
def test_a_port_that_drops_on_purpose_is_live_for_its_switch_but_not_usable(wrong: PortState, words: str) -> None:
    states = PortStates()
    assert states.described("paris", {**GOOD, 3: wrong}, USES, 0.0)[3]
    assert not states.is_usable("paris", 3)
    assert states.dropping == {("paris", 3)}
    (finding,) = states.findings("paris", USES, (), 10.0)
    assert finding.key.kind is FindingKind.PORT_DISABLED
    assert words in finding.text


def test_a_port_that_is_missing_is_named_with_those_that_the_plan_does_not_use() -> None:
    states = PortStates()
    local = 0xFFFFFFFE  # OFPP_LOCAL, which no cable can have
    states.described("paris", {7: GOOD[7], 32: PortState(32, "eth3"), local: PortState(local, "br0")}, USES, 0.0)
    (finding,) = states.findings("paris", USES, (), 10.0)
    assert finding.text == "port 3 to london is missing; it has port 32 (eth3), which the plan does not use"
    assert not states.is_usable("paris", 3)


def test_a_port_that_is_deleted_while_it_runs_is_missing_and_one_that_is_only_down_is_not() -> None:
    states = PortStates()
    states.described("paris", GOOD, USES, 0.0)
    assert not states.changed("paris", PortState(3, is_up=False), 1.0, is_there=True)
    assert kinds(states) == {}
    assert not states.changed("paris", GOOD[3], 1.0, is_there=False)
    assert kinds(states) == {3: FindingKind.PORT_MISSING}


def test_missing_ports_of_sessions_are_one_finding_that_keeps_the_plan_from_being_in_force() -> None:
    states = PortStates()
    states.described("paris", {**GOOD, 1000: PortState(1000)}, (*USES, 1000, 1001), 0.0)
    (finding,) = states.findings("paris", USES, (1000, 1001, 1002, 1003), 10.0)
    assert finding.is_lack
    assert finding.text == "3 ports of BFD sessions are missing: 1001, 1002, 1003"


def test_ports_of_sessions_that_are_made_for_the_next_plan_are_remembered() -> None:
    states = PortStates()
    states.described("paris", GOOD, USES, 0.0)
    assert not states.may_matter("paris", LAST_PORT + 1, USES)
    for port in (1000, 1001):
        assert states.may_matter("paris", port, USES)
        states.changed("paris", PortState(port), 1.0, is_there=True)
    assert list(states.findings("paris", USES, (1000, 1001), 10.0)) == []
    states.changed("paris", PortState(1001), 2.0, is_there=False)
    assert [each.key.kind for each in states.findings("paris", USES, (1000, 1001), 10.0)] == [
        FindingKind.SESSION_PORT_MISSING
    ]


def test_a_port_that_gets_another_number_is_named_with_it() -> None:
    states = PortStates()
    states.described("paris", GOOD, USES, 0.0)
    states.changed("paris", GOOD[3], 1.0, is_there=False)
    assert states.may_matter("paris", 32, USES)
    states.changed("paris", PortState(32, "eth3"), 1.0, is_there=True)
    (finding,) = states.findings("paris", USES, (), 2.0)
    assert "port 3 to london is missing; it has port 32 (eth3)" in finding.text


def test_no_more_ports_outside_the_plan_are_remembered_than_are_named() -> None:
    states = PortStates()
    states.described("paris", GOOD, USES, 0.0)
    for port in range(20, 20 + MOST_OTHERS):
        assert states.may_matter("paris", port, USES)
        states.changed("paris", PortState(port), 1.0, is_there=True)
    assert not states.may_matter("paris", 50, USES)
    assert states.may_matter("paris", 20, USES)  # it may go
    assert states.may_matter("paris", 3, USES)


def test_a_switch_with_any_number_of_ports_costs_little_memory() -> None:
    states = PortStates()
    states.described("paris", {number: PortState(number) for number in range(1, 100_000)}, USES, 0.0)
    assert sum(states.state("paris", number) is not None for number in range(1, 100_000)) < MOST_COMING + 20
    for number in range(1, 100_000):
        if states.may_matter("paris", number, USES):
            states.changed("paris", PortState(number), 1.0, is_there=True)
    assert sum(states.state("paris", number) is not None for number in range(1, 100_000)) < MOST_COMING + 20


@pytest.mark.parametrize("package", ["os_ken", "ryu"])
def test_every_bit_of_a_description_is_read_and_a_name_is_shown_safely(package: str) -> None:
    ofproto = importlib.import_module(f"{package}.ofproto.ofproto_v1_3")

    def read(config: int = 0, state: int = 0, name: bytes = b"eth0\0\0") -> PortState:
        return port_state(ofproto, SimpleNamespace(port_no=3, name=name, config=config, state=state))

    assert read() == PortState(3, "eth0")
    assert read(state=ofproto.OFPPS_LIVE) == PortState(3, "eth0", is_live=True)
    assert read(state=ofproto.OFPPS_LINK_DOWN) == read(ofproto.OFPPC_PORT_DOWN) == PortState(3, "eth0", is_up=False)
    assert read(state=ofproto.OFPPS_BLOCKED).is_blocked
    assert read(ofproto.OFPPC_NO_FWD).no_forward
    assert read(ofproto.OFPPC_NO_RECV).no_receive
    assert read(ofproto.OFPPC_NO_PACKET_IN).no_packet_in
    assert read(name=b"\x1b[2J\xff\n").name == "?[2J??"


def test_a_port_may_come_while_another_thread_looks_for_missing_ones() -> None:
    states = PortStates()
    states.described("paris", GOOD, USES, 0.0)

    class Uses(dict[int, str]):
        """Uses of ports, at a look into which a port of the switch comes."""

        def __contains__(self, port: object) -> bool:
            states.changed("paris", PortState(50_000 + len(states._states["paris"])), 1.0, is_there=True)
            return super().__contains__(port)

    assert list(states.findings("paris", Uses(USES), (), 1.0)) == []
    assert states.state("paris", 50_002) is not None


def test_a_port_that_comes_with_a_new_connection_has_its_time_to_settle_again() -> None:
    states = PortStates()
    states.described("paris", {**GOOD, 3: PortState(3)}, USES, 0.0)
    states.forget("paris")
    states.described("paris", {**GOOD, 3: PortState(3)}, USES, 10.0)
    assert kinds(states, 10.0 + SETTLES / 2) == {}


def test_ports_that_a_switch_invents_anew_with_each_description_are_not_remembered() -> None:
    states = PortStates()
    for first in range(70_000, 80_000, 1000):
        invented = {number: PortState(number) for number in range(first, first + 1000)}
        states.described("paris", {**GOOD, **invented}, USES, 0.0)
    assert sum(map(len, states._unsettled.values())) <= 1000


@pytest.mark.parametrize(("missing", "more"), [(8, ""), (9, ", ...")])
def test_eight_missing_ports_of_sessions_are_listed_and_no_more(missing: int, more: str) -> None:
    states = PortStates()
    states.described("paris", GOOD, USES, 0.0)
    (finding,) = states.findings("paris", USES, range(1000, 1000 + missing), 10.0)
    listed = "1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007"
    assert finding.text == f"{missing} ports of BFD sessions are missing: {listed}{more}"


@pytest.mark.parametrize("others", [MOST_COMING - 2, MOST_COMING])
def test_room_is_for_so_many_ports_of_sessions_and_a_port_on_the_bound_is_one(others: int) -> None:
    coming = [FIRST_BFD_PORT, LAST_PORT, *range(FIRST_BFD_PORT + 1, FIRST_BFD_PORT + others - 1)]
    states = PortStates()
    states.described("paris", {number: PortState(number) for number in (*coming, LAST_PORT + 1)}, (), 0.0)
    assert states.may_matter("paris", LAST_PORT, ())  # it is remembered
    assert states.may_matter("paris", 60_000, ()) is (others < MOST_COMING)
    assert all(states.state("paris", number) is not None for number in coming)
    assert states.state("paris", LAST_PORT + 1) is None
    for port in range(1, 1 + MOST_OTHERS):
        assert states.may_matter("paris", port, ())
        states.changed("paris", PortState(port), 1.0, is_there=True)
    assert not states.may_matter("paris", MOST_OTHERS + 1, ())


def test_the_last_and_the_first_port_of_sessions_may_come_although_others_fill_their_room() -> None:
    states = PortStates()
    others = range(1, 1 + MOST_OTHERS)
    states.described("paris", {number: PortState(number) for number in (*others, FIRST_BFD_PORT)}, (), 0.0)
    assert states.state("paris", FIRST_BFD_PORT) is not None
    states.forget("paris")
    assert not states.has_described("paris")
    assert states.state("paris", 1) is None
    states.described("paris", {number: PortState(number) for number in others}, (), 0.0)
    assert states.has_described("paris")
    assert [states.may_matter("paris", port, ()) for port in (FIRST_BFD_PORT - 1, FIRST_BFD_PORT, LAST_PORT)] == [
        False,
        True,
        True,
    ]


def test_a_description_without_a_port_ends_its_time_to_settle() -> None:
    states = PortStates()
    for now, described in ((0.0, {**GOOD, 3: PortState(3)}), (1.0, {7: GOOD[7]}), (9.0, {**GOOD, 3: PortState(3)})):
        states.described("paris", described, USES, now)
    assert kinds(states, 9.0 + SETTLES / 2) == {}
    assert kinds(states, 9.0 + SETTLES) == {3: FindingKind.PORT_NOT_LIVE}
