"""The examples in Python that pages of the documentation show print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from docs.site.markdown import Block, blocks_of
from tests.docs.commands import NOT_RUN, PAGES

LANGUAGES = {"python", "pycon"}


def examples_of(page: str) -> list[Block]:
    return [block for block in blocks_of(page) if ">>> " in block.text and not block.mark.startswith(NOT_RUN)]


WITH_EXAMPLES = [page for page in PAGES if examples_of(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = examples_of(page.read_text(encoding="utf-8"))
    assert {block.language for block in blocks} <= LANGUAGES
    # The examples of a page follow from each other.
    examples = doctest.DocTestParser().get_doctest(
        "\n".join(block.text for block in blocks), {}, page.name, page.name, 0
    )
    report: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF | doctest.ELLIPSIS).run(
        examples, out=report.append
    )
    assert outcome.attempted
    assert outcome.failed == 0, "".join(report)


def test_the_pages_on_libraries_have_examples() -> None:
    libraries = {"te_solver.md", "schemes.md", "flow_model.md", "hedera.md", "packet_model.md", "packet_traffic.md"}
    assert {"python.md", *libraries} <= {page.name for page in WITH_EXAMPLES}


@pytest.mark.parametrize("module", ["choices", "plan"])
def test_examples_in_docstrings_print_what_they_say(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"kuijia.api.{module}"), optionflags=doctest.REPORT_NDIFF)
    assert outcome.attempted > 0
    assert outcome.failed == 0
