from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from kuijia_app.preparation.queues import ROOT_CLASS, htb_commands
from kuijia_app.tables.wiring import Wiring
from kuijia_base.commands import run_batch
from kuijia_base.errors import TestbedError
from testbed.links.link_probes import FRAME_BYTES, LinkProbeError, ProbeCounts, ProbeSink, ProbeStream, ProbeTiming
from testbed.links.port_status import set_devices
from testbed.machine.ovs import Datapath
from testbed.machine.run_directory import RunDirectory
from testbed.network import network as network_module
from testbed.network.bridges import NetworkOptions
from testbed.network.calibration import ATTEMPTS, LinkCalibration, calibrate
from testbed.network.network import EmulatedNetwork
from tests.testbed.emulated import CAPACITY, TRIANGLE, running_network, topology

GOOD = LinkCalibration("a", "b", capacity=20.0, rate=19.9, high_share=0.999, low_share=0.4)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedNetwork]:
    with running_network(tmp_path_factory.mktemp("run")) as network:
        yield network


@pytest.fixture
def from_b_to_c(network: EmulatedNetwork) -> Iterator[str]:
    """Return the interface of one directed link; its queues are repaired after the test."""
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


class Untouched:
    """A network without devices: its probes arrive as given, whatever is sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, outcome: Callable[[str, int], float]) -> None:
        """Create it; `outcome` gives the share of the capacity that arrives, by receiving device and run."""
        wired = topology(TRIANGLE)
        with RunDirectory.create(folder) as run:
            self.network = EmulatedNetwork(wired, Wiring(wired), run, NetworkOptions(datapath=Datapath.KERNEL))
        self.streams: list[ProbeStream] = []
        self._outcome = outcome
        self.runs = 0
        monkeypatch.setattr(network_module, "run_probes", self._run_probes)

    def _run_probes(
        self, streams: Sequence[ProbeStream], sinks: Sequence[ProbeSink], timing: ProbeTiming
    ) -> ProbeCounts:
        self.runs += 1
        self.streams += streams
        sent = [round(stream.frames_per_second * timing.measure) for stream in streams]
        room = {sink.interface: CAPACITY * 1e6 / 8 / FRAME_BYTES * timing.measure for sink in sinks}
        arrived = []
        for frames, sink in zip(sent, sinks, strict=True):
            arrived.append(round(min(frames, room[sink.interface] * self._outcome(sink.interface, self.runs))))
            room[sink.interface] -= frames
        return ProbeCounts(tuple(sent), tuple(arrived), timing.measure)


def test_what_arrives_is_judged_by_link_and_measured_again_where_it_is_too_little(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    untouched = Untouched(monkeypatch, tmp_path, lambda device, run: 0.5 if (device, run) == ("s2-eth1", 1) else 1.0)
    said: list[str] = []
    results = calibrate(untouched.network, report=said.append)
    links = untouched.network.topology.links
    assert [(result.source, result.target) for result in results] == [link.ends for link in links]
    assert all(result.rate == pytest.approx(CAPACITY, rel=0.01) for result in results)
    assert all(result.low_share == pytest.approx(0.4, abs=0.01) for result in results)
    assert len(said) == 1
    assert said[0].startswith("measuring again: link a-b carries ")
    assert len(untouched.streams) == 2 * (len(links) + 1)
    assert {stream.skb_priority for stream in untouched.streams} == {1 << 16 | 2, 1 << 16 | 3}


def test_links_that_carry_too_little_together_are_measured_again_one_by_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    untouched = Untouched(monkeypatch, tmp_path, lambda _, run: 0.7 if run == 1 else 1.0)
    results = calibrate(untouched.network)
    assert all(result.rate == pytest.approx(CAPACITY, rel=0.01) for result in results)
    assert untouched.runs == 1 + len(untouched.network.topology.links)


def test_a_device_that_is_down_is_told_as_its_link(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(_device: str, _run: int) -> float:
        raise LinkProbeError("s3-eth2", OSError(errno.ENETDOWN, "Network is down"))

    network = Untouched(monkeypatch, tmp_path, fail).network
    with pytest.raises(TestbedError, match=r"^link c-b cannot be measured: Network is down$"):
        calibrate(network)


@pytest.mark.emulation
def test_every_directed_link_carries_its_capacity_in_strict_order(network: EmulatedNetwork) -> None:
    results = calibrate(network)
    assert [(result.source, result.target) for result in results] == [link.ends for link in network.topology.links]
    for result in results:
        assert result.rate == pytest.approx(CAPACITY, rel=0.05)
        assert result.high_share > 0.95
        assert result.low_share == pytest.approx(0.4, abs=0.05)


@pytest.mark.emulation
def test_a_link_of_the_wrong_rate_is_found(network: EmulatedNetwork, from_b_to_c: str) -> None:
    change = f"class change dev {from_b_to_c} parent 1: classid {ROOT_CLASS} htb rate 15mbit ceil 15mbit"
    run_batch("tc", [change.split()])
    said: list[str] = []
    with pytest.raises(TestbedError, match=r"^link b-c carries 1[45]\.\d\d Mbit/s instead of 20; "):
        calibrate(network, report=said.append)
    assert len(said) == ATTEMPTS - 1
    assert all(line.startswith("measuring again: link b-c carries ") for line in said)


@pytest.mark.emulation
def test_a_link_whose_queues_are_not_strict_is_found(network: EmulatedNetwork, from_b_to_c: str) -> None:
    ceiling = "htb rate 12kbit ceil 20mbit burst 1522 cburst 12500 quantum 1522"
    change = f"class change dev {from_b_to_c} parent {ROOT_CLASS} classid 1:2 {ceiling} prio 2"
    run_batch("tc", [change.split()])
    with pytest.raises(TestbedError, match=r"^link b-c carries only \d\d\.\d% of the normal traffic"):
        calibrate(network)


@pytest.mark.emulation
def test_a_link_that_is_down_cannot_be_measured(network: EmulatedNetwork, from_b_to_c: str) -> None:
    set_devices([from_b_to_c], up=False)
    with pytest.raises(TestbedError, match=r"^link b-c cannot be measured: Network is down$"):
        calibrate(network)
    set_devices([from_b_to_c], up=True)
