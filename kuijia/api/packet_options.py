"""The options of a packet study: one declaration for `kuijia.packet`, `kuijia packet` and the checks of both."""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

from kuijia_base import quantities
from kuijia_base.errors import InputError, UnsoundError, quoted, shown
from kuijia_base.option_values import whole_number
from kuijia_base.options import Option, bad_option, spelled
from kuijia_base.suggestion import unknown
from kuijia_base.text import parse_number, parse_whole
from simulator.flow_sizes.published import FlowSizes, find_flow_sizes, published_names
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.packet.queues import UNLIMITED
from simulator.packet.traffic.arrivals import Arrivals, LogNormal, Poisson
from simulator.packet.traffic.load import LARGEST as LARGEST_LOAD
from simulator.packet.traffic.load import Reference
from simulator.packet.traffic.patterns import AllToAll, Incast, Pattern, Permutation, Random, Stride
from simulator.packet.transports import Congestion, Tcp
from simulator.packet.units import FASTEST, LONGEST, SLOWEST
from simulator.studies.packet.study import Run
from simulator.studies.packet.transports import DEFAULT_BUFFER, DISCIPLINES, Mark, transport_names

HEADER = Tcp().header
"""Bytes of headers in a packet."""

AT_A_LOAD: dict[str, Any] = {"load_of": Reference.HOSTS.value, "flows": 1000, "arrivals": "poisson"}
"""Defaults of options without a meaning for flows that all start at once."""

REFERENCES = tuple(each.value for each in Reference)

_LAST_SEED = 2**63 - 1

PATTERNS = "random, random:N, permutation, stride:N, all-to-all, incast:N"
ARRIVALS = "poisson, log-normal, log-normal:SIGMA"

SHORTEST_TIMEOUT = 1e-6
"""Seconds."""

SMALLEST_SHARE, LARGEST_SHARE = 0.001, 0.9
"""Of a link's rate, for credits."""

_LARGEST_FLOW = 10**12
_MOST_ENTRIES = 1000
"""Of a list."""


def _loads(text: str) -> tuple[float, ...]:
    """Return the loads in a text: numbers greater than zero, separated by commas."""
    words = text.split(",")
    if len(words) > _MOST_ENTRIES:
        raise argparse.ArgumentTypeError(f"{len(words)} loads, expected at most {_MOST_ENTRIES}")
    numbers = tuple(dict.fromkeys(parse_number(word.strip()) for word in words))
    if not all(number is not None and 0 < number <= LARGEST_LOAD for number in numbers):
        problem = f"{quoted(text)}, expected loads greater than 0 and at most {LARGEST_LOAD}, separated by commas"
        raise argparse.ArgumentTypeError(problem)
    return tuple(number for number in numbers if number is not None)


def _queues(text: str) -> tuple[str, ...]:
    return _names(text, list(DISCIPLINES))


def _transports(text: str) -> tuple[str, ...]:
    return _names(text, list(transport_names()))


def _share(text: str) -> float:
    """Return a part of a link's rate."""
    number = parse_number(text)
    if number is None or not SMALLEST_SHARE <= number <= LARGEST_SHARE:
        problem = f"{quoted(text)}, expected {SMALLEST_SHARE:g} to {LARGEST_SHARE:g} of a link's rate"
        raise argparse.ArgumentTypeError(problem)
    return number


def _bounds(text: str) -> tuple[int, ...]:
    """Return the bounds in a text: rising sizes in bytes, separated by commas; none for an empty text."""
    words = [word.strip() for word in text.split(",")] if text else []
    sizes = [parse_whole(word) for word in words[: _MOST_ENTRIES + 1]]
    found = tuple(size for size in sizes if size is not None and 0 < size <= _LARGEST_FLOW)
    if len(found) < len(sizes):
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected sizes in bytes, separated by commas")
    if len(found) > _MOST_ENTRIES:
        raise argparse.ArgumentTypeError(f"{len(words)} sizes, expected at most {_MOST_ENTRIES}")
    if any(low >= high for low, high in pairwise(found)):
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected increasing sizes")
    return found


def _mark(text: str) -> Mark:
    """Parse bytes, or a percentage of a queue's size."""
    number = parse_number(text.removesuffix("%"))
    if number is None or not math.isfinite(number) or number < 0:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected bytes, or a percentage such as 40%")
    if not text.endswith("%"):
        return Mark(size=min(int(number), UNLIMITED))
    if number > 100:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected 0% to 100%")
    return Mark(part=number / 100)


