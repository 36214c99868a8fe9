"""Readings of points that the authors of the shuffle leave open; pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from experiments.hedera.shuffle_cases import Order

Hash = Literal["flow", "source", "destination", "suffix", "repeated", "none"]


@dataclass(frozen=True)
class ShuffleReading:
    """Choices that the authors leave open, the same for every scheme.

    Attributes:
        at_once: simultaneous transfers of a host.
        order: of a host's receivers.
        hash: choice of the core switch for flows that are not placed: by flow; by source or destination address; by the
            destination's place in its pod (static tables of the fat-tree's own paper); by a hash that edge and
            aggregation switches repeat, so that half the core is idle; or one core switch for all.
        host_part: share of its cable that a host sends and receives at most.
        period: seconds between two rounds of the scheduler.
    """

    at_once: int = 2
    order: Order = "random"
    hash: Hash = "flow"
    host_part: float = 1.0
    period: float = 5.0


READINGS: Mapping[str, ShuffleReading] = {
    "as in hedera-shuffle": ShuffleReading(),
    "one transfer at a time": ShuffleReading(at_once=1),
    "four at a time": ShuffleReading(at_once=4),
    "all fifteen at a time": ShuffleReading(at_once=15),
    "one at a time, in turn": ShuffleReading(at_once=1, order="rotated"),
    "rounds every half second": ShuffleReading(period=0.5),
    "hosts at .6 of their cables": ShuffleReading(host_part=0.6),
    "hash of the source": ShuffleReading(hash="source"),
    "hash of the destination": ShuffleReading(hash="destination"),
    "destination's suffix": ShuffleReading(hash="suffix"),
    "hash that repeats itself": ShuffleReading(hash="repeated"),
    "one core switch": ShuffleReading(hash="none"),
    "one core switch, one at a time": ShuffleReading(hash="none", at_once=1),
    "one core switch, hosts at .6": ShuffleReading(hash="none", host_part=0.6),
    "one core, one at a time, at .7": ShuffleReading(hash="none", at_once=1, host_part=0.7),
}
"""Readings by their names in tables."""
