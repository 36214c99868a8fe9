"""Multi-rooted graphs: hosts are the nodes with one cable, paths are the shortest ones between their switches."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from itertools import pairwise

import numpy as np

from hedera import _core
from hedera.network.fabric import Fabric, Ints
from kuijia_base.errors import UnsoundError
from te_solver.model.topology import Topology

MOST_LABELS = 4096
"""Most paths of a pair that the scheduler uses, evenly spread over all its paths."""


class MultiRooted(Fabric):
    """A graph read from a topology file.

    Hosts are the nodes with one neighbour. The paths of a pair of switches are ordered lexicographically by the
    positions of their nodes in the file; label l of n is path l * count // n. So in a fat-tree file in the order of its
    switches, labels are core switches.

    Distances to a switch are computed when a path to it is needed, paths one at a time.

    Raises:
        UnsoundError: there are no hosts, a host is connected to another host, hosts' cables differ in capacity or lack
            a direction, or a switch cannot be reached.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        neighbours = topology.neighbours
        leaves = {node for node in topology.nodes if len(neighbours[node]) == 1}
        if not leaves:
            raise UnsoundError(("nodes",), "no node with one neighbour", "hosts, which have one")
        rank = {node: number for number, node in enumerate(topology.nodes)}
        by_pod = self._pods(leaves, rank)
        self._edges = [edge for edges in by_pod for edge in edges]
        hosts_of = {edge: [node for node in neighbours[edge] if len(neighbours[node]) == 1] for edge in self._edges}
        self.host_names = tuple(host for edge in self._edges for host in hosts_of[edge])
        self._edge_of = [edge for edge in self._edges for _ in hosts_of[edge]]
        self.edge_first = _first([len(hosts_of[edge]) for edge in self._edges])
        self.pod_first = _first([sum(len(hosts_of[edge]) for edge in edges) for edges in by_pod])
        self.capacity = np.array([link.capacity for link in topology.links])
        self._position = {link.ends: number for number, link in enumerate(topology.links)}
        self.inner = np.array([not leaves.intersection(link.ends) for link in topology.links])
        self.nic_rate = self._rate_of_hosts()
        self._towards: dict[str, dict[str, int]] = {}
        self._ways: dict[tuple[str, str], int] = {}
        self._require_connected()
        self.blocks = max(len(self._nearer(edge, other)) or 1 for edge in self._edges for other in self._edges)

    def _pods(self, leaves: set[str], rank: dict[str, int]) -> list[list[str]]:
        """Return the edge switches of each part that stays connected without the switches furthest from hosts."""
        import networkx as nx  # noqa: PLC0415  # slow to import, and few networks need it

        neighbours = self.topology.neighbours
        height = dict.fromkeys(leaves, 0)
        for leaf in sorted(leaves, key=rank.__getitem__):
            if neighbours[leaf][0] in leaves:
                raise UnsoundError(("nodes", rank[leaf]), f"host {leaf} is connected to a host", "a switch")
        queue = deque(sorted(leaves, key=rank.__getitem__))
        while queue:
            node = queue.popleft()
            for other in neighbours[node]:
                if other not in height:
                    height[other] = height[node] + 1
                    queue.append(other)
        edges = [node for node in self.topology.nodes if height.get(node) == 1]
        top = max(height.values())
        graph = nx.Graph(self.topology.edges)
        graph.remove_nodes_from([node for node, far in height.items() if far == top and far > 1] + sorted(leaves))
        pods = [[edge for edge in edges if edge in part] for part in nx.connected_components(graph)]
        return sorted((pod for pod in pods if pod), key=lambda pod: rank[pod[0]])

    def _rate_of_hosts(self) -> float:
        rates = set()
        for host, edge in zip(self.host_names, self._edge_of, strict=True):
            for ends in ((host, edge), (edge, host)):
                if ends not in self._position:
                    raise UnsoundError(("links",), f"no link from {ends[0]} to {ends[1]}", "hosts' cables both ways")
                rates.add(self.topology.link(*ends).capacity)
        if len(rates) > 1:
            problem = f"hosts with {' and '.join(f'{rate:g}' for rate in sorted(rates))} Mbit/s"
            raise UnsoundError(("links",), problem, "the same for all hosts")
        return rates.pop()

    def _require_connected(self) -> None:
        for edge in self._edges:
            for other in self._edges:
                if edge not in self._distances(other):
                    raise UnsoundError(("links",), f"no path from {edge} to {other}", "a connected network")

    @cached_property
    def labels(self) -> int:  # type: ignore[override]  # an attribute there
        counts = (self._count(a, b) for a in self._edges for b in self._edges)
        return min(max(counts), MOST_LABELS)

    def path_count(self, source: int, target: int) -> int:
        self.require_hosts((source, target))
        count = self._count(self._edge_of[source], self._edge_of[target])
        return min(count, self.labels) if source != target else 0

    def path(self, source: int, target: int, label: int) -> tuple[int, ...]:
        self.require_hosts((source, target))
        if source == target:
            return ()
        inner = self._switch_path(self._edge_of[source], self._edge_of[target], label)
        nodes = (self.host_names[source], *inner, self.host_names[target])
        return tuple(self._position[hop] for hop in pairwise(nodes))

    def routes(self, source: Ints, target: Ints) -> _core.TableRoutes:
        self.require_hosts(source)
        self.require_hosts(target)
        rows: dict[tuple[str, str], int] = {}
        flows = zip(source.tolist(), target.tolist(), strict=True)
        row = [rows.setdefault((self._edge_of[a], self._edge_of[b]), len(rows)) for a, b in flows]
        paths = [self._switch_path(*pair, label) for pair in rows for label in range(self.labels)]
        hops = [[self._position[hop] for hop in pairwise(path)] for path in paths]
        return _core.TableRoutes(
            self.links,
            self.labels,
            np.cumsum([0, *map(len, hops)], dtype=np.int64),
            np.fromiter((link for path in hops for link in path), np.int32),
            np.array(row, np.int32),
            target,
            self.hosts,
        )

    def _switch_path(self, source: str, target: str, label: int) -> list[str]:
        number = label * self._count(source, target) // self.labels
        path = [source]
        while path[-1] != target:
            for node in self._nearer(path[-1], target):
                count = self._count(node, target)
                if number < count:
                    path.append(node)
                    break
                number -= count
        return path

    def _distances(self, target: str) -> dict[str, int]:
        """Return the distance of each switch to `target` along directed links."""
        if target not in self._towards:
            far = {target: 0}
            queue = deque([target])
            while queue:
                node = queue.popleft()
                for other in self.topology.neighbours[node]:
                    if other not in far and (other, node) in self._position:
                        far[other] = far[node] + 1
                        queue.append(other)
            self._towards[target] = far
        return self._towards[target]

    def _nearer(self, node: str, target: str) -> list[str]:
        """Return the next nodes on shortest paths to `target`."""
        far = self._distances(target)
        return [
            other
            for other in self.topology.neighbours[node]
            if (node, other) in self._position and far.get(other, -1) == far[node] - 1
        ]

    def _count(self, source: str, target: str) -> int:
        if source == target:
            return 1
        if (source, target) not in self._ways:
            self._ways[source, target] = sum(self._count(node, target) for node in self._nearer(source, target))
        return self._ways[source, target]


def _first(sizes: list[int]) -> Ints:
    return np.cumsum([0, *sizes], dtype=np.int32)
