"""Traffic demands as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.quantities import exact
from kuijia_base.suggestion import meant
from te_solver.model.topology import LARGEST_RATE, Topology


@dataclass(frozen=True, slots=True)
class Demand:
    """The traffic that `source` wants to send to `target`, in Mbit/s; priority 0 is the most important.

    Raises:
        UnsoundError: source and target are the same, the rate is negative or above `LARGEST_RATE`, or the
            priority is negative.
    """

    source: str
    target: str
    rate: float
    priority: int = 0

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise UnsoundError(("target",), f"a demand from {quoted(self.source)} to itself", "two different nodes")
        if not (math.isfinite(self.rate) and self.rate >= 0):
            raise UnsoundError(("rate",), f"rate {exact(self.rate)}", "a finite number of Mbit/s, zero or more")
        if self.rate > LARGEST_RATE:
            raise UnsoundError(("rate",), f"rate {exact(self.rate)}", f"at most {LARGEST_RATE:g} Mbit/s")
        if self.priority < 0:
            raise UnsoundError(("priority",), f"priority {self.priority}", "a whole number, zero or more")

    @property
    def pair(self) -> tuple[str, str]:
        return self.source, self.target

    def require_nodes_of(self, topology: Topology) -> None:
        """Raise UnsoundError if the demand starts or ends outside the topology."""
        for key, node in (("source", self.source), ("target", self.target)):
            if not topology.has_node(node):
                raise UnsoundError(
                    (key,), f"unknown node {quoted(node)}{meant(node, topology.nodes)}", f"a node of {topology.name}"
                )


def scaled_to(largest: float, topology: Topology, demands: Iterable[Demand]) -> tuple[Topology, tuple[Demand, ...]]:
    """Return the network with its largest link at `largest` Mbit/s, and the demands in proportion."""
    factor = largest / max(link.capacity for link in topology.links)
    return topology.scaled(factor), tuple(replace(demand, rate=demand.rate * factor) for demand in demands)
