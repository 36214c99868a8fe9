"""The Plan: the solver's result as plain data, on which all other parts work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kuijia_base.quantities import rate_of
from te_solver.formats.notes import counted
from te_solver.topology import Topology
from te_solver.tunnels import DISJOINT, Weight

FIRST_PATH_ID = 16
"""Smallest path id; path ids are MPLS labels, and 0 to 15 are reserved (RFC 3032 section 2.1)."""

LAST_PATH_ID = 0xFFFFF
"""Largest label, of 20 bits; switches cannot be programmed with a plan that counts beyond."""

MAX_TUNNELS_PER_PAIR = 16
"""Tunnels of a pair that switches are programmed with."""

MOST_PATHS = 64
"""Tunnels of a pair that a plan is solved for."""


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
        """Return True if the tunnel uses the edge between `a` and `b`, in either direction."""
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


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options that a plan was solved with, in addition to objective and protection; plans that replace it keep them.

    Attributes:
        tunnels: number of tunnels that each pair has, if the network allows.
        tunnel_weight: metric that tunnels minimise.
        node_disjoint: True if a pair's tunnels share no node where possible.
        paths: the choice that tunnels were found by, see `te_solver.path_choices`.
        spread: True if traffic uses all tunnels of a pair equally instead of preferring shorter ones.
        partitions: number of parts that maximum throughput was solved in; None for one program.
        seed: of the division into parts, and of paths that are drawn.
    """

    tunnels: int
    tunnel_weight: Weight = "hops"
    node_disjoint: bool = False
    spread: bool = False
    partitions: int | None = None
    seed: int = 1
    paths: str = DISJOINT


@dataclass(frozen=True, repr=False)
class Plan:
    """The topology, its pairs with their tunnels, and how they were found.

    Traffic of several classes between the same two nodes makes a pair for each class; these share their tunnels.

    Attributes:
        topology: the network.
        pairs: the pairs in the order of the demands.
        objective: name of the objective.
        objective_value: value of the objective: Mbit/s, for `min-max-utilisation` a share of capacity.
        solver: name and version of the solver.
        solve_seconds: seconds spent in the solver alone.
        protected_failures: number of failed edges that the allocations survive without loss. A plan with protection
            reserves more for its tunnels than it allocates: `Tunnel.rate` is the reservation, and a tunnel carries
            `weight` times the allocation of its pair.
        upper_bound: upper bound of `objective_value` for these tunnels; None if the value is optimal, or the bound is
            unknown, as with several classes: a shortfall of one class changes the capacity left for the next.
        options: the options it was solved with; None if unknown, as in files of earlier versions.
    """

    topology: Topology
    pairs: tuple[PairPlan, ...]
    objective: str
    objective_value: float
    solver: str
    solve_seconds: float
    protected_failures: int = 0
    upper_bound: float | None = None
    options: PlanOptions | None = None

    def __repr__(self) -> str:
        """Name the network, the plan's size and its result: data of a large plan would fill thousands of screens."""
        return (
            f"{type(self).__name__}({self.topology.name!r}, {counted(len(self.pairs), 'pair')}, "
            f"{counted(len(self.tunnels), 'tunnel')}, {self.objective}: {rate_of(self.allocated, self.demand)})"
        )

    @property
    def demand(self) -> float:
        """Mbit/s that all pairs ask for."""
        return sum(pair.demand for pair in self.pairs)

    @property
    def allocated(self) -> float:
        """Mbit/s that all pairs get."""
        return sum(pair.allocated for pair in self.pairs)

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
        """The highest load of a link as a share of its capacity."""
        return max(load / self.topology.link(*ends).capacity for ends, load in self.link_loads.items())
