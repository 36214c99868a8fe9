"""Flows that come and go: Poisson arrivals between random hosts, of sizes as measured in data centres."""

from __future__ import annotations

import numpy as np

from experiments.hedera.simulation import Workload
from hedera.fabric import Fabric, Vector

_DATA_MINING = (
    *((0, 0.0), (180, 0.1), (216, 0.2), (560, 0.3), (900, 0.4), (1_100, 0.5), (1_870, 0.6), (3_160, 0.7)),
    *((10_000, 0.8), (400_000, 0.9), (3_160_000, 0.95), (100_000_000, 0.98), (1_000_000_000, 1.0)),
)
"""Bytes, and the part of flows that have no more: a data-mining cluster (Greenberg et al., VL2, SIGCOMM 2009, as the
load generators of later papers have it, `VL2_CDF.txt`)."""

SMALLEST = 1_000_000
"""Bytes of the smallest flow that is simulated: those below carry 2 % of all bytes, and none is ever scheduled."""


def sizes(count: int, random: np.random.Generator) -> Vector:
    """Bytes of flows larger than `SMALLEST`."""
    points, parts = np.array(_DATA_MINING).T
    least = float(np.interp(SMALLEST, points, parts))
    drawn: Vector = np.interp(random.uniform(least, 1.0, count), parts, points)
    return drawn


def mean_size() -> float:
    """Bytes of a flow larger than `SMALLEST`, in the mean."""
    points, parts = np.array([point for point in _DATA_MINING if point[0] > SMALLEST]).T
    points = np.concatenate([[SMALLEST], points])
    parts = np.concatenate([[np.interp(SMALLEST, *np.array(_DATA_MINING).T)], parts])
    return float(np.dot(np.diff(parts), (points[1:] + points[:-1]) / 2) / (1 - parts[0]))


def arriving(fabric: Fabric, load: float, end: float, seed: int) -> Workload:
    """Flows that ask for this part of all hosts' interfaces in the mean, from 0 to `end` seconds."""
    random = np.random.default_rng([seed, 7])
    rate = load * fabric.hosts * fabric.nic_rate * 1e6 / 8 / mean_size()
    count = int(random.poisson(rate * end))
    source = random.integers(0, fabric.hosts, count)
    target = (source + random.integers(1, fabric.hosts, count)) % fabric.hosts
    start = np.sort(random.uniform(0, end, count))
    return Workload(source.astype(np.int32), target.astype(np.int32), start, sizes(count, random))
