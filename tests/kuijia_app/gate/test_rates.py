"""Bounds on what happens in a time, and on what is said of it."""

from __future__ import annotations

from kuijia_app.gate.rates import Allowance
from kuijia_app.gate.restraint import Restraint


def test_an_allowance_permits_a_burst_and_then_its_rate() -> None:
    allowance = Allowance(10.0, 3.0, 0.0)
    assert [allowance.take(0.0) for _ in range(4)] == [True, True, True, False]
    assert not allowance.take(0.09)
    assert allowance.take(0.11)
    assert [allowance.take(100.0) for _ in range(4)] == [True, True, True, False]


def test_a_kind_is_spoken_of_once_in_a_period_and_then_with_how_often_it_was() -> None:
    restraint = Restraint(10.0)
    assert restraint.may_say("a", 0.0) == 0
    assert [restraint.may_say("a", 1.0) for _ in range(3)] == [None] * 3
    assert restraint.may_say("b", 1.0) == 0
    assert restraint.may_say("a", 10.0) == 3
    assert restraint.may_say("a", 20.0) == 0


def test_kinds_without_end_are_spoken_of_as_one() -> None:
    restraint = Restraint(10.0)
    said = [restraint.may_say(str(number), 0.0) for number in range(10_000)]
    assert sum(unsaid is not None for unsaid in said) < 300
    assert restraint.may_say("later", 11.0) == 0
