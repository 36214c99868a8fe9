"""Exposure of a pair's tunnels to failures of edges: tunnels that fail together, and the rate that survives."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

Mask = int
"""A set of a pair's tunnels: bit i stands for the i-th one."""


@dataclass(frozen=True)
class Exposure:
    """Exposure of one pair's tunnels to failures of edges.

    Attributes:
        tunnels: number of tunnels.
        groups: sets of tunnels that one failed edge takes down, as masks, without subsets of others.
    """

    tunnels: int
    groups: tuple[Mask, ...]

    @classmethod
    def of(cls, edges_of_tunnels: Sequence[Collection[Hashable]]) -> Exposure:
        """Return the exposure of tunnels given by their edges: any hashables that are equal for both directions."""
        crossing: dict[Hashable, Mask] = {}
        for position, edges in enumerate(edges_of_tunnels):
            for edge in edges:
                crossing[edge] = crossing.get(edge, 0) | 1 << position
        return cls(len(edges_of_tunnels), _maximal(crossing.values()))

    @classmethod
    def of_paths(cls, paths: Sequence[Sequence[str]]) -> Exposure:
        """Return the exposure of tunnels given by their nodes."""
        return cls.of([[frozenset(hop) for hop in pairwise(path)] for path in paths])

    @cached_property
    def is_disjoint(self) -> bool:
        """True if no tunnel is in two groups: then k failures take down the tunnels of any k groups."""
        return sum(group.bit_count() for group in self.groups) == self.tunnels

    def losses(self, failures: int) -> tuple[Mask, ...]:
        """Return the sets of tunnels that `failures` failed edges can take down, without subsets of others."""
        found: tuple[Mask, ...] = (0,)
        for _ in range(failures):
            before, found = found, _maximal(lost | group for lost in found for group in (0, *self.groups))
            if found == before:
                break
        return found

    def surviving(self, rates: Sequence[float], failures: int) -> float:
        """Return the sum of the tunnels' rates that survives the worst failure of `failures` edges."""
        if self.is_disjoint:
            lost = sorted((_sum_of(rates, group) for group in self.groups), reverse=True)
            return sum(lost[failures:])
        everything = (1 << self.tunnels) - 1
        return min(_sum_of(rates, everything & ~lost) for lost in self.losses(failures))

    @cached_property
    def failures_to_cut_off(self) -> int:
        """Fewest failed edges that take all tunnels down."""
        if self.is_disjoint:
            return len(self.groups)
        everything = (1 << self.tunnels) - 1
        failures = 0
        while everything not in self.losses(failures):
            failures += 1
        return failures


def unions(*losses: Iterable[Mask]) -> tuple[Mask, ...]:
    """Return the unions of one set of tunnels of each kind of loss, without subsets of others."""
    found: tuple[Mask, ...] = (0,)
    for of_kind in losses:
        kept = tuple(of_kind)
        found = _maximal(one | other for one in found for other in kept)
    return found


def _maximal(masks: Iterable[Mask]) -> tuple[Mask, ...]:
    """Return the masks that are not a subset of another, in ascending order."""
    kept: list[Mask] = []
    larger: list[Mask] = []  # the kept masks with more tunnels than the present one
    for mask in sorted(set(masks), key=lambda each: (-each.bit_count(), each)):
        if kept and kept[-1].bit_count() > mask.bit_count():
            larger = list(kept)
        if not any(mask & ~other == 0 for other in larger):
            kept.append(mask)
    return tuple(sorted(kept))


def _sum_of(rates: Sequence[float], mask: Mask) -> float:
    return sum(rate for position, rate in enumerate(rates) if mask >> position & 1)
