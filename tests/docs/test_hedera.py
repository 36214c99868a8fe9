"""The examples in docs/hedera.md print what they say."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_examples_print_what_they_say() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "hedera.md"
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted > 5
    assert outcome.failed == 0
