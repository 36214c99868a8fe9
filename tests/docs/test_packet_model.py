"""The examples in the packet model's pages print what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest


@pytest.mark.parametrize(("name", "examples"), [("packet_model.md", 10), ("packet_traffic.md", 5)])
def test_the_examples_print_what_they_say(name: str, examples: int) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / name
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted >= examples
    assert outcome.failed == 0
