"""The page on the packet model shows the code of its examples as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kind", ["queues/drop_thresholds", "routing/switch_ecmp"])
@pytest.mark.parametrize("ending", ["hpp", "cpp"])
def test_the_examples_of_kinds_are_the_code(kind: str, ending: str) -> None:
    page = (ROOT / "docs" / "packet_model.md").read_text(encoding="utf-8")
    code = (ROOT / "simulator" / "packet" / "core" / f"{kind}.{ending}").read_text(encoding="utf-8")
    assert f"```cpp\n{code}```\n" in page
