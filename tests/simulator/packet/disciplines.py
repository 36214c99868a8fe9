"""Reference of one switch output, slow and obvious: crosspoints with random drops and marks, and Hashed Credits Fair.

By Chen et al., Computer Networks 91, 2015, section 4.2, and Shpiner et al., Computer Networks 56, 2012. Draws come from
the core's generator, so that what is drawn here is what the core draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from simulator.packet import _core
from simulator.packet.queues import Crosspoints, DropThresholds, Fifo, HashedCredits, SharedBuffer, Threshold

_MASK = (1 << 64) - 1


@dataclass(eq=False)
class Packet:
    """A packet that arrives through an input at a time, in picoseconds, and its outcome."""

    number: int
    time: int
    input: int
    size: int
    level: int = 0
    output: int = 0
    left: int | None = None
    marked: bool = False


def cells(packet: Packet, queue: Fifo) -> int:
    return -(-packet.size // queue.cell)


@dataclass
class Buffer:
    """One queue: a crosspoint, or one of the two that exchange roles."""

    rules: Fifo
    draw: Callable[[int], int]
    packets: list[Packet] = field(default_factory=list)
    sent: Packet | None = None

    def occupied(self) -> int:
        """Return the cells of the packets that wait, and of the one that is sent if it holds its own."""
        held = [] if self.sent is None else [self.sent]
        return sum(cells(packet, self.rules) for packet in [*self.packets, *held])

    def any_by_size(self, new: Packet) -> Packet:
        """Draw a byte of the cells of all waiting packets and the new one; return its packet."""
        candidates = [*self.packets, new]
        drawn = self.draw(self.rules.cell * sum(cells(packet, self.rules) for packet in candidates))
        of_each_cell = [packet for packet in candidates for _ in range(cells(packet, self.rules))]
        return of_each_cell[drawn // self.rules.cell]

    def arrive(self, new: Packet) -> None:
        room = self.rules.limit // self.rules.cell
        while cells(new, self.rules) > room - self.occupied():
            victim = self.any_by_size(new) if self.rules.random_drop else new
            if victim is new:
                return
            self.packets.remove(victim)
        threshold = self.rules.marking
        if isinstance(threshold, Threshold) and self.rules.cell * self.occupied() > threshold.size:
            (self.any_by_size(new) if self.rules.random_mark else new).marked = True
        self.packets.append(new)


@dataclass(eq=False)
class Memory:
    """A switch's memory, and the queues of its outputs."""

    total: int
    alpha: float
    buffers: list[Buffer] = field(default_factory=list)

    def free(self) -> int:
        return self.total - sum(buffer.rules.cell * buffer.occupied() for buffer in self.buffers)


class SingleQueue:
    """One output with one queue."""

    def __init__(self, queue: Fifo, draw: Callable[[int], int]) -> None:
        self._buffer = Buffer(queue, draw)

    def arrive(self, packet: Packet) -> None:
        self._buffer.arrive(packet)

    def depart(self, now: int) -> Packet | None:
        del now
        return self._buffer.packets.pop(0) if self._buffer.packets else None


class SharedOutput(SingleQueue):
    """One output of a switch whose outputs share a memory."""

    def __init__(self, queueing: SharedBuffer, memory: Memory, draw: Callable[[int], int]) -> None:
        super().__init__(queueing.queue, draw)
        self._memory = memory
        memory.buffers.append(self._buffer)

    def arrive(self, packet: Packet) -> None:
        rules = self._buffer.rules
        free = self._memory.free()
        fits = rules.cell * cells(packet, rules) <= free
        if fits and rules.cell * self._buffer.occupied() < self._memory.alpha * free:
            self._buffer.arrive(packet)


class Thresholds(SingleQueue):
    """One queue with a limit for each level."""

    def __init__(self, queueing: DropThresholds, draw: Callable[[int], int]) -> None:
        super().__init__(queueing.queue, draw)
        self._limits = queueing.limits

    def arrive(self, packet: Packet) -> None:
        rules = self._buffer.rules
        needed = rules.cell * (self._buffer.occupied() + cells(packet, rules))
        if needed <= self._limits[min(packet.level, len(self._limits) - 1)]:
            self._buffer.arrive(packet)


