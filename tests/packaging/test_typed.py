"""Every package that is installed says that its types may be relied on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.floors import ROOMS

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = sorted({room.partition(".")[0] for room in ROOMS} - {"benchmarks", "docs", "tests"})


@pytest.mark.parametrize("package", INSTALLED)
def test_a_package_says_that_it_has_types(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()
