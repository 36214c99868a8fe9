"""Recomputation by the controller: traffic engineering anew on the surviving network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from te_solver.failures import Failure, surviving
from te_solver.path_finders import finder_like
from te_solver.programs.max_throughput import maximise_throughput
from te_solver.schemes.interface import RateSolver
from te_solver.schemes.plan_objective import PlanObjective
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

    The objective is the plan's own; a plan of an unknown one is recomputed for maximum throughput. Pairs that the
    failure cuts off ask for nothing. Rates of `min-max-utilisation` may exceed capacities, as in its plans.

    Attributes:
        solver: solves the programs of maximum throughput, one for each class.
        new_tunnels: True to replace a pair's failed tunnels, as far as the surviving network allows. Its alive ones
            stay; of the tunnels that a `TunnelFinder` chooses in the surviving network those that share the fewest
            edges with them are added.
    """

    name: ClassVar[str] = "recompute"
    plan_objective: ClassVar[str | None] = None

    solver: RateSolver = maximise_throughput
    new_tunnels: bool = False

    @cached_property
    def _objective(self) -> PlanObjective:
        return PlanObjective(self.solver)

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        damage = traffic.damage(failure)
        if damage.alive.all():
            return transported(traffic, damage, traffic.sent)
        tunnels = traffic.tunnels
        if self.new_tunnels:
            tunnels = tunnels.joined(_new_tunnels(traffic, damage, failure))
        capacity = np.where(damage.failed_links, 0.0, traffic.capacity)
        return transported(traffic, damage, self._objective.rates(traffic, tunnels, capacity), tunnels)


def _new_tunnels(traffic: PlannedTraffic, damage: Damage, failure: Failure) -> TunnelColumns:
    """Return tunnels that replace the dead ones, for each pair whose ends are alive."""
    network = surviving(traffic.plan.topology, failure)
    asked = traffic.plan.options
    finder = TunnelFinder(network) if asked is None else finder_like(network, asked)
    alive = iter(damage.alive.tolist())
    found: list[list[Path]] = []
    for pair in traffic.plan.pairs:
        left = [tunnel.nodes for tunnel in pair.tunnels if next(alive)]
        missing = len(pair.tunnels) - len(left)
        if missing and network.has_node(pair.source) and network.has_node(pair.target):
            (chosen,) = finder.tunnels_of_pairs([(pair.source, pair.target)], len(pair.tunnels))
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
