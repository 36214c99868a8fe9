"""What rounds of counters of one link show, computed by hand."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace

import pytest

from kuijia_app.control.counter_rounds import CounterRound, CounterRounds, QueueState, _Mean
from kuijia_app.control.sliced_work import at_once
from kuijia_app.control.snapshot import PortCounters, Snapshot
from tests.kuijia_app.control.counted_network import CountedNetwork
from tests.kuijia_app.plans import motivation_plan


@dataclass
class Count:
    """All that has been counted until now, of one stream and of the ports of its first link."""

    time: float = 0.0
    sent: int = 0
    frames: int = 0
    sent_bytes: int = 0
    received: int = 0
    arrived: int = 0


class FirstLink:
    """Rounds of the first link of tunnel 16, of `capacity` Mbit/s; other counters stand still."""

    def __init__(self, capacity: float = 20.0) -> None:
        plan = motivation_plan()
        network = CountedNetwork(replace(plan, topology=plan.topology.with_capacity(capacity)), 1)
        self.stream = network.streams[("s1", 16), 1]
        self._network = network
        self._rounds = CounterRounds()
        self._rounds.follow(network.counters)
        self._group, self._bucket = next(
            (group.group_id, bucket)
            for group in network.tables["s1"].groups
            for bucket, stream in enumerate(network.counters.of_bucket("s1", group))
            if stream is self.stream
        )
        self._count = Count()
        self._take()

    def round(
        self,
        sent: int = 0,
        frames: int | None = None,
        received: int | None = None,
        arrived: int | None = None,
        sent_bytes: int = 0,
        seconds: float = 1.0,
    ) -> QueueState:
        """Add a round; frames are those that were sent, and arrive, unless the test says otherwise."""
        frames = sent if frames is None else frames
        count = self._count
        count.time += seconds
        count.sent += sent
        count.frames += frames
        count.sent_bytes += sent_bytes
        count.received += frames if received is None else received
        count.arrived += frames if arrived is None else arrived
        moves = self._take()
        assert moves is not None
        return self._rounds.queue_before(self.stream, self.stream.hops[0], moves)

    def _take(self) -> CounterRound | None:
        found: list[CounterRound | None] = []

        def whole() -> Generator[None, None, None]:
            found.append(
                (yield from self._rounds.taking({name: self._snapshot(name) for name in self._network.tables}))
            )

        at_once(whole())
        return found[0]

    def _snapshot(self, switch: str) -> Snapshot:
        hops, count = self.stream.hops, self._count
        whole = replace(self._network.snapshot(switch), asked_at=count.time)
        arrived = {hop.entries[0]: count.arrived for hop in hops if hop.receiver == switch}
        whole = replace(whole, packets={**whole.packets, **arrived})
        if switch == "s1":
            buckets = list(whole.buckets[self._group])
            buckets[self._bucket] = count.sent
            port = PortCounters(0, count.frames, count.sent_bytes, 0, 0, 0, 0)
            return replace(
                whole, buckets={**whole.buckets, self._group: tuple(buckets)}, ports={hops[0].out_port: port}
            )
        if switch == "s2":
            return replace(whole, ports={hops[0].in_port: PortCounters(count.received, 0, 0, 0, 0, 0, 0)})
        return whole


def test_a_mean_weighs_rounds_by_their_age_and_is_low_while_it_knows_little() -> None:
    mean = _Mean()
    assert mean.with_round(100, 5.0) == pytest.approx(0.5 * 20 / 0.5)  # half a life: weight 0.5
    assert mean.with_round(300, 5.0) == pytest.approx((0.25 * 20 + 0.5 * 60) / 0.75)
    assert mean.weight == pytest.approx(0.75)
    assert _Mean().with_round(100, 1.0) == pytest.approx((1 - 0.5**0.2) * 100 / 0.5)


@pytest.mark.parametrize(("seconds", "frames"), [(1.0, 2197), (2.0, 4394), (0.5, 1098)])
def test_queues_may_hold_packets_back_once_a_port_sends_nine_tenths_of_what_its_link_carries(
    seconds: float, frames: int
) -> None:
    for number in (frames, frames + 1):  # of 1,024 bytes on the wire: 18 Mbit/s are 2,197.3 a second
        state = FirstLink().round(number, sent_bytes=1000 * number, seconds=seconds)
        assert state.is_obscured is (number > frames)


@pytest.mark.parametrize(("mbits", "is_obscured"), [(11.9, False), (12.1, True)])
def test_counters_that_differ_in_age_shorten_the_time_in_which_a_port_may_have_sent(
    mbits: float, *, is_obscured: bool
) -> None:
    # A third of what arrives was sent before: 0.9 of 20 Mbit/s in two thirds of a second.
    state = FirstLink().round(100, frames=150, sent_bytes=int(mbits * 1e6 / 8) - 24 * 150)
    assert state.is_obscured is is_obscured


def test_what_a_port_sends_beyond_our_entries_is_taken_for_frames_of_others() -> None:
    doubt = 0.02 * 160 + 3
    assert FirstLink().round(100, frames=160, received=0, arrived=100).vanished == pytest.approx(
        60 - 1.2 * (60 - doubt)
    )


def test_what_is_missing_from_our_streams_is_not_taken_for_frames_of_others() -> None:
    doubt = 0.02 * 160 + 3
    state = FirstLink().round(120, frames=160, received=0, arrived=100)
    assert state.vanished == pytest.approx(60 - 1.2 * (60 - doubt - 20))


def test_frames_of_others_are_known_after_some_rounds_and_forgotten_by_and_by() -> None:
    link = FirstLink()
    assert [link.round(100, frames=160, received=0, arrived=100).doubt for _ in range(3)] == [math.inf] * 3
    assert link.round(100, frames=160, received=0, arrived=100).doubt == pytest.approx(0.02 * 160 + 3)
    *_, state = (link.round(100, received=0) for _ in range(20))  # a half-life of their greatest rate
    assert state.vanished == pytest.approx(-1.2 * (60 - 0.02 * 160 - 3) / 2)


@pytest.mark.parametrize(("lost", "on_link"), [(0, 0), (25, 25)])
def test_what_the_next_port_has_not_received_was_lost_on_the_link(lost: int, on_link: int) -> None:
    state = FirstLink().round(100, received=100 - lost, arrived=100 - lost)
    assert state.on_link == on_link


def test_a_port_that_receives_less_than_our_entries_count_tells_nothing_about_its_link() -> None:
    assert FirstLink().round(100, received=99, arrived=100).on_link is None


@pytest.mark.parametrize(("uncounted", "is_shared"), [(3, False), (4, True)])
def test_a_full_port_is_judged_by_the_next_one_if_others_send_over_it_too(uncounted: int, *, is_shared: bool) -> None:
    link = FirstLink(1.0)
    # Of 150 frames a second, 2 and a hundredth may be uncounted: 3.5.
    rounds = (
        link.round(150 - uncounted, frames=150, received=0, arrived=150 - uncounted, sent_bytes=10**6)
        for _ in range(14)
    )
    *_, state = rounds
    assert state.is_obscured
    assert (state.vanished == 0) is is_shared


def test_what_has_not_arrived_waits_and_is_forgotten_by_and_by() -> None:
    link, waiting = FirstLink(), []
    for arrived in (100, 97, 100):
        link.round(100, received=arrived, arrived=arrived)
        waiting.append(link._rounds._waiting.get(link.stream))
    assert waiting == [None, 3.0, pytest.approx(3 * 0.5 ** (1 / 120))]


@pytest.mark.parametrize("surplus", [100, 200])
def test_what_has_arrived_beyond_what_was_sent_may_be_under_way_later(surplus: int) -> None:
    link = FirstLink()
    for _ in range(8):
        link.round(100)
    link.round(100, frames=100, received=100 + surplus, arrived=100 + surplus)
    state = link.round(100, seconds=1.0)
    assert state.doubt == pytest.approx(1.5 * surplus * 0.5 ** (1 / 120) + 3)
