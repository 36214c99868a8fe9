"""The kernels survive arbitrary input."""

from __future__ import annotations

import shutil

import pytest

from tests.hedera.fuzz import fuzz
from tests.sanitized import COMPILER

pytestmark = pytest.mark.slow


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed")
def test_sanitizers_find_nothing_in_the_kernels_on_arbitrary_input() -> None:
    assert fuzz(10_000).startswith("10000 cases, ")
