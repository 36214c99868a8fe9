"""The interruption by a failure on real switches: two cuts, with wider margins than a full run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.measuring import load
from experiments.recovery import run as recovery_run
from kuijia.cli.main import main

pytestmark = pytest.mark.emulation


def test_bfd_brings_a_flow_back_without_the_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "ATTEMPTS", 1)
    monkeypatch.setattr(recovery_run, "QUIET_SECONDS", 0.5)
    # Narrowly missed bars, or a busy machine, do not count here.
    assert main(["run", "recovery", "--modes", "bfd-30", "--cuts", "2", "-o", str(tmp_path)]) in (0, 1)
    assert {path.name for path in tmp_path.iterdir()} == {
        "recovery-bfd-30.json",
        "recovery-summary.json",
        "recovery.json",
        "recovery.svg",
        "recovery.txt",
    }
    result = json.loads((tmp_path / "recovery-bfd-30.json").read_text())
    assert [cut["low_after"] for cut in result["cuts"]] == [True, True]
    assert all(0.03 < cut["gap"] < 1 for cut in result["cuts"])
    assert all(flow["after"] == pytest.approx(flow["before"], rel=0.2) for flow in result["flows"])
    assert len({tuple(cut["link"]) for cut in result["cuts"]}) == 2
