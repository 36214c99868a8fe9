"""Reads the results on Gscale in a folder: refuses those that are no case of the evaluation, and makes exhibits."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.gscale.aggregates import aggregates_of
from experiments.gscale.case_plan import plan_of
from experiments.gscale.cases import case_of, stored_case
from experiments.gscale.exhibits import exhibits_of
from experiments.gscale.loss_figures import AXIS, LOSS_FIGURES, LossLine
from experiments.results.comparability import StoredResult, refuse_flows, refuse_mixtures, stored_results
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check, Result
from experiments.results.stored_files import StoredFile

TOLERANCE = 3.0
"""Percentage points."""

_JUDGED = ("tcp", "udp")

MODELS = {"flow": ("flow model", "the fluid model"), "packet": ("packet simulator", "the packet simulator")}
"""Backends to compare with: their names in bars and in titles."""


def agreement(emulated: Sequence[Result], computed: Sequence[Result]) -> Exhibit | None:
    """Return emulated minus computed losses; None when the backends have no case in common."""
    backend = computed[0].backend if computed else "flow"
    model, titled = MODELS[backend]
    measured, modelled = ({case_of(run): run for run in runs if not run.invalid} for runs in (emulated, computed))
    common = sorted(measured.keys() & modelled.keys())
    demands = sorted({case.demand for case in common})
    lines, checks = [], []
    for name, whose in [(figure.name, line) for figure in LOSS_FIGURES for line in figure.lines]:
        label = f"{name}, {whose.label}"
        own = [case for case in common if (case.traffic, case.scheme) == (whose.traffic, whose.scheme)]
        gaps = (
            Point.of(demand, (_gap(whose, measured[case], modelled[case]) for case in own if case.demand == demand))
            for demand in demands
        )
        points = tuple(point for point in gaps if point.value is not None)
        if points:
            lines.append(Line(label, points))
        if whose.traffic in _JUDGED:
            checks += [
                Check(f"{label}, at demand {point.x}: emulation less {model}", point.value, -TOLERANCE, TOLERANCE)
                for point in points
                if point.value is not None
            ]
    if not lines:
        return None
    return Exhibit(
        "agreement",
        f"loss on switches less loss in {titled}",
        "Emulation and model",
        f"emulation less {backend}",
        AXIS,
        "percentage points",
        tuple(lines),
        checks=tuple(checks),
        remarks=(
            f"Means over the same {len(common)} runs of both; the bar is {TOLERANCE:g} percentage points.",
            "The lowest and highest single runs are shown beside the means; they have no bar.",
        ),
    )


def _gap(whose: LossLine, measured: Result, modelled: Result) -> float | None:
    """Return how much more one run loses on switches than in a model."""
    seen, said = whose.loss(measured), whose.loss(modelled)
    return None if seen is None or said is None else seen - said


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
