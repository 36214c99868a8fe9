"""A plan and a controller are replaced under load on real switches; shortened, and a few lost packets do not count."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.measuring import load
from experiments.update import run as update_run
from experiments.update.report import NETWORK
from kuijia.cli.main import main
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from tests.testbed.boxes.rig import needs_sshd, rig

pytestmark = pytest.mark.emulation

FEW = 0.001


@pytest.fixture
def on_emulation() -> list[str]:
    return ["--backend", "emulation"]


@pytest.fixture
def on_boxes(tmp_path: Path) -> Iterator[list[str]]:
    network = load_topology(shipped_network(NETWORK))
    with rig(tmp_path, network, network.nodes) as boxes:
        yield ["--backend", "boxes", "--inventory", str(boxes.inventory)]
        assert boxes.records() == ""


@pytest.mark.parametrize("where", ["on_emulation", pytest.param("on_boxes", marks=needs_sshd)])
def test_replacing_the_plan_and_the_controller_loses_next_to_nothing(
    where: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "ATTEMPTS", 2)
    monkeypatch.setattr(update_run, "IDLE_SECONDS", 1.0)
    results = tmp_path / "results"
    words = ["--capacity", "10", "--updates", "2", "--restarts", "1", "-o", str(results)]
    assert main(["run", "update", *request.getfixturevalue(where), *words]) in (0, 1)
    data = json.loads((results / "update.json").read_text())
    assert [phase["name"] for phase in data["phases"]] == ["idle", "update", "restart"]
    for phase in data["phases"]:
        assert phase["sent"] > 1000
        assert phase["lost"] <= FEW * phase["sent"]
        assert set(phase["load"]["boxes"]) == set(data["manifest"].get("boxes", ()))
    first, second = data["phases"][1]["updates"]
    assert first["removed"] == second["added"] != []
