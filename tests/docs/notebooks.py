"""Runs the notebooks under docs/notebooks in this process, as Jupyter would; `python -m tests.docs.notebooks` stores
what their cells show."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"

Notebook: TypeAlias = dict[str, Any]
Output: TypeAlias = dict[str, Any]

_MARKUP: dict[str, Callable[[Any], str]] = {
    "text/html": lambda shown: str(shown._repr_html_()),
    "image/png": lambda shown: b64encode(shown._repr_png_()).decode() + "\n",
}
_METHODS = {"text/html": "_repr_html_", "image/png": "_repr_png_"}


def notebooks() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Notebook:
    found: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return found


def code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs(notebook: Notebook) -> Iterator[list[Output]]:
    """Run the cells one after the other and yield the outputs of each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(notebook), start=1):
        tree = ast.parse("".join(cell["source"]))
        last = tree.body[-1]
        if isinstance(last, ast.Expr):  # its value is what the cell shows
            tree.body[-1] = ast.copy_location(ast.Assign([ast.Name("_", ast.Store())], last.value), last)
            ast.fix_missing_locations(tree)
        names["_"] = None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, f"cell {number}", "exec"), names)  # noqa: S102  # our own notebook
        yield [*_stream(printed.getvalue()), *_result(names["_"], number)]


def rewrite(path: Path) -> None:
    """Run a notebook and store the outputs in its file."""
    notebook = read(path)
    for number, (cell, found) in enumerate(zip(code_cells(notebook), outputs(notebook), strict=True), start=1):
        cell["execution_count"] = number
        cell["outputs"] = found
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def without_pictures(found: list[Output]) -> list[Output]:
    """Return outputs with pictures, whose bytes depend on the fonts of a machine, replaced by their presence."""
    return [
        {**each, "data": {kind: data if kind != "image/png" else "" for kind, data in each["data"].items()}}
        if "data" in each
        else each
        for each in found
    ]


def _stream(text: str) -> list[Output]:
    return [{"name": "stdout", "output_type": "stream", "text": _lines(text)}] if text else []


def _result(shown: object, number: int) -> list[Output]:
    if shown is None:
        return []
    data: dict[str, Any] = {"text/plain": _lines(repr(shown))}
    for kind, markup in _MARKUP.items():
        if hasattr(shown, _METHODS[kind]):
            data[kind] = markup(shown) if kind == "image/png" else _lines(markup(shown))
    return [{"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}]


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:  # for files that notebooks write
        os.chdir(folder)
        for each in notebooks():
            rewrite(each)
