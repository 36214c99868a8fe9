"""Simulated annealing with the energy of every state computed from scratch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hedera.network.fabric import Fabric, Ints
from hedera.placement.simulated_annealing import Seats

_WORD = (1 << 64) - 1
HOPELESS = 40


class Random:
    """SplitMix64, the kernel's generator."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def next(self) -> int:
        self._state = self._state + 0x9E3779B97F4A7C15 & _WORD
        word = self._state
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
        word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
        return word ^ word >> 31

    def below(self, size: int) -> int:
        return (self.next() >> 32) * size >> 32

    def unit(self) -> float:
        return (self.next() >> 11) * 2.0**-53


@dataclass(frozen=True)
class Annealed:
    """The final host in each slot, the energy before and after, and the number of improvements."""

    host: list[int]
    before: int
    after: int
    improvements: int


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem of both searches: flows with their demands, and the capacity of links between switches."""

    fabric: Fabric
    source: Ints
    target: Ints
    amount: Ints
    capacity: Ints

    def exceeded(self, labels: Sequence[int]) -> int:
        """Return the total excess load of links between switches, given a label for each flow."""
        load = [0] * self.capacity.size
        flows = zip(self.source.tolist(), self.target.tolist(), self.amount.tolist(), labels, strict=True)
        for source, target, amount, label in flows:
            for link in self.fabric.path(source, target, label)[1:-1]:
                load[link] += amount
        return sum(max(0, used - room) for used, room in zip(load, self.capacity.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Search(Problem):
    """A problem in the kernel's form."""

    seats: Seats
    fee: Ints

    def energy(self, host: list[int], home: dict[int, int]) -> int:
        """Return the excess load of links plus the fees of hosts that are not at home."""
        label = {who: int(self.seats.label[slot]) for slot, who in enumerate(host) if who >= 0}
        fees = sum(int(self.fee[who]) for who, at in label.items() if at != home[who])
        return fees + self.exceeded([label[target] for target in self.target.tolist()])


def anneal(search: Search, host: list[int], schedule: tuple[int, float, float, int]) -> Annealed:
    """Return what the kernel's `anneal` returns."""
    iterations, greed, unit, seed = schedule
    random = Random(seed)
    seats = search.seats
    home = {who: int(seats.label[slot]) for slot, who in enumerate(host) if who >= 0}
    before = energy = best_energy = search.energy(host, home)
    state, best, improvements = [*host], [*host], 0
    for left in range(iterations, 0, -1):
        a, b = _neighbour(search, state, random)
        if seats.label[a] == seats.label[b]:
            continue
        tried = [*state]
        tried[a], tried[b] = tried[b], tried[a]
        tried_energy = search.energy(tried, home)
        if tried_energy > energy:
            greed_now = (tried_energy - energy) * (greed * iterations / unit)
            if greed_now >= HOPELESS * left or math.exp(-greed_now / left) <= random.unit():
                continue
        state, energy = tried, tried_energy
        if energy < best_energy:
            best, best_energy, improvements = [*state], energy, improvements + 1
    return Annealed(best, before, best_energy, improvements)


def _neighbour(search: Search, state: list[int], random: Random) -> tuple[int, int]:
    """Draw two slots: of a pod, of hosts at an edge switch, or of an edge or aggregation switch."""
    seats, edges = search.seats, search.fabric.edge_first.tolist()
    kind = random.below(3)
    if kind == 0:
        return _two_of(seats.pod_first.tolist(), random.below(seats.pod_first.size - 1), random)
    which = random.below(len(edges) - 1) if kind == 1 else random.below(len(edges) - 1 + seats.block_first.size - 1)
    if which < len(edges) - 1:
        a, b = _two_of(edges, which, random)
        return state.index(a), state.index(b)
    return _two_of(seats.block_first.tolist(), which - len(edges) + 1, random)


def _two_of(first: list[int], which: int, random: Random) -> tuple[int, int]:
    begin, length = first[which], first[which + 1] - first[which]
    if length < 2:
        return 0, 0
    a, b = random.below(length), random.below(length - 1)
    return begin + a, begin + b + (b >= a)
