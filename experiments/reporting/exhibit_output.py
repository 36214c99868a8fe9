"""Writes tables and figures as text, JSON and picture, and turns them into an experiment's outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from experiments.experiment import Outcome, Settings
from experiments.reporting.exhibit_picture import exhibit_figure
from experiments.reporting.verdict import UNPUBLISHED, judged, judgement_of
from experiments.results.exhibit import Exhibit, exhibit_to_json
from experiments.results.exhibit_table import exhibit_text
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import write_picture
from kuijia_base.text_table import Page, TextTable


def write_exhibits(
    experiment: str, exhibits: Sequence[Exhibit], settings: Settings, output: OutputFolder, failures: Iterable[str] = ()
) -> Outcome:
    """Write `NAME.json`, `NAME.txt` and `NAME.svg` of each exhibit and return the outcome.

    The outcome's `broken` lists, in words, `failures`, which are measurements that failed, and the orders, limits and
    promises of the exhibits that do not hold.
    """
    exhibits = [judged(exhibit) for exhibit in exhibits]
    for exhibit in exhibits:
        output.write_json(f"{exhibit.name}.json", exhibit_to_json(exhibit))
        output.write_text(f"{exhibit.name}.txt", f"{_exhibit_text(exhibit)}\n")
        _write_picture(exhibit, output)
    broken = _broken(exhibits, failures)
    summary: dict[str, object] = {
        "experiment": experiment,
        "backend": settings.backend,
        "passed": not broken,
        "broken": list(broken),
        "missed": [words for exhibit in exhibits for words in exhibit.missed()],
        "exhibits": [exhibit_to_json(exhibit) for exhibit in exhibits],
    }
    return Outcome(_text(exhibits), summary, broken)


def write_study(
    experiment: str,
    data: Mapping[str, object],
    exhibits: Sequence[Exhibit],
    output: OutputFolder,
    failures: Iterable[str] = (),
) -> Outcome:
    """Write `EXPERIMENT.json` with `data`, that its exhibits are made of, `EXPERIMENT.txt` and a picture of each."""
    outcome = write_tables(experiment, data, exhibits, output, failures)
    output.write_json(f"{experiment}.json", outcome.summary)
    return outcome


def write_tables(
    experiment: str,
    data: Mapping[str, object],
    exhibits: Sequence[Exhibit],
    output: OutputFolder,
    failures: Iterable[str] = (),
) -> Outcome:
    """Write `EXPERIMENT.txt` with all tables, and a picture of each exhibit.

    If the data say whether the experiment passed, that is as its exit status says it.
    """
    exhibits = [judged(exhibit) for exhibit in exhibits]
    text = _text(exhibits)
    output.write_text(f"{experiment}.txt", f"{text}\n")
    for exhibit in exhibits:
        _write_picture(exhibit, output)
    broken = _broken(exhibits, failures)
    passed = {"passed": not broken} if "passed" in data else {}
    return Outcome(text, {**data, **passed}, broken)


def _text(exhibits: Sequence[Exhibit]) -> Page:
    parts: list[str | TextTable] = []
    for exhibit in exhibits:
        parts += ["", ""] if parts else []
        parts += _exhibit_text(exhibit).parts
    return Page.of(parts)


def _exhibit_text(exhibit: Exhibit) -> Page:
    found = judgement_of(exhibit)
    if found.verdict is UNPUBLISHED:
        return exhibit_text(exhibit)
    within = f", {found.score.counted} numbers within {found.margin}" if found.score.numbers else ""
    why = f" ({found.cause})" if found.cause else ""
    told = f": {found.what}, {found.ours}, published {found.published}" if found.deviation else ""
    if not told and found.what:
        told = f": {found.what}{f', {found.ours}, expected {found.published}' if found.ours else ''}"
    return Page.of([*exhibit_text(exhibit).parts, "", f"Verdict: {found.verdict}{within}{told}{why}"])


def _broken(exhibits: Sequence[Exhibit], failures: Iterable[str]) -> tuple[str, ...]:
    return (*failures, *(words for exhibit in exhibits for words in exhibit.broken()))


def _write_picture(exhibit: Exhibit, output: OutputFolder) -> None:
    write_picture(output, f"{exhibit.name}.svg", lambda: exhibit_figure(exhibit))
