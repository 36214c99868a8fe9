from __future__ import annotations

from kuijia_app.bfd import LAST_BFD_PATH_ID, BfdSession
from kuijia_app.wiring import MAX_SITES, Wiring
from te_solver.topology import Topology
from testbed.bfd import (
    EndState,
    cable_commands,
    parse_bfd_show,
    port_arguments,
    session_ends,
)
from tests.testbed.emulated import TRIANGLE, topology

SESSION = BfdSession(17, ("a", "b", "c"))
ENDS = session_ends([SESSION], Wiring(topology(TRIANGLE)))

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
    *_, last = session_ends([session], Wiring(Topology("large", nodes, ())))
    assert (last.watched, last.inner) == ("s65535-b32155", "s65535-i32155")
    assert len(last.watched) < 16


def test_only_the_watched_port_runs_the_session_and_both_have_fixed_numbers() -> None:
    assert words(port_arguments(ENDS[:1], 30)) == [
        "add-port s1 s1-i17",
        "set Interface s1-i17 ofport_request=1003",
        "add-port s1 s1-b17",
        "set Interface s1-b17 ofport_request=1002 bfd:enable=true bfd:min_tx=30 bfd:min_rx=30",
    ]


def test_what_open_vswitch_shows_is_read() -> None:
    assert parse_bfd_show(SHOWN) == {
        "s3-b17": EndState(up=False, state="init", diagnostic="Control Detection Time Expired"),
        "s1-b17": EndState(up=True, state="up", diagnostic="No Diagnostic"),
    }
    assert parse_bfd_show("") == {}
