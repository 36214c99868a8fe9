"""A worse state is accepted with the paper's probability, exp(c (E - E') / T) with c = greed T0, step by step.

The kernels are compared with these references, which a script of random numbers leads here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from hedera.network.fat_tree import FatTree
from hedera.placement.simulated_annealing import Seats
from tests.hedera.reference import annealing, refinement

UNIT = 2.0
"""An interface; energies are in parts of it."""

EXP_1, EXP_2 = 0.36788, 0.13534
"""exp(-1) and exp(-2), rounded up."""


class Script:
    """Random numbers in the order of their use."""

    def __init__(self, whole: Sequence[int], units: Sequence[float]) -> None:
        self._whole: Iterator[int] = iter(whole)
        self._units: Iterator[float] = iter(units)

    def below(self, size: int) -> int:
        number = next(self._whole)
        assert number < size
        return number

    def unit(self) -> float:
        return next(self._units)

    @property
    def is_used_up(self) -> bool:
        return next(self._whole, None) is next(self._units, None) is None


@dataclass(frozen=True, eq=False)
class OneFlow(refinement.Search):
    """One flow whose energy is that of its label."""

    energies: Sequence[int] = ()

    def energy(self, choice: list[int]) -> int:
        return self.energies[choice[0]]


def refined(energies: Sequence[int], script: Script, monkeypatch: pytest.MonkeyPatch) -> refinement.Refined:
    monkeypatch.setattr(refinement, "Random", lambda _seed: script)
    nothing = np.zeros(1, np.int32)
    search = OneFlow(FatTree(4), nothing, nothing, nothing, nothing, nothing, nothing, energies)
    return refinement.refine(search, [0], (2, 0.5, UNIT, 1))


@pytest.mark.parametrize(
    ("left", "unit", "accepted"),
    [(2, EXP_1 - 1e-5, True), (2, EXP_1, False), (1, EXP_2 - 1e-5, True), (1, EXP_2, False)],
)
def test_a_label_worse_by_an_interface_is_accepted_by_chance_and_rarer_towards_the_end(
    left: int, unit: float, *, accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2 steps with greed 0.5, one interface makes 0.5 x 1 x 2 / left: 0.5 at the first, 1 at the second step.

    The energy rises by two interfaces, so that makes 1 and 2.
    """
    # Steps: no exchange, flow 0, its new label; a step that draws the present label changes nothing.
    wasted, worse = [0, 0, 0], [0, 0, 1]
    steps = worse + ([0, 0, 2] if accepted else wasted) if left == 2 else wasted + worse
    script = Script(steps, [unit])
    # From label 1, at 14, label 2 at 12 is an improvement but not the best; from label 0, at 10, it would not be.
    found = refined([10, 14, 12, 0], script, monkeypatch)
    assert (found.choice, found.before, found.after, found.improvements) == ([0], 10, 10, 0)
    assert script.is_used_up


def test_an_equal_label_is_taken_and_only_a_better_one_is_an_improvement(monkeypatch: pytest.MonkeyPatch) -> None:
    found = refined([10, 10, 9, 0], Script([0, 0, 1, 0, 0, 2], []), monkeypatch)
    assert (found.choice, found.after, found.improvements) == ([2], 9, 1)


@pytest.mark.parametrize(("unit", "after"), [(EXP_1 - 1e-5, 5), (EXP_1, 10)])
def test_hosts_that_change_seats_follow_the_same_rule(unit: float, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2 steps the first exchanges seats 0 and 1, worse by 4; the second seats 1 and 2, from there better by 9."""

    @dataclass(frozen=True, eq=False)
    class Seated(annealing.Search):
        def energy(self, host: list[int], home: dict[int, int]) -> int:
            del home
            return {"012": 10, "102": 14, "120": 5, "021": 11}["".join(map(str, host))]

    # Each step: among seats of a pod, the pod, the first seat, the other one among the rest.
    script = Script([0, 0, 0, 0, 0, 0, 1, 1], [unit, 1.0][: 1 if after == 5 else 2])
    monkeypatch.setattr(annealing, "Random", lambda _seed: script)
    seats = Seats(np.array([0, 1, 2], np.int32), np.array([0, 3], np.int32), np.array([0, 3], np.int32))
    nothing = np.zeros(1, np.int32)
    search = Seated(FatTree(4), nothing, nothing, nothing, nothing, seats, nothing)
    found = annealing.anneal(search, [0, 1, 2], (2, 0.5, UNIT, 1))
    assert (found.before, found.after, found.improvements) == (10, after, int(after == 5))
    assert script.is_used_up
