"""Values of the options of a packet study, parsed from users' words."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from itertools import pairwise

from kuijia_base import quantities
from kuijia_base.errors import InputError, UnsoundError, quoted, shown
from kuijia_base.suggestion import unknown
from kuijia_base.text import parse_number, parse_whole
from simulator.flow_sizes.distribution import FlowSizes
from simulator.flow_sizes.published import find_flow_sizes
from simulator.packet.queues import UNLIMITED
from simulator.packet.traffic.arrivals import Arrivals, LogNormal, Poisson
from simulator.packet.traffic.load import LARGEST as LARGEST_LOAD
from simulator.packet.traffic.patterns import AllToAll, Incast, Pattern, Permutation, Random, Stride
from simulator.packet.transports import Tcp
from simulator.packet.units import FASTEST, LONGEST, SLOWEST
from simulator.studies.packet.schemes import DISCIPLINES, Mark
from simulator.studies.packet.transports import transport_names

PATTERNS = "random, random:N, permutation, stride:N, all-to-all, incast:N"
ARRIVALS = "poisson, log-normal, log-normal:SIGMA"

SHORTEST_TIMEOUT = 1e-6
"""Seconds."""

SMALLEST_SHARE, LARGEST_SHARE = 0.001, 0.9
"""Of a link's rate, for credits."""

_LARGEST_FLOW = 10**12
_MOST_ENTRIES = 1000
"""Of a list."""


def loads(text: str) -> tuple[float, ...]:
    """Return the loads in a text: numbers greater than zero, separated by commas."""
    words = text.split(",")
    if len(words) > _MOST_ENTRIES:
        raise argparse.ArgumentTypeError(f"{len(words)} loads, expected at most {_MOST_ENTRIES}")
    numbers = tuple(dict.fromkeys(parse_number(word.strip()) for word in words))
    if not all(number is not None and 0 < number <= LARGEST_LOAD for number in numbers):
        problem = f"{quoted(text)}, expected loads greater than 0 and at most {LARGEST_LOAD}, separated by commas"
        raise argparse.ArgumentTypeError(problem)
    return tuple(number for number in numbers if number is not None)


def queues(text: str) -> tuple[str, ...]:
    return _names(text, list(DISCIPLINES))


def transports(text: str) -> tuple[str, ...]:
    return _names(text, list(transport_names()))


def share(text: str) -> float:
    """Return a part of a link's rate."""
    number = parse_number(text)
    if number is None or not SMALLEST_SHARE <= number <= LARGEST_SHARE:
        problem = f"{quoted(text)}, expected {SMALLEST_SHARE:g} to {LARGEST_SHARE:g} of a link's rate"
        raise argparse.ArgumentTypeError(problem)
    return number


def bounds(text: str) -> tuple[int, ...]:
    """Return the bounds in a text: rising sizes in bytes, separated by commas; none for an empty text."""
    words = [word.strip() for word in text.split(",")] if text else []
    sizes = [parse_whole(word) for word in words[: _MOST_ENTRIES + 1]]
    found = tuple(size for size in sizes if size is not None and 0 < size <= _LARGEST_FLOW)
    if len(found) < len(sizes):
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected sizes in bytes, separated by commas")
    if len(found) > _MOST_ENTRIES:
        raise argparse.ArgumentTypeError(f"{len(words)} sizes, expected at most {_MOST_ENTRIES}")
    if any(low >= high for low, high in pairwise(found)):
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected sizes that rise")
    return found


def mark(text: str) -> Mark:
    """Parse bytes, or a percentage of a queue's size."""
    number = parse_number(text.removesuffix("%"))
    if number is None or not math.isfinite(number) or number < 0:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected bytes, or a percentage such as 40%")
    if not text.endswith("%"):
        return Mark(size=min(int(number), UNLIMITED))
    if number > 100:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected 0% to 100%")
    return Mark(part=number / 100)


def seconds(text: str) -> float:
    """Return a time that can be simulated."""
    number = parse_number(text)
    if number is None or not 0 <= number <= LONGEST:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected 0 to {LONGEST:.0f} seconds")
    return number


def timeout(text: str) -> float:
    """Return a time that TCP can wait."""
    number = parse_number(text)
    if number is None or not SHORTEST_TIMEOUT <= number <= Tcp().max_timeout:
        raise argparse.ArgumentTypeError(
            f"{quoted(text)}, expected {SHORTEST_TIMEOUT:g} to {Tcp().max_timeout:g} seconds"
        )
    return number


def rate(text: str) -> float:
    """Return a rate that a link can have, in Mbit/s."""
    number = quantities.parse_rate(text)
    if number is None or not SLOWEST <= number <= FASTEST:
        limits = f"{quantities.rate(SLOWEST)} to {quantities.rate(FASTEST)}"
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected {limits}, in Mbit/s or with its unit, such as 10G")
    return number


def pattern(text: str, hosts: int) -> Pattern:
    """Return the pattern of a name such as `incast:8`; raises InputError if it does not exist for so many hosts."""
    plain: dict[str, Pattern] = {"random": Random(), "permutation": Permutation(), "all-to-all": AllToAll()}
    numbered: dict[str, Callable[[int], Pattern]] = {"random": Random, "stride": Stride, "incast": Incast}
    kind, colon, number = text.partition(":")
    if not colon and kind in plain:
        found = plain[kind]
    elif kind in numbered and (count := parse_whole(number)) is not None:
        found = numbered[kind](count)
    else:
        raise InputError("option", "--pattern", f"{quoted(text)} is unknown", f"one of {PATTERNS}")
    try:
        found.require_hosts(hosts)
    except UnsoundError as error:
        raise InputError("option", "--pattern", f"{shown(text)}: {error.problem}", error.expected) from error
    return found


def arrivals(text: str) -> Arrivals:
    """Return the arrivals of a name such as `log-normal:1.5`; raises InputError if there are none."""
    kind, colon, number = text.partition(":")
    if kind == "poisson" and not colon:
        return Poisson()
    if kind != "log-normal":
        raise InputError("option", "--arrivals", f"{quoted(text)} is unknown", f"one of {ARRIVALS}")
    if not colon:
        return LogNormal()
    try:
        return LogNormal(math.nan if (sigma := parse_number(number)) is None else sigma)
    except UnsoundError as error:
        raise InputError("option", "--arrivals", f"sigma of {quoted(text)}", error.expected) from error


def sizes(text: str) -> FlowSizes:
    """Return a published distribution by name, one in a file, or one size in bytes for all flows; raises InputError."""
    if text.isascii() and text.isdecimal():
        size = parse_whole(text)
        if size is None or not 1 <= size <= _LARGEST_FLOW:
            raise InputError("option", "--sizes", f"{quoted(text)} bytes", f"1 to {_LARGEST_FLOW}")
        return FlowSizes.of_one(size)
    if not text:
        raise InputError("option", "--sizes", "an empty name", "bytes, a published distribution, or a file of sizes")
    return find_flow_sizes(text)


def _names(text: str, known: list[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{unknown(name, known)}, expected one or more of {', '.join(known)}")
    return names
