"""Plans replace one another in the packet simulator without a lost packet; one that is too slow for it loses some."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.measuring.packet_options import Notice
from experiments.measuring.packet_run import timing_of
from experiments.update import run
from kuijia.cli.main import main
from simulator.planned.events import Timing
from te_solver.model.topology import Topology


def phases(folder: Path, *arguments: str) -> dict[str, Any]:
    at = ("--backend", "packet", "--capacity", "20", "--updates", "2", "-o", str(folder))
    main(["run", "update", *arguments, *at])
    return {phase["name"]: phase for phase in json.loads((folder / "update.json").read_text())["phases"]}


def test_no_packet_is_lost_while_plans_replace_one_another(tmp_path: Path) -> None:
    found = phases(tmp_path)
    assert (found["idle"]["lost"], found["update"]["lost"]) == (0, 0)
    assert (found["idle"]["reordered"], found["update"]["reordered"]) == (0, 0)
    assert found["update"]["sent"] > 15_000
    assert [len(change["added"]) for change in found["update"]["updates"]] == [0, 2]
    assert all(2.0 <= change["seconds"] <= 2.2 for change in found["update"]["updates"])


def test_packets_that_move_to_a_shorter_way_overtake_others(tmp_path: Path) -> None:
    found = phases(tmp_path, "--link-delay-seconds", "0.02", "--controller-at", "s2")
    assert found["update"]["lost"] == 0
    assert found["update"]["reordered"] > 0
    # The ingresses hear of the new plan after all others have answered.
    assert all(2.1 <= change["seconds"] <= 2.4 for change in found["update"]["updates"])


def test_old_paths_that_end_before_they_are_empty_lose_packets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_drain(notice: Notice, topology: Topology) -> Timing:
        return replace(timing_of(notice, topology), drain=0.0)

    monkeypatch.setattr(run, "timing_of", without_drain)
    assert phases(tmp_path, "--link-delay-seconds", "0.2")["update"]["lost"] > 0


def test_what_the_simulator_has_not_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "new")
    assert main(["run", "update", "--backend", "packet", "--restarts", "1", "-o", folder]) == 2
    assert "the simulated controller cannot be restarted" in capsys.readouterr().err
    assert main(["run", "update", "--detection-seconds", "1", "-o", folder]) == 2
    assert "changes nothing in update on emulation" in capsys.readouterr().err
