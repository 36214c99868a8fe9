"""Transports and queues of packet studies by name; transports by credits come with queues of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from kuijia_base.additions import TRANSPORTS as TRANSPORTS_GROUP
from kuijia_base.additions import Addition, additions
from kuijia_base.errors import InputError
from simulator.packet.credited import Credited, ExpressPass, FlashPass
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.packet.network import Network
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
from simulator.packet.transports import Congestion, Tcp, Transport

CREDITED: Mapping[str, Credited] = {
    "flashpass": FlashPass(),
    "flashpass*": FlashPass(early=True),
    "expresspass": ExpressPass(),
    "expresspass*": ExpressPass(early=True),
}
"""Those with a star send data without credits at first (Aeolus)."""

TRANSPORTS = (*(each.value for each in Congestion), *CREDITED)
"""Our own transports."""

OPTIONS = ("mark", "wait", "credit_share", "first_timeout", "handshake", "initial_window")
"""Options that some transports do not use."""

_OF_OUR_TCP = ("first_timeout", "handshake", "initial_window")
"""Of the TCP that a package adds only packets and the shortest timeout are set."""

QUEUE = "drop-tail"
"""The only discipline for data of transports by credits."""


@dataclass(frozen=True)
class Credits:
    """Settings of transports by credits.

    Attributes:
        wait: seconds from an emulation packet of FlashPass to its data; None for the least that suffices.
        share: part of each link's rate for emulation packets or credits; None for as many as data packets.
    """

    wait: float | None = None
    share: float | None = None


def transport_names() -> tuple[str, ...]:
    """Return the names of all transports, ours and those of installed packages."""
    return (*TRANSPORTS, *_additions())


def _additions() -> dict[str, Addition]:
    return additions(TRANSPORTS_GROUP, TRANSPORTS)


def _named(name: str) -> Tcp | Credited | None:
    """Return the transport of this name that has settings of its own; None for one of ours that is TCP."""
    if name in CREDITED:
        return CREDITED[name]
    if name in TRANSPORTS:
        return None
    return cast("Tcp | FlashPass | ExpressPass", _additions()[name].load(Tcp, FlashPass, ExpressPass))


def require_queues(transports: tuple[str, ...], queues: tuple[str, ...]) -> None:
    """Raise InputError if a transport by credits is to run with another discipline than `QUEUE`."""
    credited = next((name for name in transports if isinstance(_named(name), Credited)), None)
    other = next((queue for queue in queues if queue != QUEUE), None)
    if credited is not None and other is not None:
        raise InputError("option", "--queue", f"{other} is given with {credited}, which has queues of its own", QUEUE)


def uses(transport: str, option: str) -> bool:
    """Return False for an option that changes nothing under a transport."""
    own = _named(transport)
    if option in _OF_OUR_TCP:
        return own is None
    if option == "mark":
        return not isinstance(own, Credited)
    if option == "credit_share":
        return isinstance(own, Credited)
    return option != "wait" or isinstance(own, FlashPass)


def users(option: str) -> list[str]:
    """Return those of our own transports that use an option."""
    return [name for name in TRANSPORTS if uses(name, option)]


def require_balancer(transports: tuple[str, ...], name: str) -> None:
    """Raise InputError if senders are to choose among paths for a transport whose packets keep one both ways."""
    if not LOAD_BALANCERS[name].several_paths:
        return
    for transport in transports:
        own = _named(transport)
        if isinstance(own, Credited) and own.symmetric:
            problem = f"{name} is given with {transport}, whose flows keep one path, there and back"
            others = (each for each, balancer in LOAD_BALANCERS.items() if not balancer.several_paths)
            raise InputError("option", "--load-balancer", problem, ", ".join(others))


def draws(name: str) -> bool:
    """Return True if flows with the transport of this name draw random numbers while they run."""
    transport = _named(name) or Tcp(Congestion(name))
    if isinstance(transport, Tcp):
        return transport.congestion is Congestion.BBR
    return isinstance(transport, FlashPass) and transport.jitter > 0


def transport_of(name: str, tcp: Tcp, settings: Credits) -> Transport:
    """Return the transport of this name, with the packets and the shortest timeout of `tcp`.

    Raises:
        InputError: the package that adds it is broken.
    """
    own = _named(name)
    if own is None:
        return replace(tcp, congestion=Congestion(name))
    if isinstance(own, Tcp):
        return replace(own, payload=tcp.payload, header=tcp.header, min_timeout=tcp.min_timeout)
    chosen = replace(own, payload=tcp.payload, header=tcp.header, timeout=tcp.min_timeout)
    share = settings.share
    chosen = replace(
        chosen, share=chosen.control / (chosen.control + chosen.largest_packet) if share is None else share
    )
    if isinstance(chosen, FlashPass):
        return replace(chosen, wait=settings.wait)
    assert isinstance(chosen, ExpressPass)
    return chosen


def with_ports(network: Network, transport: Credited, buffer: int) -> Network:
    """Return the network with the transport's queues at all ports, and so many bytes for data at each."""
    return transport.ports.on(network, buffer)


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
