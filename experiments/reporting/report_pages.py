"""A report as one HTML page that needs nothing else, and as Markdown with pictures beside it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from experiments.reporting.exhibit_output import exhibit_figure
from experiments.reporting.report import HEADINGS, NUMBERS, Report, difference
from experiments.reporting.verdict import judgement_of
from experiments.results.exhibit import Exhibit, Row, table_of
from kuijia_base.picture_file import picture_bytes

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
