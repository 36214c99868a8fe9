"""Equal-cost multipath, by which hashes of the switches choose among shortest paths, and the paths that flows take."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import KuijiaError, UnsoundError
from simulator.packet.credited import Credited
from simulator.packet.flows import Flows, Path
from simulator.packet.network import Network

_MASK = (1 << 64) - 1

MOST_PATHS = 1024
"""Most paths between two hosts that senders choose from."""


class NoPathError(KuijiaError):
    """Raised when two hosts are not connected."""


class Ecmp:
    """Shortest paths by number of links; hosts do not forward packets.

    Every switch hashes a flow's number by itself, so choices at one switch are independent of those at the next.
    """

    def __init__(self, network: Network, seed: int = 0, failed: AbstractSet[int] = frozenset()) -> None:
        self._network = network
        self._seed = seed
        self._alive = [[link for link in links if link not in failed] for links in network.outputs]
        self._hosts = frozenset(network.hosts)
        self._incoming: list[list[int]] = [[] for _ in range(network.nodes)]
        for links in self._alive:
            for link in links:
                self._incoming[network.links[link].target].append(link)
        self._access = [self._last_link(node) for node in range(network.nodes)]
        self._next: dict[int, list[list[int]]] = {}
        self._paths: dict[tuple[int, int], list[list[int]]] = {}

    def route(self, source: int, target: int, flow: int) -> list[int]:
        """Return the links of the flow's path.

        Raises:
            NoPathError: there is no path.
        """
        last = self._access[target]
        end = target if last is None else self._network.links[last].source
        choices = self.choices(end)
        links, node = [], source
        while node != end:
            options = choices[node]
            if not options:
                raise NoPathError(f"no path leads from node {source} to node {target}")
            link = options[self._hash(flow, node) % len(options)] if len(options) > 1 else options[0]
            links.append(link)
            node = self._network.links[link].target
        return links if last is None else [*links, last]

    def paths(self, source: int, target: int) -> list[list[int]]:
        """Return the links of each shortest path, in order of the links' numbers, of very many the first ones.

        Raises:
            NoPathError: there is no path.
        """
        if (known := self._paths.get((source, target))) is not None:
            return known
        choices = self.choices(target)
        found: list[list[int]] = []
        begun: list[tuple[int, list[int]]] = [(source, [])]
        while begun and len(found) < MOST_PATHS:
            node, links = begun.pop()
            if node == target:
                found.append(links)
            begun += [(self._network.links[link].target, [*links, link]) for link in reversed(choices[node])]
        if not found:
            raise NoPathError(f"no path leads from node {source} to node {target}")
        self._paths[source, target] = found
        return found

    def choices(self, target: int) -> list[list[int]]:
        """Return for each node the first links of its shortest paths to the target."""
        return self._next.get(target) or self._toward(target)

    def _last_link(self, node: int) -> int | None:
        """Return the link that all paths to a host end with; None if there are several, or it comes from a host.

        The hosts of a switch share the choices toward it: a large network needs a table per switch, not per host.
        """
        if node not in self._hosts or len(self._incoming[node]) != 1:
            return None
        link = self._incoming[node][0]
        return None if self._network.links[link].source in self._hosts else link

    def _toward(self, target: int) -> list[list[int]]:
        links = self._network.links
        distance = [-1] * self._network.nodes
        distance[target] = 0
        choices: list[list[int]] = [[] for _ in range(self._network.nodes)]
        waiting = deque([target])
        while waiting:
            node = waiting.popleft()
            if node in self._hosts and node != target:
                continue
            for link in self._incoming[node]:
                before = links[link].source
                if distance[before] < 0:
                    distance[before] = distance[node] + 1
                    waiting.append(before)
                if distance[before] == distance[node] + 1:
                    choices[before].append(link)
        for options in choices:
            options.sort()
        self._next[target] = choices
        return choices

    def _hash(self, flow: int, node: int) -> int:
        return _mixed(_mixed(self._seed * 0x9E3779B97F4A7C15 + flow) + node)


def _mixed(value: int) -> int:
    """Apply the finaliser of splitmix64: all bits of the result depend on all bits of the value."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


@dataclass(frozen=True)
class _Ends:
    source: int
    target: int
    path: Path | None
    symmetric: bool = False


