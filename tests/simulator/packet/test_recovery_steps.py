"""Receivers and recovery step by step, against references that keep sets of segments."""

from __future__ import annotations

import math
import random
import shutil
from dataclasses import astuple, replace

import pytest

from tests.sanitized import COMPILER
from tests.simulator.packet.recovery_references import (
    Block,
    CreditedReceiver,
    CreditedSender,
    Message,
    Resequencer,
    TcpReceiver,
    first_missing,
    time_of,
)
from tests.simulator.packet.step_references import SECOND
from tests.simulator.packet.steps import Conversation, Parts, Step

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed"),
]

MILLISECOND = SECOND // 1000
ANSWERS = {1: "acknowledgement", 5: "credit", 6: "request", 8: "probe"}
PAYLOAD, LAST, HEADER, CONTROL = 1460, 1000, 78, 84
CARD = 10_000_000
"""bit/s, so that a round trip of 20 ms has few segments."""


def blocks_at(answer: list[float], place: int) -> tuple[tuple[Block, ...], int]:
    """Return blocks behind their count, and the place behind them."""
    end = place + 1 + 2 * int(answer[place])
    numbers = list(map(int, answer[place + 1 : end]))
    return tuple(zip(numbers[::2], numbers[1::2], strict=True)), end


def packets_of(answer: list[float]) -> list[tuple[float, ...]]:
    return list(zip(*[iter(answer)] * 8, strict=True))


