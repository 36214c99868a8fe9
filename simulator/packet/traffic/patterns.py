"""Patterns of senders and receivers among H hosts, numbered from 0, as pairs of source and target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from simulator.portable_random import Draws

Pairs = NDArray[np.int64]
"""Source and target of each flow, shape (F, 2)."""

MOST_PAIRS = 10**7
"""Of a pattern; each takes 16 bytes, and its flow some 2 KB."""


class Pattern(ABC):
    """A traffic pattern; it yields the pairs of successive arrivals, or those of one moment."""

    @property
    def together(self) -> int:
        """Number of flows that arrive at the same time."""
        return 1

    @abstractmethod
    def require_hosts(self, hosts: int) -> None:
        """Raise UnsoundError if the pattern is not possible among this number of hosts."""

    @abstractmethod
    def drawn(self, hosts: int, draws: Draws, count: int) -> Pairs:
        """Draw the pairs of `count` arrivals of `together` flows each, shape (count * together, 2)."""

    @abstractmethod
    def at_once(self, hosts: int, draws: Draws) -> Pairs:
        """Return every pair of the pattern once."""

    @abstractmethod
    def shares(self, hosts: int, draws: Draws) -> NDArray[np.float64]:
        """Return the mean share of all flows that goes from one host to the other, shape (H, H)."""


@dataclass(frozen=True)
class Random(Pattern):
    """Flows from any host to any other, all equally likely. At once: one flow from each host.

    Attributes:
        apart: size of groups of consecutive hosts, at one leaf for instance, that do not send to each other.
    """

    apart: int = 1

    def require_hosts(self, hosts: int) -> None:
        if self.apart < 1:
            raise UnsoundError((), f"groups of {self.apart} hosts", "1 or more")
        if hosts <= self.apart:
            raise UnsoundError((), f"there are {hosts} hosts", f"more than {self.apart}")

    def drawn(self, hosts: int, draws: Draws, count: int) -> Pairs:
        return self._from(draws.whole(hosts, count), hosts, draws)

    def at_once(self, hosts: int, draws: Draws) -> Pairs:
        return self._from(np.arange(hosts), hosts, draws)

    def shares(self, hosts: int, draws: Draws) -> NDArray[np.float64]:  # noqa: ARG002
        group = np.arange(hosts) // self.apart
        allowed = group[:, None] != group
        return np.where(allowed, 1 / (hosts * allowed.sum(axis=1, keepdims=True)), 0.0)

    def _from(self, source: NDArray[np.int64], hosts: int, draws: Draws) -> Pairs:
        """Pair each source with a host outside its own group, all equally likely."""
        first = source // self.apart * self.apart
        own = np.minimum(first + self.apart, hosts) - first
        target = (draws.uniform(source.size) * (hosts - own)).astype(np.int64)
        return np.column_stack([source, target + np.where(target >= first, own, 0)])


class _Fixed(Pattern):
    """The same pairs at all times; each arrival is one of them, all equally likely."""

    @abstractmethod
    def at_once(self, hosts: int, draws: Draws) -> Pairs: ...

    def drawn(self, hosts: int, draws: Draws, count: int) -> Pairs:
        pairs = self.at_once(hosts, draws)
        return pairs[draws.whole(len(pairs), count)]

    def shares(self, hosts: int, draws: Draws) -> NDArray[np.float64]:
        pairs = self.at_once(hosts, draws)
        shares = np.zeros((hosts, hosts))
        shares[pairs[:, 0], pairs[:, 1]] = 1 / len(pairs)
        return shares


@dataclass(frozen=True)
class Permutation(_Fixed):
    """Every host sends to one other and receives from one other, drawn among all such permutations."""

    def require_hosts(self, hosts: int) -> None:
        _require_two(hosts)

    def at_once(self, hosts: int, draws: Draws) -> Pairs:
        source, target = np.arange(hosts), draws.shuffled(hosts)
        while np.any(source == target):
            target = draws.shuffled(hosts)
        return np.column_stack([source, target])


@dataclass(frozen=True)
class Stride(_Fixed):
    """Every host sends to the one `step` further on, modulo the number of hosts."""

    step: int

    def require_hosts(self, hosts: int) -> None:
        if self.step % hosts == 0:
            raise UnsoundError((), f"a step of {self.step}", f"a step that is not a multiple of the {hosts} hosts")

    def at_once(self, hosts: int, draws: Draws) -> Pairs:  # noqa: ARG002
        source = np.arange(hosts)
        return np.column_stack([source, (source + self.step) % hosts])


@dataclass(frozen=True)
class AllToAll(_Fixed):
    """Every host sends to every other."""

    def require_hosts(self, hosts: int) -> None:
        _require_two(hosts)
        if hosts * (hosts - 1) > MOST_PAIRS:
            problem = f"there are {hosts * (hosts - 1):,} pairs of {hosts:,} hosts"
            raise UnsoundError((), problem, f"at most {MOST_PAIRS:,}")

    def at_once(self, hosts: int, draws: Draws) -> Pairs:  # noqa: ARG002
        source, target = np.divmod(np.arange(hosts * hosts), hosts)
        other = source != target
        return np.column_stack([source[other], target[other]])


@dataclass(frozen=True)
class Incast(Pattern):
    """`senders` hosts send to another one at the same time; all are drawn again each time."""

    senders: int

    @property
    def together(self) -> int:
        return self.senders

    def require_hosts(self, hosts: int) -> None:
        if not 1 <= self.senders < hosts:
            raise UnsoundError((), f"{self.senders} senders", f"1 to {hosts - 1}, as there are {hosts} hosts")

    def drawn(self, hosts: int, draws: Draws, count: int) -> Pairs:
        chosen = np.array([draws.shuffled(hosts)[: self.senders + 1] for _ in range(count)], np.int64)
        chosen = chosen.reshape(count, self.senders + 1)
        return np.column_stack([chosen[:, 1:].ravel(), np.repeat(chosen[:, 0], self.senders)])

    def at_once(self, hosts: int, draws: Draws) -> Pairs:
        return self.drawn(hosts, draws, 1)

    def shares(self, hosts: int, draws: Draws) -> NDArray[np.float64]:
        return Random().shares(hosts, draws)


def _require_two(hosts: int) -> None:
    if hosts < 2:
        raise UnsoundError((), f"there are {hosts} hosts", "2 or more")