def _seconds(text: str) -> float:
    """Return a time that can be simulated."""
    number = parse_number(text)
    if number is None or not 0 <= number <= LONGEST:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected 0 to {LONGEST:.0f} seconds")
    return number


def _timeout(text: str) -> float:
    """Return a time that TCP can wait."""
    number = parse_number(text)
    if number is None or not SHORTEST_TIMEOUT <= number <= Tcp().max_timeout:
        raise argparse.ArgumentTypeError(
            f"{quoted(text)}, expected {SHORTEST_TIMEOUT:g} to {Tcp().max_timeout:g} seconds"
        )
    return number


def _rate(text: str) -> float:
    """Return a rate that a link can have, in Mbit/s."""
    number = quantities.parse_rate(text)
    if number is None or not SLOWEST <= number <= FASTEST:
        limits = f"{quantities.rate(SLOWEST)} to {quantities.rate(FASTEST)}"
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected {limits}, in Mbit/s or with its unit, such as 10G")
    return number


def pattern_of(text: str, hosts: int) -> Pattern:
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


def arrivals_of(text: str) -> Arrivals:
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


def sizes_of(text: str) -> FlowSizes:
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


_LINKS, _SCHEMES, _TRAFFIC, _RUNS = (partial(Option, group=each) for each in ("links", "schemes", "traffic", "runs"))


