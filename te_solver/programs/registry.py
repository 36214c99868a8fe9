"""The objectives by name, ours and those of packages; a module, and CVXPY with it, is imported on first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from kuijia_base.additions import OBJECTIVES, Addition, additions
from kuijia_base.errors import UnsoundError
from te_solver.model.plan import DISJOINT
from te_solver.programs.settings import base_name, values_of, with_whole_names

if TYPE_CHECKING:
    from te_solver.model.demands import Demand
    from te_solver.model.topology import Topology
    from te_solver.programs.incidence import Incidence
    from te_solver.programs.program import Objective, Options, Pair, Program
    from te_solver.tunnels.finder import Paths

MAX_THROUGHPUT = "max-throughput"
MAX_MIN = "max-min"
FFC = "ffc"
MIN_MAX_UTILISATION = "min-max-utilisation"
STATIC_SPLITS = "static-splits"
MAX_CONCURRENT = "max-concurrent"

_MODULES = {
    MAX_THROUGHPUT: "max_throughput",
    MAX_MIN: "max_min",
    FFC: "ffc",
    MIN_MAX_UTILISATION: "min_max_utilisation",
    STATIC_SPLITS: "static_splits",
    MAX_CONCURRENT: "max_concurrent",
    "edge-max-throughput": "edge_flow.THROUGHPUT",
    "edge-max-concurrent": "edge_flow.CONCURRENT",
    "edge-min-max-utilisation": "edge_flow.UTILISATION",
    "cspf": "cspf",
    "smore": "min_max_utilisation.SMORE",
    "hedging": "hedging",
    "demand-pinning": "demand_pinning",
    "lp-top": "lp_top",
    "swan": "swan",
    "adaptive-waterfilling": "adaptive_waterfilling",
    "equi-depth-bins": "equi_depth_bins",
    "b4": "b4",
    "pop": "pop",
    "ncflow": "ncflow",
    "fleischer": "fleischer",
    "teavar": "teavar",
    "flexile": "flexile",
    "oblivious": "oblivious",
    "cope": "oblivious.COPE",
}
"""The module of each objective, and its name there unless it is OBJECTIVE."""


def objective_names() -> tuple[str, ...]:
    return (*_MODULES, *_additions())


def is_objective(name: str) -> bool:
    """Return True for the name of an objective, with or without settings."""
    return base_name(name) in objective_names()


def carries_all(objective: str) -> bool:
    """Return True if plans of an objective carry all demand; False for one that is unknown."""
    known = _known(objective)
    return known is not None and known.carries_all


def share_words(objective: str) -> str:
    """Return the words for the value of an objective whose value is a share; none for others."""
    known = _known(objective)
    return "" if known is None else known.share


def paths_for(objective: str | Objective, chosen: str) -> str:
    """Return the path choice for an objective: its own if it has one, else the chosen one.

    Raises:
        UnsoundError: the objective has one of its own, and neither it nor the default is chosen; `where` is `paths`.
    """
    of = _known(objective) if isinstance(objective, str) else objective
    own = (of and of.paths) or chosen
    if of is not None and chosen not in (DISJOINT, own):
        raise UnsoundError(("paths",), f"{of.name} does not choose by {chosen}", own)
    return own


def find_objective(name: str) -> Objective:
    """Return the objective of this name, with the settings that follow it.

    Raises:
        KeyError: it is unknown.
        InputError: the package that adds it is broken.
        UnsoundError: a setting is none of its own; its `where` is `objective`.
    """
    base = _base(name)
    values = values_of(name, base.settings)
    if not values:
        return base

    def program(incidence: Incidence, options: Options) -> Program:
        return base.program(incidence, replace(options, settings=values))

    find = base.tunnels

    def tunnels(topology: Topology, demands: Sequence[Demand], options: Options) -> Mapping[Pair, Paths]:
        assert find is not None  # else None replaces it below
        return find(topology, demands, replace(options, settings=values))

    name = with_whole_names(name, base.settings)
    return replace(base, name=name, program=program, tunnels=tunnels if find else None)


def _known(objective: str) -> Objective | None:
    """Return an objective to ask for what it states; None for unknown ones, and the default, which states nothing.

    The module of the default imports CVXPY, which a plan in parts does without.
    """
    if base_name(objective) == MAX_THROUGHPUT or not is_objective(objective):
        return None
    return _base(objective)


def _base(objective: str) -> Objective:
    """Return an objective as it is without settings."""
    name = base_name(objective)
    return _shipped(name) if name in _MODULES else _added(name)


def _shipped(name: str) -> Objective:
    module, _, attribute = _MODULES[name].partition(".")
    objective: Objective = getattr(import_module(f"te_solver.programs.{module}"), attribute or "OBJECTIVE")
    return objective


def _added(name: str) -> Objective:
    from te_solver.programs.program import Objective  # noqa: PLC0415  # slow to import: SciPy

    addition = _additions()[name]
    added = addition.load(Objective)
    addition.require_name(added.name)
    return added


def _additions() -> dict[str, Addition]:
    return additions(OBJECTIVES, _MODULES)
