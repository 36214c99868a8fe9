"""What `kuijia report` tells of a folder: its tables and figures, and where our numbers are not the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from experiments.alike import StoredResult
from experiments.exhibit import FORMAT as EXHIBIT_FORMAT
from experiments.exhibit import Exhibit, exhibit_from_json, number, value_text
from experiments.exhibit_limits import refuse_unshowable
from experiments.fig4_exhibit import figure_4_from_json
from experiments.gscale.agreement import agreement
from experiments.gscale.exhibits import exhibits_of
from experiments.motivation_exhibit import TABLES, motivation_exhibit
from experiments.report_lead import lead_of
from experiments.result import FORMAT as RESULT_FORMAT
from experiments.result import Result, result_from_json
from experiments.strange import refuse_strange
from te_solver.errors import InputError
from te_solver.formats.json_document import read_json
from te_solver.reading import reading

_EXPECTED = "a file that `kuijia run` wrote"
_ORDER = ("table2", "table3", "fig4", "fig6", "fig8", "fig10", "fig11", "indirect", "fig12", "fig13", "table4", "fig14")


@dataclass(frozen=True)
class Report:
    """What a folder holds.

    Attributes:
        exhibits: in the order of the paper, emulation before models.
        runs: how many results it has of each backend.
        invalid: of how many of these runs nothing is used, and why, by name.
        made_with: what emulated runs were made with, empty without any.
    """

    exhibits: tuple[Exhibit, ...]
    runs: Mapping[str, int]
    invalid: Mapping[str, str]
    made_with: Mapping[str, str]

    @property
    def lead(self) -> str:
        """The first paragraph: which bars are missed, and where our numbers are not the published ones."""
        return lead_of(self.exhibits)

    @property
    def missed(self) -> list[str]:
        """Every bar that is missed, in words."""
        return [words for exhibit in self.exhibits for words in exhibit.missed()]


def report_of(folder: Path) -> Report:
    """Everything that `kuijia run` left in a folder or in folders in it.

    Raises:
        InputError: the folder holds nothing of the kind, a file cannot be read or is damaged, or runs of one experiment
            and backend were not measured alike, so that they cannot be averaged.
    """
    if not folder.is_dir():
        raise InputError(folder, "", "is no folder", "one that `kuijia run -o` wrote into")
    stored: list[StoredResult] = []
    exhibits: list[Exhibit] = []
    for path in sorted(folder.rglob("*.json")):
        data = read_json(path, "a result file", _EXPECTED, partial(_refuse_constant, path))
        with reading(path, _EXPECTED):
            if not isinstance(data, dict):
                continue
            if data.get("format") == RESULT_FORMAT:
                stored.append((path, result_from_json(data, path)))
            elif data.get("format") == EXHIBIT_FORMAT:
                exhibits.append(_shown(exhibit_from_json(data, path), path))
            elif data.get("experiment") == "fig4" and "loss" in data:
                exhibits.append(_shown(figure_4_from_json(data, path), path))
    refuse_strange(stored)
    results = [result for _, result in stored]
    made = {(exhibit.name, exhibit.backend): exhibit for exhibit in (*exhibits, *_made_of(results))}
    if not made:
        raise InputError(folder, "", "holds no results", "a folder that `kuijia run -o` wrote into")
    return Report(
        tuple(sorted(made.values(), key=_place)),
        {backend: len(list(runs)) for backend, runs in _by_backend(results).items()},
        {_run_name(result): "; ".join(result.invalid) for result in results if result.invalid},
        _made_with(results),
    )


def _shown(exhibit: Exhibit, path: Path) -> Exhibit:
    refuse_unshowable(exhibit, path)
    return exhibit


def _made_of(results: Sequence[Result]) -> Iterator[Exhibit]:
    for name in TABLES:
        for runs in _by_backend(result for result in results if result.experiment == name).values():
            usable = [run for run in runs if not run.invalid]
            if usable:
                yield motivation_exhibit(usable)
    by_backend = _by_backend(result for result in results if result.experiment == "gscale")
    for runs in by_backend.values():
        yield from exhibits_of(runs)
    if {"emulation", "flow"} <= by_backend.keys():
        compared = agreement(by_backend["emulation"], by_backend["flow"])
        if compared is not None:
            yield compared


def _by_backend(results: Iterable[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.backend, []).append(result)
    return found


def difference(exhibit: Exhibit) -> str:
    """A sentence on where an exhibit is farthest from the published numbers; empty when it has none."""
    parts = [
        f"{line.label} with {value_text(point)} instead of {number(point.published)} at {point.x}"
        for line, point in exhibit.largest_deviations()
    ]
    return f"Farthest from the published numbers: {'; '.join(parts)}." if parts else ""


def _place(exhibit: Exhibit) -> tuple[int, str, str]:
    rank = _ORDER.index(exhibit.name) if exhibit.name in _ORDER else len(_ORDER)
    return rank, exhibit.name, exhibit.backend


def _run_name(result: Result) -> str:
    varied = " ".join(f"{key} {value}" for key, value in result.parameters.items() if isinstance(value, str | float))
    link = "-".join(result.failure.link)
    return f"{result.experiment} {varied} {link} {result.scheme} {result.repetition}"


def _made_with(results: Iterable[Result]) -> dict[str, str]:
    wanted = {
        "kuijia": "Kuijia",
        "commit": "commit",
        "kernel": "kernel",
        "open_vswitch": "Open vSwitch",
        "datapath": "datapath",
        "iperf3": "iperf3",
        "python": "Python",
    }
    manifests = [result.manifest for result in results if result.backend == "emulation"]
    told = {
        label: dict.fromkeys(str(manifest[key]) for manifest in manifests if manifest.get(key))
        for key, label in wanted.items()
    }
    return {label: " and ".join(values) for label, values in told.items() if values}


def _refuse_constant(path: Path, word: str) -> NoReturn:
    raise InputError(path, "", f"{word} is no number of JSON", _EXPECTED)
