"""The examples in Python of a page, run in the current folder.

`python -m tests.docs.python_examples` makes the pictures of the gallery anew.
"""

from __future__ import annotations

import doctest
import os
import re
import sys
from pathlib import Path

from tests.docs.blocks import Block, blocks_of
from tests.docs.commands import NOT_RUN, ROOT

IMAGES = ROOT / "docs" / "images"
GALLERY = ROOT / "docs" / "gallery.md"


def examples_of(page: str) -> list[Block]:
    return [block for block in blocks_of(page) if ">>> " in block.text and not block.mark.startswith(NOT_RUN)]


def run_examples(page: Path) -> tuple[doctest.TestResults, str]:
    """Run the examples of a page, which follow from each other; return their outcome and what went wrong."""
    blocks = examples_of(page.read_text(encoding="utf-8"))
    examples = doctest.DocTestParser().get_doctest(
        "\n".join(block.text for block in blocks), {}, page.name, page.name, 0
    )
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF | doctest.ELLIPSIS)
    outcome = runner.run(examples, out=report.append)
    return outcome, "".join(report)


def words_of(picture: Path) -> list[str]:
    """Return all text of an SVG in its order; lines may differ in their last digits from machine to machine."""
    return re.findall(r"<text[^>]*>([^<]*)", picture.read_text(encoding="utf-8"))


def main() -> int:
    os.chdir(IMAGES)
    outcome, report = run_examples(GALLERY)
    sys.stderr.write(report)
    return min(outcome.failed, 1)


if __name__ == "__main__":
    sys.exit(main())
