"""Counts the pairs that failures leave without a tunnel though their sites are connected; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from kuijia_app.tables.destination_trees import DefaultEntries, DestinationTrees, Edge, NextHops
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.routes import directions
from te_solver.model.failures import Failure
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology


@dataclass(frozen=True, slots=True)
class DeadPairs:
    """Pairs after failures, summed over the failures; a pair is an ingress and an egress, whatever its classes.

    Attributes:
        connected: pairs whose sites a path connects.
        without_tunnel: those among them that have no tunnel left.
        without_path: those that stay dead although the controller restores pairs: their egress has no tag for it.
    """

    connected: int
    without_tunnel: int
    without_path: int

    def __str__(self) -> str:
        share = f"{self.without_tunnel / self.connected:.2%}" if self.connected else "none"
        return (
            f"of {self.connected:,} pairs that failures leave connected, {self.without_tunnel:,} ({share}) "
            f"have no tunnel left; {self.without_path:,} of them stay dead with restoration by the controller"
        )


def dead_pairs(plan: Plan, options: PipelineOptions, failures: Iterable[Failure]) -> DeadPairs:
    """Return the dead pairs after each of these failures of the plan's network."""
    topology = plan.topology
    tunnels: dict[tuple[str, str], list[frozenset[Edge]]] = {}
    for direction in directions(plan):
        its = tunnels.setdefault(direction.ends, [])
        its.extend(frozenset(map(frozenset, pairwise(route.nodes))) for route in direction.routes)
    trees = DestinationTrees.of_plan(plan)
    default = DefaultEntries.of_plans((plan,), options, options.wired(topology))
    connected = without_tunnel = without_path = 0
    for failure in failures:
        lost = _lost_edges(failure, topology)
        next_hops: dict[str, NextHops] = {}
        for (ingress, egress), paths in tunnels.items():
            if not {ingress, egress}.isdisjoint(failure.nodes):
                continue
            if any(lost.isdisjoint(path) for path in paths):
                connected += 1
                continue
            if egress not in next_hops:
                next_hops[egress] = trees.towards(egress, lost)
            if ingress in next_hops[egress]:
                connected += 1
                without_tunnel += 1
                without_path += not default.reaches(egress)
    return DeadPairs(connected, without_tunnel, without_path)


def _lost_edges(failure: Failure, topology: Topology) -> frozenset[Edge]:
    of_nodes = (frozenset((node, other)) for node in failure.nodes for other in topology.neighbours[node])
    return frozenset((*map(frozenset, failure.edges), *of_nodes))
