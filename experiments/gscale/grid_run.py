"""Runs cases of Gscale and makes the tables and figures of their results."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.experiment import Outcome, Settings
from experiments.gscale.cases import Case
from experiments.gscale.exhibits import exhibits_of
from experiments.gscale.measure import Means, measure
from experiments.reporting.exhibit_output import write_exhibits
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress


def run_grid(
    experiment: str,
    names: Sequence[str],
    cases: tuple[Case, ...],
    settings: Settings,
    output: OutputFolder,
    progress: Progress,
    means: Means,
) -> Outcome:
    """Measure the cases without a valid result in the folder, then write the named exhibits of all cases.

    Raises:
        InputError: as `measure` raises it.
    """
    outcome = measure(cases, settings, output, progress, means)
    exhibits = exhibits_of(outcome.results, names)
    failures = (f"{name}: {reason}" for name, reason in outcome.given_up.items())
    return write_exhibits(experiment, exhibits, settings, output, failures)
