"""Fat-trees of k-port switches (Al-Fares et al., SIGCOMM 2008): addresses, links, and paths, by arithmetic alone."""

from __future__ import annotations

from functools import cached_property
from ipaddress import IPv4Address

import numpy as np

from hedera import _core
from hedera.network.fabric import Fabric, Ints, Paths, UnknownHostError
from kuijia_base.errors import UnsoundError
from te_solver.model.topology import Link, Topology

MOST_PORTS = 254
"""Largest k: the second byte of addresses holds the pod, or k for core switches."""

_FIRST_HOST = 2
_LAYERS = 6


class FatTree(Fabric):
    """k pods of k/2 edge and k/2 aggregation switches, (k/2)² core switches, k³/4 hosts, and equal cables.

    Each layer has k³/4 cables. Links are numbered layer by layer as packets cross them: host to edge switch, edge to
    aggregation, aggregation to core, then down from core to aggregation, aggregation to edge, edge to host; within a
    layer by the lower switch (or the host), then by the upper one. Core switch i * k/2 + j is connected to aggregation
    switch i of each pod. Label l stands for core switch l, and within a pod for aggregation switch l // (k/2).

    Raises:
        UnsoundError: k is odd, less than 2, or too large for addresses; or the rate is not positive.
    """

    def __init__(self, k: int, nic_rate: float = 1000.0) -> None:
        if k % 2 or not 2 <= k <= MOST_PORTS:
            raise UnsoundError(("k",), f"a fat-tree of {k}-port switches", f"an even number from 2 to {MOST_PORTS}")
        if not 0 < nic_rate < float("inf"):
            raise UnsoundError(("nic_rate",), f"a rate of {nic_rate:g}", "a finite number of Mbit/s greater than zero")
        self.k = k
        self.half = half = k // 2
        self.nic_rate = nic_rate
        self.cables = k * half * half
        self.capacity = np.full(_LAYERS * self.cables, nic_rate)
        self.inner = np.ones(self.capacity.size, dtype=np.bool_)
        self.inner[: self.cables] = self.inner[-self.cables :] = False
        self.labels = half * half
        self.blocks = half
        self.edge_first = np.arange(0, self.cables + 1, half, dtype=np.int32)
        self.pod_first = np.arange(0, self.cables + 1, half * half, dtype=np.int32)

    def path_count(self, source: int, target: int) -> int:
        self.require_hosts((source, target))
        if source == target:
            return 0
        from_edge, to_edge = source // self.half, target // self.half
        if from_edge == to_edge:
            return 1
        return self.half if from_edge // self.half == to_edge // self.half else self.labels

    def path(self, source: int, target: int, label: int) -> tuple[int, ...]:
        ends = np.array([source], np.int32), np.array([target], np.int32), np.array([label], np.int32)
        return tuple(self.flow_paths(*ends).links.tolist())

    def flow_paths(self, source: Ints, target: Ints, label: Ints) -> Paths:
        self.require_hosts(source)
        self.require_hosts(target)
        half, cables = self.half, self.cables
        from_edge, to_edge = source // half, target // half
        from_pod, to_pod = from_edge // half, to_edge // half
        aggregation = label // half
        layers = (
            source,
            from_edge * half + aggregation,
            from_pod * self.labels + label,
            to_pod * self.labels + label,
            to_edge * half + aggregation,
            target,
        )
        crossed = np.ones((source.size, _LAYERS), dtype=np.bool_)
        crossed[from_pod == to_pod, 2:4] = False
        crossed[from_edge == to_edge, 1:5] = False
        crossed[source == target] = False
        links = np.stack([layer * cables + numbers for layer, numbers in enumerate(layers)], axis=1)
        first = np.concatenate([[0], np.cumsum(crossed.sum(axis=1))])
        return Paths(first, links[crossed].astype(np.int32))

    def routes(self, source: Ints, target: Ints) -> _core.FatTreeRoutes:
        self.require_hosts(source)
        self.require_hosts(target)
        return _core.FatTreeRoutes(self.half, source, target)

    def address(self, host: int) -> IPv4Address:
        """Return 10.pod.edge.(2 + place at the edge switch); raises UnknownHostError."""
        self.require_hosts((host,))
        edge, place = divmod(host, self.half)
        pod, number = divmod(edge, self.half)
        return _address(pod, number, _FIRST_HOST + place)

    def host_at(self, address: IPv4Address) -> int:
        """Return the host with an address; raises UnknownHostError."""
        ten, pod, edge, place = address.packed
        place -= _FIRST_HOST
        if ten != 10 or pod >= self.k or edge >= self.half or not 0 <= place < self.half:
            raise UnknownHostError(f"{address} is not a host of a fat-tree of {self.k}-port switches")
        return (pod * self.half + edge) * self.half + place

    def edge_name(self, edge: int) -> str:
        return f"p{edge // self.half}e{edge % self.half}"

    def aggregation_name(self, pod: int, number: int) -> str:
        return f"p{pod}a{number}"

    @cached_property
    def topology(self) -> Topology:
        """The fat-tree as a plain graph: hosts h0.., switches p0e0.., p0a0.. and c0.., and the links in their order."""
        half = self.half
        edges = range(self.k * half)
        up = [
            *((f"h{host}", self.edge_name(host // half)) for host in range(self.hosts)),
            *((self.edge_name(e), self.aggregation_name(e // half, a)) for e in edges for a in range(half)),
            *((self.aggregation_name(*divmod(a, half)), f"c{a % half * half + c}") for a in edges for c in range(half)),
        ]
        cables = self.cables
        down = [(b, a) for layer in (2, 1, 0) for a, b in up[layer * cables : (layer + 1) * cables]]
        nodes = dict.fromkeys(end for layer in (0, 1, 2) for pair in up[layer * cables :][:cables] for end in pair)
        return Topology(f"fat-tree-{self.k}", tuple(nodes), tuple(Link(a, b, self.nic_rate) for a, b in (*up, *down)))


def _address(*rest: int) -> IPv4Address:
    return IPv4Address(bytes((10, *rest)))
