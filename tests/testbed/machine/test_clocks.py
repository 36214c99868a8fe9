from __future__ import annotations

import pytest

from testbed.machine.programs import ask_clock, clock_offset


def test_a_clock_is_judged_by_the_quickest_exchange() -> None:
    found = clock_offset([(100.0, 105.4, 101.0), (102.0, 107.01, 102.02)])
    assert found.offset == pytest.approx(5.0)
    assert found.error == pytest.approx(0.01)


def test_a_clock_that_is_asked_is_off_by_no_more_than_the_error() -> None:
    ways = iter([0.3, 0.1, 0.004, 0.002] * 4)
    now = 100.0

    def ours() -> float:
        return now

    def theirs() -> float:
        nonlocal now
        now += next(ways)
        told = now - 50.0
        now += next(ways)
        return told

    found = ask_clock(theirs, ours)
    assert abs(found.offset + 50.0) <= found.error
    assert found.error == pytest.approx(0.003)
