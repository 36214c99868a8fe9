"""Transports of packet studies by name; those by credits come with queues of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from kuijia_base.additions import TRANSPORTS as TRANSPORTS_GROUP
from kuijia_base.additions import Addition, additions
from kuijia_base.errors import InputError
from simulator.packet.credited import Credited, ExpressPass, FlashPass
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.packet.network import Network
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
