"""Estimates of the memory and time of a program of maximum throughput, and the size from which parts are better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from te_solver.model.demands import Demand

PAIRS_OF_ONE_PROGRAM = 20_000
"""Most pairs of a class that are solved as one program unless the user asks for it."""

PAIRS_OF_A_PART = 5_000
"""Pairs of each part of a larger program."""

TUNNELS_TO_ANNOUNCE = 30_000
"""Tunnels of a program from which on its memory and time are announced."""

_BASE_BYTES = 130e6
_BYTES_OF_TUNNEL, _BYTES_OF_HOP = 9_500.0, 150.0
"""Fitted to 18,000 to 116,000 tunnels of three networks, which took 200 to 1,570 MB: within 10 % of each."""

_WORKER_BYTES, _BYTES_OF_KEPT_HOP = 150e6, 100.0
"""Fitted to all pairs of 200, 400 and 754 nodes in parts, which took 860 to 3,030 MB in all processes: within 12 %."""

_SECONDS, _TUNNELS, _GROWTH = 72.0, 116_000, 1.9
"""Seconds of a processor for so many tunnels, and the power by which they grow with them; fitted to the same networks
from 36,000 tunnels on, within 20 % of each."""


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
        return _BASE_BYTES + self._program_bytes

    def memory_in_parts(self, parts: int, processes: int) -> float:
        """Return the bytes of all processes that solve it in parts."""
        working = min(parts, processes)
        kept = _WORKER_BYTES * (1 + working) + _BYTES_OF_KEPT_HOP * self.hops
        return kept + self._program_bytes * working / parts

    @property
    def _program_bytes(self) -> float:
        return _BYTES_OF_TUNNEL * self.tunnels + _BYTES_OF_HOP * self.hops

    @property
    def seconds(self) -> float:
        """Seconds of a processor that does nothing else; networks of one size can differ by several times."""
        return float(_SECONDS * (self.tunnels / _TUNNELS) ** _GROWTH)


def parts_for(demands: Sequence[Demand], pairs: int | None = None) -> int | None:
    """Return the number of parts, of so many pairs, in which demands should be solved; None if one is as good."""
    largest = max(Counter(demand.priority for demand in demands).values(), default=0)
    return -(-largest // (pairs or PAIRS_OF_A_PART)) if largest > PAIRS_OF_ONE_PROGRAM else None


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
