"""A plan and a controller are replaced under load on real switches; shortened, and a few lost packets do not count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments import attempts, update_run
from kuijia_app.cli.main import main

pytestmark = pytest.mark.emulation

FEW = 0.001


def test_replacing_the_plan_and_the_controller_loses_next_to_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "ATTEMPTS", 2)
    monkeypatch.setattr(update_run, "IDLE_SECONDS", 1.0)
    arguments = ["--capacity", "10", "--updates", "2", "--restarts", "1", "-o", str(tmp_path)]
    assert main(["run", "update", *arguments]) in (0, 1)
    data = json.loads((tmp_path / "update.json").read_text())
    assert [phase["name"] for phase in data["phases"]] == ["idle", "update", "restart"]
    for phase in data["phases"]:
        assert phase["sent"] > 1000
        assert phase["lost"] <= FEW * phase["sent"]
    first, second = data["phases"][1]["updates"]
    assert first["removed"] == second["added"] != []
