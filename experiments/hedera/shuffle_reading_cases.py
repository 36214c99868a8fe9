"""Readings of what the authors of the shuffle leave open; pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Hash = Literal["flow", "source", "destination", "suffix", "repeated", "none"]


@dataclass(frozen=True)
class Reading:
    """Choices that the authors leave open, the same for every scheme.

    Attributes:
        at_once: simultaneous transfers of a host.
        order: of a host's receivers: random for each host, or all starting with their next neighbour.
        hash: choice of the core switch for flows that are not placed: by flow; by source or destination address; by the
            destination's place in its pod (static tables of the fat-tree's own paper); by a hash that edge and
            aggregation switches repeat, so that half the core is idle; or one core switch for all.
        host_part: share of its cable that a host sends and receives at most.
        period: seconds between two rounds of the scheduler.
    """

    at_once: int = 2
    order: Literal["random", "rotated"] = "random"
    hash: Hash = "flow"
    host_part: float = 1.0
    period: float = 5.0


READINGS: Mapping[str, Reading] = {
    "as in hedera-shuffle": Reading(),
    "one transfer at a time": Reading(at_once=1),
    "four at a time": Reading(at_once=4),
    "all fifteen at a time": Reading(at_once=15),
    "one at a time, in turn": Reading(at_once=1, order="rotated"),
    "rounds every half second": Reading(period=0.5),
    "hosts at .6 of their cables": Reading(host_part=0.6),
    "hash of the source": Reading(hash="source"),
    "hash of the destination": Reading(hash="destination"),
    "destination's suffix": Reading(hash="suffix"),
    "hash that repeats itself": Reading(hash="repeated"),
    "one core switch": Reading(hash="none"),
    "one core switch, one at a time": Reading(hash="none", at_once=1),
    "one core switch, hosts at .6": Reading(hash="none", host_part=0.6),
    "one core, one at a time, at .7": Reading(hash="none", at_once=1, host_part=0.7),
}
"""Readings by their names in tables."""
