"""Files of every experiment are read back, told apart by folder, and refused in one line when damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.reporting.report import report_of
from kuijia.cli.main import main
from kuijia_base.errors import InputError

RESULTS = Path(__file__).resolve().parents[3] / "docs" / "results" / "hedera"


def copy(name: str, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes((RESULTS / name).read_bytes())
    return path


@pytest.mark.parametrize(
    ("name", "exhibits"),
    [
        ("hedera-matrices.json", ["hedera-matrices", "hedera-matrices-control"]),
        ("hedera-first-fit.json", ["hedera-first-fit"]),
        (
            "hedera-iterations.json",
            [f"hedera-iterations{of}" for of in ("", "-control", "-nearest", "-readings")],
        ),
        ("hedera-testbed.json", ["hedera-testbed", "hedera-testbed-parts"]),
        ("hedera-shuffle.json", ["hedera-shuffle"]),
        ("hedera-shuffle-readings.json", ["hedera-shuffle-readings"]),
        ("hedera-8192.json", ["hedera-8192", "hedera-8192-arrivals", "hedera-8192-parts"]),
        (
            "hedera-growth.json",
            [f"hedera-growth{of}" for of in ("", "-arrivals", "-goodput", "-memory", "-wasted")],
        ),
        ("hedera-timing.json", ["hedera-timing", "hedera-timing-rounds"]),
    ],
)
def test_committed_results_are_read(tmp_path: Path, name: str, exhibits: list[str]) -> None:
    copy(name, tmp_path)
    found = report_of(tmp_path).exhibits
    assert [exhibit.name for exhibit in found] == exhibits
    assert all(exhibit.has_values for exhibit in found)


def test_results_of_two_folders_are_told_apart(tmp_path: Path) -> None:
    copy("hedera-timing.json", tmp_path / "first")
    copy("hedera-timing.json", tmp_path / "second")
    names = [exhibit.name for exhibit in report_of(tmp_path).exhibits]
    assert names == ["hedera-timing", "hedera-timing-rounds", "hedera-timing-rounds-second", "hedera-timing-second"]


@pytest.mark.parametrize("change", [{"rows": 3}, {"rows": [{}]}, {"rows": [{"what": "estimation"}]}, {"rows": None}])
def test_a_damaged_result_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object]
) -> None:
    path = copy("hedera-timing.json", tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert main(["report", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {path}: lacks numbers of its experiment (")
    assert told.count("\n") == 1


@pytest.mark.parametrize("value", ["x", [1], True, None, 1e308])
def test_numbers_that_are_none_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: object
) -> None:
    path = copy("hedera-timing.json", tmp_path)
    data = json.loads(path.read_text())
    data["rows"][0] |= {"ms": value, "published_ms": value}
    path.write_text(json.dumps(data))
    assert main(["report", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {tmp_path}")
    assert told.count("\n") == 1
    assert not list(tmp_path.glob("report.*"))


def test_names_of_folders_that_make_names_of_files_too_long_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy("hedera-timing.json", tmp_path / "first")
    copy("hedera-timing.json", tmp_path / ("x" * 250))
    assert main(["report", str(tmp_path)]) == 2
    assert "cannot be in a file's name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("x" * 500_000, "a text of 500,000 characters, expected at most 2,000"),
        ([1] * 300_000, "a list of 300,000 entries, expected at most 20,000"),
    ],
    ids=["text", "list"],
)
def test_a_long_value_in_place_of_a_number_is_refused_before_it_is_multiplied(
    tmp_path: Path, value: object, problem: str
) -> None:
    path = copy("hedera-8192.json", tmp_path)
    data = json.loads(path.read_text())
    for each in data["arrivals"].values():
        each["mean seconds"] = dict.fromkeys(each["mean seconds"], value)
    path.write_text(json.dumps(data))
    with pytest.raises(InputError) as caught:
        report_of(tmp_path)
    assert str(caught.value) == f"{path}: {problem}"
