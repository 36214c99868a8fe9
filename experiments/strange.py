"""Rejects results that are no runs of their experiment, or were measured under different settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from experiments.alike import StoredResult, refuse_mixture
from experiments.gscale.aggregates import aggregates_of
from experiments.gscale.cases import stored_case
from experiments.gscale.scenario import plan_of
from experiments.motivation_cases import SCHEMES
from experiments.motivation_exhibit import TABLES
from experiments.result import Result
from te_solver.errors import InputError, quoted


def refuse_strange(stored: Iterable[StoredResult]) -> None:
    """Raise InputError for a result that is no case of its experiment, and for runs that cannot be averaged."""
    alike: dict[tuple[str, str], list[StoredResult]] = {}
    for path, result in stored:
        if result.experiment == "gscale":
            _refuse_gscale(path, result)
        elif result.experiment in TABLES:
            _refuse_table(path, result)
        else:
            continue
        if not result.invalid:
            alike.setdefault((result.experiment, result.backend), []).append((path, result))
    for runs in alike.values():
        refuse_mixture(runs)


def _refuse_gscale(path: Path, result: Result) -> None:
    case = stored_case(result, path)
    if case.traffic == "priorities":  # only here are flows looked up by name
        plan = plan_of(case, result.capacity, result.seed)
        _refuse_flows(path, result, [flow.name for flow in aggregates_of(plan, case.link)])


def _refuse_table(path: Path, result: Result) -> None:
    if result.scheme not in SCHEMES:
        raise InputError(path, "scheme", f"{quoted(result.scheme)} is unknown", f"one of {', '.join(SCHEMES)}")
    _refuse_flows(path, result, TABLES[result.experiment].offered_parts)


def _refuse_flows(path: Path, result: Result, known: Collection[str]) -> None:
    """Raise InputError if a result has unknown, missing or duplicate flows."""
    missing = set(known)
    for number, flow in enumerate(result.flows):
        if flow.name not in missing:
            problem = f"{quoted(flow.name)} is {'there twice' if flow.name in known else 'unknown'}"
            raise InputError(path, f"flows[{number}].name", problem, f"one of {', '.join(known)}")
        missing.remove(flow.name)
    if missing:
        raise InputError(path, "flows", f"{min(missing)} is missing", f"all of {', '.join(known)}")
