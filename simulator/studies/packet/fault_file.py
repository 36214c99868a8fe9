"""Reads files of faults: switches that drop packets, cables that are cut or slow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.json_document import read_json
from kuijia_base.quantities import exact, parse_rate
from kuijia_base.reading import reading
from kuijia_base.text import parse_number
from simulator.packet.faults import BlackHole, RandomDrop, SwitchFault, cables, with_rates
from simulator.packet.network import Network
from simulator.packet.scenario import Outage
from simulator.packet.units import FASTEST, LONGEST, SLOWEST

FORMAT = "kuijia-faults"

LARGEST_BYTES = 2 * 2**20
"""Size limit of a file: it is read, or refused, within two seconds."""

MOST_FAULTS = 10_000
"""Most entries of a list of faults. Each packet at a switch passes all of that switch's random drops."""

MOST_CUTS = 100_000
"""Most cables that are cut: an entry without a number cuts all the parallel ones."""

_EXPECTED = "faults of a packet network in JSON"
_SECONDS = f"seconds, 0 to {LONGEST:.0f}"

Where = tuple[str | int, ...]
Fields = Mapping[str, object]


@dataclass(frozen=True, eq=False)
class FaultyNetwork:
    """A network with its faults.

    Attributes:
        network: with the rates of slow cables.
        outages: of the links of cut cables.
    """

    network: Network
    outages: tuple[Outage, ...] = ()
    switches: tuple[SwitchFault, ...] = ()


def read_faults(path: Path, network: Network, names: Sequence[str]) -> FaultyNetwork:
    """Return the faults in a JSON file, whose nodes have these names.

    Raises:
        InputError: the file cannot be read, or a fault makes no sense in this network; the place is its key.
    """
    data = read_json(path, "a file of faults", _EXPECTED, most=LARGEST_BYTES)
    with reading(path, _EXPECTED):
        return _Reader(network, names).faults(data)


class _Reader:
    """Finds the nodes and cables that a file names."""

    def __init__(self, network: Network, names: Sequence[str]) -> None:
        hosts = frozenset(network.hosts)
        self._network = network
        self._hosts = {name: node for node, name in enumerate(names) if node in hosts}
        self._switches = {name: node for node, name in enumerate(names) if node not in hosts}
        self._nodes = {**self._hosts, **self._switches}
        self._cables = cache(partial(cables, network))

    def faults(self, data: object) -> FaultyNetwork:
        lists = ("random_drops", "black_holes", "cut_cables", "slow_cables")
        fields = _fields(data, (), ("format", "version"), lists)
        for key, wanted in (("format", FORMAT), ("version", 1)):
            if fields[key] != wanted or isinstance(fields[key], bool):
                raise UnsoundError((key,), _found(fields[key]), f'"{wanted}"' if key == "format" else f"{wanted}")
        drops, holes, cuts, slow = (list(_entries(fields.get(key, []), (key,), MOST_FAULTS)) for key in lists)
        rates = self._all_slow(slow)
        outages = tuple(self._all_cut(cuts))
        switches: list[SwitchFault] = [self._drop(entry, where) for where, entry in drops]
        switches += [self._hole(entry, where) for where, entry in holes]
        network = with_rates(self._network, rates) if rates else self._network
        return FaultyNetwork(network, outages, tuple(switches))

    def _all_slow(self, slow: Sequence[tuple[Where, object]]) -> dict[int, float]:
        """Return the rate of each slow link; raise UnsoundError if a cable has two."""
        rates: dict[int, float] = {}
        for where, entry in slow:
            for link, rate in self._slow(entry, where):
                if link in rates:
                    raise UnsoundError((*where, "between"), "the cable is slow twice", "each cable once")
                rates[link] = rate
        return rates

    def _all_cut(self, cuts: Sequence[tuple[Where, object]]) -> Iterator[Outage]:
        """Yield the outages of both links of each cable; raise UnsoundError if a cable is cut while it is cut."""
        spans: dict[int, list[tuple[float, float, int]]] = {}
        left = 2 * MOST_CUTS
        for place, (where, entry) in enumerate(cuts):
            outages = self._cut(entry, where)
            left -= len(outages)
            if left < 0:
                raise UnsoundError(where, "too many cables are cut", f"at most {MOST_CUTS:,} in a file")
            for outage in outages:
                spans.setdefault(outage.link, []).append((outage.fails, outage.heals, place))
            yield from outages
        for of_link in spans.values():
            for (_, heals, place), (fails, _, other) in pairwise(sorted(of_link)):
                if fails < heals:
                    where, _ = cuts[max(place, other)]
                    raise UnsoundError(where, f"a cable is cut twice at {exact(fails)} s", "one cut of it at a time")

    def _drop(self, data: object, where: Where) -> RandomDrop:
        fields = _fields(data, where, ("switch", "probability"), ("begins", "ends"))
        probability = _number(fields["probability"], (*where, "probability"), 0, 1, "a number between 0 and 1")
        return RandomDrop(self._switch(fields["switch"], (*where, "switch")), probability, *_span(fields, where))

    def _hole(self, data: object, where: Where) -> BlackHole:
        fields = _fields(data, where, ("switch", "pairs"), ("begins", "ends"))
        pairs = tuple(self._pair(pair, place) for place, pair in _entries(fields["pairs"], (*where, "pairs")))
        return BlackHole(self._switch(fields["switch"], (*where, "switch")), pairs, *_span(fields, where))

    def _cut(self, data: object, where: Where) -> list[Outage]:
        fields = _fields(data, where, ("between",), ("cable", "begins", "ends", "detected"))
        begins, ends = _span(fields, where)
        detected = _number(fields.get("detected", 0), (*where, "detected"), 0, LONGEST, _SECONDS)
        latest = max(begins, ends if ends <= LONGEST else 0)
        if latest + detected > LONGEST:
            raise UnsoundError(
                (*where, "detected"), f"the change is detected after {latest + detected:.9g} s", _SECONDS
            )
        return [Outage(link, begins, detected, ends) for link in self._cable(fields, where)]

    def _slow(self, data: object, where: Where) -> Iterator[tuple[int, float]]:
        fields = _fields(data, where, ("between", "rate"), ("cable",))
        rate = _rate(fields["rate"], (*where, "rate"))
        for link in self._cable(fields, where):
            yield link, rate

    def _cable(self, fields: Fields, where: Where) -> list[int]:
        """Return the links of a cable, both ways; of all parallel ones if none is chosen."""
        between = (*where, "between")
        one, other = _two(fields["between"], between, "the names of two nodes", self._node)
        found = self._cables(one, other)
        if not found:
            raise UnsoundError(between, "there is no cable between these nodes", "two neighbours")
        if "cable" in fields:
            number = fields["cable"]
            if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(found):
                problem = f"found {number}" if isinstance(number, float) else _found(number)
                raise UnsoundError((*where, "cable"), problem, f"a whole number, 0 to {len(found) - 1}")
            found = [found[number]]
        return [link for cable in found for link in cable]

    def _pair(self, data: object, where: Where) -> tuple[int, int]:
        return _two(data, where, "the names of two hosts", self._host)

    def _host(self, name: object, where: Where) -> int:
        return _named(name, where, self._hosts, "host")

    def _switch(self, name: object, where: Where) -> int:
        return _named(name, where, self._switches, "switch")

    def _node(self, name: object, where: Where) -> int:
        return _named(name, where, self._nodes, "node")


