"""An objective of a package can have all properties that ours have: no table of ours must name it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_base import additions
from tests.plugins.packages import install

CODE = """
from operator import attrgetter
from te_solver.programs.min_max_utilisation import MinMaxUtilisation
from te_solver.programs.program import Objective

BUSIEST = Objective(
    "busiest", MinMaxUtilisation, attrgetter("maximum_utilisation"), carries_all=True, paths="ecmp", share="load"
)
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    additions._imported.cache_clear()
    install(tmp_path, monkeypatch, "busy", {additions.OBJECTIVES: {"busiest": "busy:BUSIEST"}}, CODE)
    monkeypatch.chdir(tmp_path)
    Path("demands.csv").write_text("source,target,rate\ns1,s4,6000\n", encoding="utf-8")


def test_it_carries_more_than_links_can_over_paths_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "fig1", "demands.csv", "--objective", "busiest", "--reproducible"]) == 0
    summary = capsys.readouterr().out
    assert "fig1: 4 nodes, 5 edges, 1 pair, 1 tunnel\n" in summary
    assert "busiest: 6 of 6 Gbit/s (100.00%) allocated\nload: 600.00%\nmaximum utilisation: 600.00%\n" in summary


def test_no_other_paths_can_be_chosen_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "fig1", "demands.csv", "--objective", "busiest", "--paths", "ksp"]) == 2
    assert capsys.readouterr().err == "error: option:--paths: busiest does not choose by ksp, expected ecmp\n"
