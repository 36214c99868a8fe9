"""Networks and demands while their files are being read: drafts, sums, nodes called by number, open units of rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.quantities import counted, exact, rate
from kuijia_base.text import Note, parse_number, parse_whole
from te_solver.model.connectivity import connected_parts
from te_solver.model.demands import Demand
from te_solver.model.topology import MOST_LINKS, POSITIVE_RATE, Link, Topology

DEFAULT_CAPACITY = 1000.0
"""Mbit/s of a link if neither the file nor the user gives its capacity."""

MOST_NODES = 100_000
_SMALLEST = "a network of at least two nodes and one link"


@dataclass
class _Direction:
    """Total of all edges from one node to another."""

    capacity: float
    delay: float
    edges: int = 1


class NetworkDraft:
    """A network while its file is being read.

    Parallel edges become one link with their capacities added and the least of their delays, edges from a node to
    itself are left out, edges without a capacity get the default, and nodes whose labels are missing or not unique
    are distinguished by their ids. Each of these is noted.
    """

    def __init__(
        self,
        source: str | Path,
        name: str,
        default_capacity: float | None,
        note: Note,
        *,
        assumes_seconds: bool = False,
    ) -> None:
        """Start an empty network; `assumes_seconds` is True if the file does not say in which unit delays are."""
        self._source = source
        self._name = name
        self._default = DEFAULT_CAPACITY if default_capacity is None else default_capacity
        self._note = note
        self._labels: dict[str, str] = {}
        self._directions: dict[tuple[str, str], _Direction] = {}
        self._positions: dict[str, tuple[float, float]] = {}
        self._down: dict[frozenset[str], set[float]] = {}
        self._edges = 0
        self._without_capacity = 0
        self._loops = 0
        self._assumes_seconds = assumes_seconds
        self._has_other_names = False

    def add_node(
        self, identity: str, label: str | None = None, place: str | int = "", *, has_other_names: bool = False
    ) -> None:
        """Add a node, to which edges refer by `identity`, any text.

        Raises InputError if there is one already, or too many.

        `has_other_names` is True if attributes that are not read may hold the name that people know it by.
        """
        self._has_other_names |= has_other_names
        if identity in self._labels:
            raise InputError(self._source, place, f"node {quoted(identity)} is given twice", "different nodes")
        if len(self._labels) == MOST_NODES:
            raise InputError(self._source, place, f"more than {MOST_NODES} nodes", f"at most {MOST_NODES}")
        self._labels[identity] = _printable(label or "")

    def put_node(self, identity: str, east: str | None, north: str | None) -> None:
        """Place the node in pictures as the file says; text that is no number is ignored."""
        x, y = parse_number(east or ""), parse_number(north or "")
        if x is not None and y is not None and math.isfinite(x) and math.isfinite(y):
            self._positions[identity] = x, y

    def add_edge(
        self,
        a: str,
        b: str,
        capacity: float | None,
        delay: float = 0.0,
        *,
        directed: bool = False,
        place: str | int = "",
    ) -> None:
        """Add an edge in both directions, or from `a` to `b` only; a capacity of None is unknown.

        Raises:
            InputError: an end that is no node, a capacity that is not positive and finite, a negative delay, or more
                links than `MOST_LINKS`.
        """
        for end in (a, b):
            if end not in self._labels:
                raise self._fault_of_edge(a, b, f": unknown node {quoted(end)}", "a node of the file", place)
        if capacity is not None and not (math.isfinite(capacity) and capacity > 0):
            raise self._fault_of_edge(a, b, f" has capacity {exact(capacity)}", POSITIVE_RATE, place)
        if not (math.isfinite(delay) and delay >= 0):
            expected = "a finite number of seconds, zero or more"
            raise self._fault_of_edge(a, b, f" has delay {exact(delay)}", expected, place)
        if a == b:
            self._loops += 1
            return
        self._edges += 1
        if capacity is None:
            self._without_capacity += 1
            capacity = self._default
        for ends in ((a, b),) if directed else ((a, b), (b, a)):
            present = self._directions.get(ends)
            if present is None:
                self._directions[ends] = _Direction(capacity, delay)
            else:
                present.capacity += capacity
                present.delay = min(present.delay, delay)
                present.edges += 1
        if len(self._directions) > MOST_LINKS:
            raise InputError(self._source, place, "too many links", f"a network of at most {MOST_LINKS} links")

    def put_probability(self, a: str, b: str, probability: float) -> None:
        """Keep the probability that an edge is down; the greatest counts for edges between the same two nodes."""
        if a != b:
            self._down.setdefault(frozenset((a, b)), set()).add(probability)

    def _fault_of_edge(self, a: str, b: str, problem: str, expected: str, place: str | int) -> InputError:
        return InputError(self._source, place, f"edge {quoted(a)} to {quoted(b)}{problem}", expected)

    def topology(self) -> Topology:
        """Return the topology; each link is followed by its other direction.

        Raises:
            InputError: there is no link, or the file's name cannot be that of a network.
        """
        if not self._directions:
            found = f"{counted(len(self._labels), 'node')} and no link between two of them"
            raise InputError(self._source, "", found, _SMALLEST)
        names = self._unique_names()
        ends_in_order = dict.fromkeys(each for a, b in self._directions for each in ((a, b), (b, a)))
        links = tuple(
            Link(names[ends[0]], names[ends[1]], carried.capacity, carried.delay)
            for ends in ends_in_order
            if (carried := self._directions.get(ends)) is not None
        )
        try:
            positions = {names[identity]: position for identity, position in self._positions.items()}
            topology = Topology(self._name, tuple(names.values()), links, positions, self._probabilities(names))
        except UnsoundError as error:
            raise InputError(self._source, "", error.problem, error.expected) from error
        self._note_edges()
        parts = len(connected_parts(topology))
        if parts > 1:
            self._note(f"the network is in {parts} parts that no link connects: all are kept")
        return topology

    def _probabilities(self, names: Mapping[str, str]) -> dict[frozenset[str], float]:
        """Return the probability of each cable by the names of its nodes; empty if none can be down."""
        differing = sum(len(found) > 1 for found in self._down.values())
        if differing:
            has = counted(differing, "cable has", "cables have")
            self._note(f"{has} different failure probabilities in its directions: the greatest is taken")
        down = {frozenset(names[end] for end in ends): max(found) for ends, found in self._down.items()}
        return down if any(down.values()) else {}

    def _note_edges(self) -> None:
        if self._loops:
            self._note(f"{counted(self._loops, 'edge')} from a node to itself left out")
        parallel = {frozenset(ends) for ends, each in self._directions.items() if each.edges > 1}
        if parallel:
            pairs = counted(len(parallel), "pair of nodes has", "pairs of nodes have")
            self._note(f"{pairs} parallel edges: their capacities are added")
        if self._without_capacity:
            missing = f"{self._without_capacity} of {counted(self._edges, 'edge')} without a capacity"
            self._note(f"{missing}: {rate(self._default)} assumed")
        longest = max(each.delay for each in self._directions.values())
        if longest and self._assumes_seconds:
            self._note(f"delays are taken as seconds: up to {exact(longest)} s")
        one_way = sum((b, a) not in self._directions for a, b in self._directions)
        if one_way:
            self._note(f"{one_way} of {counted(len(self._directions), 'link')} one way only: no link leads back")

    def _unique_names(self) -> dict[str, str]:
        """Return a name for every node id: its label, or the id, or both if several nodes have the same label."""
        ids = {identity: _printable(identity) for identity in self._labels}
        if len(set(ids.values())) < len(ids) or not all(ids.values()):
            ids = {identity: str(position) for position, identity in enumerate(ids, start=1)}
        names = {identity: label or ids[identity] for identity, label in self._labels.items()}
        unlabelled = sum(not label for label in self._labels.values())
        if unlabelled == len(names) and self._has_other_names:
            self._note(f"no node has a label: named by id, such as {quoted(next(iter(names.values())))}")
        elif 0 < unlabelled < len(names):
            self._note(f"{counted(unlabelled, 'node')} without a label: named by id")
        changed: dict[str, str] = {}
        holders: dict[str, list[str]] = {}
        fresh = names
        # A name with its id at the end can meet another label, never another name with an id: this comes to an end.
        while fresh:
            for identity, name in fresh.items():
                holders.setdefault(name, []).append(identity)
            repeated = [name for name in dict.fromkeys(fresh.values()) if len(holders[name]) > 1]
            fresh = {identity: f"{name} ({ids[identity]})" for name in repeated for identity in holders.pop(name)}
            changed |= fresh
        names |= changed
        if changed:
            example = next(iter(changed.values()))
            shared = counted(len(changed), "node")
            self._note(f"{shared} with a label that another one has too: id added, such as {quoted(example)}")
        return names


def _printable(text: str) -> str:
    """Return the text on one line, without unprintable characters and surrounding spaces."""
    if text.isalnum():
        return text
    return " ".join("".join(letter for letter in " ".join(text.split()) if letter.isprintable()).split())


def note_hyperedge_nodes(number: int, note: Note) -> None:
    """Note the nodes with the attribute `hyperedge`: the Topology Zoo's media that several nodes share."""
    if number:
        note(
            f"{counted(number, 'node stands', 'nodes stand')} for a medium that others share (hyperedge): kept as nodes"
        )


