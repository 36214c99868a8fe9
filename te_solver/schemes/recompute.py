"""The controller's full answer: traffic engineering anew on what the failure left of the network."""

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
    """What everybody has once the controller has solved again and updated all switches.

    All demands, those of unharmed pairs too, are placed anew within the capacities that are left, class after class.
    Traffic that a pair loses by this is withheld at the ingress, what it may send in addition is gained. A failure
    that breaks no tunnel changes nothing: the plan is still the best there is. Neither does a healed one.

    Attributes:
        solver: solves the programs, one for each class; give one of the plan's own objective.
        new_tunnels: whether a pair that has lost tunnels gets others instead, as many as the surviving network has.
            Its alive ones stay; of those that a `TunnelFinder` chooses in the surviving network the ones that share
            the fewest edges with them are added.
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
    """Tunnels in place of the dead ones, for each pair whose ends are still there."""
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
    """The paths in the order of how many edges they have in common with the others, else as they come."""
    taken = {edge for path in others for edge in _edges(path)}
    return sorted(paths, key=lambda path: len(taken & _edges(path)))


def _edges(path: Path) -> set[frozenset[str]]:
    return set(map(frozenset, pairwise(path)))
