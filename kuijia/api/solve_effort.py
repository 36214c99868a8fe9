"""Progress of `kuijia solve` in large networks: the memory and time that they will take, and the state meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kuijia_base.parallel import processors
from kuijia_base.progress import Progress
from kuijia_base.quantities import duration, size
from te_solver.model.plan import Weight
from te_solver.programs.effort import TUNNELS_TO_ANNOUNCE, Effort, free_memory
from te_solver.programs.tunnel_table import TunnelTable
from te_solver.tunnels.finder import PairsFinder, Paths

_SCARCE = 0.9
"""Share of the free memory above which a warning is due."""


@dataclass
class Watch:
    """Watches a solution from the search of its tunnels to its last program.

    Attributes:
        progress: where it is told.
        parts: number of parts of the program; None for one program.
        predictable: True if the time of the program can be estimated.
    """

    progress: Progress
    parts: int | None
    predictable: bool

    def __post_init__(self) -> None:
        self._show = self.progress.patiently()
        self._effort: Effort | None = None
        self._finished = 0.0
        self._latest = 0.0

    def told(self, what: str) -> Callable[[int, int], None]:
        """Return a callback of progress in things of this kind."""
        return lambda done, of: self._show(f"{done:,} of {of:,} {what}", done, of)

    def announce(self, effort: Effort) -> None:
        """Announce the memory and time that a large program will take."""
        self._effort = effort
        if effort.tunnels < TUNNELS_TO_ANNOUNCE:
            return
        memory = effort.memory if self.parts is None else effort.memory_in_parts(self.parts, processors())
        time = f" and {duration(effort.seconds)}" if self.predictable and self.parts is None else ""
        found = f"{effort.pairs:,} pairs have {effort.tunnels:,} tunnels"
        self.progress.say(f"{found}: solving takes about {size(float(f'{memory:.1e}'))} of memory{time}")
        free = free_memory()
        if free is not None and memory > _SCARCE * free:
            self.progress.say(
                f"warning: only {size(float(f'{free:.1e}'))} of memory is free; more --partitions take less"
            )

    def tick(self, seconds: float) -> None:
        """Show for how many seconds a program has been solved."""
        if seconds < self._latest:
            self._finished += self._latest
        self._latest = seconds
        total = self._finished + seconds
        size_of = "" if self._effort is None else f" of {self._effort.tunnels:,} tunnels"
        left = ""
        if self._effort is not None and self.predictable and total < self._effort.seconds:
            left = f", about {duration(self._effort.seconds)} in all"
        self._show(f"solving a program{size_of}: {duration(total)} so far{left}")


@dataclass(frozen=True)
class SizedFinder:
    """Tunnel finder that reports the size of the resulting program."""

    finder: PairsFinder
    announce: Callable[[Effort], None]

    @property
    def choice(self) -> str:
        return self.finder.choice

    @property
    def weight(self) -> Weight:
        return self.finder.weight

    @property
    def node_disjoint(self) -> bool:
        return self.finder.node_disjoint

    @property
    def seed(self) -> int:
        return self.finder.seed

    def tunnels_of_pairs(self, pairs: Sequence[tuple[str, str]], count: int) -> Iterable[Paths]:
        found = self.finder.tunnels_of_pairs(pairs, count)
        if isinstance(found, TunnelTable):
            tunnels, nodes = found.starts.size - 1, int(found.nodes.size)
        else:
            found = list(found)
            tunnels, nodes = sum(map(len, found)), sum(len(path) for paths in found for path in paths)
        self.announce(Effort(len(pairs), tunnels, nodes - tunnels))
        return found

    def shares(self, pair: tuple[str, str]) -> tuple[float, ...] | None:
        return self.finder.shares(pair)
