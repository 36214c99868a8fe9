"""Content of `kuijia report` on a folder: its tables and figures, and where our numbers are not the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.catalog import ExperimentEntry, all_entries, owner_of
from experiments.reporting.report_lead import Finding, findings_of, lead_of
from experiments.reporting.size_bars import judged
from experiments.results.exhibit import Exhibit
from experiments.results.exhibit_table import number, value_text
from experiments.results.result import Result
from experiments.results.stored_files import StoredFile, files_in
from kuijia_base.errors import InputError


@dataclass(frozen=True)
class Report:
    """Content of a folder.

    Attributes:
        exhibits: in the order of the experiments, emulation before models.
        runs: number of results by backend.
        invalid: name of each run that is not used, and the reason.
        made_with: versions and machine of emulated runs, empty without any.
        caveats: by experiment, sentences to read its deviations by.
    """

    exhibits: tuple[Exhibit, ...]
    runs: Mapping[str, int]
    invalid: Mapping[str, str]
    made_with: Mapping[str, str]
    caveats: Mapping[str, str]

    @property
    def findings(self) -> list[Finding]:
        """The first table: the verdict on each table and figure, what differs from the paper first."""
        return findings_of(self.exhibits)

    @property
    def lead(self) -> str:
        """The first paragraph: what is not shown or differs in size, what is reproduced, and the number of met bars."""
        return lead_of(self.exhibits, self.caveats)

    @property
    def missed(self) -> list[str]:
        """Every bar that is missed, in words."""
        return [words for exhibit in self.exhibits for words in exhibit.missed()]


def report_of(folder: Path) -> Report:
    """Return the report on all that `kuijia run` left in a folder or in folders in it.

    Raises:
        InputError: the folder holds nothing of the kind, a file cannot be read or is damaged, or runs of one experiment
            and backend were not measured alike, so that they cannot be averaged.
    """
    if not folder.is_dir():
        raise InputError(folder, "", "is not a folder", "one that `kuijia run -o` wrote into")
    files = tuple(files_in(folder))
    results = [file.result for file in files if file.result is not None]
    saved = [file.exhibit for file in files if file.exhibit is not None]
    experiments = all_entries()
    found = map(judged, (*saved, *_read(files, experiments)))
    made = {(exhibit.name, exhibit.backend): exhibit for exhibit in found}
    if not made:
        raise InputError(folder, "", "holds no results", "a folder that `kuijia run -o` wrote into")
    rank = {each.name: place for place, each in enumerate(experiments)}
    return Report(
        tuple(sorted(made.values(), key=lambda exhibit: (_rank(exhibit, rank), exhibit.name, exhibit.backend))),
        Counter(result.backend for result in results),
        {_run_name(result): "; ".join(result.invalid) for result in results if result.invalid},
        _made_with(results),
        {each.name: each.caveat for each in experiments if each.caveat},
    )


def _read(files: Sequence[StoredFile], experiments: Iterable[ExperimentEntry]) -> Iterator[Exhibit]:
    """Yield the exhibits that the experiments' readers make from their files."""
    for experiment in experiments:
        own = [file for file in files if file.experiment == experiment.name and file.exhibit is None]
        reader = experiment.load().reader if own else None
        if reader is not None:
            yield from reader(own)


def _rank(exhibit: Exhibit, rank: Mapping[str, int]) -> int:
    """Return the position of the exhibit's experiment; exhibits without one come last."""
    owner = owner_of(exhibit.name)
    return len(rank) if owner is None else rank[owner.name]


def difference(exhibit: Exhibit) -> str:
    """Return a sentence on where an exhibit is farthest from the published numbers; empty when it has none."""
    parts = [
        f"{line.label} with {value_text(point)} instead of {number(point.published)} at {point.x}"
        for line, point in exhibit.largest_deviations()
    ]
    return f"Farthest from the published numbers: {'; '.join(parts)}." if parts else ""


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
