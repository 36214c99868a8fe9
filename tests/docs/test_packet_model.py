"""The examples in the packet model's pages print what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kind", ["queues/drop_thresholds", "routing/switch_ecmp"])
@pytest.mark.parametrize("ending", ["hpp", "cpp"])
def test_the_examples_of_kinds_are_the_code(kind: str, ending: str) -> None:
    page = (ROOT / "docs" / "packet_model.md").read_text(encoding="utf-8")
    code = (ROOT / "simulator" / "packet" / "core" / f"{kind}.{ending}").read_text(encoding="utf-8")
    assert f"```cpp\n{code}```\n" in page


@pytest.mark.parametrize(("name", "examples"), [("packet_model.md", 30), ("packet_traffic.md", 5), ("packet_plans.md", 15)])
def test_the_examples_print_what_they_say(name: str, examples: int) -> None:
    page = ROOT / "docs" / name
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted >= examples
    assert outcome.failed == 0
