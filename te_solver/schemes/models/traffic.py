"""A plan's tunnels and their traffic as arrays, and the damage of a failure to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from te_solver.model.failures import Failure
from te_solver.model.plan import Plan
from te_solver.programs.incidence import Incidence, Vector, links_of_paths

Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TunnelColumns:
    """C tunnels of P pairs as the columns of an incidence over L links.

    Attributes:
        incidence: L links and P pairs by C tunnels.
        paths: the nodes of each tunnel, from ingress to egress.
        pair: the row of each tunnel's pair, shape (C,).
    """

    incidence: Incidence
    paths: tuple[tuple[str, ...], ...]
    pair: Indices

    @classmethod
    def of(cls, plan: Plan, paths: Sequence[Sequence[tuple[str, ...]]]) -> TunnelColumns:
        """Return the columns of these paths of each pair, which count through the first pair's, then the second's."""
        sizes = [len(of_pair) for of_pair in paths]
        every = tuple(path for of_pair in paths for path in of_pair)
        in_order = links_of_paths(plan.topology, every)
        columns = cls(Incidence.along(plan.topology, sizes, *in_order), every, np.repeat(np.arange(len(paths)), sizes))
        columns.__dict__["links_in_order"] = in_order  # of a large plan they take a while to find
        return columns

    def joined(self, other: TunnelColumns) -> TunnelColumns:
        """Return these columns followed by those of `other`, which has the same links and pairs."""
        mine, theirs = self.incidence, other.incidence
        incidence = replace(
            mine,
            links=sp.hstack([mine.links, theirs.links], format="csc"),
            pairs=sp.hstack([mine.pairs, theirs.pairs], format="csc"),
            hops=np.concatenate([mine.hops, theirs.hops]),
        )
        return TunnelColumns(incidence, self.paths + other.paths, np.concatenate([self.pair, other.pair]))

    def sums(self, of_tunnel: Vector) -> Vector:
        """Return the sum of the values of each pair's tunnels, shape (P,)."""
        return np.asarray(self.incidence.pairs @ of_tunnel)

    def couples(self, tunnels: Indices) -> tuple[Indices, Indices]:
        """Return each of `tunnels` with every tunnel of its pair, itself included, as two arrays of columns."""
        order, start, count = self._by_pair
        repeats = count[self.pair[tunnels]]
        left = np.repeat(tunnels, repeats)
        number = np.arange(left.size) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        return left, order[start[self.pair[left]] + number]

    @cached_property
    def links_in_order(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where each tunnel's links begin, and the links of all tunnels, each from ingress to egress.

        (The incidence has the links of a tunnel in another order.)
        """
        return links_of_paths(self.incidence.topology, self.paths)

    @cached_property
    def _by_pair(self) -> tuple[Indices, Indices, Indices]:
        """The columns pair by pair, where each pair's begin, and their number."""
        count = np.bincount(self.pair, minlength=self.incidence.pairs.shape[0])
        return np.argsort(self.pair, kind="stable"), np.cumsum(count) - count, count

    @cached_property
    def _by_link(self) -> sp.csr_array:
        links = self.incidence.links
        entries = np.ones(links.nnz, np.bool_)  # of one byte, as nobody reads them
        return sp.csr_array(sp.csc_array((entries, links.indices, links.indptr), shape=links.shape))

    def crossing(self, links: Indices) -> Indices:
        """Return the tunnels that use any of the links, given as rows; a tunnel that uses two of them comes twice."""
        starts, columns = self._by_link.indptr, self._by_link.indices
        return np.concatenate([columns[starts[row] : starts[row + 1]] for row in links] or [np.empty(0, np.intp)])


@dataclass(frozen=True, eq=False)
class Damage:
    """Flags of the L links that a failure took down, and of the T planned tunnels that are still alive."""

    failed_links: Flags
    alive: Flags


@dataclass(frozen=True, eq=False)
class PlannedTraffic:
    """The traffic before the failure.

    Attributes:
        plan: the plan; T tunnels of P pairs over L links, in the plan's order.
        tunnels: the plan's tunnels.
        weight: each tunnel's share of its pair's traffic, shape (T,).
        sent: Mbit/s that each tunnel carries, shape (T,): its weight times the pair's allocation. In a plan of the FFC
            objective this may be less than the tunnel's rate, which is its reservation.
        capacity: Mbit/s of each link, shape (L,).
        demand: Mbit/s of each pair, shape (P,).
        priority: each pair's class of traffic, 0 the most important, shape (P,).
    """

    plan: Plan
    tunnels: TunnelColumns
    weight: Vector
    sent: Vector
    capacity: Vector
    demand: Vector
    priority: Indices

    @classmethod
    def of(cls, plan: Plan) -> PlannedTraffic:
        tunnels = TunnelColumns.of(plan, [[tunnel.nodes for tunnel in pair.tunnels] for pair in plan.pairs])
        weight = np.array([tunnel.weight for tunnel in plan.tunnels])
        weight = weight / tunnels.sums(weight)[tunnels.pair]  # a file's weights are rounded
        allocated = np.array([pair.allocated for pair in plan.pairs])
        return cls(
            plan,
            tunnels,
            weight,
            sent=allocated[tunnels.pair] * weight,
            capacity=np.array([link.capacity for link in plan.topology.links]),
            demand=np.array([pair.demand for pair in plan.pairs]),
            priority=np.array([pair.priority for pair in plan.pairs], dtype=np.intp),
        )

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes of traffic, most important first."""
        return tuple(np.unique(self.priority).tolist())

    def damage(self, failure: Failure) -> Damage:
        """Return the damage of a failure; raises UnsoundError if the topology lacks one of its edges or nodes."""
        failure.require_part_of(self.plan.topology)
        rows = [row for edge in failure.edges for row in self._links_of_edge[frozenset(edge)]]
        rows += [row for node in failure.nodes for row in self._links_of_node.get(node, ())]
        failed_links = np.zeros(self.capacity.size, dtype=np.bool_)
        failed_links[rows] = True
        alive = np.ones(self.sent.size, dtype=np.bool_)
        alive[self.tunnels.crossing(np.flatnonzero(failed_links))] = False
        return Damage(failed_links, alive)

    @cached_property
    def _links_of_edge(self) -> dict[frozenset[str], list[int]]:
        rows: dict[frozenset[str], list[int]] = {}
        for row, link in enumerate(self.plan.topology.links):
            rows.setdefault(frozenset(link.ends), []).append(row)
        return rows

    @cached_property
    def _links_of_node(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, link in enumerate(self.plan.topology.links):
            for node in link.ends:
                rows.setdefault(node, []).append(row)
        return rows
