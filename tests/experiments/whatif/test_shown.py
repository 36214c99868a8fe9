"""Shares in the form shown to people."""

from __future__ import annotations

import pytest

from experiments.whatif.shown import NOTHING, percent, span
from simulator.flow.availability import Bounds


@pytest.mark.parametrize(("share", "text"), [(0.0, "0%"), (NOTHING, "0%"), (1e-4, "0.01%"), (0.123456, "12.35%")])
def test_what_would_round_to_nothing_is_zero(share: float, text: str) -> None:
    assert percent(share) == text


def test_bounds_are_one_number_where_they_look_alike() -> None:
    assert span(Bounds(0.5, 0.500001)) == "50.00%"
    assert span(Bounds(0.5, 0.6)) == "50.00-60.00%"
