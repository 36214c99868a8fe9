"""The compiled core survives arbitrary input."""

from __future__ import annotations

import shutil

import pytest

from tests.sanitized import COMPILER
from tests.simulator.packet.fuzz import fuzz

pytestmark = pytest.mark.slow


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed")
def test_sanitizers_find_nothing_in_the_core_on_arbitrary_input() -> None:
    assert fuzz(2_000).startswith("2000 cases, ")
