"""Cables of a fabric that lose frames are found by the counters of their ports, avoided and named."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hedera.scheduler import HederaScheduler
from hedera.scheduling.polling import LinkCounters
from kuijia_app.control.findings import FindingKind
from kuijia_app.control.loss_watch import LossWatch
from kuijia_app.control.sliced_work import at_once
from kuijia_app.control.snapshot import PortCounters, Snapshot
from kuijia_app.tables.wiring import Wiring
from tests.hedera.test_multi_rooted import leaf_spine
from tests.kuijia_app.control.applications import scheduler_of

NETWORK = leaf_spine(leaves=2, spines=2, hosts=1)
RATE = 2000
"""Frames a second over each cable."""

FRAME = 500
"""Bytes."""


@dataclass
class Cables:
    """Frames that ports have counted.

    Attributes:
        loss: share of frames that a cable loses, by sender and receiver.
        skew: seconds by which switches are read apart.
    """

    wiring: Wiring
    seed: int = 1
    skew: float = 0.01
    loss: dict[tuple[str, str], float] = field(default_factory=dict)
    sent: defaultdict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    received: defaultdict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def pass_by(self, seconds: float) -> None:
        for a, b in self.wiring.topology.edges:
            for sender, receiver in ((a, b), (b, a)):
                frames = round(RATE * seconds * self.random.uniform(0.2, 1.8))
                share = self.loss.get((sender, receiver), 0.0)
                lost = sum(self.random.random() < share for _ in range(frames)) if share else 0
                self.sent[sender, self.wiring.port(sender, receiver)] += frames
                self.received[receiver, self.wiring.port(receiver, sender)] += frames - lost

    def snapshot(self, switch: str, now: float) -> Snapshot:
        ports = {}
        for port in self.wiring.link_ports(switch):
            sent, received = self.sent[switch, port], self.received[switch, port]
            ports[port] = PortCounters(received, sent, sent * FRAME, 0, 0, 0, 0)
        return Snapshot(switch, now, now, {}, {}, {}, {}, ports, None)


class Compared:
    """A fabric whose ports are compared in rounds of a second."""

    def __init__(self, seed: int) -> None:
        self.wiring = Wiring(NETWORK)
        self.cables, self.counters = Cables(self.wiring, seed), LinkCounters(self.wiring)
        self.watch = LossWatch(0.01)
        self.watch.follow(self.counters)
        self.now = 0.0

    def rounds(self, count: int) -> None:
        for _ in range(count):
            at_once(self.watch.begin(self.now, self.wiring.topology.nodes, self.counters.uncounted))
            for switch in self.wiring.topology.nodes:
                counted = self.counters.counted(self.cables.snapshot(switch, self.now))
                at_once(self.watch.taken(counted, self.now, self.counters.uncounted) or iter(()))
                self.cables.pass_by(self.cables.skew)
            self.cables.pass_by(1.0)
            self.now += 1.0


@pytest.mark.parametrize("seed", range(10))
def test_a_cable_that_loses_a_twentieth_one_way_is_found_in_a_few_rounds_and_no_other(seed: int) -> None:
    it = Compared(seed)
    it.rounds(60)
    assert list(it.watch.findings()) == []
    it.cables.loss["l0", "s1"] = 0.05
    it.rounds(8)
    (found,) = it.watch.findings()
    assert (found.key.switch, found.key.port) == ("s1", it.wiring.port("s1", "l0"))
    assert "frames vanish between l0 and s1" in found.text
    assert it.watch.shares.keys() == {("l0", it.wiring.port("l0", "s1"))}


def test_a_switch_that_was_put_right_is_compared_from_its_next_counters_on() -> None:
    it = Compared(1)
    it.cables.skew = 0.0
    it.rounds(5)
    it.cables.loss["l0", "s1"] = 1.0
    it.rounds(2)  # the second shows what was lost in the first
    it.watch.mended("s1", it.now)
    it.cables.loss.clear()
    it.rounds(10)
    assert list(it.watch.findings()) == []


def test_a_switch_that_is_away_while_its_cables_are_quiet_is_left_out() -> None:
    it = Compared(1)
    it.rounds(3)
    at_once(it.watch.begin(it.now, ["s0"], frozenset()))
    at_once(it.watch.taken(it.counters.counted(it.cables.snapshot("s0", it.now)), it.now, frozenset()) or iter(()))
    it.now += 1.0
    it.rounds(3)
    assert list(it.watch.findings()) == []


def test_nothing_is_said_of_cables_whose_ports_do_not_count() -> None:
    wiring = Wiring(NETWORK)
    counters, cables = LinkCounters(wiring), Cables(wiring)
    snapshot = cables.snapshot("s1", 0.0)
    one, other = wiring.port("s1", "l0"), wiring.port("s1", "l1")
    snapshot.ports.pop(one)  # type: ignore[attr-defined]
    snapshot.ports[other] = PortCounters((1 << 64) - 1, 0, 0, 0, 0, 0, 0)  # type: ignore[index]
    counters.counted(snapshot)
    there = ("l0", wiring.port("l0", "s1")), ("s1", one), ("l1", wiring.port("l1", "s1"))
    assert counters.uncounted == set(there)
    counters.counted(cables.snapshot("s1", 1.0))
    assert counters.uncounted == frozenset()


@pytest.fixture
def application(tmp_path: Path) -> Iterator[HederaScheduler]:
    with scheduler_of(NETWORK, tmp_path) as made:
        yield made


def test_routes_avoid_such_a_cable_and_it_is_named(application: HederaScheduler) -> None:
    wiring = application.switches.wiring
    cables, now = Cables(wiring), 0.0
    cables.loss["l0", "s1"] = 0.2
    for _ in range(8):
        at_once(application._loss_watch.begin(now, wiring.topology.nodes, frozenset()))
        for switch in wiring.topology.nodes:
            application.snapshot_taken(cables.snapshot(switch, now))
        cables.pass_by(1.0)
        now += 1.0
    (found,) = application.switches.findings
    assert (found.key.kind, found.key.switch) == (FindingKind.PACKETS_VANISH, "s1")
    assert application._lossy_cables() == [frozenset({frozenset({"l0", "s1"})})]