class DemandSum:
    """Demands while their file is being read: those of the same pair are added, traffic within a node is left out."""

    def __init__(self, source: str | Path, topology: Topology) -> None:
        self._source = source
        self._topology = topology
        self._demands: dict[tuple[str, str], Demand] = {}
        self._repeated: set[tuple[str, str]] = set()
        self._zero = 0
        self._within = 0

    def add(self, source: str, target: str, rate: float, place: str | int) -> None:
        """Add a demand in Mbit/s; raises InputError for an unknown node or a rate that is negative or not finite."""
        if source == target:
            self._within += rate != 0
            return
        try:
            demand = Demand(source, target, rate)
            demand.require_nodes_of(self._topology)
            present = self._demands.get(demand.pair)
            if present is not None:
                self._repeated.add(demand.pair)
                demand = Demand(source, target, present.rate + rate)
        except UnsoundError as error:
            raise InputError(self._source, place, error.problem, error.expected) from error
        if rate == 0:
            self._zero += 1
        else:
            self._demands[demand.pair] = demand

    def demands(self, note: Note) -> tuple[Demand, ...]:
        """Return the demands in the order of each pair's first mention; raises InputError if none is above zero."""
        if self._repeated:
            note(f"{counted(len(self._repeated), 'pair')} with several demands: they are added")
        if self._within:
            note(f"{counted(self._within, 'demand')} of a node to itself left out")
        if self._zero:
            note(f"{counted(self._zero, 'demand')} of zero left out")
        if not self._demands:
            raise InputError(self._source, "", "there is no demand above zero", "at least one")
        return tuple(self._demands.values())


