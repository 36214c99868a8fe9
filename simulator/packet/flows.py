"""Who sends how much to whom, from when on and by which transport."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.packet.transports import Transport

Path = tuple[Sequence[int], Sequence[int]]
"""There and back, as numbers of links."""

ENDLESS = 0
"""The size of a flow without an end."""


@dataclass(frozen=True, eq=False)
class Flows:
    """F flows of one transport.

    Attributes:
        source: hosts' numbers, shape (F,).
        target: likewise.
        size: bytes, shape (F,): of TCP's payload, of constant-rate packets with their headers; `ENDLESS` for no end.
            Without meaning for packets at given times.
        start: seconds, shape (F,).
        transport: of all of them.
        level: strict priority, 0 first, shape (F,).
        paths: the links of each flow's path and those of its acknowledgements; None for what routing chooses. Flows
            keep paths that are given when links fail.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    size: NDArray[np.int64]
    start: NDArray[np.float64]
    transport: Transport
    level: NDArray[np.int64]
    paths: Sequence[Path] | None = None

    @classmethod
    def of(
        cls,
        source: ArrayLike,
        target: ArrayLike,
        transport: Transport,
        *,
        size: ArrayLike = ENDLESS,
        start: ArrayLike = 0.0,
        level: ArrayLike = 0,
        paths: Sequence[Path] | None = None,
    ) -> Flows:
        """Flows between these hosts; what is one value is so for all of them."""
        sources, targets, sizes, starts, levels = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(value)) for value in (source, target, size, start, level))
        )
        return cls(
            sources.astype(np.int64),
            targets.astype(np.int64),
            sizes.astype(np.int64),
            starts.astype(np.float64),
            transport,
            levels.astype(np.int64),
            paths,
        )

    @property
    def count(self) -> int:
        return int(self.source.size)
