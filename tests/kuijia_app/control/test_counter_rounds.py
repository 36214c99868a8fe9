"""What rounds of counters of one link show, computed by hand."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace

import pytest

from kuijia_app.control.counter_rounds import CounterRound, CounterRounds, QueueState, _Mean
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.sliced_work import at_once
from kuijia_app.control.snapshot import PortCounters, Snapshot
from kuijia_app.control.tunnel_counters import TunnelCounters
from kuijia_app.tables.rules import Match
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
    dropped: int = 0


class FirstLink:
    """Rounds of the first link of tunnel 16, of `capacity` Mbit/s, for a queue; other counters stand still."""

    def __init__(self, capacity: float = 20.0, queue: int = 1) -> None:
        plan = motivation_plan()
        network = CountedNetwork(replace(plan, topology=plan.topology.with_capacity(capacity)), 1)
        self.stream = network.streams[("s1", 16), queue]
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
        *,
        frames: int | None = None,
        received: int | None = None,
        arrived: int | None = None,
        sent_bytes: int = 0,
        seconds: float = 1.0,
        dropped: int = 0,
        full: tuple[int, ...] = (0, 0, 0),
    ) -> QueueState:
        """Add a round; frames are those that were sent, and arrive, unless the test says otherwise.

        The port says to have dropped packets, and its queues to have been too full for some.
        """
        frames = sent if frames is None else frames
        count = self._count
        count.time += seconds
        count.sent += sent
        count.frames += frames
        count.sent_bytes += sent_bytes
        count.received += frames if received is None else received
        count.arrived += frames if arrived is None else arrived
        count.dropped += dropped
        for queue, packets in enumerate(full):
            self._network._errors["s1", self.stream.hops[0].out_port, queue] += packets
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
            port = PortCounters(0, count.frames, count.sent_bytes, 0, count.dropped, 0, 0)
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


@pytest.mark.parametrize("sent", [100, 90])
@pytest.mark.parametrize("seconds", [1, 2])
def test_what_a_port_sends_beyond_our_entries_is_taken_for_frames_of_others(sent: int, seconds: int) -> None:
    doubt = 0.02 * 160 + 3
    state = FirstLink().round(
        sent * seconds, frames=160 * seconds, received=0, arrived=100 * seconds, seconds=float(seconds)
    )
    assert state.vanished == pytest.approx(60 * seconds - 1.2 * (60 * seconds - doubt))


@pytest.mark.parametrize(
    ("full", "dropped", "missing"),
    [((0, 0, 0), 0, 20), ((0, 5, 0), 0, 15), ((0, 0, 7), 0, 20), ((0, 0, 0), 7, 20), ((0, -5, 0), 0, 20)],
)
def test_what_is_missing_from_our_streams_is_not_taken_for_frames_of_others_unless_their_queue_drops_it(
    full: tuple[int, ...], dropped: int, missing: int
) -> None:
    doubt = 0.02 * 160 + 3
    link = FirstLink()
    link.round(120, frames=160, received=0, arrived=100, full=full, dropped=dropped)
    place = "s1", link.stream.hops[0].out_port
    assert link._rounds._most_others[place] == pytest.approx(60 - doubt - missing)


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


def test_drops_of_a_port_and_of_a_queue_are_those_of_the_round() -> None:
    link = FirstLink()
    rounds = ((7, 0), (5, 0), (0, 6), (4, 6), (6, 4), (0, 0))
    found = [link.round(100, dropped=dropped, full=(9, errors, 9)).dropped for dropped, errors in rounds]
    assert found == [7, 5, 6, 6, 6, 0]


@pytest.mark.parametrize(("dropped", "sent_bytes", "is_obscured"), [(0, 0, False), (-1, 0, True), (0, -1, True)])
def test_a_port_whose_counters_begin_again_may_have_dropped_packets(
    dropped: int, sent_bytes: int, *, is_obscured: bool
) -> None:
    assert FirstLink().round(0, dropped=dropped, sent_bytes=sent_bytes).is_obscured is is_obscured


def test_a_queue_whose_counter_begins_again_may_have_dropped_packets() -> None:
    link = FirstLink()
    assert not link.round(100, full=(0, 9, 0)).is_obscured
    state = link.round(100, received=90, arrived=80, full=(0, -1, 0))
    assert (state.is_obscured, state.vanished) == (True, 10)
    link._network.counts_queues = False
    assert link.round(100).is_obscured


@pytest.mark.parametrize(("queue", "is_obscured"), [(1, False), (2, True)])
def test_a_queue_that_is_served_after_others_may_starve_while_one_of_them_drops(
    queue: int, *, is_obscured: bool
) -> None:
    link = FirstLink(queue=queue)
    assert not link.round(100).is_obscured
    assert link.round(100, full=(0, 1, 0)).is_obscured is is_obscured
    assert not link.round(100).is_obscured


def test_nothing_is_known_of_a_queue_of_a_switch_that_has_begun_again() -> None:
    link = FirstLink()
    link._rounds.restart("s1")
    assert link.round(100) == QueueState(0, 0.0, is_obscured=True)
    assert not link.round(100).is_obscured


class Tunnels:
    """Rounds of packets of the tunnels 16 (s1-s2-s4), 17 (s1-s4) and 18 (s1-s3-s4)."""

    def __init__(self) -> None:
        self.network = CountedNetwork(motivation_plan(), 1)
        self.streams = [self.network.streams[("s1", path_id), 1] for path_id in (16, 17, 18)]
        self.rounds = CounterRounds()
        self.rounds.follow(self.network.counters)
        self.take()

    def take(self, seconds: float = 0.0) -> CounterRound | None:
        self.network.now += seconds
        found: list[CounterRound | None] = []

        def whole() -> Generator[None, None, None]:
            snapshots = {name: self.network.snapshot(name) for name in self.network.tables}
            found.append((yield from self.rounds.taking(snapshots)))

        at_once(whole())
        return found[0]

    def round(self, *counted: tuple[int, ...], seconds: float = 1.0) -> CounterRound:
        """Add a round: of each tunnel the packets that its bucket counts, and its entries one after the other."""
        for stream, (sent, *arrived) in zip(self.streams, counted, strict=False):
            group_id, bucket = self.network._bucket_of[stream]
            self.network._buckets["s1"][group_id][bucket] += sent
            for hop, packets in zip(stream.hops, arrived, strict=True):
                self.network._entries[hop.receiver][hop.entries[0]] += packets
        moves = self.take(seconds)
        assert moves is not None
        return moves

    def counts(self, moves: CounterRound) -> list[list[int]]:
        return [moves.counts[stream] for stream in self.streams if stream in moves.counts]

    def restarted(self, moves: CounterRound) -> list[int]:
        """Return the path ids of tunnels with a counter that began again."""
        return [stream.tunnel[1] for stream in self.streams if stream in moves.restarted]


@pytest.mark.parametrize(("seconds", "is_judged"), [(0.0, False), (0.1, True), (4.0, True), (4.1, False)])
def test_rounds_are_compared_up_to_four_seconds_after_the_one_before(seconds: float, *, is_judged: bool) -> None:
    assert (Tunnels().take(seconds) is not None) is is_judged


def test_a_round_has_the_packets_since_the_one_before() -> None:
    net = Tunnels()
    net.round((50, 50, 50), (40, 40))
    moves = net.round((100, 99, 98), (10, 10))
    assert net.counts(moves) == [[100, 99, 98], [10, 10]]
    first, second = net.streams[0].hops
    for place in (("s1", first.out_port), ("s2", second.out_port)):
        assert moves.missing[place][net.streams[0].queues] == 1
    assert moves.arrived["s2", first.in_port] == 99
    assert net.restarted(moves) == []
    assert not moves.unclear
    assert not moves.unknown


@pytest.mark.parametrize(("sent", "is_even"), [(216, True), (217, False)])
def test_packets_that_a_tunnel_lacks_are_those_that_another_of_its_pair_has_too_many(
    sent: int, *, is_even: bool
) -> None:
    net = Tunnels()
    moves = net.round((0, 100, 100), (sent, 100))
    # A fiftieth and three for each of both tunnels' queues may differ: 16.3.
    assert net.counts(moves) == ([[100, 100, 100], [100, 100]] if is_even else [[0, 100, 100], [117, 100]])


def test_more_than_others_have_too_many_is_lacking() -> None:
    net = Tunnels()
    moves = net.round((0, 300, 300), (300, 100), (300, 100, 100))
    assert moves.counts[net.streams[0]] == [0, 300, 300]
    assert sorted(moves.counts[stream][0] for stream in net.streams[1:]) == [100, 200]


def test_packets_that_were_counted_for_another_tunnel_make_up_for_a_while_for_those_that_it_has_too_many() -> None:
    net = Tunnels()
    net.round((0, 100, 100), (200, 100))
    found = []
    for sent, seconds in ((90, 1.0), (60, 2.0), (60, 1.0), (60, 1.0)):  # 70.7 are left, 15.4 of the rest, 3.8, none
        found += net.counts(net.round((sent, 50, 50), seconds=seconds))
    assert found == [[50, 50, 50], [50, 50, 50], [57, 50, 50], [60, 50, 50]]


def test_packets_that_waited_before_were_not_sent_by_another_tunnel() -> None:
    net = Tunnels()
    net.round((100, 70, 70))  # 30 wait
    assert net.counts(net.round((0, 100, 100), (170, 100))) == [[70, 100, 100], [100, 100]]


def test_a_tunnel_that_lacks_packets_may_have_given_them_to_one_whose_counters_began_again() -> None:
    net = Tunnels()
    net.round((100, 70, 70), (100, 100), (100, 100, 100))
    net.network.restart_entry(net.streams[2], 0)
    moves = net.round((90, 110, 110), (150, 100), (100, 50, 100))
    assert net.restarted(moves) == [17, 18]  # what waited before explains the surplus of the first


def test_an_entry_that_begins_to_count_again_is_unclear() -> None:
    net = Tunnels()
    net.round((100, 100, 100), (100, 100))
    net.network.restart_entry(net.streams[0], 0)
    moves = net.round((100, 50, 100), (10, 10))
    first, second = net.streams[0].hops
    assert net.restarted(moves) == [16]
    assert moves.unclear == {("s2", first.in_port)}
    assert moves.unknown == {("s1", first.out_port), ("s2", second.out_port)}


@pytest.mark.parametrize("is_new", [True, False])
def test_an_entry_that_comes_or_goes_is_unclear(*, is_new: bool) -> None:
    net = Tunnels()
    (key,) = net.streams[0].hops[0].entries
    if is_new:
        entries = net.network._entries["s2"]
        del entries[key]
        net.take(1.0)
        entries[key] = 0
    else:
        net.take(1.0)
        del net.network._entries["s2"][key]
    moves = net.take(1.0)
    assert moves is not None
    assert net.restarted(moves) == [16]
    assert moves.unclear == {("s2", net.streams[0].hops[0].in_port)}


@pytest.mark.parametrize("change", ["begins again", "other group", "fewer buckets"])
def test_buckets_of_a_group_that_was_changed_begin_again(change: str) -> None:
    net = Tunnels()
    net.round((100, 100, 100))
    group_id, bucket = net.network._bucket_of[net.streams[0]]
    groups, buckets = net.network._groups["s1"], net.network._buckets["s1"]
    if change == "begins again":
        net.network.restart_group(net.streams[0])
    elif change == "other group":
        groups[group_id] = replace(groups[group_id], buckets=(*groups[group_id].buckets, groups[group_id].buckets[0]))
        buckets[group_id].append(0)
    else:
        del buckets[group_id][bucket + 1 :]
    assert net.restarted(net.round((50, 50, 50))) == [16]
    assert net.restarted(net.round((50, 50, 50))) == []


def test_tunnels_over_a_switch_that_has_begun_again_begin_again() -> None:
    net = Tunnels()
    net.rounds.restart("s2")
    assert net.restarted(net.round((10, 10, 10), (10, 10), (10, 10, 10))) == [16]
    assert net.restarted(net.round((10, 10, 10), (10, 10), (10, 10, 10))) == []


@pytest.mark.parametrize(
    ("counted", "seconds", "lag"),
    [
        (((0, 0, 0), (30, 50)), 1.0, 0.4),
        (((0, 0, 0), (30, 50)), 2.0, 0.8),
        (((0, 0, 0), (29, 49)), 1.0, 0.0),
        (((50, 46, 50),), 1.0, 0.0),
        (((50, 45, 50),), 1.0, 0.1),
        (((50, 45, 50), (30, 60)), 1.0, 0.5),
    ],
)
def test_fifty_packets_of_which_more_arrive_than_are_sent_tell_how_much_counters_differ_in_age(
    counted: tuple[tuple[int, ...], ...], seconds: float, lag: float
) -> None:
    assert Tunnels().round(*counted, seconds=seconds).lag == pytest.approx(lag)


def test_a_surplus_may_be_under_way_for_two_minutes() -> None:
    net = Tunnels()
    stream = net.streams[0]
    net.rounds.learn(stream, [100, 100, 90], 1.0)
    assert net.rounds.noise(stream, 0.0) == 3
    net.rounds.learn(stream, [100, 130, 120], 1.0)
    assert net.rounds.noise(stream, 0.0) == 1.5 * 30 + 3
    assert net.rounds.noise(stream, 10000.0) == 0.02 * 10000 + 3
    net.rounds.learn(stream, [100, 100, 100], 120.0)
    assert net.rounds.noise(stream, 0.0) == 1.5 * 15 + 3


def test_what_was_learned_of_tunnels_that_are_not_used_any_more_is_forgotten() -> None:
    net = Tunnels()
    net.rounds.learn(net.streams[0], [0, 30, 30], 1.0)
    net.rounds.follow(net.network.counters)
    assert net.rounds.noise(net.streams[0], 0.0) == 48
    net.rounds.follow(TunnelCounters())
    assert net.rounds.noise(net.streams[0], 0.0) == 3


@pytest.mark.parametrize(("entries", "steps"), [(1, 2), (300, 2), (301, 3), (601, 4)])
def test_three_hundred_entries_are_compared_in_a_step(entries: int, steps: int) -> None:
    rounds = CounterRounds()
    packets = {FlowKey(0, 1, Match(in_port=number)): 0 for number in range(entries)}
    taken = [
        len(list(rounds.taking({"s1": Snapshot("s1", time, time, {}, packets, {}, {}, {}, None)})))
        for time in (0.0, 1.0)
    ]
    assert taken == [0, steps]
