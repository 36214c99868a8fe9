"""Runs cases of Gscale and makes the tables and figures of their results, as text, JSON and picture."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.exhibit import exhibit_text, exhibit_to_json
from experiments.exhibit_picture import exhibit_figure
from experiments.gscale.cases import Case
from experiments.gscale.exhibits import exhibits_of
from experiments.gscale.measure import measure
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Settings


def run_grid(
    experiment: str,
    names: Sequence[str],
    cases: tuple[Case, ...],
    settings: Settings,
    output: OutputFolder,
    progress: Progress,
) -> Outcome:
    """Measure what cases the folder has no valid result of, then write the named exhibits of all these cases.

    Raises:
        InputError: what `measure` raises.
    """
    outcome = measure(cases, settings, output, progress)
    exhibits = exhibits_of(outcome.results, names)
    for exhibit in exhibits:
        output.write_json(f"{exhibit.name}.json", exhibit_to_json(exhibit))
        output.write_text(f"{exhibit.name}.txt", f"{exhibit_text(exhibit)}\n")
        output.write_with(f"{exhibit.name}.svg", exhibit_figure(exhibit).savefig)
    missed = [f"{name}: {reason}" for name, reason in outcome.given_up.items()]
    missed += [words for exhibit in exhibits for words in exhibit.missed()]
    summary: dict[str, object] = {
        "experiment": experiment,
        "backend": settings.backend,
        "passed": not missed,
        "runs": len(outcome.results),
        "given_up": dict(outcome.given_up),
        "exhibits": [exhibit_to_json(exhibit) for exhibit in exhibits],
    }
    return Outcome("\n\n\n".join(map(exhibit_text, exhibits)), summary, tuple(missed))
