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

MANIFEST = {"command", "options", "seeds", "commit", "machine", "started", "duration"}

WITHOUT_MANIFEST = frozenset(
    {
        *("cqrd", "fig4", "flashpass", "flashpass/3000-flows", "flashpass/by-the-papers"),
        *(f"gscale-{each}" for each in ("default-packet", "default-packet-1g", "flow", "packet", "packet-1g")),
        *("gscale-packet-1g-1000", "gscale-shared-flow", "gscale-shared-packet", "gscale-shared-packet-1g"),
        *("gscale-shared-packet-clocks", "gscale-shared-packet-clocks-500", "gscale-shared-packet-first"),
        *("hedera", "hedera/flow", "hedera/flow-1gbit", "hedera/packet", "hedera/packet-32-ports"),
        *("hedera/ramp-0.25-ms", "hermes", "hermes-profile-buffer", "hermes-profile-ns3"),
        *("motivation-packet-1000-clocks", "readings", "readings-packet"),
        *("takeover", "victim-transports"),
    }
)
"""Folders with files from before results had manifests: a folder leaves the list when all of it is made again."""


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


def test_committed_results_say_what_makes_them() -> None:
    """Command, options, seeds, commit, machine and time; points of several runs have each of them."""
    without = set()
    for path in (path for path in FILES if path.suffix == ".json"):
        data = json.loads(path.read_text(encoding="utf-8"))
        folder = path.parent.relative_to(RESULTS).as_posix()
        if data.get("manifest", {}).keys() >= MANIFEST:
            assert not data["manifest"]["commit"].endswith("-dirty"), path
            points = [point for line in data.get("lines", ()) for point in line["points"]]
            several = [point for point in points if point["runs"] > 1 and point.get("spread") is None]
            assert all(len(point["each"]) == point["runs"] for point in several), path
        else:
            without.add(folder)
    assert without == WITHOUT_MANIFEST
