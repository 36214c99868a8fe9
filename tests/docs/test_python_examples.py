"""The examples in Python that pages of the documentation show print what they say, and draw what they show."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of
from tests.docs.commands import PAGES
from tests.docs.python_examples import GALLERY, IMAGES, examples_of, run_examples, words_of

LANGUAGES = {"python", "pycon"}

WITH_EXAMPLES = [page for page in PAGES if examples_of(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert {block.language for block in examples_of(page.read_text(encoding="utf-8"))} <= LANGUAGES
    outcome, report = run_examples(page)
    assert outcome.attempted
    assert outcome.failed == 0, report
    for drawn in tmp_path.glob("gallery-*.svg"):
        assert words_of(drawn) == words_of(IMAGES / drawn.name), f"{drawn.name} is another picture now"


def test_each_of_twelve_examples_has_its_code_and_its_picture() -> None:
    sections = GALLERY.read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(sections) == 12
    saved = []
    for section in sections:
        assert [*blocks_of(section)], section
        (shown,) = re.findall(r"!\[.+\]\(images/(.+)\)", section)
        assert re.findall(r'save\("(.+)"\)', section) in ([shown], []), section
        saved += re.findall(r'save\("(.+)"\)', section)
    assert sorted(saved) == sorted(path.name for path in IMAGES.glob("gallery-*"))


def test_the_pages_on_libraries_have_examples() -> None:
    libraries = {"te_solver.md", "schemes.md", "flow_model.md", "hedera.md", "packet_model.md", "packet_traffic.md"}
    assert {"python.md", *libraries} <= {page.name for page in WITH_EXAMPLES}


@pytest.mark.parametrize("module", ["choices", "plan"])
def test_examples_in_docstrings_print_what_they_say(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"kuijia.api.{module}"), optionflags=doctest.REPORT_NDIFF)
    assert outcome.attempted > 0
    assert outcome.failed == 0
