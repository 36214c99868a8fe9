"""Queues of the core step by step, on a link of 1 Gbit/s where a byte takes 8 ns."""

from __future__ import annotations

import math
import random
import shutil

import pytest

from simulator.packet.queues import Fifo, HashedCredits
from tests.sanitized import COMPILER
from tests.simulator.packet.disciplines import Packet, TwoQueues, drawing
from tests.simulator.packet.step_references import SECOND, Tokens
from tests.simulator.packet.steps import Parts, Step

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed"),
]

MICROSECOND = SECOND // 1_000_000
SENDING = 8_000
"""Picoseconds of a byte on the link."""


@pytest.mark.parametrize("seed", range(3))
def test_a_queue_that_waits_for_tokens_alone_knows_when_it_will_be_empty(parts: Parts, seed: int) -> None:
    """A byte of tokens comes each microsecond; a packet waits for its tokens, and for those before it to be sent."""
    draw = random.Random(seed)
    tokens = Tokens.of(8_000_000, 2_000)
    steps: list[Step] = [("queue", 10**6, 8_000_000, 2_000)]
    expected: list[float] = []
    waiting: list[tuple[int, int]] = []  # when each has come, and its size
    now = free = 0

    def begin(packet: tuple[int, int]) -> int:
        came, size = packet
        return max(came, free, math.ceil(tokens.due(size)))

    for number in range(400):
        now += draw.choice((0, MICROSECOND, 100 * MICROSECOND, draw.randrange(3_000 * MICROSECOND)))
        while waiting and (time := begin(waiting[0])) <= now:
            _, size = waiting.pop(0)
            tokens.take(size, time)
            free = time + SENDING * size
            steps.append(("choose", time))
        waiting.append((now, draw.choice((64, 700, 1_500))))
        steps += [("offer", now, number, 0, waiting[-1][1]), ("drained", now)]
        state = free, Tokens(tokens.rate, tokens.burst, tokens.left, tokens.since)
        for packet in waiting:
            time = begin(packet)
            tokens.take(packet[1], time)
            free = time + SENDING * packet[1]
        expected.append(free)
        free, tokens = state
    answers = parts.answers("strict_priority", steps, alone=1)
    assert [answer[1] for step, answer in zip(steps, answers, strict=True) if step[0] == "drained"] == expected


@pytest.mark.parametrize("seed", range(3))
def test_hashed_credits_hash_anew_after_their_time_and_no_sooner(parts: Parts, seed: int) -> None:
    """Queues exchange roles at multiples of half the time that a hash function lasts, so also exactly at its end."""
    draw = random.Random(seed)
    half = 50 * MICROSECOND
    reference = TwoQueues(HashedCredits(Fifo(), bins=5, credits=1, hashed_anew_after=1e-4), drawing(seed), seed)
    steps: list[Step] = []
    expected: list[list[float]] = []
    now = 0
    for number in range(2_000):
        reference.arrive(Packet(number, now, 0, 64))
        steps.append(("offer", now, number, 0, 64))
        expected.append([-1, -1, 0])
        for _ in range(draw.choice((0, 0, 0, 1, 4))):
            if reference.high.packets or reference.low.packets:
                left = reference.depart(now)
                assert left is not None
                steps.append(("choose", now))
                expected.append([left.number, -1, 0])
        now += draw.choice((0, 0, half, half))
    rules = {"bins": 5, "credits": 1, "hashed_anew_after": 2 * half}
    assert parts.answers("hashed_credits", steps, seed=seed, **rules) == expected
