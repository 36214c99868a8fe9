"""`kuijia compile` writes all of a plan's files or none, and options that no file could stand for are refused."""

from __future__ import annotations

import errno
import os
from itertools import count
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_app.tables.identifiers import FIRST_BFD_PORT
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_base.errors import UnsoundError
from te_solver.formats.plan_file import save_plan
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    save_plan(motivation_plan(), tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_a_file_that_cannot_be_written_leaves_none(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tables"
    (folder / "s3.flows").mkdir(parents=True)
    assert main(["compile", str(plan_file), "-o", str(folder)]) == 2
    expected = f"error: {folder / 's3.flows'}: is a folder, expected a path that can be written to\n"
    assert capsys.readouterr().err == expected
    assert [path.name for path in folder.iterdir()] == ["s3.flows"]


def test_on_a_full_disk_all_tables_stay_those_of_the_plan_before(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tables"
    assert main(["compile", str(plan_file), "-o", str(folder)]) == 0
    before = {path: path.read_text() for path in folder.iterdir()}
    synced = count()

    def fsync(_: int) -> None:
        if next(synced) == 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    assert main(["compile", str(plan_file), "-o", str(folder), "--scheme", "rescaling"]) == 2
    expected = "cannot be written to (No space left on device), expected a path that can be written to\n"
    assert capsys.readouterr().err == f"error: {folder}: {expected}"
    assert {path: path.read_text() for path in folder.iterdir()} == before


def test_tables_of_another_plan_are_not_mixed_with_these(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tables"
    assert main(["compile", str(plan_file), "-o", str(folder)]) == 0
    assert main(["compile", str(plan_file), "-o", str(folder)]) == 0
    save_plan(plan_of(both_ways("other", "s1 s9", "s1-s9"), "s1-s9"), plan_file)
    assert main(["compile", str(plan_file), "-o", str(folder)]) == 2
    expected = f"error: {folder}:s2.flows: is a table of another plan, expected a folder without such files\n"
    assert capsys.readouterr().err == expected
    assert len(list(folder.iterdir())) == 8


@pytest.mark.parametrize("word", ["slot", "class", "dscp"])
def test_numbers_of_thousands_of_digits_are_refused(
    plan_file: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    assert main(["trace", str(plan_file), f"s1->s4 {word}={'9' * 5000}"]) == 2
    captured = capsys.readouterr().err
    assert captured.startswith(f"error: packet:{word}: '999")
    assert captured.count("\n") == 1


def test_a_layout_name_that_no_file_can_have_is_refused(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(plan_file), "--layout", "x" * 300]) == 2
    assert capsys.readouterr().err.startswith("error: layout: 'xxx")


def test_links_do_not_reach_the_port_numbers_of_bfd() -> None:
    leaves = [f"n{number}" for number in range(FIRST_BFD_PORT - 1)]
    star = both_ways("star", " ".join(["hub", *leaves]), " ".join(f"hub-{leaf}" for leaf in leaves))
    plan = plan_of(star, "hub-n0")
    assert build_tables(plan)
    with pytest.raises(UnsoundError, match="hub has 999 neighbours, expected at most 998 with BFD"):
        build_tables(plan, PipelineOptions(liveness=Liveness.BFD))
