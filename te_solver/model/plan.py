"""The Plan: the solver's result as plain data, on which all other parts work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.quantities import counted, rate_of, share
from te_solver.model.topology import Topology

Weight = Literal["hops", "delay", "inverse-capacity"]
"""Metric that tunnels minimise: links, seconds, or the sum of one divided by each link's capacity."""

WEIGHTS: tuple[Weight, ...] = get_args(Weight)

DISJOINT, NODE_DISJOINT = "disjoint", "node-disjoint"
"""Names of the path choices of a `TunnelFinder`, see `te_solver.tunnels.path_choices`."""

FIRST_PATH_ID = 16
"""Smallest path id; path ids are MPLS labels, and 0 to 15 are reserved (RFC 3032 section 2.1)."""

LAST_PATH_ID = 0xFFFFF
"""Largest label, of 20 bits; switches cannot be programmed with a plan that counts beyond."""

MAX_TUNNELS_PER_PAIR = 16
"""Tunnels of a pair that switches are programmed with."""

MOST_PATHS = 64
"""Tunnels of a pair that a plan is solved for."""

TOLERANCE = 1e-6
"""Relative tolerance for sums of rounded numbers; messages show eight digits, so that an excess is seen."""

_Where = tuple[str | int, ...]


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
        paths: the choice that tunnels were found by, see `te_solver.tunnels.path_choices`.
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
        busiest = self.maximum_utilisation
        overload = f", busiest link {share(busiest)}" if busiest > 1 + TOLERANCE else ""
        return (
            f"{type(self).__name__}({self.topology.name!r}, {counted(len(self.pairs), 'pair')}, "
            f"{counted(len(self.tunnels), 'tunnel')}, {self.objective}: {rate_of(self.allocated, self.demand)}"
            f"{overload})"
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
            if tunnel.rate:  # most tunnels of a large plan carry nothing
                for hop in tunnel.hops:
                    loads[hop] += tunnel.rate
        return loads

    def with_rates_times(self, factor: float) -> Plan:
        """Return the plan with the rates of all pairs multiplied; its objective's value stays."""
        pairs = (
            replace(
                pair,
                demand=pair.demand * factor,
                allocated=pair.allocated * factor,
                tunnels=tuple(replace(tunnel, rate=tunnel.rate * factor) for tunnel in pair.tunnels),
            )
            for pair in self.pairs
        )
        return replace(self, pairs=tuple(pairs))

    @property
    def maximum_utilisation(self) -> float:
        """The highest load of a link as a share of its capacity."""
        return max(load / self.topology.link(*ends).capacity for ends, load in self.link_loads.items())


def require_sound_tunnels(plan: Plan) -> None:
    """Require that each pair occurs once in a class and has sound tunnels: simple paths, weights that sum to one.

    A path id names one tunnel of one pair; the classes of a pair share its tunnels.

    Raises:
        UnsoundError: at the first fault.
    """
    classes: set[tuple[str, str, int]] = set()
    tunnels_of: dict[tuple[str, str], list[tuple[int, tuple[str, ...]]]] = {}
    path_ids: set[int] = set()
    for index, pair in enumerate(plan.pairs):
        where: _Where = ("pairs", index)
        ends = (pair.source, pair.target)
        _require_ends(plan.topology, pair, where)
        if (*ends, pair.priority) in classes:
            raise UnsoundError(
                where,
                f"a second pair from {pair.source} to {pair.target} with priority {pair.priority}",
                "each pair once in a class",
            )
        classes.add((*ends, pair.priority))
        tunnels = [(tunnel.path_id, tunnel.nodes) for tunnel in pair.tunnels]
        if tunnels_of.setdefault(ends, tunnels) is tunnels:
            for number, tunnel in enumerate(pair.tunnels):
                inside = (*where, "tunnels", number)
                _require_path(plan.topology, pair, tunnel, (*inside, "nodes"))
                if tunnel.path_id in path_ids:
                    raise UnsoundError(
                        (*inside, "path_id"), f"path id {tunnel.path_id} is given twice", "different ids"
                    )
                path_ids.add(tunnel.path_id)
        elif tunnels_of[ends] != tunnels:
            raise UnsoundError((*where, "tunnels"), "other tunnels than another class of the pair has", "the same")
        _require_weights(pair, (*where, "tunnels"))


def _require_ends(topology: Topology, pair: PairPlan, where: _Where) -> None:
    for key, node in (("source", pair.source), ("target", pair.target)):
        if not topology.has_node(node):
            raise UnsoundError((*where, key), f"unknown node {quoted(node)}", "a node of the topology")
    if pair.source == pair.target:
        raise UnsoundError((*where, "target"), f"a pair of {pair.source} with itself", "two different nodes")


def _require_path(topology: Topology, pair: PairPlan, tunnel: Tunnel, where: _Where) -> None:
    if not tunnel.nodes or (tunnel.nodes[0], tunnel.nodes[-1]) != (pair.source, pair.target):
        raise UnsoundError(where, "the tunnel does not join the pair", f"a path from {pair.source} to {pair.target}")
    if len(set(tunnel.nodes)) < len(tunnel.nodes):
        raise UnsoundError(where, "the tunnel meets a node twice", "a path without a loop")
    missing = topology.missing_hop(tunnel.nodes)
    if missing is not None:
        raise UnsoundError(where, f"there is no link {'-'.join(missing)}", "a path over links of the topology")


def _require_weights(pair: PairPlan, where: _Where) -> None:
    for number, tunnel in enumerate(pair.tunnels):
        if not 0 <= tunnel.weight <= 1 + TOLERANCE:
            raise UnsoundError((*where, number, "weight"), f"weight {tunnel.weight:.8g}", "a number from 0 to 1")
    total = sum(tunnel.weight for tunnel in pair.tunnels)
    if not abs(total - 1) <= TOLERANCE:
        raise UnsoundError(where, f"the weights sum to {total:.8g}", "a sum of 1")
