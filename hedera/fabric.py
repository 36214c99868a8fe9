"""What the scheduler needs to know of a data-centre network: hosts, links, and the equal-cost paths between hosts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedera import _core
from te_solver.errors import KuijiaError

Ints = NDArray[np.int32]
Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]
Routes: TypeAlias = _core.FatTreeRoutes | _core.TableRoutes

HASHED = -1
"""In place of a label: the flow goes wherever the switches' hash sends it."""


class UnknownHostError(KuijiaError):
    """A host that the network does not have."""


@dataclass(frozen=True, eq=False)
class Paths:
    """The paths of F flows: links of one after the other, where each begins, and where the last one ends, (F + 1,)."""

    first: NDArray[np.int64]
    links: Ints


class Fabric(ABC):
    """A network of H hosts, each with one cable to its edge switch, and L directed links between equal-cost paths.

    A *label* is a choice of path that means something for every pair of hosts: 0 to `labels` - 1. A pair with fewer
    paths has the same path under neighbouring labels. In a fat-tree labels are core switches. Flows of one label to
    one host meet at the same top switch, and share what is left of the way.

    Hosts are numbered edge switch by edge switch, and edge switches pod by pod.

    Attributes:
        nic_rate: what a host sends and receives at most, in Mbit/s.
        capacity: of each link, in Mbit/s, shape (L,).
        labels: how many labels there are.
        blocks: how many neighbours towards the top an edge switch has; equal parts of the labels belong to each.
        edge_first: where the hosts of each edge switch begin, and where the last ones end.
        pod_first: likewise for pods, parts of the network that only top switches connect.
        inner: whether a link lies between switches, shape (L,).
    """

    nic_rate: float
    capacity: Vector
    labels: int
    blocks: int
    edge_first: Ints
    pod_first: Ints
    inner: Flags

    @property
    def hosts(self) -> int:
        return int(self.edge_first[-1])

    @property
    def links(self) -> int:
        return int(self.capacity.size)

    @abstractmethod
    def path_count(self, source: int, target: int) -> int:
        """How many equal-cost paths there are; raises UnknownHostError."""

    @abstractmethod
    def path(self, source: int, target: int, label: int) -> tuple[int, ...]:
        """The links from host to host under a label, their cables included; raises UnknownHostError."""

    @abstractmethod
    def routes(self, source: Ints, target: Ints) -> Routes:
        """The same for flows at once, as the kernels take it; raises UnknownHostError."""

    def paths(self, source: int, target: int) -> Iterator[tuple[int, ...]]:
        """All equal-cost paths, each once, in the order of labels, made one at a time as they are asked for."""
        count = self.path_count(source, target)
        for number in range(count):
            yield self.path(source, target, -(-number * self.labels // count))

    def flow_paths(self, source: Ints, target: Ints, label: Ints) -> Paths:
        """The paths of flows, for the flow model."""
        found = [self.path(*flow) for flow in zip(source.tolist(), target.tolist(), label.tolist(), strict=True)]
        first = np.cumsum([0, *map(len, found)], dtype=np.int64)
        return Paths(first, np.fromiter((link for path in found for link in path), np.int32, int(first[-1])))

    def require_hosts(self, hosts: Ints | Sequence[int]) -> None:
        """Raises UnknownHostError, naming the first host that there is not."""
        numbers = np.asarray(hosts)
        unknown = (numbers < 0) | (numbers >= self.hosts)
        if unknown.any():
            named = numbers[unknown][0]
            raise UnknownHostError(f"host {named} is unknown, the network has hosts 0 to {self.hosts - 1}")


def crosses(paths: Paths, links: Flags) -> Flags:
    """Which of F flows have one of the marked links, shape (L,), on their paths; shape (F,)."""
    crossed = np.concatenate([[0], np.cumsum(links[paths.links])])
    found: Flags = crossed[paths.first[1:]] > crossed[paths.first[:-1]]
    return found