def _fields(data: object, where: Where, required: Sequence[str], optional: Sequence[str]) -> Fields:
    """Return an object with these keys and no others."""
    if not isinstance(data, dict):
        raise UnsoundError(where, _found(data), "an object")
    for key in required:
        if key not in data:
            raise UnsoundError(where, f"there is no {key}", f"an object with {', '.join(required)}")
    for key in data:
        if key not in required and key not in optional:
            raise UnsoundError(where, f"unknown key {quoted(key)}", f"one of {', '.join((*required, *optional))}")
    return data


def _entries(data: object, where: Where, most: int | None = None) -> Iterator[tuple[Where, object]]:
    """Yield the place and the value of each entry of a list."""
    if not isinstance(data, list):
        raise UnsoundError(where, _found(data), "a list")
    if most is not None and len(data) > most:
        raise UnsoundError(where, _found(data), f"at most {most:,} faults")
    yield from (((*where, place), entry) for place, entry in enumerate(data))


def _two(data: object, where: Where, expected: str, of: Callable[[object, Where], int]) -> tuple[int, int]:
    if not isinstance(data, list) or len(data) != 2:
        raise UnsoundError(where, _found(data), expected)
    one, other = (of(each, (*where, place)) for place, each in enumerate(data))
    if one == other:
        raise UnsoundError(where, "both are the same", expected)
    return one, other


def _named(name: object, where: Where, known: Mapping[str, int], kind: str) -> int:
    if not isinstance(name, str) or name not in known:
        some = ", ".join(quoted(each) for each in list(known)[:3])
        raise UnsoundError(where, _found(name), f"the name of a {kind}, such as {some}")
    return known[name]


def _span(fields: Fields, where: Where) -> tuple[float, float]:
    """Return the times at which a fault begins and ends."""
    begins = _number(fields.get("begins", 0), (*where, "begins"), 0, LONGEST, _SECONDS)
    if "ends" not in fields:
        return begins, math.inf
    ends = _number(fields["ends"], (*where, "ends"), 0, LONGEST, _SECONDS)
    if ends <= begins:
        raise UnsoundError((*where, "ends"), f"found {exact(ends)}", f"a time after the beginning, {exact(begins)} s")
    return begins, ends


def _rate(value: object, where: Where) -> float:
    """Return the Mbit/s of a number, or of a text with a unit."""
    with_unit = parse_rate(value) if isinstance(value, str) and parse_number(value) is None else None
    if with_unit is not None and SLOWEST <= with_unit <= FASTEST:
        return with_unit
    expected = f"Mbit/s, {SLOWEST:g} to {FASTEST:g}, or a rate with its unit, such as 10G"
    return _number(value, where, SLOWEST, FASTEST, expected)


def _number(value: object, where: Where, low: float, high: float, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise UnsoundError(where, _found(value), expected)
    return float(value)


def _found(value: object) -> str:
    """Describe a value without repeating it if it is large."""
    if isinstance(value, str):
        return f"found {quoted(value)}"
    if isinstance(value, bool) or value is None:
        return f"found {'null' if value is None else str(value).lower()}"
    if isinstance(value, int | float):
        return f"found {exact(float(value))}"
    return f"found {'a list' if isinstance(value, list) else 'an object'} of {len(value)}"  # type: ignore[arg-type]  # JSON has no other values
