"""Writes tables and figures as text, JSON and picture, and turns them into an experiment's outcome."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.exhibit import Exhibit, exhibit_text, exhibit_to_json
from experiments.exhibit_picture import exhibit_figure
from experiments.output import OutputFolder
from experiments.registry import Outcome, Settings
from te_solver.picture_file import picture_bytes


def write_exhibits(
    experiment: str, exhibits: Sequence[Exhibit], settings: Settings, output: OutputFolder, failures: Iterable[str] = ()
) -> Outcome:
    """Write `NAME.json`, `NAME.txt` and `NAME.svg` of each exhibit and return the outcome.

    The outcome's `missed` lists the missed bars of the exhibits and `failures`: measurements that failed, in words.
    """
    for exhibit in exhibits:
        output.write_json(f"{exhibit.name}.json", exhibit_to_json(exhibit))
        output.write_text(f"{exhibit.name}.txt", f"{exhibit_text(exhibit)}\n")
        output.write_bytes(f"{exhibit.name}.svg", picture_bytes(exhibit_figure(exhibit), ".svg"))
    missed = (*failures, *(words for exhibit in exhibits for words in exhibit.missed()))
    summary: dict[str, object] = {
        "experiment": experiment,
        "backend": settings.backend,
        "passed": not missed,
        "missed": list(missed),
        "exhibits": [exhibit_to_json(exhibit) for exhibit in exhibits],
    }
    return Outcome("\n\n\n".join(map(exhibit_text, exhibits)), summary, missed)
