"""Shares in the form shown to people."""

from __future__ import annotations

from simulator.flow.availability import Bounds
from simulator.studies.whatif.study import span


def test_bounds_are_one_number_where_they_look_alike() -> None:
    assert span(Bounds(0.5, 0.500001)) == "50.00%"
    assert span(Bounds(0.5, 0.6)) == "50.00-60.00%"
