"""Runs tests that need the kernel's datapath in user-mode Linux, all in one guest, and tells how each of them ended."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

import pytest

from kuijia_base.errors import KuijiaError
from testbed.uml.boot import Guest, run_in_guest

TIME_LIMIT = 600.0
"""Seconds; three to four minutes are usual on a machine without other work."""

_SHOWN_LINES = 40

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class GuestOutcome:
    """End of a test; `said` is its traceback, or the reason for which it was skipped."""

    outcome: Outcome
    said: str
    seconds: float


def run_tests(items: Sequence[pytest.Item], root: Path) -> dict[str, GuestOutcome]:
    """Boot once and run the tests; by node id how they ended; what did not run in time has failed."""
    printed = bytearray()
    with tempfile.TemporaryDirectory(prefix="kuijia-tests-") as folder:
        report = Path(folder) / "report.xml"
        options = [
            "-p",
            "no:cacheprovider",
            "-q",
            "--color=no",
            f"--rootdir={root}",
            f"--config-file={root / 'pyproject.toml'}",
        ]
        tests = [str(root / item.nodeid) for item in items]
        command = [sys.executable, "-m", "pytest", *options, f"--junitxml={report}", *tests]
        trouble = "the guest's report does not have this test"
        try:
            run_in_guest(command, Guest(Path(folder), time_limit=TIME_LIMIT), printed.extend, printed.extend)
        except KuijiaError as error:
            trouble = str(error)
        try:
            cases = _read(report)  # an interrupted pytest, too, reports the tests that it has run
        except (OSError, ET.ParseError):
            cases = {}
    last = "\n".join(printed.decode(errors="replace").splitlines()[-_SHOWN_LINES:])
    lost = GuestOutcome("failed", f"{trouble}; the guest printed:\n{last}", 0.0)
    return {item.nodeid: cases.get(_address(item), lost) for item in items}


def reports_of(item: pytest.Item, ended: GuestOutcome) -> list[pytest.TestReport]:
    """Return the reports that pytest would have made of a test, had it run here."""
    path, line, name = item.location
    longrepr: str | tuple[str, int, str] | None = None
    if ended.outcome == "skipped":
        longrepr = (path, line or 0, f"Skipped: {ended.said}")
    elif ended.outcome == "failed":
        longrepr = ended.said
    keywords: dict[str, Literal[1]] = {word: 1 for word in item.keywords}  # noqa: C420  # the type is that of 1 itself
    return [
        pytest.TestReport(item.nodeid, (path, line, name), keywords, "passed", None, "setup"),
        pytest.TestReport(
            item.nodeid, (path, line, name), keywords, ended.outcome, longrepr, "call", duration=ended.seconds
        ),
        pytest.TestReport(item.nodeid, (path, line, name), keywords, "passed", None, "teardown"),
    ]


def _address(item: pytest.Item) -> tuple[str, str]:
    """Return a test's name in a JUnit report: its file, with dots, and its name."""
    return item.nodeid.partition("::")[0].removesuffix(".py").replace("/", "."), item.name


def _read(report: Path) -> dict[tuple[str, str], GuestOutcome]:
    found: dict[tuple[str, str], GuestOutcome] = {}
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314  # written by our own pytest
        outcome: Outcome = "passed"
        said = ""
        for element in case:
            if element.tag in ("failure", "error"):
                outcome, said = "failed", element.text or "it does not say why"
            elif element.tag == "skipped":
                outcome, said = "skipped", element.get("message", "")
        address = case.get("classname", ""), case.get("name", "")
        found[address] = GuestOutcome(outcome, said, float(case.get("time", 0)))
    return found
