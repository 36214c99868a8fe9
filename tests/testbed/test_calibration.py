from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.calibration import LinkCalibration, calibrate
from testbed.commands import run_batch
from testbed.errors import TestbedError
from testbed.link_state import set_devices
from testbed.network import Network
from testbed.queues import htb_commands
from tests.testbed.emulated import CAPACITY, running_network

GOOD = LinkCalibration("a", "b", capacity=20.0, rate=19.9, high_share=0.999, low_share=0.4)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with running_network(tmp_path_factory.mktemp("run")) as network:
        yield network


@pytest.fixture
def from_b_to_c(network: Network) -> Iterator[str]:
    """The interface of one directed link, whose queues are put right again after the test."""
    interface = network.interface("b", network.wiring.port("b", "c"))
    yield interface
    commands = htb_commands(interface, CAPACITY, network.options.layout, network.options.buffer_packets)
    run_batch("tc", [["class", "change", *command[2:]] for command in commands if command[0] == "class"])


def test_a_link_within_tolerance_has_no_fault() -> None:
    assert GOOD.fault(tolerance=0.05) is None


@pytest.mark.parametrize(
    ("rate", "high_share", "fault"),
    [
        (18.9, 1.0, "link a-b carries 18.90 Mbit/s instead of 20"),
        (21.1, 1.0, "link a-b carries 21.10 Mbit/s instead of 20"),
        (20.0, 0.9, "link a-b carries only 90.0% of the normal traffic while victims are waiting"),
    ],
)
def test_a_link_out_of_tolerance_is_named_with_what_is_wrong(rate: float, high_share: float, fault: str) -> None:
    assert LinkCalibration("a", "b", 20.0, rate, high_share, low_share=0.4).fault(tolerance=0.05) == fault


@pytest.mark.emulation
def test_every_directed_link_carries_its_capacity_in_strict_order(network: Network) -> None:
    results = calibrate(network)
    assert [(result.source, result.target) for result in results] == [link.ends for link in network.topology.links]
    for result in results:
        assert result.rate == pytest.approx(CAPACITY, rel=0.05)
        assert result.high_share > 0.95
        assert result.low_share == pytest.approx(0.4, abs=0.05)


@pytest.mark.emulation
def test_a_link_of_the_wrong_rate_is_found(network: Network, from_b_to_c: str) -> None:
    change = f"class change dev {from_b_to_c} parent 1: classid 1:fffe htb rate 15mbit ceil 15mbit"
    run_batch("tc", [change.split()])
    said: list[str] = []
    with pytest.raises(TestbedError, match=r"^link b-c carries 1[45]\.\d\d Mbit/s instead of 20; "):
        calibrate(network, report=said.append)
    assert len(said) == 2
    assert all(line.startswith("measuring again: link b-c carries ") for line in said)


@pytest.mark.emulation
def test_a_link_whose_queues_are_not_strict_is_found(network: Network, from_b_to_c: str) -> None:
    ceiling = "htb rate 12kbit ceil 20mbit burst 1522 cburst 12500 quantum 1522"
    change = f"class change dev {from_b_to_c} parent 1:fffe classid 1:2 {ceiling} prio 2"
    run_batch("tc", [change.split()])
    with pytest.raises(TestbedError, match=r"^link b-c carries only \d\d\.\d% of the normal traffic"):
        calibrate(network)


@pytest.mark.emulation
def test_a_link_that_is_down_cannot_be_measured(network: Network, from_b_to_c: str) -> None:
    set_devices([from_b_to_c], up=False)
    with pytest.raises(TestbedError, match=r"^link b-c cannot be measured: Network is down$"):
        calibrate(network)
    set_devices([from_b_to_c], up=True)
