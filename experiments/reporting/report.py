"""The report on a folder of results: its exhibits, the first table and paragraph, and all of it as HTML or Markdown."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined

from experiments.catalog import ExperimentEntry, all_entries, owner_of
from experiments.reporting.exhibit_output import exhibit_figure
from experiments.reporting.verdict import (
    DIFFERS,
    NEAR,
    NOISE,
    NOT_MEASURED,
    NOT_SHOWN,
    REPRODUCED,
    UNPUBLISHED,
    VERDICTS,
    Judgement,
    Verdict,
    judged,
    judgement_of,
)
from experiments.results.exhibit import Exhibit, Row, number, table_of, value_text
from experiments.results.result import Result
from experiments.results.score import Score
from experiments.results.stored_files import StoredFile, files_in
from kuijia_base.errors import InputError
from kuijia_base.picture_file import picture_bytes

_MEASURED = "emulation"
_COUNT = re.compile(r" \(\d+ of \d+ [a-z ]+\)$")
"""Number of further bars or points that miss, after the name of the one that decides."""

_LISTED = 3
"""Most missed bars that are listed one by one; if there are more, their figures are listed."""


@dataclass(frozen=True)
class JudgedItem:
    """A row of the first table."""

    item: str
    found: Judgement

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts, ready to be shown."""
        found = self.found
        number = found.what, found.published, found.ours, found.deviation
        return self.item, found.verdict, *scored(found.margin, found.score), *number, found.cause


SCORED = ("within margin", "margin", "mean error", "runs", "spread")
HEADINGS = ("item", "verdict", *SCORED, "at", "published", "ours", "deviation", "why")
NUMBERS = frozenset({2, 4, 5, 6, 8, 9, 10})
"""Columns that hold numbers."""


def scored(margin: str, score: Score) -> tuple[str, ...]:
    """Return the cells of `SCORED`."""
    return score.counted, margin, score.error, score.runs, score.spread


def findings_of(exhibits: Sequence[Exhibit]) -> list[JudgedItem]:
    """Return a row for each exhibit, with the number that decides its verdict; the worst verdicts come first."""
    rows = [_finding(exhibit, judgement_of(exhibit), exhibits) for exhibit in exhibits]
    return sorted(rows, key=lambda row: VERDICTS.index(row.found.verdict))


def _finding(exhibit: Exhibit, found: Judgement, exhibits: Sequence[Exhibit]) -> JudgedItem:
    shared = sum((each.reproduces, each.backend) == (exhibit.reproduces, exhibit.backend) for each in exhibits) > 1
    item = f"{called(exhibit)} ({exhibit.name})" if shared else called(exhibit)
    return JudgedItem(item, found)


