"""`kuijia report`: shows all tables and figures in a folder beside the published ones, on one page."""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import asdict
from pathlib import Path

from kuijia.cli.printing import print_json, show
from kuijia_base.additions import require_installed
from kuijia_base.errors import InputError
from kuijia_base.option_values import folder_or_page
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import Progress
from kuijia_base.quantities import counted
from kuijia_base.reading import reading
from kuijia_base.text_table import TextTable

HTML, MARKDOWN, ITEMS = "report.html", "report.md", "README.md"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        type=Path,
        metavar="DIR",
        help="folder that `kuijia run -o` wrote, or a folder of several such folders",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=folder_or_page,
        metavar="DIR",
        help=f"folder for {HTML}, {MARKDOWN} and pictures (default: DIR), or FILE.html for the page alone",
    )
    parser.add_argument(
        "--items",
        action="store_true",
        help=f"write {ITEMS} instead, with the verdict on every item of the papers; DIR is a copy of docs/results",
    )


def run(args: argparse.Namespace) -> int:
    if args.items:
        return _write_items(args.folder, args.output or args.folder)
    require_installed(LIBRARY, "the pictures of reports")
    # Drawing takes a second to import, which --help should not cost.
    from experiments.reporting.report import (  # noqa: PLC0415  # slow to import: jsonschema, matplotlib
        HEADINGS,
        NUMBERS,
        html_page,
        markdown_page,
        pictures_of,
        report_of,
    )
    from experiments.results.exhibit import exhibit_to_json  # noqa: PLC0415  # slow to import: jsonschema

    with reading(args.folder, "results that `kuijia run` wrote"), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # numpy's, of numbers without meaning
        warnings.simplefilter("ignore", UserWarning)  # matplotlib's, about text that does not fit into a picture
        progress = Progress(sys.stderr)
        tell = progress.patiently()
        try:
            report = report_of(args.folder)
            pictures = pictures_of(report, lambda drawn, of: tell(f"{drawn} of {of} pictures drawn", drawn, of))
        finally:
            progress.close()
        pages = {HTML: html_page(report, pictures), MARKDOWN: markdown_page(report)}
    if len({name.casefold() for name in pictures}) < len(report.exhibits):
        raise InputError(args.folder, "", "has exhibits whose pictures have the same name", "different names")
    output = OutputFolder(args.output or args.folder)
    output.require_names(pictures)
    for name, text in pages.items():
        output.write_text(name, text)
    for name, drawn in pictures.items():
        output.write_bytes(name, drawn)
    if args.json:
        data = {
            "findings": [{"item": finding.item, **asdict(finding.found)} for finding in report.findings],
            "lead": report.lead,
            "missed": report.missed,
            "exhibits": [exhibit_to_json(exhibit) for exhibit in report.exhibits],
        }
        print_json("report", data)
    else:
        words = set(range(len(HEADINGS))) - set(NUMBERS)
        show([TextTable((HEADINGS, *(finding.cells for finding in report.findings)), left=words), "", report.lead])
        kept = "" if output.page else f" and {MARKDOWN} with {counted(len(pictures), 'picture')}"
        print(f"wrote {output.path / output.written[0]}{kept}")
    return 0


def _write_items(folder: Path, target: Path) -> int:
    from experiments.reporting.results_page import page_of  # noqa: PLC0415  # slow to import: jsonschema

    with reading(folder, "results that `kuijia run` wrote"):
        page = page_of(folder)
    output = OutputFolder(target)
    output.write_text(ITEMS, page)
    print(f"wrote {output.path / ITEMS}")
    return 0
