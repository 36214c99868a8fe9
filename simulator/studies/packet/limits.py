"""Limits of links in packet studies: rates, delays, and the packets in flight that fit into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor

from kuijia_base.errors import InputError, UnsoundError, quoted
from simulator.packet.credited import Credited, FlashPass
from simulator.packet.network import Network, PacketLink
from simulator.packet.transports import Transport
from simulator.packet.units import FASTEST, LONGEST, SLOWEST

MOST_IN_FLIGHT = 20_000_000
"""Most emulation packets or credits that a link may hold: more than a gigabyte, and as much for what comes back."""


@dataclass(frozen=True)
class Checked:
    """A network to be checked.

    Attributes:
        network: the network.
        names: of its nodes.
        source: the file that says what its links are, or the word `network`.
        place: in the source.
    """

    network: Network
    names: Sequence[str]
    source: str
    place: str = ""


def require_links(checked: Checked, transports: Mapping[str, Transport | Credited], until: float) -> None:
    """Require that every link can be simulated, with each of the transports, until a time in seconds.

    Raises:
        InputError: a link cannot; the message names it, with the limit that holds for it.
    """
    hosts = set(checked.network.hosts)
    links = sorted(checked.network.links, key=lambda link: link.source in hosts or link.target in hosts)
    for name, transport in [("", None), *transports.items()]:
        tried: set[tuple[float, float]] = set()
        for link in links:  # those of hosts last: in a topology they follow from the others
            if (link.rate, link.delay) in tried:
                continue
            tried.add((link.rate, link.delay))
            found = _fault(link) if transport is None else _fault_with(link, name, transport, until)
            if found is not None:
                between = f"link {quoted(checked.names[link.source])} to {quoted(checked.names[link.target])}"
                raise InputError(checked.source, checked.place, f"{between} {found[0]}", found[1])


def _fault(link: PacketLink) -> tuple[str, str] | None:
    """Return the problem with a link and what is expected of it, whatever the transport."""
    if _is_slow(link.rate):
        return f"has a rate of {link.rate:g} Mbit/s", f"at least {SLOWEST:g} Mbit/s"
    if link.rate > FASTEST:
        return f"has a rate of {link.rate:.15g} Mbit/s", f"at most {FASTEST:.0f} Mbit/s"
    if link.delay > LONGEST:
        return f"has a delay of {link.delay:.9g} s", f"at most {LONGEST:.0f} s"
    return None


def _fault_with(link: PacketLink, name: str, transport: Transport | Credited, until: float) -> tuple[str, str] | None:
    """Return the problem with a link and what is expected of it, if the transport has one."""
    if not isinstance(transport, Credited):
        return None
    part = transport.ports.smallest_part
    if _is_slow(link.rate * part):
        return f"has a rate of {link.rate:g} Mbit/s", f"at least {_rounded_up(SLOWEST / part)} Mbit/s with {name}"
    wait = 2 * link.delay
    if isinstance(transport, FlashPass):
        if wait > LONGEST:
            return f"has a delay of {link.delay:.9g} s", f"at most {floor(LONGEST / 2)} s with {name}"
        wait = max(wait, transport.wait or 0.0)
    wait = min(wait, until)
    packets = _in_flight(link.rate, wait, transport)
    if packets > MOST_IN_FLIGHT:
        what = "emulation packets" if isinstance(transport, FlashPass) else "credits"
        product = f"{link.rate:g} Mbit/s x {transport.share:.4g} x {wait:g} s / {transport.control} bytes"
        return f"has {packets:.3g} {what} of {name} in flight, {product}", f"at most {MOST_IN_FLIGHT}"
    return None


def may_wait_too_long(network: Network, transport: FlashPass, until: float) -> bool:
    """Return True unless all delays together keep few emulation packets in flight in the default waiting time."""
    longest = 2 * sum(link.delay for link in network.links)
    return _in_flight(_fastest(network), min(longest, until), transport) > MOST_IN_FLIGHT


def require_default_wait(network: Network, transport: FlashPass, round_trip: float, until: float) -> None:
    """Require that few emulation packets are in flight while FlashPass waits for the largest round trip, in seconds.

    Raises:
        UnsoundError: a host could send too many.
    """
    wait = min(round_trip, until)
    packets = _in_flight(_fastest(network), wait, transport)
    if packets > MOST_IN_FLIGHT:
        product = f"{_fastest(network):g} Mbit/s x {transport.share:.4g} x {wait:g} s / {transport.control} bytes"
        problem = f"in the largest round trip a host sends {packets:.3g} emulation packets, {product}"
        raise UnsoundError(("flashpass", "wait"), problem, f"at most {MOST_IN_FLIGHT}")


def _fastest(network: Network) -> float:
    """Return the rate of the fastest link from a host, in Mbit/s."""
    hosts = set(network.hosts)
    return max(link.rate for link in network.links if link.source in hosts)


def _in_flight(rate: float, wait: float, transport: Credited) -> float:
    return rate * 1e6 * transport.share * wait / (8 * transport.control)


def _is_slow(rate: float) -> bool:
    return round(rate * 1e6) < round(SLOWEST * 1e6)  # as the core counts them


def _rounded_up(rate: float) -> str:
    """Return Mbit/s, to a whole bit/s."""
    return f"{ceil(rate * 1e6 - 1e-6) / 1e6:.6f}".rstrip("0").rstrip(".")
