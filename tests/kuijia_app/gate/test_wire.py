"""A wire sends in order from any thread, never waits, and says when the other side does not read."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from kuijia_app.control.neighbours import MOST_HOSTS
from kuijia_app.gate.application import GatedDatapath
from kuijia_app.gate.channels import PlainChannel
from kuijia_app.gate.elements import PacketIn
from kuijia_app.gate.frames import FIRST_POLL_XID, VERSION, Frame, Kind, RefusedError, message
from kuijia_app.gate.limits import Limits
from kuijia_app.gate.peer import Peer
from kuijia_app.gate.wire import ConnectionEndedError, Wire
from tests.kuijia_app.dummy_switches import PATIENCE


@dataclass
class Bench:
    """A wire, the socket at its other end and a clock that is set by hand."""

    limits: Limits = field(default_factory=Limits)
    now: float = 0.0
    failures: int = 0

    def __post_init__(self) -> None:
        ours, self.other = socket.socketpair()
        ours.setblocking(False)
        self.other.settimeout(PATIENCE)
        self.epoll = select.epoll()
        self.wire = Wire(ours, PlainChannel(), self.epoll, self.failed, lambda: self.now, self.limits)

    def failed(self) -> None:
        self.failures += 1

    def fill(self) -> int:
        """Send until some has to wait; return how many bytes."""
        sent = 0
        while not self.is_waiting():
            assert self.wire.send(bytes(10_000))
            sent += 10_000
        return sent

    def is_waiting(self) -> bool:
        return not any(mask & select.EPOLLOUT for _, mask in self.epoll.poll(0)) and self.wire._waits_since is not None

    def close(self) -> None:
        self.wire.close()
        self.other.close()
        self.epoll.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def received(bench: Bench, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        bench.wire.flush()
        data += bench.other.recv(1 << 20)
    return bytes(data)


def test_messages_of_several_threads_arrive_whole_and_each_thread_s_in_order(bench: Bench) -> None:
    each, threads = 2000, 4

    def send(thread: int) -> None:
        for number in range(each):
            assert bench.wire.send(struct.pack("!II", thread, number) * 20)

    running = [threading.Thread(target=send, args=(thread,)) for thread in range(threads)]
    for thread in running:
        thread.start()
    data = received(bench, each * threads * 160)
    for thread in running:
        thread.join()
    messages = [data[place : place + 160] for place in range(0, len(data), 160)]
    assert all(message == message[:8] * 20 for message in messages)
    pairs = [struct.unpack_from("!II", message) for message in messages]
    for thread_number in range(threads):
        assert [number for thread, number in pairs if thread == thread_number] == list(range(each))


def test_a_switch_that_does_not_read_is_noticed_after_a_while_and_not_before(bench: Bench) -> None:
    bench.fill()
    bench.now = bench.limits.stalled
    assert not bench.wire.is_stalled(bench.now)
    bench.now += 0.1
    assert bench.wire.is_stalled(bench.now)
    bench.other.recv(1 << 20)
    bench.wire.flush()
    assert not bench.wire.is_stalled(bench.now)


def test_what_waits_is_bounded_and_sending_returns_at_once() -> None:
    bench = Bench(Limits(unsent=100_000))
    try:
        began = time.monotonic()
        count = bench.fill()
        while bench.wire.send(bytes(10_000)):
            count += 10_000
        assert time.monotonic() - began < 5.0
        assert isinstance(bench.wire.failure, RefusedError)
        assert bench.failures == 1
        assert not bench.wire.send(b"more")
    finally:
        bench.close()


def test_a_connection_that_ends_is_noticed_by_who_reads_and_who_sends(bench: Bench) -> None:
    bench.other.sendall(b"last words")
    bench.other.close()
    assert bench.wire.read(100) == b"last words"
    with pytest.raises(ConnectionEndedError):
        bench.wire.read(100)
    assert not (bench.wire.send(b"a") and bench.wire.send(b"b"))
    assert isinstance(bench.wire.failure, ConnectionEndedError)


def test_it_may_be_closed_while_others_send_and_twice(bench: Bench) -> None:
    stop = threading.Event()

    def send() -> None:
        while not stop.is_set():
            bench.wire.send(b"x" * 100)

    sender = threading.Thread(target=send)
    sender.start()
    bench.other.recv(1)
    bench.wire.close()
    bench.wire.close()
    stop.set()
    sender.join(PATIENCE)
    assert not sender.is_alive()
    assert not bench.wire.send(b"x")
    assert bench.epoll.poll(0) == []


def packet_in(cookie: int, packet: bytes = b"", port: int = 7) -> Frame:
    match = struct.pack("!HHHBBI", 1, 12, 0x8000, 0, 4, port) + bytes(4)
    body = struct.pack("!IHBBQ", 0xFFFFFFFF, 0, 0, 0, cookie) + match + bytes(2) + packet
    return Frame(VERSION, Kind.PACKET_IN, 1, message(Kind.PACKET_IN, 1, body))


def test_packets_for_the_controller_reach_only_applications_whose_entries_have_sent_them(bench: Bench) -> None:
    peer = Peer(bench.wire, ("127.0.0.1", 1), 0.0)
    assert peer.packet(packet_in(5), (), 0.0) is None
    assert peer.packet(packet_in(5), {6}, 0.0) is None
    assert peer.packet(packet_in(5, b"probe"), {5}, 0.0) == PacketIn(7, b"probe", 5)
    peer.is_unknown = True
    assert peer.packet(packet_in(5), {5}, 0.0) is None


def test_a_flood_of_packets_for_the_controller_is_dropped_but_for_a_few(bench: Bench) -> None:
    peer, limits = Peer(bench.wire, ("127.0.0.1", 1), 0.0), Limits()
    floods = [packet_in(5, port=port) for port in range(3000)]
    passed = sum(peer.packet(floods[number % 3000], {5}, number / 100_000) is not None for number in range(100_000))
    assert limits.packets_burst <= passed <= limits.packets_burst + limits.packets_rate + 1


def test_a_flood_from_one_port_leaves_room_for_the_others(bench: Bench) -> None:
    peer = Peer(bench.wire, ("127.0.0.1", 1), 0.0)
    passed = {7: 0, 8: 0}
    for ms in range(20_000):
        for port in (*[7] * 10, *([8] if ms % 20 == 0 else [])):
            passed[port] += peer.packet(packet_in(5, port=port), {5}, ms / 1000) is not None
    assert passed[8] == 1000
    assert passed[7] <= 500 + 20 * 100


STORM = [packet_in(5, bytes(size)).data for size in (60, 1400, 60)]


@pytest.mark.parametrize(
    "other",
    [
        packet_in(5, port=8).data,
        packet_in(6).data,
        bytes((VERSION + 1, *STORM[0][1:])),
        bytes((VERSION, Kind.FLOW_REMOVED, *STORM[0][2:])),
        message(Kind.ECHO_REQUEST, 1),
    ],
)
def test_packets_like_a_dropped_one_are_dropped_with_it_and_nothing_else_is(bench: Bench, other: bytes) -> None:
    peer = Peer(bench.wire, ("127.0.0.1", 1), 0.0)
    peer.fed(b"".join([*STORM, other, *STORM]), 0.0)
    first = peer.take(0.0)
    assert first is not None
    peer.drop_alike(first, 0.0)
    left = [peer.take(0.0) for _ in range(5)]
    assert [None if each is None else each.data for each in left] == [other, *STORM, None]


def test_a_packet_like_a_dropped_one_that_is_not_whole_yet_stays(bench: Bench) -> None:
    peer = Peer(bench.wire, ("127.0.0.1", 1), 0.0)
    peer.fed(STORM[0] + STORM[1][:-1], 0.0)
    first = peer.take(0.0)
    assert first is not None
    peer.drop_alike(first, 0.0)
    peer.fed(STORM[1][-1:], 0.0)
    second = peer.take(0.0)
    assert second is not None
    assert second.data == STORM[1]


@pytest.mark.parametrize(("size", "rate"), [(60, 50_000), (1500, 10_000)])
def test_what_a_switch_says_never_waits_behind_a_storm_of_packets_for_the_controller(
    bench: Bench, size: int, rate: int
) -> None:
    peer = Peer(bench.wire, ("127.0.0.1", 1), 0.0, Limits(frames_burst=100.0))
    peer.named(GatedDatapath(bench.wire, peer.answers, peer.address, 7), 0.0, is_unknown=False)
    storm = packet_in(5, bytes(size)).data * (rate // 1000)
    for ms in range(1000):
        peer.fed(storm, ms / 1000)
        while peer.may_speak(ms / 1000) and (frame := peer.take(ms / 1000)) is not None:
            if peer.packet(frame, {5}, ms / 1000) is None:
                peer.drop_alike(frame, ms / 1000)
        assert not peer.has_frame, "the connection is not read for a while"


def test_who_reads_slowly_cannot_have_answers_to_echo_requests_kept_without_an_end(bench: Bench) -> None:
    peer = Peer(bench.wire, ("127.0.0.1", 1), 0.0)
    request = Frame(VERSION, Kind.ECHO_REQUEST, 1, message(Kind.ECHO_REQUEST, 1, bytes(10_000)))
    for _ in range(1000):
        assert peer.passed(request) is None
        assert len(bench.other.recv(len(request.data), socket.MSG_WAITALL)) == len(request.data)
    with pytest.raises(RefusedError, match="does not read the answers"):  # noqa: PT012  # which of them does not matter
        for _ in range(1000):
            assert peer.passed(request) is None
            bench.other.recv(1)
    assert bench.wire.unsent <= Limits().unread_echoes


def taken_at_once(peer: Peer) -> int:
    """Return how many of the messages that are there are taken before the switch has to wait."""
    taken = 0
    while peer.may_speak(0.0):
        assert peer.take(0.0) is not None
        taken += 1
    return taken


@pytest.mark.parametrize(("kind", "length", "most"), [(Kind.ECHO_REPLY, 8, 60), (Kind.ERROR, 76, 3), (12, 80, 15)])
def test_messages_that_make_the_application_work_count_as_several(
    bench: Bench, kind: int, length: int, most: int
) -> None:
    peer = Peer(bench.wire, ("127.0.0.1", 1), 0.0, Limits(frames_rate=1.0, frames_burst=60.0))
    peer.fed(100 * (struct.pack("!BBHI", VERSION, kind, length, 0) + bytes(length - 8)), 0.0)
    assert taken_at_once(peer) == most


@pytest.mark.parametrize(("kind", "xid"), [(Kind.PACKET_IN, 0), (Kind.MULTIPART_REPLY, FIRST_POLL_XID)])
@pytest.mark.parametrize(("length", "most"), [(80, 46), (600, 31)])
def test_what_is_not_parsed_here_counts_a_fifth_and_a_twentieth_for_each_share(
    bench: Bench, kind: int, xid: int, length: int, most: int
) -> None:
    peer = Peer(bench.wire, ("127.0.0.1", 1), 0.0, Limits(frames_rate=1.0, frames_burst=10.1))
    peer.fed(100 * (struct.pack("!BBHI", VERSION, kind, length, xid) + bytes(length - 8)), 0.0)
    assert taken_at_once(peer) == most  # until less than 1 is left, at .2 or .3 each


def test_packets_of_an_unknown_switch_count_as_its_other_messages_do(bench: Bench) -> None:
    peer = Peer(bench.wire, ("127.0.0.1", 1), 0.0, Limits(unknown_frames_rate=10.0))
    peer.named(GatedDatapath(bench.wire, peer.answers, peer.address, 7), 0.0, is_unknown=True)
    peer.fed(100 * packet_in(5, bytes(1000)).data, 0.0)
    assert taken_at_once(peer) == 4  # 5 each, of 20


def test_polls_of_a_switch_with_the_most_hosts_never_make_it_wait(bench: Bench) -> None:
    """Otherwise acknowledgements of changes wait, too: a cut once took .9 s at a site of 3,000 hosts."""
    peer = Peer(bench.wire, ("127.0.0.1", 1), 0.0)
    peer.named(GatedDatapath(bench.wire, peer.answers, peer.address, 7), 0.0, is_unknown=False)
    length, entry = 65_520, 320
    message = struct.pack("!BBHI", VERSION, Kind.MULTIPART_REPLY, length, FIRST_POLL_XID) + bytes(length - 8)
    for now in range(30):
        for _ in range(MOST_HOSTS * entry // length + 1):
            peer.fed(message, now)
            assert peer.may_speak(now)
            assert peer.take(now) is not None


def test_messages_of_an_unknown_switch_are_dropped_and_count_once(bench: Bench) -> None:
    """Otherwise a connection that has ended would stay until its last message has had its turn."""
    peer = Peer(bench.wire, ("127.0.0.1", 1), 0.0, Limits(unknown_frames_rate=10.0))
    peer.named(GatedDatapath(bench.wire, peer.answers, peer.address, 7), 0.0, is_unknown=True)
    peer.fed(100 * (struct.pack("!BBHI", VERSION, Kind.ERROR, 12, 0) + bytes(4)), 0.0)
    for now in range(9):
        while peer.may_speak(now) and peer.take(now) is not None:
            pass
    assert not peer.has_frame
