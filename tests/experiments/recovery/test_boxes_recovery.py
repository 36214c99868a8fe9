"""Interruption of boxes by a failure, measured by clocks that need not agree: two cuts on the smallest network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.measuring import load
from experiments.recovery import run as recovery_run
from experiments.recovery.report import NETWORKS
from kuijia.cli.main import main
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from tests.testbed.boxes.rig import needs_sshd, rig

HAS_TIME_NAMESPACES = Path("/proc/self/ns/time").exists()


def test_boxes_need_an_inventory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["run", "recovery", "--backend", "boxes", "-o", str(tmp_path / "results")]) == 2
    assert "--inventory FILE" in capsys.readouterr().err


@pytest.mark.emulation
@needs_sshd
def test_bfd_brings_a_flow_between_boxes_back_without_the_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "ATTEMPTS", 1)
    monkeypatch.setattr(recovery_run, "QUIET_SECONDS", 0.5)
    words = ["--network", "fig1", "--modes", "bfd-30", "--cuts", "2", "-o", str(tmp_path / "results")]
    apart = 1000 if HAS_TIME_NAMESPACES else 0
    with rig(tmp_path, load_topology(shipped_network("fig1")), NETWORKS["fig1"], apart=apart) as boxes:
        on_boxes = ["--backend", "boxes", "--inventory", str(boxes.inventory)]
        # Narrowly missed bars, or a busy machine, do not count here.
        assert main(["run", "recovery", *on_boxes, *words]) in (0, 1)
        assert boxes.records() == ""
        assert all("python" not in box.run("ps", "-eo", "args") for box in boxes.boxes.values())
    result = json.loads((tmp_path / "results" / "recovery-bfd-30.json").read_text())
    assert result["backend"] == "boxes"
    assert [cut["low_after"] for cut in result["cuts"]] == [True, True]
    assert all(0.03 < cut["gap"] < 1 for cut in result["cuts"])
    assert all(0 < cut["clock_error"] < 1 for cut in result["cuts"])
    assert all(flow["after"] == pytest.approx(flow["before"], rel=0.2) for flow in result["flows"])
    assert set(result["cuts"][0]["load"]["boxes"]) == set(result["manifest"]["boxes"])