class Discipline(Protocol):
    def arrive(self, packet: Packet) -> None: ...
    def depart(self, now: int) -> Packet | None: ...


class CrosspointColumn:
    """The crosspoints of one output, served in turn, a whole packet each."""

    def __init__(
        self, queueing: Crosspoints, inputs: int, draw: Callable[[int], int], sending: Callable[[Packet], int]
    ) -> None:
        self._buffers = [Buffer(queueing.queue, draw) for _ in range(inputs)]
        self._last = inputs - 1
        self._held = queueing.held_while_sent
        self._sending = sending

    def arrive(self, packet: Packet) -> None:
        buffer = self._buffers[packet.input]
        sent = buffer.sent
        if sent is not None and sent.left is not None and packet.time >= sent.left + self._sending(sent):
            buffer.sent = None
        buffer.arrive(packet)

    def depart(self, now: int) -> Packet | None:
        del now
        count = len(self._buffers)
        for step in range(1, count + 1):
            turn = (self._last + step) % count
            buffer = self._buffers[turn]
            if buffer.packets:
                self._last = turn
                packet = buffer.packets.pop(0)
                buffer.sent = packet if self._held else None
                return packet
        return None


class TwoQueues:
    """Hashed Credits Fair."""

    def __init__(self, queueing: HashedCredits, draw: Callable[[int], int], seed: int) -> None:
        self._rules = queueing
        self._period = round(queueing.hashed_anew_after * 1e12)
        self.high, self.low = Buffer(queueing.queue, draw), Buffer(queueing.queue, draw)
        self._credits = [queueing.credits] * queueing.bins
        self._key = mixed(seed)
        self._hashed = 0

    def arrive(self, packet: Packet) -> None:
        place = (mixed(packet.number) ^ self._key) % self._rules.bins
        if self._credits[place] > 0:
            self._credits[place] -= 1
            self.high.arrive(packet)
        else:
            self.low.arrive(packet)

    def depart(self, now: int) -> Packet | None:
        if self.low.packets and not self.high.packets:
            self.high, self.low = self.low, self.high
            self._credits = [self._rules.credits] * self._rules.bins
            if now - self._hashed >= self._period:
                self._key = mixed(self._key + 0x9E3779B97F4A7C15)
                self._hashed = now
        for buffer in (self.high, self.low):
            if buffer.packets:
                return buffer.packets.pop(0)
        return None


def serve(disciplines: Sequence[Discipline], packets: Sequence[Packet], sending: Callable[[Packet], int]) -> None:
    """Let packets come to their outputs in order of time and leave each one after the other, in `sending` picoseconds.

    What ends at one moment with an arrival comes before it.
    """
    free = [0] * len(disciplines)
    waiting = [False] * len(disciplines)

    def depart(output: int, now: int) -> None:
        packet = disciplines[output].depart(now)
        waiting[output] = packet is not None
        if packet is not None:
            packet.left = now
            free[output] = now + sending(packet)

    def depart_until(now: int) -> None:
        while any(waiting):
            first = min((time, output) for output, time in enumerate(free) if waiting[output])
            if first[0] > now:
                return
            depart(first[1], first[0])

    for packet in sorted(packets, key=lambda each: each.time):
        depart_until(packet.time)
        disciplines[packet.output].arrive(packet)
        waiting[packet.output] = True
        if free[packet.output] <= packet.time:
            depart(packet.output, packet.time)
    depart_until(max(packet.time for packet in packets) + 10**15)


def mixed(value: int) -> int:
    """The finaliser of splitmix64."""
    value &= _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def drawing(seed: int) -> Callable[[int], int]:
    """Whole numbers below a bound, as the core draws them."""
    random = _core.Random(seed)
    return lambda bound: int(random.whole(bound, 1)[0])