def lead_of(exhibits: Sequence[Exhibit], caveats: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return whole sentences, the most important first; measured and computed numbers are kept apart.

    `caveats` has, by exhibit, a sentence that explains its deviations.
    """
    found = [(exhibit, judgement_of(exhibit)) for exhibit in exhibits]
    compared = [(exhibit, each) for exhibit, each in found if each.verdict is not UNPUBLISHED]
    if not compared:
        return "There are no published numbers to hold these against."
    sentences = []
    words_of: dict[Verdict, str] = {
        NOT_SHOWN: "Order not shown",
        NOT_MEASURED: "Not measured",
        DIFFERS: "Differ",
        NEAR: "Within twice the margin",
    }
    for verdict, words in words_of.items():
        own = [(exhibit, each) for exhibit, each in compared if each.verdict is verdict]
        if own:
            sentences.append(f"{words}: {'; '.join(dict.fromkeys(_told(*each, exhibits) for each in own))}.")
    differing = [exhibit for exhibit, each in compared if each.verdict not in (NOISE, REPRODUCED)]
    sentences += dict.fromkeys(caveats[each.name] for each in differing if each.name in caveats)
    for verdict, words in ((NOISE, "Within noise"), (REPRODUCED, "Reproduced")):
        good = [called(exhibit) for exhibit, each in compared if each.verdict is verdict]
        if good:
            sentences.append(f"{words}: {_listed(good)}.")
    return " ".join([*sentences, *_bars(exhibits)])


def called(exhibit: Exhibit) -> str:
    """Return the paper's name for an exhibit, and the backend."""
    return f"{exhibit.reproduces} on {exhibit.backend}"


def _told(exhibit: Exhibit, found: Judgement, exhibits: Sequence[Exhibit]) -> str:
    """Return what differs, without its number if the same was measured as well."""
    measured = any((each.reproduces, each.backend) == (exhibit.reproduces, _MEASURED) for each in exhibits)
    if exhibit.backend != _MEASURED and measured:
        return called(exhibit)
    what = _COUNT.sub("", found.what)
    if not found.ours:
        return called(exhibit)
    beside = " instead of" if found.deviation else ", expected"
    return f"{called(exhibit)} ({what} is {found.ours}{beside} {found.published})"


def _bars(exhibits: Sequence[Exhibit]) -> Iterator[str]:
    """Yield a sentence on the bars of measured runs, then one for each other backend."""
    by_backend: dict[str, list[Exhibit]] = {}
    for exhibit in sorted(exhibits, key=lambda exhibit: exhibit.backend != _MEASURED):
        if exhibit.checks:
            by_backend.setdefault(exhibit.backend, []).append(exhibit)
    for backend, own in by_backend.items():
        total = sum(len(exhibit.checks) for exhibit in own)
        what = {_MEASURED: "measured runs", "flow": "the model"}.get(backend, backend)
        words = [each for exhibit in own for each in exhibit.missed()]
        met = f"Bars for {what}: {total - len(words)} of {total} are met"
        if not words:
            yield f"{met}."
        elif len(words) <= _LISTED:
            yield f"{met}; missed: {'; '.join(words)}."
        else:
            yield f"{met}; missed are some of {_listed([each.reproduces for each in own if not each.passed])}."


def _listed(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


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
    def findings(self) -> list[JudgedItem]:
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
    """Return the report on everything that `kuijia run` left in a folder or in its subfolders.

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
    """Return a sentence on where an exhibit is farthest from the published numbers; empty if it has none."""
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


_RULE = tuple("---:" if column in NUMBERS else "---" for column in range(len(HEADINGS)))
TITLE = "Kuijia: the paper's tables and figures, reproduced"


@dataclass(frozen=True)
class _Section:
    """One exhibit on the page; `picture` is a data URI."""

    anchor: str
    heading: str
    exhibit: Exhibit
    sentence: str
    verdict: str
    difference: str
    picture: str
    columns: Sequence[str]
    rows: Sequence[Row]


def pictures_of(report: Report, tell: Callable[[int, int], None] = lambda _drawn, _of: None) -> dict[str, bytes]:
    """Return the pictures of a report by their files' names: SVG, the same bytes for the same exhibit.

    Before each picture `tell` receives the number of pictures drawn and in total.
    """
    pictures = {}
    for drawn, exhibit in enumerate(report.exhibits):
        tell(drawn, len(report.exhibits))
        pictures[picture_name(exhibit)] = picture_bytes(exhibit_figure(exhibit), ".svg")
    return pictures


def html_page(report: Report, pictures: Mapping[str, bytes], commands: Sequence[Sequence[str]] = ()) -> str:
    """Return one page that has all in it, with the report's `pictures`; fit to be printed to a PDF file.

    Args:
        report: the report.
        pictures: by the names of their files.
        commands: that made the results, with the state and the minutes of each.
    """
    environment = Environment(
        loader=PackageLoader("experiments.reporting", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page: str = environment.get_template("report.html.j2").render(
        title=TITLE,
        report=report,
        headings=HEADINGS,
        numbers=NUMBERS,
        checked=_checked(report),
        origin=_origin(report),
        commands=commands,
        sections=[_section(exhibit, pictures[picture_name(exhibit)]) for exhibit in report.exhibits],
    )
    return page


def markdown_page(report: Report) -> str:
    """Return the same page in Markdown; its pictures are those of `picture_names`, in the same folder."""
    findings = [each.cells for each in report.findings]
    parts = [f"# {TITLE}", _markdown_rows([HEADINGS, _RULE, *findings]), report.lead]
    if report.missed:
        parts.append(f"{len(report.missed)} of {_checked(report)} bars are missed:")
        parts.append("\n".join(f"- {words}" for words in report.missed))
    elif _checked(report):
        parts.append(f"All {_checked(report)} bars are met.")
    parts.append(_origin(report))
    if report.invalid:
        parts.append("Runs that are not used:")
        parts.append("\n".join(f"- {name}: {reasons}" for name, reasons in report.invalid.items()))
    for exhibit in report.exhibits:
        parts.append(f"## {_heading(exhibit)}")
        parts.append(f"{_sentence(exhibit)} {difference(exhibit)}".rstrip())
        parts.append(_verdict(exhibit))
        parts.append(f"![{_heading(exhibit)}]({picture_name(exhibit)})")
        parts.append(_markdown_table(exhibit))
        parts += exhibit.remarks
        if exhibit.published:
            parts.append(f"Published: {exhibit.published}.")
        if exhibit.checks:
            parts.append(
                "\n".join(
                    f"- {'met' if check.passed else '**missed**'}: {check.name}, {check.measured:.3g},"
                    f" expected {check.bar}"
                    for check in exhibit.checks
                )
            )
    return "\n\n".join(parts) + "\n"


def picture_name(exhibit: Exhibit) -> str:
    """Return the file name of an exhibit's picture."""
    return f"{_anchor(exhibit)}.svg"


def _section(exhibit: Exhibit, picture: bytes) -> _Section:
    table = table_of(exhibit)
    return _Section(
        _anchor(exhibit),
        _heading(exhibit),
        exhibit,
        _sentence(exhibit),
        _verdict(exhibit),
        difference(exhibit),
        f"data:image/svg+xml;base64,{b64encode(picture).decode()}",
        table.columns,
        table.rows,
    )


def _markdown_table(exhibit: Exhibit) -> str:
    table = table_of(exhibit)
    rule = ["---", *["---:"] * len(table.columns)]
    return _markdown_rows([["", *table.columns], rule, *([row.label, *row.cells] for row in table.rows)])


def _markdown_rows(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _heading(exhibit: Exhibit) -> str:
    return f"{exhibit.reproduces} ({exhibit.backend})"


def _sentence(exhibit: Exhibit) -> str:
    return f"{exhibit.title[:1].upper()}{exhibit.title[1:]}; {exhibit.quantity}, by {exhibit.axis}."


def _verdict(exhibit: Exhibit) -> str:
    found = judgement_of(exhibit)
    within = f" ({found.score.counted} numbers within {found.margin})" if found.score.numbers else ""
    return f"Verdict: {found.verdict}{within}. {_capital(found.cause)}".rstrip()


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _anchor(exhibit: Exhibit) -> str:
    return f"{exhibit.name}-{exhibit.backend}".replace(" ", "-")


def _checked(report: Report) -> int:
    return sum(len(exhibit.checks) for exhibit in report.exhibits)


def _origin(report: Report) -> str:
    """Return the number and kind of runs, and their conditions."""
    runs = ", ".join(f"{count} on {backend}" for backend, count in report.runs.items())
    made_with = ", ".join(f"{name} {value}" for name, value in report.made_with.items())
    sentences = [f"Runs: {runs}." if runs else "", f"The emulation: {made_with}." if made_with else ""]
    return " ".join(sentence for sentence in sentences if sentence)
