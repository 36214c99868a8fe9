"""The authors' data shuffle: its size, its options and the order of each host's receivers; pure data."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from simulator.flow.ramp import Ramp

AUTHORS_BYTES = 500_000_000
"""Bytes of each of 240 transfers: 120 GB in total."""

AUTHORS_RATE = 1000.0


Order = Literal["random", "rotated", "same"]
"""Order of a host's receivers: random for each host; all starting with their next neighbour; or the same for all, by
their numbers."""


@dataclass(frozen=True)
class ShuffleOptions:
    """Options of the shuffle.

    Attributes:
        size: bytes of each transfer.
        at_once: simultaneous transfers of a sending host.
        schemes: from `experiments.hedera.testbed_cases.ARRANGEMENTS`.
        nic_rate: of every cable, in Mbit/s.
        period: seconds between two rounds of the scheduler.
        time_scale: factor from the authors' seconds to ours.
        ramp: ramp of the model's flows to their rates; None for rates at once.
    """

    size: int
    at_once: int
    schemes: tuple[str, ...]
    nic_rate: float
    period: float
    time_scale: float
    ramp: Ramp | None = None


def receivers_of(host: int, hosts: int, seed: int, order: Order = "random") -> list[int]:
    """Return the receivers of a host in order, the same under every scheme."""
    if order == "rotated":
        return [(host + step) % hosts for step in range(1, hosts)]
    others = [other for other in range(hosts) if other != host]
    if order == "random":
        random.Random(f"shuffle {seed} {host}").shuffle(others)
    return others
