"""The documentation site is built without a warning, and its generated pages are complete."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.site.links import broken_in_site
from docs.site.markdown import anchors_of, links_of
from docs.site.reference_pages import PUBLIC, api_pages, commands_page
from docs.site.schema_pages import schemas_of, schemas_page
from docs.site.staging import StagedPages, notebook_page
from kuijia.cli.verbs import VERBS

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="no Sphinx, which ./run docs installs")
    command = [sys.executable, "-m", "docs.site", str(tmp_path)]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert (tmp_path / "html" / "reference" / "api" / "te_solver.model.plan.html").is_file()


def test_every_verb_and_action_has_a_section_with_its_options() -> None:
    page = commands_page()
    anchors = anchors_of(page)
    assert {f"kuijia-{name}" for name in VERBS} <= anchors
    assert {"kuijia-lab-up", "kuijia-topology-convert"} <= anchors
    assert "| `--tunnels K` | tunnels per pair, edge-disjoint where possible (default: 3) |" in page
    assert "%(" not in page


def test_every_schema_is_on_the_page_of_schemas() -> None:
    schemas = schemas_of(ROOT)
    page = schemas_page(schemas)
    assert {file.name.partition(".")[0] for file in schemas} <= anchors_of(page)
    assert "| `pairs[].tunnels[].path_id` | integer, required |" in page


def test_every_public_module_has_a_page() -> None:
    assert [name for names in PUBLIC.values() for name in names if find_spec(name) is None] == []
    places = [place for place, _ in api_pages()]
    assert [f"reference/api/{name}.md" for names in PUBLIC.values() for name in names] == places[:-1]


def test_pages_are_staged_with_links_that_fit_their_new_places(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name, text in {
        "README.md": "[docs](docs/README.md) [more](docs/more.md#a-b)\n",
        "CHANGELOG.md": "",
        "CONTRIBUTING.md": "",
        "SECURITY.md": "",
        "docs/README.md": "# All\n\n## First\n\n[more](more.md) [root](../README.md)\n",
        "docs/more.md": "# A b\n\n[data](data) [code](../lib/code.py) ![p](data/p.svg)\n\n```text\n[no](no.md)\n```\n",
        "docs/data/p.svg": "<svg/>",
        "lib/code.py": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    stage = StagedPages(root, tmp_path / "stage")
    stage.fill()
    staged = {
        page: (stage.folder / page).read_text(encoding="utf-8") for page in ("index.md", "more.md", "project/readme.md")
    }
    assert list(links_of(staged["project/readme.md"])) == [(1, "../index.md"), (1, "../more.md#a-b")]
    assert [target for _, target in links_of(staged["more.md"])] == ["data/files.md", "files/lib/code.py", "data/p.svg"]
    assert "[no](no.md)" in staged["more.md"]
    assert ":caption: First\n\nmore\nproject/readme\n```" in staged["index.md"]
    assert "- [p.svg](p.svg)" in (stage.folder / "data" / "files.md").read_text(encoding="utf-8")
    assert (stage.folder / "files" / "lib" / "code.py").is_file()


def test_a_notebook_becomes_a_page_with_its_outputs(tmp_path: Path) -> None:
    picture = base64.b64encode(b"PNG").decode()
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["two\n", "lines\n"]},
        {"output_type": "stream", "name": "stderr", "text": "progress"},
        {"output_type": "display_data", "data": {"image/png": picture, "text/plain": "<Figure>"}},
        {"output_type": "execute_result", "data": {"text/html": "<b>4</b>", "text/plain": "4"}},
        {"output_type": "execute_result", "data": {"text/plain": ["5"]}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# First\n", "words"]},
        {"cell_type": "code", "source": "2 + 2", "outputs": outputs},
    ]
    (tmp_path / "first.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}), encoding="utf-8")
    page = notebook_page(tmp_path / "first.ipynb")
    assert page.pictures == {"first-1.png": b"PNG"}
    assert page.text == (
        "---\norphan: true\n---\n\n# First\nwords\n\n```python\n2 + 2\n```\n\n```text\ntwo\nlines\n```\n\n"
        "![output](first-1.png)\n\n```{raw} html\n<b>4</b>\n```\n\n```text\n5\n```\n"
    )


def test_a_broken_link_of_the_site_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="x"><a href="b.html#y"></a><img src="no.png"><a href="#x"></a></p>')
    (tmp_path / "b.html").write_text('<a href="https://example.org/no"></a>')
    assert list(broken_in_site(tmp_path)) == ["a.html: b.html#y: no such id", "a.html: no.png does not exist"]
