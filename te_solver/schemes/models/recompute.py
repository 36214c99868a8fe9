"""Recomputation by the controller: traffic engineering again on the surviving network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from te_solver.model.failures import Failure, surviving
from te_solver.model.plan import Plan
from te_solver.programs.incidence import Incidence, Vector, least, links_of_paths
from te_solver.programs.program import Options, Program
from te_solver.programs.registry import MAX_THROUGHPUT, find_objective, is_objective
from te_solver.programs.resolve import maximise_throughput
from te_solver.schemes.models.interface import RateSolver
from te_solver.schemes.models.rerouting import Rerouting
from te_solver.schemes.models.traffic import Damage, Indices, PlannedTraffic, TunnelColumns
from te_solver.schemes.models.transport import rates_by_class, transported
from te_solver.tunnels.finder import TunnelFinder
from te_solver.tunnels.path_finders import finder_like


class PlanObjective:
    """Rates of all demands by the objective of their plan; each program is compiled once for the tunnels of a plan.

    Args:
        throughput: solves maximum throughput, also for plans whose objective is not known here.
    """

    def __init__(self, throughput: RateSolver) -> None:
        self._throughput = throughput
        self._compiled: tuple[Incidence, Program] | None = None

    def rates(self, traffic: PlannedTraffic, tunnels: TunnelColumns, capacity: Vector) -> Vector:
        """Return the Mbit/s that each tunnel carries, shape (C,); the most important class is solved first.

        A pair without a live tunnel asks for nothing: objectives that must carry all demand could not be met.

        Args:
            traffic: the plan, and the demands, which are placed again.
            tunnels: C tunnels, the plan's or more.
            capacity: Mbit/s of each link, shape (L,), zero for failed ones.

        Raises:
            SolverError: the solver gave up.
        """
        if traffic.plan.objective == MAX_THROUGHPUT or not is_objective(traffic.plan.objective):
            return rates_by_class(self._throughput, traffic, tunnels, capacity, traffic.demand)
        if not find_objective(traffic.plan.objective).compiled:
            return self._rates_by_rule(traffic, tunnels, capacity)
        program = self._program(traffic, tunnels.incidence)
        possible = tunnels.sums(least(tunnels.incidence.links, capacity))
        return _sent(program, capacity, np.where(possible > 0, traffic.demand, 0.0), traffic.priority)

    def _rates_by_rule(self, traffic: PlannedTraffic, tunnels: TunnelColumns, capacity: Vector) -> Vector:
        """Return the same by a program for the live tunnels alone: rules may prefer a dead one, or count links."""
        sent = np.zeros(tunnels.pair.size)
        alive = np.flatnonzero(least(tunnels.incidence.links, capacity) > 0)
        alive = alive[np.argsort(tunnels.pair[alive], kind="stable")]
        pairs, sizes = np.unique(tunnels.pair[alive], return_counts=True)
        if pairs.size:
            whole, is_up = tunnels.incidence.topology, capacity > 0
            rest = whole.without({frozenset(link.ends) for link, up in zip(whole.links, is_up, strict=True) if not up})
            paths = [tunnels.paths[column] for column in alive.tolist()]
            incidence = Incidence.along(rest, sizes.tolist(), *links_of_paths(rest, paths))
            program = find_objective(traffic.plan.objective).program(incidence, _options(traffic.plan))
            sent[alive] = _sent(program, capacity[is_up], traffic.demand[pairs], traffic.priority[pairs])
        return sent

    def _program(self, traffic: PlannedTraffic, incidence: Incidence) -> Program:
        if self._compiled is None or self._compiled[0] is not incidence:
            objective = find_objective(traffic.plan.objective)
            same = objective.takes_shares and incidence is traffic.tunnels.incidence
            options = replace(_options(traffic.plan), shares=traffic.weight if same else None)
            self._compiled = incidence, objective.program(incidence, options)
        return self._compiled[1]

    def __getstate__(self) -> dict[str, object]:
        """Return the state without compiled programs, which another process compiles for itself."""
        return {**self.__dict__, "_compiled": None}


def _options(plan: Plan) -> Options:
    spread = plan.options is not None and plan.options.spread
    return Options(spread=spread, protect=max(plan.protected_failures, 1))


def _sent(program: Program, capacity: Vector, demand: Vector, priority: Indices) -> Vector:
    """Return the Mbit/s that each tunnel of a program carries; the most important class is solved first."""
    incidence = program.incidence
    carried, sent = np.zeros(capacity.size), np.zeros(incidence.hops.size)
    for each in np.unique(priority).tolist():
        of_class = np.where(priority == each, demand, 0.0)
        if of_class.any():
            found = program.solve(capacity, of_class, carried)
            carried = carried + incidence.links @ found.rates
            # With protection a pair sends less than the rates that its tunnels reserve.
            reserved = incidence.pairs @ found.rates
            used = np.divide(found.granted, reserved, out=np.zeros(reserved.size), where=reserved > 0)
            sent = sent + found.rates * used[incidence.pair_of_tunnel]
    return sent


Path = tuple[str, ...]


@dataclass(frozen=True)
class Recompute:
    """The traffic once the controller has solved again and updated all switches.

    All demands, also of unharmed pairs, are placed again within the remaining capacities, class after class. Traffic
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
