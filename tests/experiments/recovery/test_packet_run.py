"""Interruptions in the packet simulator last as long as the times of notice say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kuijia.cli.main import main


def gaps(folder: Path, *arguments: str) -> dict[str, list[float]]:
    """Return the milliseconds without a packet after each cut, by mode."""
    at = ("--backend", "packet", "--cuts", "4", "-o", str(folder))
    assert main(["run", "recovery", *arguments, *at]) == 0
    found = (json.loads(path.read_text()) for path in sorted(folder.glob("recovery-*.json")))
    return {mode["mode"]["name"]: [1000 * cut["gap"] for cut in mode["cuts"]] for mode in found if "cuts" in mode}


def test_each_party_takes_its_time_to_notice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = gaps(tmp_path, "--detection-seconds", "0.005")
    assert found["local"] == pytest.approx([6] * 4, abs=1)
    assert found["controller"] == pytest.approx([6] * 4, abs=1)
    assert all(55 < gap < 92 for gap in found["bfd-30"])
    assert all(38 < gap < 56 for gap in found["bfd-10"])
    shown = capsys.readouterr().out
    assert "failures noticed after 5 ms" in shown
    assert "4 cuts count\n" in shown


def test_the_controller_s_distance_and_reaction_add_to_the_interruption(tmp_path: Path) -> None:
    far = ("--network", "fig1", "--modes", "controller", "--link-delay-seconds", "0.02")
    # A cut of s2-s4 is reported by s4 or s2, whose messages to s4 and from it to s1 take a link each.
    near = gaps(tmp_path / "at s4", *far, "--controller-at", "s4")["controller"]
    late = gaps(tmp_path / "later", *far, "--controller-at", "s4", "--reaction-seconds", "0.1")["controller"]
    assert [after - before for before, after in zip(near, late, strict=True)] == pytest.approx([100] * 4, abs=1.01)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--backend", "packet", "--controller-at", "s9"], "option:--controller-at: s9 is not in the network, "),
        (["--controller-at", "1"], "option:--controller-at: changes nothing in recovery on emulation, "),
        (["--link-delay-seconds", "0.1"], "option:--link-delay-seconds: changes nothing in recovery on emulation, "),
    ],
)
def test_what_changes_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert main(["run", "recovery", *arguments, "-o", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err.startswith(f"error: {complaint}")
