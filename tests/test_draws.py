"""Drawn examples are the same in every run, whatever other tests have imported before."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st


def test_draws_do_not_depend_on_which_modules_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    @given(st.integers())
    def draw(number: int) -> None:
        drawn.append(number)

    draw()
    before = drawn.copy()
    drawn.clear()
    file = tmp_path / "constants.py"
    file.write_text(f"NUMBERS = {[1000003 * number for number in range(1, 200)]}\n")
    spec = importlib.util.spec_from_file_location("constants", file)
    assert spec is not None
    monkeypatch.setitem(sys.modules, "constants", importlib.util.module_from_spec(spec))
    draw()
    assert drawn == before