class RouteTable:
    """All paths, each stored once, in the form that the core takes.

    Attributes:
        taken: for each flow, through all groups, the index of its set of paths and of that of its acknowledgements.
            A set is a single path, with the index of this path, unless senders have several.

    Raises:
        UnsoundError: a given path does not lead from source to target, or a flow's end is not a host.
        NoPathError: a flow has no path to its target.
    """

    def __init__(self, network: Network, groups: Sequence[Flows], seed: int, *, several: bool = False) -> None:
        self._network = network
        self._hosts = frozenset(network.hosts)
        self._seed = seed
        self._several = several
        self._places: dict[tuple[int, ...], int] = {}
        self._sets: dict[tuple[int, ...], int] = {}
        self._flows: list[_Ends] = []
        self._returns = _Returns(network)
        self.taken: list[tuple[int, int]] = []
        self.extend(groups)

    def extend(self, groups: Sequence[Flows], failed: AbstractSet[int] = frozenset()) -> None:
        """Add flows, around failed links."""
        added = [flow for group in groups for flow in _ends(group)]
        for number, flow in enumerate(added, len(self._flows)):
            self._check(number, flow)
        ecmp = Ecmp(self._network, self._seed, failed)
        self.taken += [self._routed(ecmp, number, flow) for number, flow in enumerate(added, len(self._flows))]
        self._flows += added

    def move(self, flow: int, path: Path) -> tuple[int, int]:
        """Let a flow take one path and its acknowledgements the other; return the indices of both."""
        ends = self._flows[flow]
        moved = replace(ends, path=path)
        self._check(flow, moved)
        self._flows[flow] = moved
        there, back = path
        self.taken[flow] = self._set([there]), self._set([back])
        return self.taken[flow]

    def number(self, path: Sequence[int]) -> int:
        """Return the index of a path, which is added if it is not in the table.

        Raises:
            UnsoundError: its links do not lead from one to the next.
        """
        where, links = ("path",), self._network.links
        if not path or not 0 <= path[0] < len(links):
            problem = f"there is no link {path[0]}" if path else "it has no links"
            raise UnsoundError(where, problem, f"links from 0 to {len(links) - 1}")
        self._follow(path, links[path[0]].source, where)
        return self._places.setdefault(tuple(path), len(self._places))

    def reroute(self, failed: AbstractSet[int]) -> list[tuple[int, int, int]]:
        """Reroute flows around failed links; return each changed flow with the indices of its paths there and back.

        A flow without another path keeps its own.
        """
        before, self.taken = self.taken, self._chosen(failed)
        both = enumerate(zip(before, self.taken, strict=True))
        return [(number, *after) for number, (old, after) in both if old != after]

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return where each path begins and the last one ends, and the links of all paths, one after the other."""
        lengths = [0, *map(len, self._places)]
        return np.cumsum(lengths, dtype=np.int64), np.array([link for path in self._places for link in path], np.uint32)

    def sets(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return where each set of paths begins and the last one ends, and the paths of all sets."""
        lengths = [0, *map(len, self._sets)]
        return np.cumsum(lengths, dtype=np.int64), np.array([path for each in self._sets for path in each], np.uint32)

    def _chosen(self, failed: AbstractSet[int]) -> list[tuple[int, int]]:
        ecmp = Ecmp(self._network, self._seed, failed)
        chosen = []
        for number, flow in enumerate(self._flows):
            try:
                chosen.append(self._routed(ecmp, number, flow))
            except NoPathError:
                chosen.append(self.taken[number])
        return chosen

    def _routed(self, ecmp: Ecmp, number: int, flow: _Ends) -> tuple[int, int]:
        if flow.path is not None:
            there, back = flow.path
            return self._set([there]), self._set([back])
        if flow.symmetric:
            there = ecmp.route(flow.source, flow.target, number)
            return self._set([there]), self._set([self._returns.of(there)])
        return self._found(ecmp, flow.source, flow.target, number), self._found(ecmp, flow.target, flow.source, number)

    def _found(self, ecmp: Ecmp, source: int, target: int, flow: int) -> int:
        return self._set(ecmp.paths(source, target) if self._several else [ecmp.route(source, target, flow)])

    def _set(self, paths: Sequence[Sequence[int]]) -> int:
        places = tuple(self._places.setdefault(tuple(path), len(self._places)) for path in paths)
        return self._sets.setdefault(places, len(self._sets))

    def _check(self, number: int, flow: _Ends) -> None:
        if flow.source == flow.target or not {flow.source, flow.target} <= self._hosts:
            raise UnsoundError(("flows", number), f"goes from {flow.source} to {flow.target}", "two different hosts")
        if flow.path is None:
            return
        for path, first, last in zip(flow.path, (flow.source, flow.target), (flow.target, flow.source), strict=True):
            where = ("flows", number, "path")
            if (end := self._follow(path, first, where)) != last:
                raise UnsoundError(where, f"ends at node {end}", f"node {last}")

    def _follow(self, path: Sequence[int], node: int, where: tuple[str | int, ...]) -> int:
        """Return the node at the end of a path that begins at this node."""
        for link in path:
            if not 0 <= link < len(self._network.links) or self._network.links[link].source != node:
                raise UnsoundError(where, f"link {link} does not leave node {node}", "a link that does")
            node = self._network.links[link].target
        return node


def _ends(group: Flows) -> list[_Ends]:
    paths = group.paths if group.paths is not None else [None] * group.count
    symmetric = isinstance(group.transport, Credited) and group.transport.symmetric
    return [_Ends(*ends, symmetric) for ends in zip(group.source.tolist(), group.target.tolist(), paths, strict=True)]


class _Returns:
    """The way back over the same switches; of parallel links the one with the same place among them."""

    def __init__(self, network: Network) -> None:
        self._network = network

    @cached_property
    def _between(self) -> dict[tuple[int, int], list[int]]:
        between: dict[tuple[int, int], list[int]] = {}
        for number, link in enumerate(self._network.links):
            between.setdefault((link.source, link.target), []).append(number)
        return between

    def of(self, path: Sequence[int]) -> list[int]:
        """Return the links of the way back; raises NoPathError if one is missing."""
        found = []
        for number in reversed(path):
            link = self._network.links[number]
            back = self._between.get((link.target, link.source))
            if back is None:
                raise NoPathError(f"no link leads back from node {link.target} to node {link.source}")
            found.append(back[self._between[link.source, link.target].index(number) % len(back)])
        return found
