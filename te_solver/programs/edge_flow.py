"""Edge multi-commodity flow: the bound of all allocations, over any paths, and the tunnels that reach it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Literal

import numpy as np
import scipy.sparse as sp

from kuijia_base.errors import UnsoundError
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from te_solver.programs.incidence import Vector
from te_solver.programs.linear import Linear, column
from te_solver.programs.max_concurrent import SHARE, MaxConcurrent, concurrency
from te_solver.programs.max_throughput import MaxThroughput
from te_solver.programs.min_max_utilisation import MinMaxUtilisation
from te_solver.programs.program import Objective, Options, Pair, total
from te_solver.programs.solver import Solver
from te_solver.tunnels.finder import Paths

Wanted = Literal["throughput", "utilisation"]

_MANY_FLOWS = 30_000
"""Variables from which on the interior point method is used."""

_DUST = 1e-9
"""Share of a link's capacity, or of a demand, below which a flow is rounding."""


@dataclass(frozen=True)
class EdgeFlow:
    """The optimum over all paths.

    Attributes:
        value: Mbit/s in all, or the utilisation of the busiest link, whose reciprocal is the concurrent share.
        granted: share of each demand that is carried, in the order of the demands.
        flows: Mbit/s from each source (row) on each link (column), shape (S, L).
        sources: the node of each row.
    """

    value: float
    granted: Vector
    flows: Vector
    sources: tuple[str, ...]


def edge_flow(topology: Topology, demands: Sequence[Demand], wanted: Wanted, solver: Solver | None = None) -> EdgeFlow:
    """Return the multi-commodity flow with the most throughput, or with all demand and the least utilisation.

    The flows of all demands from one source are one commodity (Ahuja, Magnanti and Orlin, Network Flows, 1993, chapter
    17): S L variables in place of one for each pair and link, and the same optimum. Rows keep what arrives at a node
    less what leaves it equal to what the source sends there. Variables are shares of capacities, rows of what can
    arrive.

    Args:
        topology: the network; all demands are connected.
        demands: each source and target once.
        wanted: the objective.
        solver: HiGHS, with its `watch`.

    Raises:
        SolverError: HiGHS did not reach an optimum.
    """
    sources = tuple(dict.fromkeys(each.source for each in demands))
    row_of = {node: number for number, node in enumerate(sources)}
    nodes = {node: number for number, node in enumerate(topology.nodes)}
    capacity = np.array([link.capacity for link in topology.links])
    arriving = np.zeros(len(nodes))
    np.maximum.at(arriving, [nodes[link.target] for link in topology.links], capacity)
    np.maximum.at(arriving, [nodes[link.source] for link in topology.links], capacity)
    size = len(sources) * capacity.size
    program = Linear(solver or Solver(), "interior" if size >= _MANY_FLOWS else "simplex")
    back = np.array([[link.target == source for link in topology.links] for source in sources])
    caps = np.where(back, 0.0, 1.0 if wanted == "throughput" else np.inf)
    flows = program.variables(size, caps=caps.reshape(-1))
    asked = np.array([each.rate for each in demands])
    place = np.array([row_of[each.source] * len(nodes) + nodes[each.target] for each in demands])
    per_row = np.tile(arriving, len(sources))
    arrives = sp.coo_array((asked / per_row[place], (place, np.arange(place.size))), shape=(per_row.size, place.size))
    kept = sp.kron(sp.identity(len(sources)), _balance(topology, nodes, capacity, arriving), format="coo")
    elsewhere = np.ones(per_row.size, dtype=bool)
    elsewhere[[number * len(nodes) + nodes[source] for source, number in row_of.items()]] = False
    rows = np.flatnonzero(elsewhere)
    balance, arrives = sp.csr_array(kept)[rows], sp.csr_array(arrives)[rows]
    on_link = sp.kron(np.ones((1, len(sources))), sp.identity(capacity.size), format="csr")
    if wanted == "throughput":
        unit = float(asked.max(initial=0.0)) or 1.0
        shares = program.variables(asked.size, cost=-asked / unit, caps=1.0)
        program.rows((flows, balance), (shares, -arrives), at_least=0.0, at_most=0.0)
        program.rows((flows, on_link), at_most=1.0)
        found = program.solve()
        granted = np.clip(shares.of(found.values), 0.0, 1.0)
        value = float(granted @ asked)
    else:
        # In units of the most that one demand alone asks of a link that it could use.
        unit = float((asked / arriving[[nodes[each.target] for each in demands]]).max(initial=0.0)) or 1.0
        highest = program.variables(1, cost=1.0)
        right = np.asarray(arrives.sum(axis=1)).reshape(-1) / unit
        program.rows((flows, balance), at_least=right, at_most=right)
        program.rows((flows, on_link), (highest, column(-np.ones(capacity.size))), at_most=0.0)
        found = program.solve()
        granted, value = np.ones(asked.size), float(highest.of(found.values)[0]) * unit
        capacity = capacity * unit
    carried = flows.of(found.values).reshape(len(sources), -1) * capacity
    return EdgeFlow(value, granted, carried, sources)


