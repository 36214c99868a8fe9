"""Recomputation by the controller: traffic engineering anew on the surviving network."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from te_solver.failures import Failure, surviving
from te_solver.programs.max_throughput import maximise_throughput
from te_solver.schemes.class_by_class import rates_by_class
from te_solver.schemes.interface import RateSolver
from te_solver.schemes.rerouting import Rerouting
from te_solver.schemes.traffic import Damage, PlannedTraffic, TunnelColumns
from te_solver.schemes.transport import transported
from te_solver.tunnels import TunnelFinder

Path = tuple[str, ...]


@dataclass(frozen=True)
class Recompute:
    """The traffic once the controller has solved again and updated all switches.

    All demands, also of unharmed pairs, are placed anew within the remaining capacities, class after class. Traffic
    that a pair loses by this is withheld at the ingress; additional traffic is gained. A failure that breaks no tunnel
    changes nothing, as the plan is still optimal; neither does a healed one.

    Attributes:
        solver: solves the programs, one for each class; use one of the plan's own objective.
        new_tunnels: True to replace a pair's failed tunnels, as far as the surviving network allows. Its alive ones
            stay; of the tunnels that a `TunnelFinder` chooses in the surviving network those that share the fewest
            edges with them are added.
    """

    name: ClassVar[str] = "recompute"
    plan_objective: ClassVar[str | None] = None

    solver: RateSolver = maximise_throughput
    new_tunnels: bool = False

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        damage = traffic.damage(failure)
        if damage.alive.all():
            return transported(traffic, damage, traffic.sent)
        tunnels = traffic.tunnels
        if self.new_tunnels:
            tunnels = tunnels.joined(_new_tunnels(traffic, damage, failure))
        capacity = np.where(damage.failed_links, 0.0, traffic.capacity)
        return transported(
            traffic, damage, rates_by_class(self.solver, traffic, tunnels, capacity, traffic.demand), tunnels
        )


def _new_tunnels(traffic: PlannedTraffic, damage: Damage, failure: Failure) -> TunnelColumns:
    """Return tunnels that replace the dead ones, for each pair whose ends are alive."""
    network = surviving(traffic.plan.topology, failure)
    finder = TunnelFinder(network)
    alive = iter(damage.alive.tolist())
    found: list[list[Path]] = []
    for pair in traffic.plan.pairs:
        left = [tunnel.nodes for tunnel in pair.tunnels if next(alive)]
        missing = len(pair.tunnels) - len(left)
        if missing and network.has_node(pair.source) and network.has_node(pair.target):
            chosen = finder.tunnels(pair.source, pair.target, len(pair.tunnels))
            found.append(_least_shared([path for path in chosen if path not in left], left)[:missing])
        else:
            found.append([])
    return TunnelColumns.of(traffic.plan, found)


def _least_shared(paths: list[Path], others: list[Path]) -> list[Path]:
    """Return the paths by the number of edges shared with the others, fewest first; ties keep their order."""
    taken = {edge for path in others for edge in _edges(path)}
    return sorted(paths, key=lambda path: len(taken & _edges(path)))


def _edges(path: Path) -> set[frozenset[str]]:
    return set(map(frozenset, pairwise(path)))
