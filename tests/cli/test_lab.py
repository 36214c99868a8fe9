from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_app.cli.main import main


def test_several_classes_of_traffic_are_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demands = tmp_path / "classes.csv"
    demands.write_text("source,target,rate,priority\ns1,s4,5,0\ns1,s4,5,1\n")
    assert main(["lab", "up", "fig1", str(demands)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"error: {demands}: demands of several priorities, "
        "expected the same for all: switches serve one class of traffic\n"
    )
