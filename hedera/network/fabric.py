"""Data-centre networks for the scheduler: hosts, links, and the equal-cost paths between hosts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedera import _core
from kuijia_base.errors import KuijiaError

Ints = NDArray[np.int32]
Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]
Routes: TypeAlias = _core.FatTreeRoutes | _core.TableRoutes

HASHED = -1
"""Label of a flow whose path is chosen by the switches' hash."""


class UnknownHostError(KuijiaError):
    """Raised for a host that the network does not have."""


@dataclass(frozen=True, eq=False)
class Paths:
    """The paths of F flows: the links of all paths, and where each path begins and the last ends, shape (F + 1,)."""

    first: NDArray[np.int64]
    links: Ints


class Fabric(ABC):
    """A data-centre network of H hosts, each cabled to its edge switch, and L directed links with equal-cost paths.

    A *label*, 0 to `labels` - 1, is a choice of path that is valid for every pair of hosts. A pair with fewer paths has
    the same path under neighbouring labels. In a fat-tree labels are core switches. Flows of one label to one host meet
    at the same top switch, and share the rest of the path.

    Hosts are numbered edge switch by edge switch, and edge switches pod by pod.

    Attributes:
        nic_rate: rate of a host's interface in Mbit/s, each way.
        capacity: Mbit/s of each link, shape (L,).
        labels: number of labels.
        blocks: number of an edge switch's neighbours towards the top; each has an equal part of the labels.
        edge_first: where the hosts of each edge switch begin, and where the last ones end.
        pod_first: the same for pods, parts of the network that only top switches connect.
        inner: True for links between switches, shape (L,).
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
        """Return the number of equal-cost paths; raises UnknownHostError."""

    @abstractmethod
    def path(self, source: int, target: int, label: int) -> tuple[int, ...]:
        """Return the links from host to host under a label, hosts' cables included; raises UnknownHostError."""

    @abstractmethod
    def routes(self, source: Ints, target: Ints) -> Routes:
        """Return the paths of flows under all labels, in the kernels' form; raises UnknownHostError."""

    def paths(self, source: int, target: int) -> Iterator[tuple[int, ...]]:
        """Yield all equal-cost paths, each once, in the order of labels."""
        count = self.path_count(source, target)
        for number in range(count):
            yield self.path(source, target, -(-number * self.labels // count))

    def flow_paths(self, source: Ints, target: Ints, label: Ints) -> Paths:
        """Return the paths of flows, for the flow model."""
        found = [self.path(*flow) for flow in zip(source.tolist(), target.tolist(), label.tolist(), strict=True)]
        first = np.cumsum([0, *map(len, found)], dtype=np.int64)
        return Paths(first, np.fromiter((link for path in found for link in path), np.int32, int(first[-1])))

    def require_hosts(self, hosts: Ints | Sequence[int]) -> None:
        """Raise UnknownHostError for the first host that does not exist."""
        numbers = np.asarray(hosts)
        unknown = (numbers < 0) | (numbers >= self.hosts)
        if unknown.any():
            named = numbers[unknown][0]
            raise UnknownHostError(f"host {named} is unknown, the network has hosts 0 to {self.hosts - 1}")


def crosses(paths: Paths, links: Flags) -> Flags:
    """Return flags, shape (F,), of the paths that cross one of the marked links, shape (L,)."""
    crossed = np.concatenate([[0], np.cumsum(links[paths.links])])
    found: Flags = crossed[paths.first[1:]] > crossed[paths.first[:-1]]
    return found
