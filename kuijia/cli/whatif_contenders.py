"""The schemes that `kuijia whatif` compares, each with the plan that it works on: made for it, or from a file."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kuijia.cli.notes import print_notes
from kuijia.cli.solve_effort import SizedFinder, Watch
from kuijia_base.errors import InputError, UnsoundError, key_path
from kuijia_base.progress import Progress
from simulator.flow.what_if import Contender
from te_solver.demands import Demand
from te_solver.exposure import Exposure
from te_solver.feasibility import require_within_bounds
from te_solver.formats.notes import counted
from te_solver.partition import Partitioning
from te_solver.plan import Plan
from te_solver.programs.partitioned import in_parts
from te_solver.programs.program import Objective, Options
from te_solver.programs.registry import FFC, MAX_THROUGHPUT
from te_solver.programs.solver import Solver
from te_solver.resolve import WarmThroughput
from te_solver.schemes.interface import Scheme, SchemeOptions
from te_solver.schemes.registry import SPLITS, make_scheme
from te_solver.schemes.traffic import PlannedTraffic
from te_solver.solve import Planner, solve
from te_solver.topology import Topology
from te_solver.tunnel_table import ParallelFinder
from te_solver.tunnels import TunnelFinder

Solve = Callable[[str | Objective], Plan]
"""Returns the plan for an objective; raises UnsoundError if there is none."""


@dataclass(frozen=True)
class Asked:
    """Choices of the user about schemes and plans.

    Attributes:
        schemes: names of the schemes.
        by_default: True if the user named no schemes.
        plan: the plan of all schemes that work on any; None to make it.
        source: name of the plan or of the demands, for messages.
    """

    schemes: Sequence[str]
    by_default: bool
    plan: Plan | None
    source: str


def contenders(
    args: argparse.Namespace, asked: Asked, topology: Topology, demands: Sequence[Demand], progress: Progress
) -> list[Contender]:
    """Return each scheme with its plan: that of the user's objective, or of the objective that the scheme needs.

    Schemes that came by default and whose objective cannot protect any pair are left out, which is noted.

    Raises:
        InputError: a scheme that the user named has no plan, or an option is not that of the objective.
    """
    found: list[Contender] = []
    plans = _Plans(args, asked, topology, demands, progress)
    for name in asked.schemes:
        solver = WarmThroughput()
        scheme = make_scheme(name, solver, SchemeOptions(SPLITS[args.split], new_tunnels=args.new_tunnels))
        try:
            mine = plans.traffic(scheme.plan_objective)
        except UnsoundError as error:
            if scheme.plan_objective is not None and asked.by_default and args.protect is None:
                print_notes(asked.source, [f"{name} is left out: {error.problem}; --schemes chooses the schemes"])
                continue
            raise InputError("option", _option_of(scheme, args, error), error.problem, error.expected) from error
        # Whatever is solved first decides between equally good answers: always the plan's own problem.
        solver(mine.tunnels.incidence, mine.capacity, mine.demand)
        found.append(Contender(scheme, mine))
    return found


def _option_of(scheme: Scheme, args: argparse.Namespace, error: UnsoundError) -> str:
    if error.where[:1] != ("protect",) or args.protect is not None:
        return f"--{error.where[0]}"
    return f"--objective {args.objective}" if scheme.plan_objective is None else f"--schemes {scheme.name}"


class _Plans:
    """The traffic of each objective, planned when it is first needed."""

    def __init__(
        self,
        args: argparse.Namespace,
        asked: Asked,
        topology: Topology,
        demands: Sequence[Demand],
        progress: Progress,
    ) -> None:
        self._asked = asked
        self._traffic: dict[str, PlannedTraffic] = {}
        self._watch = Watch(progress, args.partitions, predictable=False)
        self._options = Options(protect=args.protect or 1, solver=Solver(watch=self._watch.tick))
        self._parts = args.partitions
        self._seed = args.seed
        self._objective = args.objective or MAX_THROUGHPUT
        if asked.plan is not None:
            _require_usable(asked.plan, asked.source)
            self._objective = asked.plan.objective
            self._traffic[self._objective] = PlannedTraffic.of(asked.plan)
            self._solve = _on_tunnels_of(asked.plan, demands, self._options, asked.source)
        else:
            finder = TunnelFinder(topology, node_disjoint=args.node_disjoint)
            parallel = SizedFinder(
                ParallelFinder(finder, self._watch.told("pairs have their tunnels")), self._watch.announce
            )
            self._solve = lambda objective: solve(
                topology,
                demands,
                args.tunnels,
                objective,
                options=self._options,
                finder=parallel,
                source=asked.source,
            )

    def traffic(self, needed: str | None) -> PlannedTraffic:
        """Return the traffic of the plan for the objective that a scheme needs; None for any."""
        name = needed or self._objective
        if name not in self._traffic:
            self._traffic[name] = PlannedTraffic.of(self._solve(self._program(name)))
            if name == FFC:
                self._note_unprotected(self._traffic[name].plan)
        return self._traffic[name]

    def _program(self, name: str) -> str | Objective:
        if self._parts is None or name != MAX_THROUGHPUT:
            return name
        return in_parts(Partitioning(self._parts, seed=self._seed), self._watch.told("programs solved"))

    def _note_unprotected(self, plan: Plan) -> None:
        exposures = (Exposure.of_paths([tunnel.nodes for tunnel in pair.tunnels]) for pair in plan.pairs)
        silent = sum(each.failures_to_cut_off <= plan.protected_failures for each in exposures)
        if silent:
            failures = counted(plan.protected_failures, "failed edge")
            of = f"{silent} of {counted(len(plan.pairs), 'pair')}"
            print_notes(self._asked.source, [f"{FFC} sends nothing for {of}, which {failures} can cut off"])


def _on_tunnels_of(plan: Plan, demands: Sequence[Demand], options: Options, source: str) -> Solve:
    tunnels: Mapping[tuple[str, str], tuple[tuple[str, ...], ...]] = {
        (pair.source, pair.target): tuple(tunnel.nodes for tunnel in pair.tunnels) for pair in plan.pairs
    }
    return lambda objective: Planner(plan.topology, tunnels, demands, objective, options=options, source=source).plan()


def _require_usable(plan: Plan, source: str) -> None:
    try:
        require_within_bounds(plan)
    except UnsoundError as error:
        raise InputError(source, key_path(error.where), error.problem, error.expected) from error