def _balance(topology: Topology, nodes: Mapping[str, int], capacity: Vector, arriving: Vector) -> sp.csc_array:
    """Return what a link's flow adds to each node, in shares of the link's capacity and of what can arrive there."""
    ends = np.array([(nodes[link.target], nodes[link.source]) for link in topology.links])
    numbers = np.arange(capacity.size)
    entries = np.concatenate([capacity / arriving[ends[:, 0]], -capacity / arriving[ends[:, 1]]])
    where = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([numbers, numbers])
    return sp.csc_array((entries, where), shape=(arriving.size, capacity.size))


def edge_tunnels(wanted: Wanted, topology: Topology, demands: Sequence[Demand], options: Options) -> dict[Pair, Paths]:
    """Return tunnels of each pair that carry an optimal flow.

    Flows are decomposed into simple paths of the fewest hops. A pair that gets nothing has its path of fewest hops.

    Raises:
        UnsoundError: there are several classes of traffic, which have no common bound; its `where` is `objective`.
        SolverError: HiGHS did not reach an optimum.
    """
    classes = len({each.priority for each in demands})
    if classes > 1:
        raise UnsoundError(("objective",), f"a bound for demands of {classes} priorities", "those of one")
    everything = {link.ends: 1.0 for link in topology.links}
    return {
        pair: tuple(sorted(paths, key=lambda path: (len(path), path))) or (_shortest(everything, *pair),)
        for pair, paths in _decomposed(topology, demands, edge_flow(topology, demands, wanted, options.solver))
    }


def _decomposed(
    topology: Topology, demands: Sequence[Demand], flow: EdgeFlow
) -> Iterable[tuple[Pair, list[tuple[str, ...]]]]:
    least = {link.ends: link.capacity * _DUST for link in topology.links}
    for source, of_source in zip(flow.sources, flow.flows, strict=True):
        left = {link.ends: float(rate) for link, rate in zip(topology.links, of_source, strict=True)}
        left = {ends: rate for ends, rate in left.items() if rate > least[ends]}
        for demand, granted in zip(demands, flow.granted.tolist(), strict=True):
            if demand.source != source:
                continue
            paths, missing = [], demand.rate * granted
            while missing > demand.rate * _DUST and (path := _shortest(left, source, demand.target)):
                hops = list(pairwise(path))
                taken = min(missing, *(left[hop] for hop in hops))
                missing -= taken
                paths.append(path)
                for hop in hops:
                    left[hop] -= taken
                    if left[hop] <= least[hop]:
                        del left[hop]
            yield demand.pair, paths


def _shortest(links: Mapping[Pair, float], source: str, target: str) -> tuple[str, ...]:
    """Return the path of fewest hops over these links, the empty one if there is none."""
    leaving: dict[str, list[str]] = defaultdict(list)
    for tail, head in links:
        leaving[tail].append(head)
    before = {source: source}
    pending = [source]
    for node in pending:
        if node == target:
            path = [target]
            while path[-1] != source:
                path.append(before[path[-1]])
            return tuple(reversed(path))
        for head in leaving[node]:
            if head not in before:
                before[head] = node
                pending.append(head)
    return ()


_SHARES = partial(edge_tunnels, "utilisation")

THROUGHPUT = Objective("edge-max-throughput", MaxThroughput, total, tunnels=partial(edge_tunnels, "throughput"))
CONCURRENT = Objective("edge-max-concurrent", MaxConcurrent, concurrency, compiled=False, tunnels=_SHARES, share=SHARE)
UTILISATION = Objective(
    "edge-min-max-utilisation", MinMaxUtilisation, attrgetter("maximum_utilisation"), tunnels=_SHARES, carries_all=True
)
