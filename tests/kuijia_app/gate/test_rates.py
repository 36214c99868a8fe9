"""Bounds on what happens in a time."""

from __future__ import annotations

from kuijia_app.gate.limits import Allowance


def test_an_allowance_permits_a_burst_and_then_its_rate() -> None:
    allowance = Allowance(10.0, 3.0, 0.0)
    assert [allowance.take(0.0) for _ in range(4)] == [True, True, True, False]
    assert not allowance.take(0.09)
    assert allowance.take(0.11)
    assert [allowance.take(100.0) for _ in range(4)] == [True, True, True, False]
