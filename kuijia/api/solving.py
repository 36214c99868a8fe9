"""From a network and demands to a plan, for `kuijia.solve` and the command `kuijia solve`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, get_args

from kuijia_base.option_values import whole_number
from kuijia_base.options import Option, bad_option, options_named, spelled
from te_solver.model.demands import Demand
from te_solver.model.plan import DISJOINT, MAX_TUNNELS_PER_PAIR, MOST_PATHS, NODE_DISJOINT, Weight
from te_solver.programs.effort import PAIRS_OF_A_PART, PAIRS_OF_ONE_PROGRAM, parts_for
from te_solver.programs.registry import FFC, MAX_THROUGHPUT, objective_names, paths_for
from te_solver.programs.settings import base_name
from te_solver.tunnels.finder import TunnelFinder
from te_solver.tunnels.path_finders import finder_by, require_path_choice

if TYPE_CHECKING:
    from kuijia.api.solve_effort import SizedFinder, Watch
    from kuijia_base.progress import Progress
    from te_solver.model.plan import Plan
    from te_solver.model.topology import Topology
    from te_solver.programs.program import Objective

DEFAULT_TUNNELS = 3
DEFAULT_SOLVER = "HIGHS"
MOST_PARTS = 10_000
"""Most parts of a plan that is solved in parts."""

MOST_FAILURES = MAX_TUNNELS_PER_PAIR - 1
"""Most failed links that a plan is protected against; more would cut off any pair."""

_MANY_LINKS = 10_000
"""Links from which on it takes seconds until work on them can show progress."""


class _Objectives(tuple[str, ...]):
    """The names of objectives as choices of an option; each may have settings after it."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return super().__contains__(base_name(name) if isinstance(name, str) else name)


def objective_choices() -> tuple[str, ...]:
    return _Objectives(objective_names())


@dataclass(frozen=True)
class SolveOptions:
    """The options of a plan next to its network and demands: one declaration for the function, the verb and checks."""

    tunnels: Annotated[
        int, Option("tunnels per pair", whole_number(1, MOST_PATHS, of=" tunnels per pair"), common=True)
    ] = DEFAULT_TUNNELS
    paths: Annotated[str, Option("choice of tunnels", common=True)] = DISJOINT
    tunnel_weight: Annotated[
        Weight, Option("metric that tunnels minimise (default: %(default)s)", choices=get_args(Weight))
    ] = "hops"
    node_disjoint: Annotated[bool, Option("tunnels of a pair have no node in common where possible")] = False
    objective: Annotated[
        str,
        Option(
            "objective to optimise, with its settings if any, as in swan:alpha=1.5: "
            f"{', '.join(objective_names())} (default: %(default)s)",
            metavar="NAME",
            choices=objective_choices(),
        ),
    ] = MAX_THROUGHPUT
    protect: Annotated[
        int | None,
        Option(
            f"failed links that a plan of --objective {FFC} survives without loss (default: 1)",
            whole_number(1, MOST_FAILURES),
            "K",
        ),
    ] = None
    spread: Annotated[bool, Option("use all tunnels of a pair equally instead of preferring shorter ones")] = False
    solver: Annotated[
        str, Option("solver to use, any that CVXPY finds installed (default: %(default)s)", metavar="NAME")
    ] = DEFAULT_SOLVER
    reproducible: Annotated[bool, Option("leave out the solver's time: the same input gives the same bytes")] = False
    partitions: Annotated[
        int | None,
        Option(
            f"solve --objective {MAX_THROUGHPUT} in P parts on all processors, and report the largest possible loss "
            f"(default: 1, which is one program; with more than {PAIRS_OF_ONE_PROGRAM:,} demands one for each "
            f"{PAIRS_OF_A_PART:,})",
            whole_number(1, MOST_PARTS),
            "P",
        ),
    ] = None
    seed: Annotated[int, Option("seed of partitions and drawn paths", whole_number(0), common=True)] = 1

    def require_sense(self) -> None:
        """Raise InputError for options that the objective or the paths do not have."""
        require_paths(self.paths, node_disjoint=self.node_disjoint)
        chosen_paths(self.objective, self.paths)
        if self.protect is not None and base_name(self.objective) != FFC:
            problem = f"{self.objective} protects against nothing"
            raise bad_option("protect", problem, spelled("objective", FFC))
        if self.partitions is not None and self.objective != MAX_THROUGHPUT:
            problem = f"{self.objective} is not solved in parts"
            raise bad_option("partitions", problem, spelled("objective", MAX_THROUGHPUT))

    def sized(self, demands: Sequence[Demand], say: Callable[[str], None]) -> SolveOptions:
        """Return the options, with a number of parts if there are too many demands for one program."""
        if self.partitions is not None or self.objective != MAX_THROUGHPUT or self.spread:
            return self
        return replace(self, partitions=default_parts(demands, say) if self.solver.upper() == DEFAULT_SOLVER else None)


