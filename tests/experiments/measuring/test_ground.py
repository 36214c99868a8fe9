"""Boxes that an experiment needs and an inventory lacks are reported before any box is contacted."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia.cli.main import main
from tests.testbed.boxes.inventory_files import inventory_file


@pytest.mark.parametrize(
    ("words", "network", "lacking"),
    [
        (["table2"], "fig1", "s4"),
        (["table3", "--schemes", "kuijia"], "fig1", "s4"),
        (["update"], "fig1", "s2"),
        (["recovery", "--network", "fig1"], "fig1", "s4"),
        (["fig11", "--quick"], "gscale", "11"),
    ],
)
def test_a_site_without_a_host_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], network: str, lacking: str
) -> None:
    inventory = inventory_file(tmp_path, {"address": "127.0.0.1"}, network, ["s1"] if network == "fig1" else ["1"])
    on_boxes = ["--backend", "boxes", "--inventory", str(inventory)]
    assert main(["run", *words, *on_boxes, "-o", str(tmp_path / "results")]) == 2
    said = capsys.readouterr().err
    assert f"inventory.yaml:hosts: site {lacking} has no host, expected one" in said
    assert "starting" not in said
    assert not (tmp_path / "results").exists()


def test_boxes_of_another_network_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inventory = str(inventory_file(tmp_path, {"address": "127.0.0.1"}))
    on_boxes = ["--backend", "boxes", "--inventory", inventory, "-o", str(tmp_path / "results")]
    assert main(["run", "fig11", "--quick", *on_boxes]) == 2
    assert "inventory.yaml:switches: no switch for nodes 1, 2, 3," in capsys.readouterr().err
