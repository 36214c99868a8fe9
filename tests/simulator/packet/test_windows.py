"""Packets that pass through switches by windows come to the same as packets that are events."""

from __future__ import annotations

import shutil

import pytest

from tests.sanitized import COMPILER
from tests.simulator.packet.windows import compare

pytestmark = pytest.mark.slow


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed")
def test_windows_and_events_give_the_same_results_to_the_bit_on_arbitrary_networks() -> None:
    assert compare(1_000).startswith("1000 cases, ")
