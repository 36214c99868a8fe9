from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from kuijia_app.preparation.sessions import SessionEnd, cable_commands, ends_of, port_arguments, session_settings
from kuijia_app.tables.bfd import LAST_BFD_PATH_ID, BfdSession
from kuijia_app.tables.wiring import MAX_SITES, Wiring
from kuijia_base.errors import TestbedError
from te_solver.model.topology import Topology
from testbed.network.bfd import BfdCables, EndState, parse_bfd_show
from testbed.network.bridges import bridge_name
from tests.testbed.emulated import TRIANGLE, topology

SESSION = BfdSession(17, ("a", "b", "c"))


def ends_in(network: Topology, session: BfdSession) -> tuple[SessionEnd, SessionEnd]:
    """Return the ends of a session in the emulation."""
    return ends_of(session, lambda switch: bridge_name(Wiring(network), switch))


ENDS = ends_in(topology(TRIANGLE), SESSION)

# Taken from Open vSwitch 3.1.
SHOWN = """\
---- s3-b17 ----
	Forwarding: false
	Detect Multiplier: 3
	Concatenated Path Down: false
	TX Interval: Approx 1000ms
	RX Interval: Approx 1000ms
	Detect Time: now -104ms
	Next TX Time: now +312ms
	Last TX Time: now -500ms

	Local Flags: none
	Local Session State: init
	Local Diagnostic: Control Detection Time Expired
	Local Discriminator: 0x6f8a1a4e
	Local Minimum TX Interval: 1000ms
	Local Minimum RX Interval: 30ms

	Remote Flags: none
	Remote Session State: down
	Remote Diagnostic: No Diagnostic
	Remote Discriminator: 0x00000000
	Remote Minimum TX Interval: 0ms
	Remote Minimum RX Interval: 1ms
	Remote Detect Multiplier: 3
---- s1-b17 ----
	Forwarding: true

	Local Flags: none
	Local Session State: up
	Local Diagnostic: No Diagnostic

	Remote Flags: none
	Remote Session State: down
"""


def words(arguments: list[str]) -> list[str]:
    return " ".join(arguments).removeprefix("-- ").split(" -- ")


def test_a_session_has_a_cable_at_either_end_and_none_between() -> None:
    assert [(end.switch, end.bridge, end.watched, end.inner) for end in ENDS] == [
        ("a", "s1", "s1-b17", "s1-i17"),
        ("c", "s3", "s3-b17", "s3-i17"),
    ]
    assert [" ".join(command) for command in cable_commands(ENDS[:1])] == [
        "link add name s1-b17 up type veth peer name s1-i17",
        "link set s1-i17 up",
    ]


def test_the_longest_names_of_cables_are_no_longer_than_the_kernel_allows() -> None:
    nodes = tuple(f"n{number}" for number in range(MAX_SITES))
    session = BfdSession(LAST_BFD_PATH_ID, (nodes[0], nodes[-1]))
    _, last = ends_in(Topology("large", nodes, ()), session)
    assert (last.watched, last.inner) == ("s65535-b32155", "s65535-i32155")
    assert len(last.watched) < 16


def test_only_the_watched_port_runs_the_session_and_both_have_fixed_numbers() -> None:
    assert words(port_arguments(ENDS[:1], 30)) == [
        "--may-exist add-port s1 s1-i17",
        "set Interface s1-i17 ofport_request=1003",
        "--may-exist add-port s1 s1-b17",
        "set Interface s1-b17 ofport_request=1002 bfd:enable=true bfd:min_tx=30 bfd:min_rx=30 bfd:mult=3",
    ]


@pytest.mark.parametrize(("interval_ms", "multiplier"), [(1, 50), (10, 5), (16, 4), (17, 3), (30, 3), (10_000, 3)])
def test_a_session_waits_for_three_packets_and_at_least_50_ms(interval_ms: int, multiplier: int) -> None:
    assert session_settings(interval_ms)["mult"] == str(multiplier)