@dataclass(frozen=True)
class PacketStudyOptions:
    """Options of a packet study in addition to its network. Options at a load are None by default."""

    rate: Annotated[
        float | None,
        _LINKS(
            "rate of the hosts' links, Mbit/s or as in 10G (default: 10G; in a topology, the sum of the node's links "
            "in each direction)",
            _rate,
            "RATE",
        ),
    ] = None
    fabric_rate: Annotated[
        float | None, _LINKS("leaf-spine, dumbbell: rate of links between switches (default: --rate)", _rate, "RATE")
    ] = None
    delay: Annotated[
        float | None,
        _LINKS(
            "delay of each link (default: 1e-6); in a topology, of the hosts' links (default: 0)", _seconds, "SECONDS"
        ),
    ] = None
    faults: Annotated[
        str | None,
        _LINKS("JSON file of faults: switches that drop packets, cables that are cut or slow", metavar="FILE"),
    ] = None
    queue: Annotated[
        tuple[str, ...],
        _SCHEMES(
            f"queues of switch ports, separated by commas: {', '.join(DISCIPLINES)} (default: drop-tail)",
            _queues,
            "NAMES",
        ),
    ] = ("drop-tail",)
    buffer: Annotated[
        int,
        _SCHEMES(
            "buffer of each switch port (default: %(default)s)",
            whole_number(1, 10**9, of=" bytes"),
            "BYTES",
        ),
    ] = DEFAULT_BUFFER
    mark: Annotated[
        Mark,
        _SCHEMES(
            "mark ECN-capable packets while their queue holds more than this (default: 40%%)", _mark, "BYTES|PERCENT%"
        ),
    ] = Mark()  # noqa: RUF009  # frozen
    transport: Annotated[
        tuple[str, ...],
        _SCHEMES(
            f"transports, separated by commas: {', '.join(transport_names())}; those with a star send data before "
            "the first credit (default: cubic)",
            _transports,
            "NAMES",
        ),
    ] = (Congestion.CUBIC.value,)
    wait: Annotated[
        float | None,
        _SCHEMES(
            "FlashPass: time from an emulation packet to its data (default: the largest round trip, queues included)",
            _seconds,
            "SECONDS",
        ),
    ] = None
    credit_share: Annotated[
        float | None,
        _SCHEMES(
            "FlashPass, ExpressPass: share of each link's rate for emulation packets or credits (default: 0.053, one "
            "for each data packet)",
            _share,
            "NUMBER",
        ),
    ] = None
    load_balancer: Annotated[
        str,
        _SCHEMES(
            "; ".join(f"{name}: {each.what}" for name, each in LOAD_BALANCERS.items()) + " (default: fixed)",
            metavar="NAME",
            choices=LOAD_BALANCERS,
        ),
    ] = "fixed"
    flowlet_gap: Annotated[
        float | None,
        _SCHEMES("flowlets, letflow, conga: pause of a flow after which it may change its path", _seconds, "SECONDS"),
    ] = None
    min_timeout: Annotated[
        float | None,
        _SCHEMES(
            "minimum retransmission timeout of TCP; with credits, silence after which a sender asks what has arrived "
            "(default: 0.01; in a topology 0.2)",
            _timeout,
            "SECONDS",
        ),
    ] = None
    first_timeout: Annotated[
        float | None,
        _SCHEMES(
            "TCP: retransmission timeout before a round-trip time is known "
            "(default: as --min-timeout; with --handshake 1)",
            _timeout,
            "SECONDS",
        ),
    ] = None
    handshake: Annotated[bool, _SCHEMES("TCP: SYN and SYN-ACK precede the data of each flow")] = False
    initial_window: Annotated[
        int,
        _SCHEMES(
            "TCP: first window of each flow (default: %(default)s)", whole_number(1, 10**6, of=" segments"), "SEGMENTS"
        ),
    ] = 10
    packet: Annotated[
        int,
        _SCHEMES(
            f"size of a full packet, including {HEADER} bytes of headers (default: %(default)s)",
            whole_number(HEADER + 1, 65_535, of=" bytes"),
            "BYTES",
            keyword="packet_size",
        ),
    ] = 1500
    sizes: Annotated[
        str,
        _TRAFFIC(
            f"sizes of flows: {', '.join(published_names())}, a file of sizes and probabilities, or bytes "
            "(default: %(default)s)",
            metavar="WHICH",
        ),
    ] = "web-search"
    load: Annotated[
        tuple[float, ...],
        _TRAFFIC(
            "offered loads, as shares of capacity, separated by commas (default: 0.5)",
            _loads,
            "NUMBERS",
            apart="moment",
        ),
    ] = (0.5,)
    at_once: Annotated[bool, _TRAFFIC("start one flow for every pair of the pattern, all at 0 s", apart="moment")] = (
        False
    )
    load_of: Annotated[
        str | None,
        _TRAFFIC(
            f"capacity that load 1 fills: all hosts' links, or the busiest link (default: {AT_A_LOAD['load_of']})",
            choices=REFERENCES,
        ),
    ] = None
    flows: Annotated[
        int | None,
        _TRAFFIC(
            f"at a load: number of flows (default: {AT_A_LOAD['flows']})", whole_number(1, 10**7, of=" flows"), "N"
        ),
    ] = None
    arrivals: Annotated[
        str | None,
        _TRAFFIC(f"at a load: gaps between flows: {ARRIVALS} (default: {AT_A_LOAD['arrivals']})", metavar="HOW"),
    ] = None
    pattern: Annotated[
        str,
        _TRAFFIC(
            f"pairs of hosts: {PATTERNS}; random:N not within a group of N hosts (default: %(default)s)",
            metavar="WHICH",
        ),
    ] = "random"
    seeds: Annotated[
        int, _RUNS("repeat with this many seeds, from --seed on (default: %(default)s)", whole_number(1, 10_000), "N")
    ] = 1
    until: Annotated[
        float | None,
        _RUNS(
            "simulated time after which to stop (default: once all flows and their timers have ended)",
            _seconds,
            "SECONDS",
        ),
    ] = None
    classes: Annotated[
        tuple[int, ...],
        _RUNS("limits between size classes, separated by commas (default: 100000,1000000)", _bounds, "BYTES"),
    ] = (100_000, 1_000_000)
    threads: Annotated[
        int,
        _RUNS(
            "threads of each run, which change no result; useful if long links join several sites "
            "(default: %(default)s)",
            whole_number(1, 64),
            "N",
        ),
    ] = 1
    own_streams: Annotated[
        bool, _RUNS("draw random numbers from one stream per flow, as --threads needs with FlashPass or BBR")
    ] = False
    details: Annotated[bool, _RUNS("with -o: also every flow and every link, as CSV")] = False
    seed: Annotated[int, Option("first seed of every random choice", value=whole_number(0), common=True)] = 1

    def completed(self) -> PacketStudyOptions:
        """Return the options with defaults for those that only a load has; raises InputError."""
        if (last := self.seed + self.seeds - 1) > _LAST_SEED:
            raise bad_option("seed", f"the last seed is {last}", f"{_LAST_SEED} or less")
        missing = {name: default for name, default in AT_A_LOAD.items() if getattr(self, name) is None}
        if self.at_once and len(missing) < len(AT_A_LOAD):
            given = next(name for name in AT_A_LOAD if name not in missing)
            raise bad_option(given, f"given with {spelled('at_once')}", f"{spelled('load')} instead of it")
        return replace(self, **missing)

    def runs(self) -> list[Run]:
        """Return every run: each queue and transport, at each load, with each seed."""
        loads = (None,) if self.at_once else self.load
        seeds = range(self.seed, self.seed + self.seeds)
        return [Run(*each) for each in itertools.product(self.queue, self.transport, loads, seeds)]
