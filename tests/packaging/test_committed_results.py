"""Committed results are few and small: exhibits, pictures that a page shows, and packed records of measurements."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

import pytest

from experiments.results.result import FORMAT
from kuijia_base.json_document import ARCHIVE

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
FILES = sorted(path for path in RESULTS.rglob("*") if path.is_file())
PAGES = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]

MOST_BYTES = 6 * 10**6


def test_committed_results_take_six_megabytes_at_most() -> None:
    sizes = {str(path.relative_to(RESULTS)): path.stat().st_size for path in FILES}
    largest = sorted(sizes.items(), key=lambda each: -each[1])[:5]
    assert sum(sizes.values()) <= MOST_BYTES, f"the largest are {largest}"


def test_every_committed_picture_is_on_a_page() -> None:
    shown = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    }
    pictures = {path.resolve() for path in FILES if path.suffix in {".svg", ".png", ".html"}}
    assert pictures
    assert pictures - shown == set()


def test_records_of_runs_are_committed_in_archives_alone() -> None:
    loose = [path for path in FILES if path.suffix == ".json"]
    assert loose
    assert [path for path in loose if json.loads(path.read_text(encoding="utf-8")).get("format") == FORMAT] == []


@pytest.mark.parametrize("archive", [path for path in FILES if path.name == ARCHIVE], ids=lambda path: path.parent.name)
def test_an_archive_has_the_same_bytes_whoever_packs_it(archive: Path) -> None:
    with tarfile.open(archive) as members:
        found = members.getmembers()
    assert [member.name for member in found] == sorted(member.name for member in found)
    assert {(member.mtime, member.uid, member.gid, member.mode) for member in found} == {(0, 0, 0, 0o644)}