@pytest.mark.parametrize("sack", [True, False], ids=["sack", "no sack"])
@pytest.mark.parametrize("every", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_a_receiver_of_tcp_acknowledges_as_the_rfcs_say(parts: Parts, every: int, seed: int, *, sack: bool) -> None:
    draw = random.Random(seed)
    receiver = TcpReceiver(400, every, 40 * MILLISECOND, sack)
    now = SECOND
    with parts.begin("tcp_receiver", segments=400, ack_every=every, sack=int(sack)) as core:
        while len(receiver.arrived) < 400:
            now += draw.choice((MILLISECOND, 15 * MILLISECOND))
            if receiver.deadline is not None and receiver.deadline <= now:
                now = receiver.deadline
                expected = [receiver.time_out()]
                answer = core.step("due")
            else:
                missing = first_missing(receiver.arrived)
                ahead = draw.choice((0, 0, 0, draw.randint(-3, 12)))
                number = min(max(missing + ahead, 0), 399)
                marked, path = draw.random() < 0.2, draw.randrange(9)
                sent = now - draw.randrange(MILLISECOND, SECOND)
                expected = receiver.receive(number, sent, path, now, marked=marked)
                answer = core.step("segment", now, number, sent, path, int(marked))
            assert answer[0] == (-1 if receiver.deadline is None else receiver.deadline)
            place = 1
            for acknowledgement in expected:
                fields = astuple(acknowledgement)
                assert tuple(answer[place : place + 4]) == fields[:4]
                blocks, place = blocks_at(answer, place + 4)
                assert blocks == acknowledgement.blocks
            assert place == len(answer)


@pytest.mark.parametrize("stays", [False, True], ids=["goes on", "stays"])
@pytest.mark.parametrize(("hold", "enough"), [(0, 100), (3, 4), (20, 100)])
@pytest.mark.parametrize("seed", range(4))
def test_a_resequencer_passes_on_what_is_in_order_in_time(
    parts: Parts, hold: int, enough: int, seed: int, *, stays: bool
) -> None:
    draw = random.Random(seed)
    buffer = Resequencer(10 * MILLISECOND, hold * MILLISECOND, enough, stays)
    now = SECOND
    rules = {"in_order_hold": hold * MILLISECOND, "in_order_packets": enough, "resequencing_stays": int(stays)}
    passed = 0
    with parts.begin("resequencer", resequencing=10 * MILLISECOND, **rules) as core:
        for _ in range(600):
            now += draw.choice((0, MILLISECOND, draw.randrange(4 * MILLISECOND)))
            until = min(buffer.gap_until, buffer.ready_until)
            if until <= now or draw.random() < 0.05:
                now = int(until) if draw.random() < 0.7 and until < math.inf else now
                expected = buffer.due(now)
                answer = core.step("due", now)
            else:
                number = max(0, buffer.following + draw.choice((0, 0, 0, 1, draw.randint(-2, 6))))
                expected = buffer.receive(number, now)
                answer = core.step("segment", now, number)
            until = min(buffer.gap_until, buffer.ready_until)
            assert answer == [-1 if until == math.inf else until, *expected]
            passed += len(expected)
    assert passed > 300


class World:
    """Both ends of a transport by credits in the core and in the references, and two ways that lose packets."""

    delay = 10 * MILLISECOND

    def __init__(
        self, core: Conversation, sender: CreditedSender, receiver: CreditedReceiver, seed: int, loss: float
    ) -> None:
        self._core, self._sender, self._receiver = core, sender, receiver
        self._draw, self._loss = random.Random(seed), loss
        self._now = SECOND
        self._there: list[tuple[int, Message, int]] = []  # when each arrives, and when its credit was sent
        self._back: list[tuple[int, Message]] = []
        self._credit = (0, 0)  # the last that has come: its number, and when it was sent
        self._credits: dict[int, tuple[int, int]] = {}  # of each segment on its way
        self._wakes = [math.inf, math.inf]
        self.offered = 0
        self.bytes_arrived = 0

    def run(self) -> None:
        self._left(self._core.step("start", self._now), self._sender.start(self._now))
        while not self._sender.finished or self._there or self._back:
            times = [self._there[0][0] if self._there else math.inf, self._back[0][0] if self._back else math.inf]
            self._now = int(min(times if self._sender.finished else [*times, *self._wakes]))
            assert self._now < 60 * SECOND
            if times[0] == self._now:
                self._arrive_there(*self._there.pop(0)[1:])
            elif times[1] == self._now:
                self._arrive_back(self._back.pop(0)[1])
            elif self._wakes[0] == self._now:
                self._left(self._core.step("wake", self._now, 0), self._sender.wake(self._now))
            else:
                self._returned(self._core.step("wake", self._now, 1), [])
            self._compare_counters()

    def _arrive_there(self, message: Message, credit: int) -> None:
        now, step = self._now, self._core.step
        expected: list[Message] = []
        if message.kind == "data" and message.droppable:
            answer = step("early", now, message.number, now - self.delay)
            expected = self._receiver.data(message.number, now, with_credit=False)
        elif message.kind == "data":
            number, sent = divmod(credit, 10**15)
            answer = step("data", now, message.number, sent, number, number + 1)
            expected = self._receiver.data(message.number, now, with_credit=True)
            known, sample = self._sender.round_trip, now - sent
            self._sender.round_trip = sample if known == 0 else (4 * known + sample) // 5
        else:
            answer = step(message.kind, now, message.number, message.sent)
            expected = self._receiver.probe(message.sent) if message.kind == "probe" else []
        self._returned(answer, expected)

    def _arrive_back(self, message: Message) -> None:
        now = self._now
        kind = next(number for number, name in ANSWERS.items() if name == message.kind)
        blocks = [edge for block in message.blocks for edge in block]
        answer = self._core.step("answer", now, kind, message.number, message.sent, *blocks)
        if message.kind == "credit":
            self._credit = message.blocks[0][0], message.sent
            self._left(answer, self._sender.credit(message.number, now))
        else:
            self._left(answer, self._sender.answer(message, now))

    def _left(self, answer: list[float], expected: list[Message]) -> None:
        """Compare what the sender has sent, and put it on its way."""
        self._wakes = answer[1:3]
        found = []
        place = 3
        while place < len(answer):
            kind, number, drops = map(int, answer[place : place + 3])
            place += 3
            name = {0: "data", 6: "request", 7: "stop", 8: "probe"}[kind]
            sent = self._now if name == "probe" else 0
            found.append(Message(name, number, droppable=name == "data" and drops > 0, sent=sent))
        assert found == expected
        assert self._sender.finished or answer[1] == self._sender.deadline()
        number, sent = self._credit
        of_credit = (sent, 1, number)
        last = self._receiver.segments - 1
        assert self._packets() == [
            (HEADER + (LAST if message.number == last else PAYLOAD), 2)
            + ((self._now, 0, 0) if message.droppable else of_credit)
            if message.kind == "data"
            else (CONTROL, 2 if message.kind == "probe" else 0, self._now, 0, 0)
            for message in found
        ]
        for message in found:
            if self._draw.random() >= self._loss:
                self._there.append((self._now + self.delay, message, number * 10**15 + sent))

    def _returned(self, answer: list[float], expected: list[Message]) -> None:
        """Compare what the receiver has sent but for credits, and put all on its way."""
        self._wakes = answer[1:3]
        found = []
        place = 3
        while place < len(answer):
            kind, number = map(int, answer[place : place + 2])
            place += 3
            if ANSWERS[kind] == "credit":
                blocks: tuple[Block, ...] = ((int(answer[place + 2]), int(answer[place + 3])),)
                message = Message("credit", number, blocks, sent=int(answer[place + 1]))
                place += 4
                self.offered += 1
                assert number == first_missing(self._receiver.arrived)
            else:
                message = Message(ANSWERS[kind], number)
                if message.kind != "request":
                    sent = int(answer[place]) if message.kind == "probe" else 0
                    blocks, place = blocks_at(answer, place + 1)
                    message = replace(message, blocks=blocks, sent=sent)
                found.append(message)
            if self._draw.random() >= self._loss:
                self._back.append((self._now + self.delay, message))
        assert found == expected
        levels = [level for size, level, *_ in self._packets() if size == CONTROL]
        assert sorted(levels) == [0] * len(found) + [1] * (len(self._packets()) - len(found))

    def _packets(self) -> list[tuple[float, ...]]:
        """Return of each packet of the last step its size, level and time, how many credits it names, and the first."""
        return [packet[:5] for packet in packets_of(self._core.step("packets", self._now))]

    def _compare_counters(self) -> None:
        sender, arrived = self._sender, self._receiver.arrived
        last = self._receiver.segments - 1
        goodput = PAYLOAD * len(arrived - {last}) + LAST * (last in arrived)
        assert self._core.step("counters", self._now) == [
            goodput,
            sender.retransmitted,
            sender.timeouts,
            sender.outstanding(),
            sender.round_trip,
            self.offered,
            sender.credits,
            sender.unused,
            sender.timeouts,
            len(arrived) == self._receiver.segments,
            sender.finished,
        ]


@pytest.mark.parametrize("loss", [0.02, 0.2])
@pytest.mark.parametrize("go_back", [False, True], ids=["selective", "go back"])
@pytest.mark.parametrize("early", [None, 0, 1, 6], ids=["no early data", "early", "a segment early", "little early"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_lost_is_reported_found_and_sent_again_with_credits(
    parts: Parts, early: int | None, loss: float, seed: int, *, go_back: bool
) -> None:
    segments, timeout, share = 80, 30 * MILLISECOND, CONTROL / (CONTROL + 1538)
    gap = None if early is None else time_of(HEADER + PAYLOAD, CARD * (1 - share))
    sender = CreditedSender(segments, timeout, gap, early or 0)
    receiver = CreditedReceiver(segments, go_back, timeout)
    rules = {"bytes": (segments - 1) * PAYLOAD + LAST, "timeout": timeout, "go_back": int(go_back), "share": share}
    rules |= {"jitter": 0, "smallest_credit": CONTROL, "largest_credit": CONTROL, "initial_rate": 1.0}
    rules |= {"early": int(early is not None), "early_limit": early or 0}
    with parts.begin("expresspass", card=CARD, **rules) as core:
        World(core, sender, receiver, seed, loss).run()
    assert receiver.arrived == set(range(segments))


def kinds(answer: list[float]) -> list[int]:
    """Return the kinds of packets that are neither credits nor report blocks."""
    return list(map(int, answer[3::3]))


def test_a_sender_stops_the_credits_when_those_of_a_round_trip_are_enough(parts: Parts) -> None:
    """By hand: three credits in the first round trip of 20 ms; in the second one three of eight segments are left.

    Credits on their way are used. After a silence those of long ago are forgotten, also for a single segment.
    """
    data, request, stop, probe = 0, 6, 7, 8
    rules = {"bytes": 8 * PAYLOAD, "early_stop": 1, "timeout": 100 * MILLISECOND}
    with parts.begin("expresspass", card=CARD, **rules) as core:
        assert kinds(core.step("start", 0)) == [request]
        core.step("data", 20 * MILLISECOND, 0, 0, 0, 1)
        left = {}
        for number, time in enumerate((20, 21, 22, 40, 41, 42, 43)):
            left[time] = kinds(core.step("credits", time * MILLISECOND, 0, number, number + 1))
        assert left == {20: [data], 21: [data], 22: [data], 40: [data], 41: [data, stop], 42: [data], 43: [data]}
        assert kinds(core.step("wake", 143 * MILLISECOND, 0)) == [request, probe]
        assert kinds(core.step("answer", 144 * MILLISECOND, 1, 0, 0)) == []


def test_a_receiver_that_counts_sends_as_many_credits_as_a_request_names(parts: Parts) -> None:
    rules = {"bytes": 90 * PAYLOAD, "counted": 1, "jitter": 0, "smallest_credit": CONTROL, "largest_credit": CONTROL}
    never = float(2**63 - 1)
    with parts.begin("expresspass", card=CARD, initial_rate=1.0, **rules) as core:
        for named, begin in ((3, SECOND), (2, 2 * SECOND)):
            offered = core.step("counters", begin)[5]
            due = core.step("request", begin, named, 0)[2]
            for _ in range(named):
                due = core.step("wake", int(due), 1)[2]
            assert due == never
            assert core.step("counters", begin)[5] == offered + named


@pytest.mark.parametrize(
    ("start", "segments", "part"), [(0, 10, 1.0), (40, 10, 0.25), (40, 40, 1.0), (40, 80, 1.0), (9_999, 1, 1e-3)]
)
def test_a_short_flow_begins_with_a_rate_in_proportion(parts: Parts, start: int, segments: int, part: float) -> None:
    steps: list[Step] = [("request", SECOND, segments, 0)]
    ((rate, *_),) = parts.answers("expresspass", steps, bytes=10**6, scaled_start=start, initial_rate=0.5)
    assert rate == pytest.approx(0.5 * part)


def test_a_receiver_that_keeps_nothing_behind_a_gap_asks_again_after_the_timeout(parts: Parts) -> None:
    timeout, request = 30 * MILLISECOND, 6
    rules = {"bytes": 9 * PAYLOAD, "go_back": 1, "timeout": timeout}
    with parts.begin("expresspass", card=CARD, **rules) as core:
        asked = [
            kinds(core.step("data", SECOND + after, number, SECOND, number, number + 1))
            for number, after in enumerate((0, timeout - 1, timeout), 2)
        ]
    assert asked == [[request], [], [request]]


def test_a_sender_of_flashpass_takes_several_credits_of_one_packet(parts: Parts) -> None:
    """By hand: of six emulation packets the first, third, fourth and last are answered; the data of these leaves."""
    wait, gap = 50 * MILLISECOND, time_of(CONTROL, 0.95 * CARD * CONTROL / (CONTROL + 1538))
    times = [SECOND + place * gap for place in range(6)]
    with parts.begin("flashpass", card=CARD, wait=wait, jitter=0, bytes=90 * PAYLOAD, timeout=SECOND) as core:
        core.step("start", times[0])
        for time in times[1:]:
            core.step("wake", time)
        core.step("credits", times[-1] + 1, 0, 0, 1, 2, 4, 5, 6)
        assert core.step("counters", times[-1] + 1)[6] == 4
        sent = [kinds(core.step("wake", time + wait)).count(0) for time in times]
    assert sent == [1, 0, 1, 1, 0, 1]


def test_credits_of_flashpass_report_what_is_missing_and_end_with_the_flow(parts: Parts) -> None:
    steps: list[Step] = [("data", SECOND, 0, SECOND), ("emulation", SECOND, 0, SECOND)]
    steps += [("data", SECOND, 1, SECOND), ("emulation", SECOND, 1, SECOND)]
    answers = parts.answers("flashpass", steps, wait=50 * MILLISECOND, bytes=2 * PAYLOAD)
    credit = 5
    assert answers[1][3:5] == [credit, 1]
    assert answers[3][3:] == []
