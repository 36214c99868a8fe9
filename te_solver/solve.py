"""Solution of a topology and demands as a Plan: tunnels, rates, weights, and a check of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from kuijia_base.errors import InputError, SolverError, UnsoundError, quoted
from te_solver.model.connectivity import Reachability, connected_nodes
from te_solver.model.demands import Demand
from te_solver.model.exposure import Exposure
from te_solver.model.plan import (
    DISJOINT,
    FIRST_PATH_ID,
    TOLERANCE,
    PairPlan,
    Plan,
    PlanOptions,
    Tunnel,
    require_sound_tunnels,
)
from te_solver.model.topology import Topology
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.partition import Partitioning
from te_solver.programs.partitioned import in_parts
from te_solver.programs.program import Objective, Options, Program
from te_solver.programs.registry import (
    MAX_THROUGHPUT,
    carries_all,
    find_objective,
    is_objective,
    objective_names,
    paths_for,
)
from te_solver.programs.solver import Solver
from te_solver.tunnels.finder import PairsFinder
from te_solver.tunnels.path_finders import finder_by, finder_like

MOST_CLASSES = 100
"""Priorities of demands: each is a program of its own."""

_NAMED_PAIRS = 20

Pair = tuple[str, str]
Paths = tuple[tuple[str, ...], ...]


def solve(
    topology: Topology,
    demands: Sequence[Demand],
    tunnels_per_pair: int = 3,
    objective: str | Objective = MAX_THROUGHPUT,
    *,
    options: Options | None = None,
    finder: PairsFinder | None = None,
    source: str = "demands",
) -> Plan:
    """Return the best plan by `objective` over the tunnels that `finder` finds; see `Planner`.

    Args:
        topology: the network.
        demands: the demands, each source, target and priority once.
        tunnels_per_pair: number of tunnels to find for each pair.
        objective: one of `objective_names()`, or one of your own.
        options: further options.
        finder: finds the tunnels; by default a `TunnelFinder` for the fewest hops.
        source: name of the demands in error messages.

    Raises:
        InputError: a pair is not connected, or `Planner` rejects the demands.
        UnsoundError: a demand has a node outside the topology, the path choice has no path for a pair, the protection
            leaves nothing to any pair, or `Planner` raises it.
        SolverError: the solver gave up, or its answer breaks a bound.
    """
    _require_connected(topology, demands, source)
    objective = _found(objective) if isinstance(objective, str) else objective
    options = options or Options()
    _require_options(objective, options)
    choice = paths_for(objective, DISJOINT if finder is None else finder.choice)
    if finder is None:
        finder = finder_by(topology, choice)
    elif finder.choice != choice:
        finder = finder_by(topology, choice, finder.weight, finder.seed)
    tunnels: Mapping[Pair, Paths]
    if objective.tunnels is None:
        pairs = list(dict.fromkeys(demand.pair for demand in demands))
        tunnels = dict(zip(pairs, finder.tunnels_of_pairs(pairs, tunnels_per_pair), strict=True))
    else:
        _require_distinct(demands, source)
        tunnels = objective.tunnels(topology, demands, options)
    for pair, paths in tunnels.items():
        if not paths:
            raise UnsoundError(
                ("paths",), f"{finder.choice} has no path from {pair[0]} to {pair[1]}", "one for each pair"
            )
    planner = Planner(topology, tunnels, demands, objective, options=options, shares_of=finder.shares, source=source)
    plan = planner.plan()
    if objective.protects and not plan.allocated and any(demand.rate for demand in demands):
        problem = f"failures that {objective.name} names can cut off every pair"
        raise UnsoundError(("objective",), problem, "fewer at a time")
    parts = planner.objective.partitioning
    asked = PlanOptions(
        tunnels_per_pair,
        finder.weight,
        finder.node_disjoint,
        spread=planner.options.spread,
        paths=DISJOINT if finder.node_disjoint else finder.choice,
        seed=finder.seed if parts is None else parts.seed,
        partitions=None if parts is None else parts.parts,
    )
    return replace(plan, options=asked)


def solve_like(plan: Plan, topology: Topology, demands: Sequence[Demand], source: str = "demands") -> Plan:
    """Return a plan for this topology and these demands, with the objective, protection and options of another plan.

    A plan of unknown options counts as solved for as many tunnels as its pairs have at most, by hops, as one program,
    and not spread. HiGHS solves it, whatever solved the other one: the optimum is the same.

    Raises:
        InputError, UnsoundError, SolverError: as `solve` raises them.
    """
    asked = plan.options or PlanOptions(max((len(pair.tunnels) for pair in plan.pairs), default=1))
    objective: str | Objective = plan.objective
    if asked.partitions is not None:
        objective = in_parts(Partitioning(asked.partitions, seed=asked.seed))
    options = Options(spread=asked.spread, protect=max(plan.protected_failures, 1))
    finder = finder_like(topology, asked)
    return solve(topology, demands, asked.tunnels, objective, options=options, finder=finder, source=source)


@dataclass(frozen=True)
class _TrafficClass:
    """The demands of one priority, by their positions, and the program that serves them."""

    positions: tuple[int, ...]
    program: Program


class Planner:
    """Planner for fixed pairs, tunnels and links; its programs are compiled once.

    Classes of traffic are served in the order of their priorities, 0 first, each in the capacity that earlier ones
    leave: less important demands never change the result of more important ones.

    Path ids count from `FIRST_PATH_ID` through the tunnels of the first pair, then of the second, and so on; demands
    of one pair with different priorities share its tunnels. A tunnel's weight is its share of the pair's rate; a pair
    that gets nothing has equal weights.

    Args:
        topology: the network.
        tunnels: the paths of each pair, at least one.
        demands: the demands, each source, target and priority once; the plan's pairs have their order.
        objective: one of `objective_names()`, or one of your own.
        options: further options.
        shares_of: returns the shares that the path choice gives a pair's tunnels; None for equal ones.
        source: name of the demands in error messages.

    Raises:
        InputError: there are no demands, more than `MOST_CLASSES` priorities, or two demands for one pair with the same
            priority.
        UnsoundError: the objective is unknown, or the protection leaves nothing to any pair; its `where` is
            `objective` or `protect`.
        KeyError: a pair has no tunnels, or a tunnel uses a link that the topology lacks.

    Attributes:
        objective, options: as given, or the defaults.
    """

    def __init__(
        self,
        topology: Topology,
        tunnels: Mapping[Pair, Paths],
        demands: Sequence[Demand],
        objective: str | Objective = MAX_THROUGHPUT,
        *,
        options: Options | None = None,
        shares_of: Callable[[Pair], tuple[float, ...] | None] = lambda _pair: None,
        source: str = "demands",
    ) -> None:
        _require_distinct(demands, source)
        self._topology = topology
        self._demands = tuple(demands)
        self._tunnels = {demand.pair: tunnels[demand.pair] for demand in demands}
        self.objective = _found(objective) if isinstance(objective, str) else objective
        self.options = options or Options()
        self._shares_of = shares_of
        if self.objective.protects:
            _require_protectable(tuple(self._tunnels.values()), self.options.protect)
        self._classes = [self._traffic_class(priority) for priority in sorted({each.priority for each in demands})]

    def _traffic_class(self, priority: int) -> _TrafficClass:
        positions = tuple(at for at, demand in enumerate(self._demands) if demand.priority == priority)
        incidence = Incidence.of(self._topology, [self._tunnels[self._demands[at].pair] for at in positions])
        options = self.options
        if self.objective.takes_shares:
            options = replace(options, shares=self._shares([self._demands[at].pair for at in positions]))
        return _TrafficClass(positions, self.objective.program(incidence, options))

    def _shares(self, pairs: Sequence[Pair]) -> Vector:
        """Return the share of each tunnel of these pairs."""
        equal = {pair: (1 / len(self._tunnels[pair]),) * len(self._tunnels[pair]) for pair in pairs}
        return np.array([share for pair in pairs for share in self._shares_of(pair) or equal[pair]])

    def plan(self, demands: Sequence[Demand] | None = None, topology: Topology | None = None) -> Plan:
        """Return the plan for these rates and capacities, by default those that the planner was made with.

        Raises:
            ValueError: pairs, priorities, their order, or links differ from the planner's.
            SolverError: the solver gave up, or its answer breaks a bound.
        """
        demands = self._demands if demands is None else tuple(demands)
        topology = self._topology if topology is None else topology
        if [(each.pair, each.priority) for each in demands] != [(each.pair, each.priority) for each in self._demands]:
            raise ValueError("other pairs or priorities than the planner was made for")
        if [link.ends for link in topology.links] != [link.ends for link in self._topology.links]:
            raise ValueError("other links than the planner was made for")
        plan = self._solved(topology, demands)
        try:
            require_feasible(plan, self.objective)
        except UnsoundError as error:
            raise SolverError(f"the answer of {plan.solver} breaks a bound: {error}") from error
        return plan

    def _solved(self, topology: Topology, demands: Sequence[Demand]) -> Plan:
        capacity = np.array([link.capacity for link in topology.links])
        carried = np.zeros(capacity.shape)
        path_ids = self._path_ids()
        pairs: dict[int, PairPlan] = {}
        allocations = []
        for each in self._classes:
            asked = np.array([demands[at].rate for at in each.positions])
            allocation = each.program.solve(capacity, asked, carried)
            allocations.append(allocation)
            carried = carried + each.program.incidence.links @ allocation.rates
            rates = iter(allocation.rates.tolist())
            for at, granted in zip(each.positions, allocation.granted.tolist(), strict=True):
                paths = self._tunnels[demands[at].pair]
                own_rates = [next(rates) for _ in paths]
                tunnels = _tunnels(path_ids[demands[at].pair], paths, own_rates)
                pairs[at] = PairPlan(*demands[at].pair, demands[at].rate, granted, tunnels, demands[at].priority)
        plan = Plan(
            topology,
            tuple(pairs[at] for at in range(len(demands))),
            objective=self.objective.name,
            objective_value=0.0,
            solver=allocations[0].solver,
            solve_seconds=sum(allocation.solve_seconds for allocation in allocations),
            protected_failures=self.options.protect if self.objective.protects else 0,
            upper_bound=allocations[0].upper_bound if len(allocations) == 1 else None,
        )
        value = allocations[0].value if self.objective.value is None else self.objective.value(plan)
        assert value is not None, "a program tells the value of its objective if plans do not"
        return replace(plan, objective_value=value)

    def _path_ids(self) -> Mapping[Pair, tuple[int, ...]]:
        numbers = count(FIRST_PATH_ID)
        return {pair: tuple(next(numbers) for _ in paths) for pair, paths in self._tunnels.items()}


def _tunnels(path_ids: Sequence[int], paths: Paths, rates: Sequence[float]) -> tuple[Tunnel, ...]:
    total = sum(rates)
    return tuple(
        Tunnel(path_id, path, rate, weight=rate / total if total > 0 else 1 / len(paths))
        for path_id, path, rate in zip(path_ids, paths, rates, strict=True)
    )


def _found(name: str) -> Objective:
    if not is_objective(name):
        raise UnsoundError(("objective",), f"objective {quoted(name)}", f"one of {', '.join(objective_names())}")
    return find_objective(name)


def _require_options(objective: Objective, options: Options) -> None:
    """Raise UnsoundError for options that only compiled programs have; its `where` is the option."""
    if objective.compiled:
        return
    if options.solver.name != Solver().name:
        raise UnsoundError(("solver",), f"{objective.name} is not solved by {options.solver.name}", Solver().name)
    if options.spread:
        raise UnsoundError(("spread",), f"{objective.name} divides traffic by its own rule", "another objective")


def _require_distinct(demands: Sequence[Demand], source: str) -> None:
    if not demands:
        raise InputError(source, "", "there is no demand", "at least one")
    classes = len({demand.priority for demand in demands})
    if classes > MOST_CLASSES:
        raise InputError(source, "", f"{classes} different priorities", f"at most {MOST_CLASSES}")
    seen: set[tuple[Pair, int]] = set()
    for demand in demands:
        if (demand.pair, demand.priority) in seen:
            raise InputError(
                source,
                "",
                f"two demands from {demand.source} to {demand.target} with priority {demand.priority}",
                "one for each source, target and priority",
            )
        seen.add((demand.pair, demand.priority))


def _require_connected(topology: Topology, demands: Sequence[Demand], source: str) -> None:
    reachability = Reachability(topology)
    apart: dict[Pair, None] = {}
    for demand in demands:
        demand.require_nodes_of(topology)
        if not reachability.connects(*demand.pair):
            apart[demand.pair] = None
    if apart:
        named = ", ".join(f"{start} to {end}" for start, end in list(apart)[:_NAMED_PAIRS])
        more = f" and {len(apart) - _NAMED_PAIRS} more" if len(apart) > _NAMED_PAIRS else ""
        raise InputError(source, "", f"no path from {named}{more}", connected_nodes(topology))


def _require_protectable(tunnels: Sequence[Paths], failures: int) -> None:
    """Raise UnsoundError if `failures` can cut off every pair, as protection would then allocate nothing."""
    most = max(Exposure.of_paths(paths).failures_to_cut_off for paths in tunnels) - 1
    if most < failures:
        raise UnsoundError(
            ("protect",),
            f"every pair can be cut off by {failures} failed edge{'s' if failures > 1 else ''}",
            f"at most {most}" if most else "tunnels that have no edge in common",
        )


def require_feasible(plan: Plan, objective: Objective | None = None) -> None:
    """Run all checks below; `objective` is that of the plan, by default the one of its name.

    Raises:
        UnsoundError: at the first fault.
    """
    require_sound_tunnels(plan)
    require_within_bounds(plan, objective)
    require_protected(plan)


def require_within_bounds(plan: Plan, objective: Objective | None = None) -> None:
    """Require that no rate is negative, no pair exceeds its demand or its tunnels' rates, no link its capacity.

    A plan of an objective that carries all demand must do so, and no link may exceed the plan's utilisation instead;
    without `objective`, the one that the plan names counts.

    Raises:
        UnsoundError: at the first excess of more than one part in a million.
    """
    all_carried = carries_all(plan.objective) if objective is None else objective.carries_all
    for index, pair in enumerate(plan.pairs):
        for number, tunnel in enumerate(pair.tunnels):
            if not tunnel.rate >= 0:
                raise UnsoundError(
                    ("pairs", index, "tunnels", number, "rate"), f"rate {tunnel.rate:.8g}", "no less than 0"
                )
        offered = sum(tunnel.rate for tunnel in pair.tunnels)
        bound = min(pair.demand, offered)
        if not 0 <= pair.allocated <= bound * (1 + TOLERANCE):
            raise UnsoundError(
                ("pairs", index, "allocated"),
                f"{pair.allocated:.8g} Mbit/s allocated",
                f"no more than the demand, {pair.demand:.8g}, and the tunnels' rates together, {offered:.8g}",
            )
        if all_carried and pair.allocated < pair.demand * (1 - TOLERANCE):
            raise UnsoundError(
                ("pairs", index, "allocated"),
                f"{pair.allocated:.8g} Mbit/s allocated",
                f"the demand, {pair.demand:.8g}",
            )
    for position, link in enumerate(plan.topology.links):
        load = plan.link_loads[link.ends]
        bound = link.capacity * plan.objective_value if all_carried else link.capacity
        if not load <= bound * (1 + TOLERANCE):
            raise UnsoundError(
                ("topology", "links", position, "capacity"),
                f"tunnels put {load:.8g} Mbit/s on link {link.source}-{link.target}",
                f"no more than {bound:.8g}, {plan.objective_value:.8g} times its capacity"
                if all_carried
                else f"no more than its capacity, {bound:.8g}",
            )


def require_protected(plan: Plan) -> None:
    """Require that each pair's allocation fits into the rates of the tunnels left after the worst failure.

    Rescaling then sends no tunnel more than its rate, so no link gets more than its capacity.

    Raises:
        UnsoundError: at the first pair that could lose more than one part in a million.
    """
    if plan.protected_failures == 0:
        return
    for index, pair in enumerate(plan.pairs):
        rates = [tunnel.rate for tunnel in pair.tunnels]
        exposure = Exposure.of_paths([tunnel.nodes for tunnel in pair.tunnels])
        left = exposure.surviving(rates, plan.protected_failures)
        if not pair.allocated <= left * (1 + TOLERANCE):
            raise UnsoundError(
                ("pairs", index, "allocated"),
                f"{pair.allocated:.8g} Mbit/s allocated",
                f"no more than protection against {plan.protected_failures} leaves of the tunnels' rates, {left:.8g}",
            )
