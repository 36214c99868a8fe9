"""Which tunnels of a pair fall together when edges fail, and what the worst failure leaves of the pair's rate."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

Mask = int
"""A set of a pair's tunnels: bit i stands for the i-th one."""


@dataclass(frozen=True)
class Exposure:
    """What failures of edges can do to one pair's tunnels.

    Attributes:
        tunnels: how many there are.
        groups: the tunnels that one failed edge takes down together, as masks; those within another one are left out.
    """

    tunnels: int
    groups: tuple[Mask, ...]

    @classmethod
    def of(cls, edges_of_tunnels: Sequence[Collection[Hashable]]) -> Exposure:
        """From the edges that each tunnel crosses: anything hashable that is the same for both directions."""
        crossing: dict[Hashable, Mask] = {}
        for position, edges in enumerate(edges_of_tunnels):
            for edge in edges:
                crossing[edge] = crossing.get(edge, 0) | 1 << position
        return cls(len(edges_of_tunnels), _maximal(crossing.values()))

    @classmethod
    def of_paths(cls, paths: Sequence[Sequence[str]]) -> Exposure:
        """From the nodes of each tunnel."""
        return cls.of([[frozenset(hop) for hop in pairwise(path)] for path in paths])

    @cached_property
    def is_disjoint(self) -> bool:
        """Whether no tunnel is in two groups: then k failures take down the tunnels of any k groups."""
        return sum(group.bit_count() for group in self.groups) == self.tunnels

    def losses(self, failures: int) -> tuple[Mask, ...]:
        """The sets of tunnels that `failures` failed edges can take down, without those within another one."""
        found: tuple[Mask, ...] = (0,)
        for _ in range(failures):
            before, found = found, _maximal(lost | group for lost in found for group in (0, *self.groups))
            if found == before:
                break
        return found

    def surviving(self, rates: Sequence[float], failures: int) -> float:
        """What is left of the sum of the tunnels' rates after the worst failure of that many edges."""
        if self.is_disjoint:
            lost = sorted((_sum_of(rates, group) for group in self.groups), reverse=True)
            return sum(lost[failures:])
        everything = (1 << self.tunnels) - 1
        return min(_sum_of(rates, everything & ~lost) for lost in self.losses(failures))

    @cached_property
    def failures_to_cut_off(self) -> int:
        """How few failed edges take all tunnels down."""
        if self.is_disjoint:
            return len(self.groups)
        everything = (1 << self.tunnels) - 1
        failures = 0
        while everything not in self.losses(failures):
            failures += 1
        return failures


def _maximal(masks: Iterable[Mask]) -> tuple[Mask, ...]:
    """The masks that are within no other one, in ascending order."""
    kept: list[Mask] = []
    larger: list[Mask] = []  # of those kept, the ones with more tunnels than the mask at hand
    for mask in sorted(set(masks), key=lambda each: (-each.bit_count(), each)):
        if kept and kept[-1].bit_count() > mask.bit_count():
            larger = list(kept)
        if not any(mask & ~other == 0 for other in larger):
            kept.append(mask)
    return tuple(sorted(kept))


def _sum_of(rates: Sequence[float], mask: Mask) -> float:
    return sum(rate for position, rate in enumerate(rates) if mask >> position & 1)
