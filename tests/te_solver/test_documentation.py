from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["te_solver.md"])
def test_the_examples_of_a_document_do_what_it_says(name: str) -> None:
    blocks = re.findall(r"^```pycon\n(.*?)^```$", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, name, 0)
    assert examples.examples
    report: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(examples, out=report.append)
    assert outcome.failed == 0, "".join(report)
