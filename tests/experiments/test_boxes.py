"""Table 2 comes out on boxes, over SSH and on switches of their own, as it does in emulation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kuijia_app.cli.main import main
from te_solver.networks import shipped_network
from te_solver.topology_file import load_topology
from testbed.commands import find_program
from tests.testbed.boxes.rig import rig


def test_boxes_need_an_inventory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["run", "table2", "--backend", "boxes", "-o", str(tmp_path / "results")]) == 2
    assert "--inventory FILE" in capsys.readouterr().err


@pytest.mark.emulation
@pytest.mark.skipif(find_program("sshd") is None, reason="sshd not found (Debian package openssh-server)")
def test_table_2_meets_its_bars(tmp_path: Path) -> None:
    topology = load_topology(shipped_network("fig1"))
    with rig(tmp_path, topology, ["s1", "s4"]) as boxes:
        words = ["--backend", "boxes", "--inventory", str(boxes.inventory), "--schemes", "kuijia", "--quick"]
        assert main(["run", "table2", *words, "-o", str(tmp_path / "results")]) == 0
        for box in boxes.boxes.values():
            assert box.run("find", "/var/lib", "-name", "*.jsonl") == ""
    result = json.loads((tmp_path / "results" / "table2-kuijia-1.json").read_text())
    assert result["backend"] == "boxes"
    assert set(result["manifest"]["boxes"]) == {f"switch s{n}" for n in (1, 2, 3, 4)} | {"host s1", "host s4"}
