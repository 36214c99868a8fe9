"""BFD sessions over a real Open vSwitch, carried by handmade flow entries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kuijia_app.tables.bfd import BfdSession
from kuijia_base.commands import run_command
from kuijia_base.errors import InputError, TestbedError
from testbed.lab.cuts import fail_link, heal_link
from testbed.network.bfd import MISSING
from testbed.network.calibration import calibrate
from testbed.network.leftovers import interfaces
from testbed.network.network import EmulatedNetwork
from testbed.network.queue_counters import read_queue_counters
from tests.kuijia_app.dummy_switches import wait_until
from tests.testbed.emulated import running_network

pytestmark = pytest.mark.emulation

INTERVAL_MS = 30
SESSION = BfdSession(16, ("a", "b", "c"))
OTHER = BfdSession(17, ("a", "c"))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedNetwork]:
    with running_network(tmp_path_factory.mktemp("run")) as network:
        yield network


def program_session(network: EmulatedNetwork, session: BfdSession) -> None:
    """Add entries that carry the session's packets from inner port to inner port, in the control queue."""
    for path in (session.nodes, session.nodes[::-1]):
        wiring = network.wiring
        network.ovs.ofctl(
            "add-flow",
            network.bridge(path[0]),
            f"in_port={session.inner_port},actions=push_mpls:0x8847,set_field:{session.label}->mpls_label,"
            f"set_field:6->mpls_tc,set_queue:0,output:{wiring.port(path[0], path[1])}",
        )
        for before, switch, after in zip(path, path[1:], path[2:], strict=False):
            network.ovs.ofctl(
                "add-flow",
                network.bridge(switch),
                f"in_port={wiring.port(switch, before)},mpls,mpls_label={session.label},"
                f"actions=set_queue:0,output:{wiring.port(switch, after)}",
            )
        network.ovs.ofctl(
            "add-flow",
            network.bridge(path[-1]),
            f"in_port={wiring.port(path[-1], path[-2])},mpls,mpls_label={session.label},"
            f"actions=pop_mpls:0x0800,output:{session.inner_port}",
        )


def is_up(network: EmulatedNetwork, session: BfdSession, switch: str) -> bool:
    return network.bfd.states()[session][switch].up


@pytest.fixture
def session(network: EmulatedNetwork) -> Iterator[BfdSession]:
    program_session(network, SESSION)
    network.bfd.add([SESSION], INTERVAL_MS)
    network.bfd.wait_until([SESSION], up=True)
    yield SESSION
    network.bfd.remove([SESSION])


def test_a_session_sees_a_link_in_the_middle_of_its_path_go_and_come_back(
    network: EmulatedNetwork, session: BfdSession
) -> None:
    flaps = network.bfd.flaps()
    fail_link(network, "b", "c")
    try:
        wait_until(lambda: not is_up(network, session, "a"), "the far end notices")
        assert network.bfd.states()[session]["a"].diagnostic == "Control Detection Time Expired"
    finally:
        heal_link(network, "b", "c")
    network.bfd.wait_until([session], up=True)
    wait_until(lambda: network.bfd.flaps() == flaps + 4, "both ends have gone down and up")


def test_a_path_that_is_broken_one_way_is_down_at_both_ends(network: EmulatedNetwork, session: BfdSession) -> None:
    network.ovs.ofctl("del-flows", network.bridge("b"), f"in_port={network.wiring.port('b', 'a')}")
    try:
        network.bfd.wait_until([session], up=False)
        assert network.bfd.states()[session]["a"].diagnostic == "Neighbor Signaled Session Down"
    finally:
        program_session(network, session)
    network.bfd.wait_until([session], up=True)


@pytest.mark.usefixtures("session")
def test_its_packets_wait_in_the_control_queue(network: EmulatedNetwork) -> None:
    def sent() -> dict[str, int]:
        counters = read_queue_counters(network.interface("b", 1), network.options.layout)
        return {each.queue: each.sent_packets for each in counters}

    before = sent()
    wait_until(lambda: sent()["control"] > before["control"] + 10, "packets pass b")
    assert {**sent(), "control": 0} == {**before, "control": 0}


def test_links_carry_what_they_should_beside_a_session(network: EmulatedNetwork, session: BfdSession) -> None:
    calibrate(network)
    assert is_up(network, session, "a")
    assert is_up(network, session, "c")


@pytest.mark.parametrize("death", ["down", "deleted", "removed"])
def test_a_port_that_dies_takes_its_session_down_and_can_be_replaced(
    network: EmulatedNetwork, session: BfdSession, death: str
) -> None:
    match death:
        case "down":
            run_command(["ip", "link", "set", "s1-b16", "down"])
        case "deleted":
            run_command(["ip", "link", "delete", "s1-b16"])
        case "removed":
            network.ovs.vsctl("del-port", "s1", "s1-b16")
            assert network.bfd.states()[session]["a"] == MISSING
    network.bfd.wait_until([session], up=False)
    if death == "down":
        run_command(["ip", "link", "set", "s1-b16", "up"])
    else:
        network.bfd.remove([session])
        network.bfd.add([session], INTERVAL_MS)
    network.bfd.wait_until([session], up=True)


def test_sessions_come_and_go_beside_others(network: EmulatedNetwork, session: BfdSession) -> None:
    program_session(network, OTHER)
    network.bfd.add([OTHER], INTERVAL_MS)
    network.bfd.wait_until([session, OTHER], up=True)
    network.bfd.remove([OTHER])
    assert list(network.bfd.states()) == [session]
    assert not {name for name in interfaces() if name.endswith("17")}
    network.bfd.remove([OTHER])


def test_a_session_that_nothing_carries_is_named(network: EmulatedNetwork) -> None:
    lonely = BfdSession(18, ("b", "a", "c"))
    network.bfd.add([lonely], INTERVAL_MS)
    try:
        with pytest.raises(TestbedError, match=r"^the BFD session of tunnel 18 \(b-a-c\) is not up after 0.1 s: b"):
            network.bfd.wait_until([lonely], up=True, timeout=0.1)
    finally:
        network.bfd.remove([lonely])


def test_an_interval_that_cannot_be_had_is_refused(network: EmulatedNetwork) -> None:
    with pytest.raises(InputError, match=r"^testbed:BFD interval: 0 ms is out of bounds, expected 1 to 10000 ms$"):
        network.bfd.add([OTHER], 0)
    assert OTHER not in network.bfd.states()
