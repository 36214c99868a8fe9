"""The notebooks run, show what is stored in them, and are notebooks to Jupyter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.notebooks import code_cells, notebooks, outputs, read, without_pictures


def test_there_are_those_that_the_page_lists() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    assert len(notebooks()) == 5
    assert all(f"(notebooks/{path.name})" in page for path in notebooks())


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_shows_what_is_stored_in_it(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = read(path)
    for cell, found in zip(code_cells(notebook), outputs(notebook), strict=True):
        assert without_pictures(found) == without_pictures(cell["outputs"]), "".join(cell["source"])


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_has_the_form_that_jupyter_reads_and_is_small(path: Path) -> None:
    notebook = read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert notebook["cells"][0]["cell_type"] == "markdown"
    assert notebook["cells"][0]["source"][0].startswith("# ")
    assert [cell["execution_count"] for cell in code_cells(notebook)] == list(range(1, len(code_cells(notebook)) + 1))
    assert path.stat().st_size < 200_000
