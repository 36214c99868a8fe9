"""POP: the sum of several small programs, each for some of the demands on its part of every link."""

from __future__ import annotations

import heapq
from typing import ClassVar

import numpy as np

from te_solver.programs.highs import TITLE
from te_solver.programs.incidence import Vector
from te_solver.programs.program import Allocation, Objective, Program, total
from te_solver.programs.resolve import throughput_of_few
from te_solver.programs.settings import NumberSetting, Settings, WordSetting


class Pop(Program):
    """Narayanan et al., Solving large-scale granular resource allocation problems efficiently with POP, SOSP 2021.

    Demands are divided over `parts`; each part has as large a share of every capacity, and its most throughput is found
    by itself. `split` is `random`, with parts drawn by `seed`, or `means`: demands in descending order go to the part
    that has the least so far. Before, the largest demands are halved until there are `clients` times as many more
    (client splitting, section 4.2).

    This is the paper's algorithm for comparison. `--partitions` improves on it by a second round, on all processors.
    """

    settings: ClassVar[Settings] = {
        "parts": NumberSetting(4, 1, 10_000, whole=True),
        "split": WordSetting("random", ("random", "means")),
        "clients": NumberSetting(0.0, 0.0, 100.0),
        "seed": NumberSetting(1, 0, whole=True),
    }

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        part = room / self.number("parts")
        solved = [throughput_of_few(self.incidence, part, share) for share in self.divided(demand)]
        rates = sum((each.rates for each in solved), np.zeros(self.incidence.hops.size))
        seconds = sum(each.solve_seconds for each in solved)
        return Allocation(rates, np.minimum(self.incidence.pairs @ rates, demand), TITLE, seconds)

    def divided(self, demand: Vector) -> Vector:
        """Return the Mbit/s of each pair (column) in each part (row)."""
        pieces = _pieces(demand, self.number("clients"))
        parts = int(self.number("parts"))
        shares = np.zeros((parts, demand.size))
        if self.word("split") == "means":
            sums = [(0.0, part) for part in range(parts)]
            for size, pair in sorted(pieces, key=lambda each: (-each[0], each[1])):
                taken, part = heapq.heappop(sums)
                shares[part, pair] += size
                heapq.heappush(sums, (taken + size, part))
        else:
            # Parts of about as many pieces each; those of a demand follow each other, to different parts.
            asking = list(dict.fromkeys(pair for _, pair in pieces))
            order = np.random.default_rng(int(self.number("seed"))).permutation(asking).tolist()
            turn = dict(zip(order, range(len(order)), strict=True))
            for place, (size, pair) in enumerate(sorted(pieces, key=lambda piece: turn[piece[1]])):
                shares[place % parts, pair] += size
        return shares


def _pieces(demand: Vector, more: float) -> list[tuple[float, int]]:
    """Return pieces of the demands with their pairs, so many more than pairs by halving the largest again and again."""
    pieces = [(-size, pair) for pair, size in enumerate(demand.tolist()) if size > 0]
    heapq.heapify(pieces)
    for _ in range(round(more * len(pieces))):
        size, pair = heapq.heappop(pieces)
        heapq.heappush(pieces, (size / 2, pair))
        heapq.heappush(pieces, (size / 2, pair))
    return sorted((-size, pair) for size, pair in pieces)


OBJECTIVE = Objective("pop", Pop, total, settings=Pop.settings, compiled=False)
