"""Queueing at the outputs of switches, by name, within a buffer of a given size per output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from kuijia_base.errors import InputError
from simulator.packet.queues import (
    UNLIMITED,
    Crosspoints,
    DropThresholds,
    Fifo,
    HashedCredits,
    Queueing,
    Red,
    SharedBuffer,
    Threshold,
)

DEFAULT_BUFFER = 300_000
DEFAULT_MARK = 0.4
_LARGEST_PACKET = 1 << 16


@dataclass(frozen=True)
class Mark:
    """Marking threshold of a queue: bytes, or else a share of its size."""

    size: int | None = None
    part: float = DEFAULT_MARK

    def of(self, limit: int) -> Threshold:
        return Threshold(int(self.part * limit) if self.size is None else self.size)

    def __str__(self) -> str:
        return f"{100 * self.part:g}%" if self.size is None else f"{self.size}"


@dataclass(frozen=True)
class Discipline:
    """A way to use a buffer.

    Attributes:
        what: description for users.
        make: returns the queueing for the queue that has a part of the buffer, at a switch with this number of inputs.
        parts: number of parts of the buffer at a switch with this number of inputs.
        shared: True if all outputs of a switch, as many as it has inputs, put their buffers together.
        random: drops and marks hit any packet of a queue, not the arriving one.
    """

    what: str
    make: Callable[[Fifo, int], Queueing]
    parts: Callable[[int], int] = lambda _: 1
    shared: bool = False
    random: bool = False


def _crosspoints(queue: Fifo, _: int) -> Crosspoints:
    return Crosspoints(queue)


def _shared(queue: Fifo, inputs: int) -> SharedBuffer:
    memory = inputs * queue.limit
    return SharedBuffer(replace(queue, limit=memory), memory)


def _drop_thresholds(queue: Fifo, _: int) -> DropThresholds:
    """Return a queue that packets of lower priority may fill to a quarter, and to 64 KB in any case."""
    return DropThresholds(queue, [queue.limit, min(queue.limit, max(queue.limit // 4, _LARGEST_PACKET))])


DISCIPLINES: Mapping[str, Discipline] = {
    "drop-tail": Discipline("one queue per output", lambda queue, _: queue),
    "random-drop": Discipline("one queue per output, random drop", lambda queue, _: queue, random=True),
    "red": Discipline(
        "one queue per output, random early detection between a quarter and three quarters of it",
        lambda queue, _: replace(queue, marking=Red(low=queue.limit // 4, high=queue.limit * 3 // 4)),
    ),
    "cq": Discipline("a queue per input at each output, served in turn", _crosspoints, lambda inputs: inputs),
    "hcf": Discipline(
        "Hashed Credits Fair: two queues per output that exchange roles",
        lambda queue, _: HashedCredits(queue),
        lambda _: 2,
    ),
    "cqrd": Discipline("the same, random drop", _crosspoints, lambda inputs: inputs, random=True),
    "shared-buffer": Discipline(
        "one queue per output, the buffers of a switch in one memory, divided by dynamic thresholds",
        _shared,
        shared=True,
    ),
    "drop-thresholds": Discipline(
        "one queue per output, of which packets of lower priority may fill a quarter", _drop_thresholds
    ),
}


def queueing(name: str, size: int, mark: Mark, inputs: int) -> Queueing:
    """Return the queueing of this name at an output with `size` bytes, of a switch with this number of inputs."""
    discipline = DISCIPLINES[name]
    limit = size // discipline.parts(inputs)
    return discipline.make(
        Fifo(limit, marking=mark.of(limit), random_drop=discipline.random, random_mark=discipline.random),
        inputs,
    )


def require_room(name: str, size: int, inputs: int, packet: int) -> None:
    """Raise InputError if a queue in a buffer of `size` bytes is smaller than a packet."""
    if size > UNLIMITED:
        raise InputError("option", "--buffer", f"is {size}", f"at most {UNLIMITED} bytes")
    discipline = DISCIPLINES[name]
    if discipline.shared and size * inputs > UNLIMITED:
        problem = f"{size} bytes for each of {inputs} outputs, in one memory by {name}, are {size * inputs}"
        raise InputError("option", "--buffer", problem, f"at most {UNLIMITED // inputs}")
    parts = discipline.parts(inputs)
    if size // parts < packet:
        each = f", divided among {parts} queues by {name}," if parts > 1 else ""
        problem = f"{size} bytes{each} are less than a packet of {packet}"
        raise InputError("option", "--buffer", problem, f"{parts * packet} or more")
