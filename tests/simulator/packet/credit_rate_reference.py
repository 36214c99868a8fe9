"""A slow reference of ExpressPass's feedback: one flow, credit by credit, behind a link slower than its receiver's.

Algorithm 1 of Cho, Jang and Han (SIGCOMM 2017) with section 3.2: a decrease sets the rate to that of the credits which
came through since the last change. Credits have one size and no jitter, so that nothing is random.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from simulator.packet.credited import CONTROL, DATA, SHARE

WAITING = 8
"""Credits in a full queue."""


@dataclass
class Algorithm:
    """Algorithm 1 at the receiver; rates are parts of the highest."""

    rate: float
    weight: float
    full: float
    target: float = 0.1
    least_weight: float = 0.01
    most_weight: float = 0.5
    rising: bool = False
    changed: float = 0.0
    sent: list[int] = field(default_factory=list)
    round_trip: float = 0.0

    def data(self, number: int, last: int, round_trip: float) -> None:
        """Note that data came for credit `number`, the last before it having been `last`."""
        self.sent += [0] * (number - last - 1) + [1]
        self.round_trip = round_trip if not self.round_trip else 0.8 * self.round_trip + 0.2 * round_trip

    def update(self, now: float) -> bool:
        """Change the rate if a round trip has passed; return True if it has."""
        since = now - self.changed
        if not self.round_trip or since < self.round_trip or not self.sent:
            return False
        came = sum(self.sent)
        if 1 - came / len(self.sent) <= self.target:
            if self.rising:
                self.weight = (self.weight + self.most_weight) / 2
            self.rate = (1 - self.weight) * self.rate + self.weight * (1 + self.target)
            self.rising = True
        else:
            self.rate = came * self.full / since * (1 + self.target)
            self.weight = max(self.weight / 2, self.least_weight)
            self.rising = False
        self.sent, self.changed = [], now
        return True


def rates(fast: float, slow: float, delay: float, until: float, first: float) -> list[float]:
    """Return the rates of a lone flow, in order, from the request on.

    Args:
        fast: Mbit/s of the receiver's link.
        slow: Mbit/s of the sender's link.
        delay: seconds of each of both links.
        until: seconds from the start of the flow.
        first: rate and weight at first.
    """

    def wire(size: float, rate: float) -> float:
        return 8e-6 * size / rate

    begins = wire(CONTROL, slow) + wire(CONTROL, fast) + 2 * delay
    algorithm = Algorithm(first, first, wire(CONTROL, fast) / SHARE, changed=begins)
    found, now, number, last = [first], begins, 0, -1
    slot = wire(CONTROL, slow) / SHARE
    due, leaves = 0.0, 0.0  # when the next credit would be due at the link's rate of credits, when the last one leaves
    left: deque[float] = deque()  # when credits leave the queue of the slow link
    free = 0.0  # when the sender's link is free
    coming: deque[tuple[float, int, float]] = deque()  # data: when it comes, its credit, when that was sent
    while now < until:
        while coming and coming[0][0] <= now:
            at, credit, was_sent = coming.popleft()
            algorithm.data(credit, last, at - was_sent)
            last = credit
        if algorithm.update(now):
            found.append(algorithm.rate)
        at = now + wire(CONTROL, fast) + delay
        while left and left[0] <= at:
            left.popleft()
        if len(left) < WAITING:
            leaves = max(at, leaves, due - slot)  # a bucket of two lets one go early
            due = max(due, leaves) + slot
            left.append(leaves)
            free = max(free, leaves + wire(CONTROL, slow) + delay) + wire(DATA, slow)
            coming.append((free + delay + wire(DATA, fast) + delay, number, now))
        number += 1
        now += algorithm.full / algorithm.rate
    return found
