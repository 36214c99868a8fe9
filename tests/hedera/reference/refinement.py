"""Simulated annealing over the labels of flows with the energy of every state computed from scratch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hedera.network.fabric import Ints
from tests.hedera.reference.annealing import HOPELESS, Problem, Random


@dataclass(frozen=True)
class Refined:
    """The final label of each flow, the energy before and after, and the number of improvements."""

    choice: list[int]
    before: int
    after: int
    improvements: int


@dataclass(frozen=True, eq=False)
class Search(Problem):
    """A problem in the kernel's form."""

    home: Ints
    fee: Ints

    def energy(self, choice: list[int]) -> int:
        """Return the excess load of links plus the fees of flows that are not at home."""
        flows = zip(choice, self.home, self.fee, strict=True)
        return self.exceeded(choice) + sum(int(fee) for label, home, fee in flows if label != home)


def refine(search: Search, choice: list[int], schedule: tuple[int, float, float, int]) -> Refined:
    """Return what the kernel's `refine` returns."""
    iterations, greed, unit, seed = schedule
    random = Random(seed)
    before = energy = best_energy = search.energy(choice)
    state, best, improvements = [*choice], [*choice], 0
    for left in range(iterations if choice else 0, 0, -1):
        is_exchange = random.below(2) == 1
        flow = random.below(len(state))
        tried = [*state]
        if is_exchange:
            other = random.below(len(state))
            tried[flow], tried[other] = state[other], state[flow]
        else:
            tried[flow] = random.below(search.fabric.labels)
        if tried[flow] == state[flow]:
            continue
        tried_energy = search.energy(tried)
        if tried_energy > energy:
            greed_now = (tried_energy - energy) * (greed * iterations / unit)
            if greed_now >= HOPELESS * left or math.exp(-greed_now / left) <= random.unit():
                continue
        state, energy = tried, tried_energy
        if energy < best_energy:
            best, best_energy, improvements = [*state], energy, improvements + 1
    return Refined(best, before, best_energy, improvements)
