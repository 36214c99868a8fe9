"""The one object that planners ask about a way to choose paths; quick to import."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from kuijia_base.quantities import counted
from kuijia_base.text import Note, unheard
from te_solver.model.plan import Weight
from te_solver.model.topology import Topology
from te_solver.tunnels.finder import Paths

Route = tuple[tuple[str, ...], float]
"""A path as node names, and the share of the pair's traffic that the choice itself would send over it."""

Routes = tuple[Route, ...]

_WHOLE = 1 - 1e-9
"""Sum of shares that counts as all of a pair's traffic."""


@dataclass(frozen=True)
class PathQuestion:
    """Network and options that paths are chosen by.

    Attributes:
        topology: the network.
        weight: metric by which paths are short.
        seed: of choices that draw.
        file: the file that the choice reads, for one that reads a file.
        note: receives assumptions about the file.
    """

    topology: Topology
    weight: Weight
    seed: int
    file: Path | None = None
    note: Note = unheard


class PairRoutes(Protocol):
    """Finder of the routes of one pair after the other in one network."""

    def __call__(self, source: str, target: str, count: int) -> Routes:
        """Return up to `count` different simple paths, those of the largest shares; none if there are none."""


@dataclass(frozen=True)
class PathChoice:
    """A way to choose paths; its module in `te_solver.tunnels.path_choices` has its name, and `CHOICE` for it.

    Attributes:
        name: as users write it.
        routes: prepares the choice for a network.
    """

    name: str
    routes: Callable[[PathQuestion], PairRoutes]


@dataclass
class PathFinder:
    """Finder of the tunnels of many pairs by a path choice; satisfies `te_solver.tunnels.finder.PairsFinder`.

    Attributes:
        by: the way to choose.
        question: what it chooses by.
        progress: called with the number of finished pairs, and of all.
    """

    by: PathChoice
    question: PathQuestion
    progress: Callable[[int, int], None] | None = None
    _shares: dict[tuple[str, str], tuple[float, ...]] = field(default_factory=dict, init=False, repr=False)

    @property
    def choice(self) -> str:
        return self.by.name

    @property
    def weight(self) -> Weight:
        return self.question.weight

    @property
    def node_disjoint(self) -> bool:
        return False

    @property
    def seed(self) -> int:
        return self.question.seed

    def tunnels_of_pairs(self, pairs: Sequence[tuple[str, str]], count: int) -> Iterator[Paths]:
        """Yield the tunnels of each pair; none for a pair that the choice has no path for.

        Raises:
            InputError: the choice's file cannot be used.
            UnsoundError: the choice does not suit the network; its `where` is `paths`.
        """
        fewest, cut = 1.0, 0
        for number, pair in enumerate(pairs):
            routes = self._routes_of(*pair, count)
            kept = sum(share for _, share in routes)
            if routes and kept < _WHOLE:
                fewest, cut = min(fewest, kept), cut + 1
            self._shares[pair] = tuple(share / kept if kept > 0 else 1 / len(routes) for _, share in routes)
            if self.progress is not None:
                self.progress(number + 1, len(pairs))
            yield tuple(nodes for nodes, _ in routes)
        if cut:
            have = counted(cut, "pair has", "pairs have")
            self.question.note(
                f"{have} more paths than {count}: those with the largest shares are kept, "
                f"with {fewest:.1%} of a pair's traffic or more"
            )

    @cached_property
    def _routes_of(self) -> PairRoutes:
        return self.by.routes(self.question)

    def shares(self, pair: tuple[str, str]) -> tuple[float, ...] | None:
        """Return the shares of a pair's tunnels, which sum to one, once they were found."""
        return self._shares.get(pair)
