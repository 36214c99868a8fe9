"""Equal-cost multipath: hashes of the switches choose a flow's path among the shortest ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Set as AbstractSet

from kuijia_base.errors import KuijiaError
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
