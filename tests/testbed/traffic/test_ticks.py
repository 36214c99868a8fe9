from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest

from kuijia_base.errors import TestbedError
from testbed.machine.programs import OUR_CLOCK, ClockOffset, LocalProgram
from testbed.network.network import EmulatedNetwork
from testbed.traffic.ticks import TickFlow, TickRecord
from tests.kuijia_app.dummy_switches import wait_until
from tests.testbed.emulated import program_path, running_network

PORT = 5201
INTERVAL = 0.001


def test_packets_between_the_first_and_the_last_arrival_that_are_missing_are_lost() -> None:
    sent_at = tuple(number / 1000 for number in range(10))
    assert TickRecord(sent_at, ((2, 0.1), (3, 0.2), (6, 0.3), (5, 0.4))).lost == 1
    assert TickRecord(sent_at, ()).lost == 10


def delivered(counters: str) -> int:
    """Return the UDP packets read, from /proc/net/snmp."""
    names, values = (line.split() for line in counters.splitlines() if line.startswith("Udp:"))
    return int(values[names.index("InDatagrams")])


class Loopback:
    """This machine as a host."""

    name, address, interface = "here", IPv4Address("127.0.0.1"), "lo"

    def launch(self, argv: Sequence[str]) -> LocalProgram:
        return LocalProgram(argv)

    def launch_python(self, file: Path, arguments: Sequence[str]) -> LocalProgram:
        return self.launch([sys.executable, "-I", str(file), *arguments])

    def batch(self, program: Literal["ip", "tc"], commands: Sequence[list[str]]) -> None:
        raise AssertionError(f"{program} is not to change anything: {commands}")

    def clock(self) -> ClockOffset:
        return OUR_CLOCK


def test_programs_tell_what_they_have_noted_when_they_are_told_to_end() -> None:
    here = Loopback()
    counters = Path("/proc/net/snmp")
    before = delivered(counters.read_text())
    with TickFlow(here, here, "127.0.0.1", 0, 27182, INTERVAL) as ticks:
        ticks.start()
        wait_until(lambda: delivered(counters.read_text()) > before + 50, "some packets have arrived")
        record = ticks.stop()
    assert len(record.arrivals) > 0
    assert record.lost == 0
    assert [number for number, _ in record.arrivals] == list(range(len(record.arrivals)))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedNetwork]:
    with running_network(tmp_path_factory.mktemp("run"), [("a", "b")]) as network:
        program_path(network, ["a", "b"], label=16)
        yield network


def flow(network: EmulatedNetwork) -> TickFlow:
    a, b = network.host("a"), network.host("b")
    return TickFlow(a, b, str(a.address), 20000, PORT, INTERVAL)


@pytest.mark.emulation
def test_a_flow_is_steady_and_every_arrival_is_noted(network: EmulatedNetwork) -> None:
    def shown() -> str:
        return network.host("b").run(["cat", "/proc/net/snmp"]).stdout

    before = delivered(shown())
    with flow(network) as ticks:
        ticks.start()
        wait_until(lambda: delivered(shown()) > before + 500, "half a second has been sent")
        record = ticks.stop()
    assert len(record.arrivals) > 500
    assert record.lost == 0
    assert [number for number, _ in record.arrivals] == list(range(len(record.arrivals)))
    # On any busy machine, half of the packets are sent on time.
    pauses = sorted(later - earlier for earlier, later in pairwise(record.sent_at))
    assert pauses[len(pauses) // 2] < 2 * INTERVAL
    assert all(record.sent_at[number] <= at for number, at in record.arrivals)


@pytest.mark.emulation
def test_a_program_that_cannot_be_what_it_should_is_named(network: EmulatedNetwork) -> None:
    a, b = network.host("a"), network.host("b")
    with (
        TickFlow(a, b, "192.0.2.1", 20000, PORT, INTERVAL) as ticks,
        pytest.raises(TestbedError, match=r"^the steady flow's program on a failed: Cannot assign requested address$"),
    ):
        ticks.start()
