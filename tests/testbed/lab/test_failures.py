from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia_base.commands import run_command
from kuijia_base.errors import InputError, TestbedError
from testbed.lab.cuts import fail_link, heal_link
from testbed.links.port_status import is_running
from testbed.network.network import EmulatedNetwork
from testbed.network.queue_counters import read_queue_counters
from tests.testbed.emulated import program_path, running_network

pytestmark = pytest.mark.emulation

NOBODY_LISTENS = 1
"""A controller's port: the switches notice failures although they have no controller."""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedNetwork]:
    with running_network(tmp_path_factory.mktemp("run"), controller_port=NOBODY_LISTENS) as network:
        program_path(network, ["a", "b"], label=16)
        program_path(network, ["b", "a"], label=17)
        yield network


def reaches_b(network: EmulatedNetwork) -> bool:
    ping = ["ping", "-c", "1", "-W", "1", str(network.host("b").address)]
    return network.host("a").run(ping).returncode == 0


def test_a_link_is_cut_and_mended_and_both_switches_say_so(network: EmulatedNetwork) -> None:
    assert reaches_b(network)
    before = time.time()
    cut = fail_link(network, "a", "b")
    assert not reaches_b(network)
    mended = heal_link(network, "a", "b")
    assert reaches_b(network)

    assert (cut.a, cut.b, cut.up, mended.up) == ("a", "b", False, True)
    assert before <= cut.requested_at <= mended.requested_at <= time.time()
    for event in (cut, mended):
        assert set(event.delay) == {"a", "b"}
        assert all(0 < delay < 2 for delay in event.delay.values())


def test_both_ends_of_a_cut_link_are_down(network: EmulatedNetwork) -> None:
    fail_link(network, "c", "a")
    ends = [
        network.interface("a", network.wiring.port("a", "c")),
        network.interface("c", network.wiring.port("c", "a")),
    ]
    assert [is_running(end) for end in ends] == [False, False]
    heal_link(network, "a", "c")
    assert [is_running(end) for end in ends] == [True, True]


def test_what_is_down_cannot_be_cut_and_what_is_up_cannot_be_mended(network: EmulatedNetwork) -> None:
    with pytest.raises(InputError, match=r"^testbed:link a-b: the link is up already, expected one that is down$"):
        heal_link(network, "a", "b")
    fail_link(network, "a", "b")
    with pytest.raises(InputError, match=r"^testbed:link b-a: the link is down already, expected one that is up$"):
        fail_link(network, "b", "a")
    heal_link(network, "a", "b")


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("a", "d", "testbed:d: there is no such node, expected one of a, b, c"),
        ("a", "a", "testbed:link a-a: there is no such link, expected one from a to b, c"),
    ],
)
def test_a_link_that_is_not_there_is_bad_input(network: EmulatedNetwork, a: str, b: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        fail_link(network, a, b)
    assert str(caught.value) == message


def test_queues_lost_by_a_link_are_noticed_when_it_is_mended(tmp_path: Path) -> None:
    with running_network(tmp_path, [("a", "b")]) as network:
        fail_link(network, "a", "b")
        run_command(["tc", "qdisc", "delete", "dev", "s1-eth1", "root"])
        with pytest.raises(TestbedError, match=r"^interface s1-eth1 has lost its queues$"):
            heal_link(network, "a", "b")
        with pytest.raises(TestbedError, match=r"^interface s1-eth1 has lost its queues$"):
            read_queue_counters("s1-eth1", network.options.layout)


def test_an_interface_that_has_vanished_is_named(tmp_path: Path) -> None:
    with running_network(tmp_path, [("a", "b")]) as network:
        run_command(["ip", "link", "delete", "s2-eth1"])
        for change in (fail_link, heal_link):
            with pytest.raises(TestbedError, match=r"^interface s1-eth1 has vanished$"):
                change(network, "a", "b")
