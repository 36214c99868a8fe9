"""A Plan: what the traffic-engineering solver decided, as plain data that every other part is driven by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from te_solver.topology import Topology

FIRST_PATH_ID = 16
"""Path ids are MPLS labels; 0 to 15 are reserved (RFC 3032 section 2.1)."""

LAST_PATH_ID = 0xFFFFF
"""A label has 20 bits. Plans may count beyond; switches cannot be programmed with such a plan."""

MAX_TUNNELS_PER_PAIR = 16


@dataclass(frozen=True, slots=True)
class Tunnel:
    """A path through the network with its share of a pair's traffic: `rate` in Mbit/s, `weight` in [0, 1]."""

    path_id: int
    nodes: tuple[str, ...]
    rate: float
    weight: float

    @property
    def hops(self) -> tuple[tuple[str, str], ...]:
        """The directed links of the tunnel as (source, target), from ingress to egress."""
        return tuple(pairwise(self.nodes))

    def crosses(self, a: str, b: str) -> bool:
        """Whether the tunnel uses the edge between `a` and `b`, in either direction."""
        return (a, b) in self.hops or (b, a) in self.hops


@dataclass(frozen=True, slots=True)
class PairPlan:
    """One ingress-egress pair: demand and allocation in Mbit/s, and its tunnels, whose weights sum to one.

    `priority` is the class of its traffic, 0 the most important.
    """

    source: str
    target: str
    demand: float
    allocated: float
    tunnels: tuple[Tunnel, ...]
    priority: int = 0


@dataclass(frozen=True)
class Plan:
    """The topology, its pairs with their tunnels, and how they were found.

    Traffic of several classes between the same two nodes makes a pair for each class; these have the same tunnels.

    Attributes:
        topology: the network.
        pairs: in the order of the demands.
        objective: what was optimised, by name.
        objective_value: what that came to: Mbit/s, for `min-max-utilisation` the share of a capacity.
        solver: name and version.
        solve_seconds: spent in the solver alone.
        protected_failures: how many failed edges what is allocated survives without loss. A plan that protects sets
            aside more for its tunnels than is allocated: `Tunnel.rate` is what is set aside, a tunnel carries
            `weight` times what its pair is allocated.
        upper_bound: what `objective_value` could at most be for these tunnels; None when it is that, and when nobody
            knows: what a class of traffic lacks changes what is left for the next, so several have no bound together.
    """

    topology: Topology
    pairs: tuple[PairPlan, ...]
    objective: str
    objective_value: float
    solver: str
    solve_seconds: float
    protected_failures: int = 0
    upper_bound: float | None = None

    @property
    def tunnels(self) -> tuple[Tunnel, ...]:
        return tuple(tunnel for pair in self.pairs for tunnel in pair.tunnels)

    @cached_property
    def link_loads(self) -> dict[tuple[str, str], float]:
        """Mbit/s that the tunnels' rates put on each directed link, every link of the topology in its order."""
        loads = {link.ends: 0.0 for link in self.topology.links}
        for tunnel in self.tunnels:
            for hop in tunnel.hops:
                loads[hop] += tunnel.rate
        return loads

    @property
    def maximum_utilisation(self) -> float:
        """The load of the fullest link as a share of its capacity."""
        return max(load / self.topology.link(*ends).capacity for ends, load in self.link_loads.items())
