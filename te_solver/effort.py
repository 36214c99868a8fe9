"""Estimates of the memory and time of a program of maximum throughput, and the size from which parts are better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from te_solver.demands import Demand

PAIRS_OF_ONE_PROGRAM = 20_000
"""Most pairs of a class that are solved as one program unless the user asks for it."""

PAIRS_OF_A_PART = 5_000
"""Pairs of each part of a larger program."""

TUNNELS_TO_ANNOUNCE = 30_000
"""Tunnels of a program from which on its memory and time are announced."""

_BASE_BYTES = 130e6
_BYTES_OF_HOP = 750.0
"""Measured on 1,000 to 12,000 pairs of a network of 143 nodes: 39 to 384 MB for 45 to 541 thousand hops."""

_WORKER_BYTES = 200e6
_BYTES_OF_KEPT_HOP = 100.0
"""Fitted to all pairs of 200, 400 and 754 nodes in parts: 860 to 3,030 MB in all processes."""

_SECONDS_OF_A_MILLION_HOPS = 25.0
_GROWTH = 2.0


@dataclass(frozen=True)
class Effort:
    """Estimate of a program's effort.

    Attributes:
        pairs: number of pairs.
        tunnels: number of their tunnels.
        hops: number of links of all tunnels together.
    """

    pairs: int
    tunnels: int
    hops: int

    @property
    def memory(self) -> float:
        """Bytes of the process that solves it."""
        return _BASE_BYTES + _BYTES_OF_HOP * self.hops

    def memory_in_parts(self, parts: int, processes: int) -> float:
        """Return the bytes of all processes that solve it in parts."""
        working = min(parts, processes)
        kept = _WORKER_BYTES * (1 + working) + _BYTES_OF_KEPT_HOP * self.hops
        return kept + _BYTES_OF_HOP * self.hops * working / parts

    @property
    def seconds(self) -> float:
        """Seconds of one processor, good to a factor of about two."""
        return float(_SECONDS_OF_A_MILLION_HOPS * (self.hops / 1e6) ** _GROWTH)


def parts_for(demands: Sequence[Demand]) -> int | None:
    """Return the number of parts in which demands should be solved; None if one program is as good."""
    largest = max(Counter(demand.priority for demand in demands).values(), default=0)
    return -(-largest // PAIRS_OF_A_PART) if largest > PAIRS_OF_ONE_PROGRAM else None


def free_memory(source: Path = Path("/proc/meminfo")) -> float | None:
    """Return the bytes that programs can still get from this machine; None where the system does not tell."""
    try:
        lines = source.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, rest = line.partition(":")
        if name == "MemAvailable" and rest.split()[0].isdecimal():
            return int(rest.split()[0]) * 1024
    return None
