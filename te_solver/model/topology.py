"""A network as plain data: nodes and directed links with capacities, independent of files and switches."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import filterfalse, pairwise

from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.quantities import counted, exact

POSITIVE_RATE = "a finite number of Mbit/s greater than zero"

LARGEST_RATE = 1e302
"""Mbit/s of a link or a demand: sums and products of larger ones are no numbers any more."""

LARGEST_DELAY = 1e9
"""Seconds of a link's delay."""

MOST_LINKS = 50_000
"""Links of a network that is read from a file, each direction of a cable counted."""


@dataclass(frozen=True, slots=True)
class Link:
    """One direction of a cable: capacity in Mbit/s, propagation delay in seconds."""

    source: str
    target: str
    capacity: float
    delay: float = 0.0

    @property
    def ends(self) -> tuple[str, str]:
        return self.source, self.target


@dataclass(frozen=True, repr=False)
class Topology:
    """Nodes in file order and directed links, at most one link per ordered node pair.

    Attributes:
        name: name of the network.
        nodes: names of the nodes.
        links: the links.
        positions: coordinates of nodes, east and north, in any unit; for pictures only.
        down: probabilities that a cable is down, from 0 to 1, by its two nodes; empty if the file has none.
        lost: cables, each by its two nodes, and nodes that `without` has taken away: files may still name them.

    Raises:
        UnsoundError: a name is empty, repeated or not printable, a link leads to an unknown node or to its own source,
            two links have the same ends and direction, a capacity is not positive or above `LARGEST_RATE`, or a
            delay is negative or above `LARGEST_DELAY`. Its `where` is `name` or starts with
            `nodes` or `links` and a position.
    """

    name: str
    nodes: tuple[str, ...]
    links: tuple[Link, ...]
    positions: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False, compare=False)
    down: Mapping[frozenset[str], float] = field(default_factory=dict, repr=False, compare=False)
    lost: frozenset[frozenset[str]] = field(default=frozenset(), repr=False, compare=False)
    _link_by_ends: dict[tuple[str, str], Link] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _require_printable(self.name, ("name",))
        _require_sound_names(self.nodes)
        known = set(self.nodes)
        by_ends: dict[tuple[str, str], Link] = {}
        for position, link in enumerate(self.links):
            _require_sound(link, position, known)
            ends = link.ends
            if ends in by_ends:
                raise UnsoundError(
                    ("links", position), f"link {_between(link)} is given twice", "one link for each two nodes"
                )
            by_ends[ends] = link
        object.__setattr__(self, "_link_by_ends", by_ends)

    def __repr__(self) -> str:
        """Name the network and its size: data of a large one would fill many screens."""
        size = f"{counted(len(self.nodes), 'node')}, {counted(len(self.links), 'link')}"
        return f"{type(self).__name__}({self.name!r}, {size})"

    def link(self, source: str, target: str) -> Link:
        """Return the link from `source` to `target`; raises KeyError if there is none."""
        return self._link_by_ends[source, target]

    def has_node(self, node: str) -> bool:
        return node in self.neighbours

    def has_link(self, source: str, target: str) -> bool:
        return (source, target) in self._link_by_ends

    def has_cable(self, a: str, b: str) -> bool:
        """Return True if a link joins the nodes in either direction, or was taken away."""
        return self.has_link(a, b) or self.has_link(b, a) or frozenset((a, b)) in self.lost

    def without(self, edges: Collection[frozenset[str]], nodes: Collection[str] = frozenset()) -> Topology:
        """Return the topology without these cables, each by its two nodes, and these nodes, in the same order."""
        gone = {link for link in self.links if frozenset(link.ends) in edges or not set(nodes).isdisjoint(link.ends)}
        return replace(
            self,
            nodes=tuple(node for node in self.nodes if node not in nodes),
            links=tuple(link for link in self.links if link not in gone),
            lost=self.lost.union((frozenset(link.ends) for link in gone), map(frozenset, zip(nodes))),
        )

    def missing_hop(self, nodes: Sequence[str]) -> tuple[str, str] | None:
        """Return the first hop of a path that no link joins, None if there is none."""
        return next(filterfalse(self._link_by_ends.__contains__, pairwise(nodes)), None)

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Node pairs joined by a link in either direction, each once, in link order."""
        seen: dict[frozenset[str], tuple[str, str]] = {}
        for link in self.links:
            seen.setdefault(frozenset(link.ends), link.ends)
        return tuple(seen.values())

    @cached_property
    def neighbours(self) -> dict[str, tuple[str, ...]]:
        """The nodes that each node shares an edge with, in the order of `nodes`."""
        adjacent: dict[str, set[str]] = {node: set() for node in self.nodes}
        for a, b in self.edges:
            adjacent[a].add(b)
            adjacent[b].add(a)
        rank = {node: position for position, node in enumerate(self.nodes)}
        return {node: tuple(sorted(others, key=rank.__getitem__)) for node, others in adjacent.items()}

    def scaled(self, factor: float) -> Topology:
        """Return the network with every capacity multiplied by `factor`."""
        return replace(self, links=tuple(replace(link, capacity=link.capacity * factor) for link in self.links))

    def with_capacity(self, capacity: float) -> Topology:
        """Return the network with every link at `capacity` Mbit/s."""
        return replace(self, links=tuple(replace(link, capacity=capacity) for link in self.links))


def _require_printable(name: str, where: tuple[str | int, ...]) -> None:
    # Names appear in tables, one-line messages and CSV cells.
    if not name or not name.isprintable() or name != name.strip():
        raise UnsoundError(where, f"name {quoted(name)}", "printable characters without spaces around them")


def _require_sound_names(nodes: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for position, node in enumerate(nodes):
        _require_printable(node, ("nodes", position))
        if node in seen:
            raise UnsoundError(("nodes", position), f"node {node} is given twice", "different names")
        seen.add(node)


def _require_sound(link: Link, position: int, known: Collection[str]) -> None:
    if (
        link.source in known
        and link.target in known
        and link.source != link.target
        and 0 < link.capacity <= LARGEST_RATE
        and 0 <= link.delay <= LARGEST_DELAY
    ):
        return
    for key, end in (("source", link.source), ("target", link.target)):
        if end not in known:
            raise UnsoundError(("links", position, key), f"link to the unknown node {quoted(end)}", "a name from nodes")
    if link.source == link.target:
        raise UnsoundError(("links", position, "target"), f"a link from {link.source} to itself", "two different nodes")
    if not (math.isfinite(link.capacity) and link.capacity > 0):
        raise UnsoundError(
            ("links", position, "capacity"), f"link {_between(link)} has capacity {exact(link.capacity)}", POSITIVE_RATE
        )
    if link.capacity > LARGEST_RATE:
        raise UnsoundError(
            ("links", position, "capacity"),
            f"link {_between(link)} has capacity {exact(link.capacity)}",
            f"at most {LARGEST_RATE:g} Mbit/s",
        )
    if LARGEST_DELAY < link.delay < math.inf:
        raise UnsoundError(
            ("links", position, "delay"),
            f"link {_between(link)} has delay {exact(link.delay)}",
            f"at most {LARGEST_DELAY:g} seconds",
        )
    if not (math.isfinite(link.delay) and link.delay >= 0):
        raise UnsoundError(
            ("links", position, "delay"),
            f"link {_between(link)} has delay {exact(link.delay)}",
            "a finite number of seconds, zero or more",
        )


def _between(link: Link) -> str:
    return f"{link.source}-{link.target}"
