"""Reads the results on Gscale in a folder: refuses those that are no case of the evaluation, and makes exhibits."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.gscale.aggregates import aggregates_of
from experiments.gscale.agreement import MODELS, agreement
from experiments.gscale.case_plan import plan_of
from experiments.gscale.cases import stored_case
from experiments.gscale.exhibits import exhibits_of
from experiments.results.comparability import StoredResult, refuse_flows, refuse_mixtures, stored_results
from experiments.results.exhibit import Exhibit
from experiments.results.stored_files import StoredFile


def exhibits_of_files(files: Sequence[StoredFile]) -> tuple[Exhibit, ...]:
    """Return the exhibits of each backend, and their agreement with the emulation's where a folder has it.

    Raises:
        InputError: a result is no case of the evaluation, or runs were not measured alike.
    """
    stored = stored_results(files)
    for each in stored:
        _refuse_strange(each)
    by_backend = {backend: [result for _, result in runs] for backend, runs in refuse_mixtures(stored).items()}
    made = [exhibit for results in by_backend.values() for exhibit in exhibits_of(results)]
    for model in MODELS:
        if {"emulation", model} <= by_backend.keys():
            compared = agreement(by_backend["emulation"], by_backend[model])
            made += [compared] if compared is not None else []
    return tuple(made)


def _refuse_strange(stored: StoredResult) -> None:
    path, result = stored
    case = stored_case(result, path)
    if case.traffic == "priorities":  # only here are flows looked up by name
        plan = plan_of(case, result.capacity, result.seed)
        refuse_flows(path, result, [flow.name for flow in aggregates_of(plan, case.link)])