def test_what_open_vswitch_shows_is_read() -> None:
    assert parse_bfd_show(SHOWN) == {
        "s3-b17": EndState(up=False, state="init", diagnostic="Control Detection Time Expired"),
        "s1-b17": EndState(up=True, state="up", diagnostic="No Diagnostic"),
    }
    assert parse_bfd_show("") == {}


class Machine:
    """Records its calls, and answers as Open vSwitch would for the ports that were added."""

    def __init__(self) -> None:
        self.ports: dict[str, int] = {}
        self.links: list[str] = []
        self.answers = True

    def vsctl(self, *arguments: str) -> str:
        if not self.answers:
            raise TestbedError("No space left on device")
        if "list" in arguments:
            if "--columns=name,bfd_status" in arguments:
                status = ["map", [["flap_count", "1"]]]
                return json.dumps({"data": [[name, status] for name in self.ports]})
            return json.dumps({"data": [[name, number, []] for name, number in self.ports.items()]})
        for words in " ".join(arguments).split("-- "):
            match words.split():
                case ["set", "Interface", name, request, *_]:
                    self.ports[name] = int(request.removeprefix("ofport_request="))
                case ["--if-exists", "del-port", _, name]:
                    self.ports.pop(name, None)
        return ""

    def appctl(self, *arguments: str) -> str:
        assert arguments == ("bfd/show",)
        return "".join(
            f"---- {name} ----\n  Forwarding: true\n  Local Session State: up\n  Local Diagnostic: No Diagnostic\n"
            for name in self.ports
            if "-b" in name
        )

    def make_links(self, commands: Sequence[list[str]]) -> None:
        self.links += [command[3] for command in commands if command[1] == "add"]

    def delete_links(self, names: Sequence[str]) -> None:
        self.links = [link for link in self.links if link not in names]


@pytest.mark.parametrize("together", [True, False], ids=["switches of one machine", "a machine for each switch"])
def test_cables_are_laid_asked_for_and_taken_away_where_their_switches_are(together: bool) -> None:  # noqa: FBT001
    one = Machine()
    machines = {switch: one if together else Machine() for switch in "abc"}
    cables = BfdCables(machines.__getitem__, lambda session: ends_of(session, lambda switch: f"s-{switch}"))
    other = BfdSession(18, ("a", "c", "b"))
    cables.add([SESSION, other], 30)
    assert "s-a-b17" in machines["a"].links
    assert machines["c"].ports["s-c-i17"] == SESSION.inner_port
    up = EndState(up=True, state="up", diagnostic="No Diagnostic")
    assert cables.states() == {SESSION: {"a": up, "c": up}, other: {"a": up, "b": up}}
    assert cables.flaps() == 4
    cables.remove([other])
    assert cables.sessions == (SESSION,)
    assert sorted({link for machine in machines.values() for link in machine.links}) == ["s-a-b17", "s-c-b17"]
    cables.delete_devices()
    assert not any(machine.links for machine in machines.values())
    assert cables.states() == {}


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def cables(machine: Machine) -> BfdCables:
    return BfdCables(lambda _: machine, lambda session: ends_of(session, lambda switch: f"s-{switch}"))


def test_cables_that_cannot_be_laid_are_taken_away_and_can_be_laid_later(machine: Machine, cables: BfdCables) -> None:
    machine.answers = False
    with pytest.raises(TestbedError, match="No space left"):
        cables.add([SESSION], 30)
    assert not machine.links
    assert not cables.sessions
    machine.answers = True
    cables.add([SESSION], 30)
    assert cables.sessions == (SESSION,)


def test_cables_that_cannot_be_taken_away_can_be_later(machine: Machine, cables: BfdCables) -> None:
    cables.add([SESSION], 30)
    machine.answers = False
    with pytest.raises(TestbedError, match="No space left"):
        cables.remove([SESSION])
    assert cables.sessions == (SESSION,)
    machine.answers = True
    cables.remove([SESSION])
    assert not machine.links
    assert not machine.ports
    assert not cables.sessions
