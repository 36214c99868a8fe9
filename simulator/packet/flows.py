"""Flows of the packet model: hosts, size, start and transport."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.packet.transports import Transport

Path = tuple[Sequence[int], Sequence[int]]
"""Forward path and path of the acknowledgements, as numbers of links."""

ENDLESS = 0
"""Size of a flow that never ends."""


@dataclass(frozen=True, eq=False)
class Flows:
    """F flows of one transport.

    Attributes:
        source: numbers of the sending hosts, shape (F,).
        target: numbers of the receiving hosts, shape (F,).
        size: bytes, shape (F,): TCP payload, or constant-rate packets with their headers; `ENDLESS` for no end.
            Ignored for packets at given times.
        start: seconds, shape (F,).
        transport: the transport of all flows.
        level: strict priority, 0 first, shape (F,).
        paths: the links of each flow's path and of that of its acknowledgements; None to let routing choose. Flows keep
            given paths when links fail.
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
        """Return flows between these hosts; a single value applies to all flows."""
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