NameOf = Callable[[Path, int, str], str]
"""Finder of the node that a line of a file calls by a word."""


def finder_of_nodes(topology: Topology, words: Iterable[str], first: int, prefix: str, note: Note) -> NameOf:
    """Return a function that finds the node that a line of a file calls by a name or a number.

    Numbers, after `prefix` if there is one, are names if the network has all that are among the `words` for nodes in
    the file; else they are places in the order of nodes, counted from `first`. A difference between the two is noted.
    The function raises InputError for any other word.
    """
    noted = False

    def is_name(word: str) -> bool:
        number = word.removeprefix(prefix)
        return parse_whole(number) is None or topology.has_node(word) or topology.has_node(number)

    are_names = all(is_name(word) for word in set(map(str.strip, words)))

    def node_of(path: Path, line: int, text: str) -> str:
        nonlocal noted
        word = text.strip()
        number = word.removeprefix(prefix)
        whole = parse_whole(number)
        if (whole is None or number != word) and topology.has_node(word):
            return word
        place = -1 if whole is None else whole - first
        there = topology.nodes[place] if 0 <= place < len(topology.nodes) else None
        found = number if are_names and topology.has_node(number) else there
        if found is None:
            raise InputError(path, line, f"unknown node {quoted(word)}", f"a node of {topology.name}")
        if there != number and not noted:
            meaning = "places in the order of nodes" if found == there else "names"
            note(f"{word} is taken as {found}: numbers are {meaning}")
            noted = True
        return found

    return node_of


_PER_MBIT = {"bit/s": 1e6, "kbit/s": 1e3, "Mbit/s": 1.0, "Gbit/s": 1e-3}

RATE_UNITS = tuple(_PER_MBIT)


@dataclass(frozen=True)
class RateUnit:
    """Unit of the rates in a file whose format leaves it open.

    Attributes:
        stated: what the user says, one of `RATE_UNITS`; None if nothing.
        assumed: what the reader takes otherwise.
        remark: end of the note about that.
    """

    stated: str | None
    assumed: str
    remark: str = ""

    @property
    def per_mbit(self) -> float:
        """Units that make one Mbit/s."""
        return _PER_MBIT[self.stated or self.assumed]

    def note(self, what: str, note: Note) -> None:
        """Note the assumed unit of `what`, such as "capacities"."""
        if self.stated is None:
            note(f"{what} are taken as {self.assumed}{self.remark}")
