"""ECMP: all flows stay where the switches' hash sends them; and a model of that hash."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedera.network.fabric import HASHED, Fabric, Ints, Vector
from hedera.placement.interface import Elephants, Placement

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class EcmpPlacement(Placement):
    """Placement that leaves all flows to the hash."""

    name = "ecmp"

    def place(self, fabric: Fabric, flows: Elephants, capacity: Vector) -> Ints:  # noqa: ARG002
        return np.full(flows.size, HASHED, np.int32)


def hashed_labels(fabric: Fabric, keys: NDArray[np.uint64], seed: int) -> Ints:
    """Return the labels that a hash gives to flows; `keys` stand for headers, `seed` for the switches' hash function.

    It is SplitMix64's mixing function: every output bit depends on every bit of the key.
    """
    with np.errstate(over="ignore"):
        word = keys + np.uint64(seed + 1) * _GOLDEN
        word = (word ^ (word >> np.uint64(30))) * _MULTIPLIERS[0]
        word = (word ^ (word >> np.uint64(27))) * _MULTIPLIERS[1]
        word ^= word >> np.uint64(31)
    labels: Ints = ((word >> np.uint64(32)) * np.uint64(fabric.labels) >> np.uint64(32)).astype(np.int32)
    return labels
