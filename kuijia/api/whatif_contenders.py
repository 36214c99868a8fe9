"""The schemes that a what-if study compares, each with the plan that it works on: made for it, or from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kuijia.api.solve_effort import Watch
from kuijia.api.solving import chosen_paths, default_parts, finder_of
from kuijia.api.whatif_options import Say, WhatIfOptions
from kuijia_base.errors import InputError, UnsoundError, key_path
from kuijia_base.options import spelled
from kuijia_base.progress import Progress
from kuijia_base.quantities import counted
from simulator.flow.what_if import Contender
from te_solver.model.demands import Demand
from te_solver.model.exposure import Exposure
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.programs.effort import parts_for
from te_solver.programs.partition import Partitioning
from te_solver.programs.partitioned import in_parts
from te_solver.programs.program import Objective, Options
from te_solver.programs.registry import FFC, MAX_THROUGHPUT
from te_solver.programs.resolve import WarmThroughput
from te_solver.programs.solver import Solver
from te_solver.schemes.making import SPLITS
from te_solver.schemes.models.interface import Scheme, SchemeOptions
from te_solver.schemes.models.traffic import PlannedTraffic
from te_solver.solve import Planner, require_within_bounds, solve

Solve = Callable[[str], Plan]
"""Returns the plan for an objective; raises UnsoundError if there is none."""


class Plans:
    """The traffic of each objective, planned when it is first needed.

    Args:
        objective: that of schemes which work on any plan.
        solve: makes a plan.
        say: receives notes.
        many: number of the demands, if they are too many for one program; None otherwise.
        known: a plan that is there already.
    """

    def __init__(
        self, objective: str, solve: Solve, say: Say, many: int | None = None, known: Plan | None = None
    ) -> None:
        self.objective = objective
        self.many = many
        self._solve = solve
        self._say = say
        self._traffic = {} if known is None else {known.objective: PlannedTraffic.of(known)}

    def traffic(self, needed: str | None) -> PlannedTraffic:
        """Return the traffic of the plan for the objective that a scheme needs; None for any."""
        name = needed or self.objective
        if name not in self._traffic:
            self._traffic[name] = PlannedTraffic.of(self._solve(name))
            if name == FFC:
                self._note_unprotected(self._traffic[name].plan)
        return self._traffic[name]

    def _note_unprotected(self, plan: Plan) -> None:
        exposures = (Exposure.of_paths([tunnel.nodes for tunnel in pair.tunnels]) for pair in plan.pairs)
        silent = sum(each.failures_to_cut_off <= plan.protected_failures for each in exposures)
        if silent:
            failures = counted(plan.protected_failures, "failed edge")
            of = f"{silent} of {counted(len(plan.pairs), 'pair')}"
            self._say(f"{FFC} sends nothing for {of}, which {failures} can cut off")


def plans_for(
    topology: Topology,
    demands: Sequence[Demand],
    how: WhatIfOptions,
    source: str,
    progress: Progress,
    say: Say,
) -> Plans:
    """Return plans to be made for demands, which messages call `source`."""
    watch = Watch(progress, how.partitions, predictable=False)
    paths = chosen_paths(how.objective or MAX_THROUGHPUT, how.paths)
    finder = finder_of(topology, paths, "hops", how.seed, node_disjoint=how.node_disjoint, watch=watch, say=say)

    def solved(name: str) -> Plan:
        objective: str | Objective = name
        parts = how.partitions or default_parts(demands, say) if name == MAX_THROUGHPUT else None
        watch.parts = None if parts == 1 else parts
        if watch.parts is not None:
            objective = in_parts(Partitioning(watch.parts, seed=how.seed), watch.told("programs solved"))
        options = Options(protect=how.protect or 1, solver=Solver(watch=watch.tick))
        return solve(topology, demands, how.tunnels_per_pair, objective, options=options, finder=finder, source=source)

    return Plans(how.objective or MAX_THROUGHPUT, solved, say, _many(demands))


def plans_from(
    plan: Plan, demands: Sequence[Demand], protect: int | None, source: str, progress: Progress, say: Say
) -> Plans:
    """Return a plan, and plans for other objectives over its tunnels; raises InputError for one beyond its bounds."""
    try:
        require_within_bounds(plan)
    except UnsoundError as error:
        raise InputError(source, key_path(error.where), error.problem, error.expected) from error
    tunnels: Mapping[tuple[str, str], tuple[tuple[str, ...], ...]] = {
        (pair.source, pair.target): tuple(tunnel.nodes for tunnel in pair.tunnels) for pair in plan.pairs
    }

    watch = Watch(progress, None, predictable=False)

    def solved(name: str) -> Plan:
        options = Options(protect=protect or 1, solver=Solver(watch=watch.tick))
        return Planner(plan.topology, tunnels, demands, name, options=options, source=source).plan()

    return Plans(plan.objective, solved, say, _many(demands), plan)


def _many(demands: Sequence[Demand]) -> int | None:
    return None if parts_for(demands) is None else len(demands)


def contenders_of(how: WhatIfOptions, plans: Plans, say: Say) -> list[Contender]:
    """Return each scheme with its plan: that of the user's objective, or of the objective that the scheme needs.

    Schemes that came by default are left out, which is noted, if their objective cannot protect any pair, or if they
    solve one program for very many demands.

    Raises:
        InputError: a scheme that the user named has no plan, or an option is not that of the objective.
    """
    found: list[Contender] = []
    slow = _slow(how) if plans.many is not None else frozenset()
    if slow:
        names = " and ".join(each.name for each in how.found() if each.name in slow)
        problem = f"{names} left out: one program for all {plans.many:,} demands takes long"
        say(f"{problem}; {spelled('schemes')} chooses the schemes")
    for each in how.found():
        if each.name in slow:
            continue
        solver = WarmThroughput()
        scheme = each.model(solver, SchemeOptions(SPLITS[how.split], new_tunnels=how.new_tunnels))
        try:
            mine = plans.traffic(scheme.plan_objective)
        except UnsoundError as error:
            if scheme.plan_objective is not None and how.schemes is None and how.protect is None:
                say(f"{each.name} is left out: {error.problem}; {spelled('schemes')} chooses the schemes")
                continue
            option = _option_of(scheme, how, plans.objective, error)
            raise InputError("option", option, error.problem, error.expected) from error
        # Whatever is solved first decides between equally good answers: always the plan's own problem.
        solver.begin_with(mine.tunnels.incidence, mine.capacity, mine.demand)
        found.append(Contender(scheme, mine))
    return found


def _slow(how: WhatIfOptions) -> frozenset[str]:
    """Return the schemes that solve programs for all demands, if nothing asks for them."""
    if how.schemes is not None:
        return frozenset()
    asked = {FFC: how.protect is not None, "recompute": how.new_tunnels}
    return frozenset(name for name, by_option in asked.items() if not by_option)


def _option_of(scheme: Scheme, how: WhatIfOptions, objective: str, error: UnsoundError) -> str:
    if error.where[:1] != ("protect",) or how.protect is not None:
        return spelled(str(error.where[0]))
    return spelled("objective", objective) if scheme.plan_objective is None else spelled("schemes", scheme.name)
