"""Settings of objectives: their defaults are those of the documentation, their bounds those of what they mean."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kuijia_base.errors import UnsoundError
from te_solver.programs.failure_scenarios import FAILURE_SETTINGS
from te_solver.programs.registry import find_objective, objective_names
from te_solver.programs.settings import Value, values_of

PAGE = Path(__file__).parents[3] / "docs" / "te_solver.md"


def documented(cell: str) -> dict[str, Value]:
    """Return the defaults that a cell of the table states, such as `beta` (0.99)."""
    found: dict[str, Value] = {"file": "", "probability": 0.001, "cutoff": 1e-6} if "failures" in cell else {}
    for key, stated in re.findall(r"`(\w+)` \(([^)]*)\)", cell):
        word = re.split("[:,]", stated)[0].strip("` ")
        found[key] = "" if word == "no file" else float(word) if re.fullmatch(r"[0-9.]+", word) else word
    return found


def test_defaults_are_those_of_the_documentation() -> None:
    rows = re.findall(r"^\| `([\w-]+)`: ([^|]*) \|", PAGE.read_text(), re.MULTILINE)
    table = {name: documented(cell) for name, cell in rows}
    assert "`probability` (0.001)" in PAGE.read_text()
    with_settings = {name: settings for name in objective_names() if (settings := find_objective(name).settings)}
    assert len(with_settings) > 10
    for name, settings in with_settings.items():
        assert {key: setting.default for key, setting in settings.items()} == table[name], name


BOUNDS = {
    "adaptive-waterfilling:rounds": (["1", "1000"], ["0", "1001", "1.5"]),
    "cope:envelope": (["1", "9"], ["0.99"]),
    "demand-pinning:share": (["0", "7"], ["-0.1"]),
    "equi-depth-bins:bins": (["1", "32"], ["0", "33", "2.5"]),
    "equi-depth-bins:epsilon": (["0.01", "0.99"], ["0", "1"]),
    "ffc:control": (["0", "1000"], ["-1", "1001", "0.5"]),
    "ffc:shared": (["1", "15"], ["0", "16", "1.5"]),
    "ffc:switches": (["0", "15"], ["-1", "16", "0.5"]),
    "fleischer:epsilon": (["0.01", "0.99"], ["0", "1"]),
    "flexile:beta": (["0.01", "0.999"], ["0", "1"]),
    "flexile:cutoff": (["0.000000001", "0.1"], ["0.0000000009", "0.11"]),
    "flexile:probability": (["0.0001", "0.99"], ["0", "1"]),
    "hedging:spread": (["0.01", "1"], ["0", "1.01"]),
    "lp-top:share": (["0", "1"], ["-0.1", "1.01"]),
    "ncflow:clusters": (["0", "100000"], ["-1", "100001", "2.5"]),
    "ncflow:iterations": (["1", "1000"], ["0", "1001", "2.5"]),
    "ncflow:paths": (["1", "64"], ["0", "65", "2.5"]),
    "pop:clients": (["0", "0.5", "100"], ["-0.1", "100.1"]),
    "pop:parts": (["1", "10000"], ["0", "10001", "2.5"]),
    "pop:seed": (["0", "7"], ["-1", "2.5"]),
    "swan:alpha": (["1.001", "100"], ["1", "0.9"]),
    "teavar:beta": (["0.01", "0.999"], ["0", "1"]),
}


@pytest.mark.parametrize("setting", BOUNDS)
def test_numbers_within_bounds_are_taken_and_no_others(setting: str) -> None:
    (name, _, key), (taken, refused) = setting.partition(":"), BOUNDS[setting]
    settings = {**FAILURE_SETTINGS, **find_objective(name).settings}
    for word in taken:
        assert values_of(f"{setting}={word}", settings)[key] == float(word)
    for word in (*refused, "many", "inf", "nan"):
        with pytest.raises(UnsoundError, match=key):
            values_of(f"{setting}={word}", settings)