def require_paths(paths: str, *, node_disjoint: bool) -> None:
    """Raise InputError unless tunnels can be chosen so; `node_disjoint` is the older option for one of the choices."""
    with options_named():
        require_path_choice(paths)
    if node_disjoint and paths not in (DISJOINT, NODE_DISJOINT):
        raise bad_option("node_disjoint", f"{paths} chooses by another rule", spelled("paths", NODE_DISJOINT))


def chosen_paths(objective: str, paths: str) -> str:
    """Return the path choice of a plan; raises InputError for one that the objective does not use."""
    with options_named():
        return paths_for(objective, paths)


def finder_of(
    topology: Topology,
    paths: str,
    weight: Weight,
    seed: int,
    *,
    node_disjoint: bool,
    watch: Watch,
    say: Callable[[str], None],
) -> SizedFinder:
    """Return the finder of a plan's tunnels, which shows its progress and announces the size of the program."""
    from kuijia.api.solve_effort import SizedFinder  # noqa: PLC0415  # slow to import: NumPy
    from te_solver.programs.tunnel_table import ParallelFinder  # noqa: PLC0415  # slow to import: NumPy

    found = watch.told("pairs have their tunnels")
    by = finder_by(topology, NODE_DISJOINT if node_disjoint else paths, weight, seed, say, found)
    return SizedFinder(ParallelFinder(by, found) if isinstance(by, TunnelFinder) else by, watch.announce)


def default_parts(demands: Sequence[Demand], say: Callable[[str], None]) -> int | None:
    """Return a number of parts if there are too many demands for one program, which is reported; None otherwise."""
    parts = parts_for(demands)
    if parts is not None:
        far = f"{len(demands):,} demands are solved in {parts} parts, nearly as well"
        page = "docs/te_solver.md#large-networks"
        say(f"{far} ({page}); {spelled('partitions', '1')} solves them as one program")
    return parts


def announce(topology: Topology, progress: Progress) -> None:
    """Show that work starts on a large network, whose first step takes seconds."""
    if len(topology.links) >= _MANY_LINKS:
        progress.show(f"preparing {len(topology.links):,} links")


def planned(
    topology: Topology,
    demands: Sequence[Demand],
    how: SolveOptions,
    source: str,
    progress: Progress,
    *,
    is_quick: bool = False,
) -> Plan:
    """Return the plan of options that fit each other; messages call the demands `source`.

    With `is_quick`, parts are solved once instead of twice, in half of the time.

    Raises:
        InputError: the options or the demands cannot be used.
        SolverError: the solver gave up, or its answer breaks a bound.
    """
    # They take a second to import; --help and bad input should not wait for it.
    from kuijia.api.solve_effort import Watch  # noqa: PLC0415  # slow to import: NumPy
    from te_solver.programs.partition import Partitioning  # noqa: PLC0415  # slow to import: NumPy
    from te_solver.programs.partitioned import in_parts, require_solvable_in_parts  # noqa: PLC0415  # slow to import: SciPy
    from te_solver.programs.program import Options  # noqa: PLC0415  # slow to import: SciPy
    from te_solver.programs.solver import Solver  # noqa: PLC0415  # slow to import: SciPy
    from te_solver.solve import solve  # noqa: PLC0415  # slow to import: SciPy

    announce(topology, progress)
    how = how.sized(demands, progress.say)
    # Nobody looks for an option that was not given.
    names = {} if how.protect is not None else {"protect": "objective"}
    parts = None if how.partitions == 1 else how.partitions
    with options_named(names):
        # A look-up imports CVXPY, which parts do not need, so only work after it is watched.
        solver = Solver() if parts and how.solver.upper() == DEFAULT_SOLVER else Solver.named(how.solver)
    watch = Watch(progress, parts, predictable=how.objective == MAX_THROUGHPUT)
    finder = finder_of(
        topology,
        chosen_paths(how.objective, how.paths),
        how.tunnel_weight,
        how.seed,
        node_disjoint=how.node_disjoint,
        watch=watch,
        say=progress.say,
    )
    objective: str | Objective = how.objective
    if parts is not None:
        objective = in_parts(Partitioning(parts, 1 if is_quick else 2, how.seed), watch.told("programs solved"))
    with options_named(names):
        options = Options(spread=how.spread, protect=how.protect or 1, solver=replace(solver, watch=watch.tick))
        if parts is not None:
            require_solvable_in_parts(options)  # the search for tunnels, which comes first, can take minutes
        plan = solve(topology, demands, how.tunnels, objective, options=options, finder=finder, source=source)
    return replace(plan, solve_seconds=0.0) if how.reproducible else plan
