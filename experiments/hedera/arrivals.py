"""Flows that come and go: Poisson arrivals between random hosts, of sizes as measured in data centres."""

from __future__ import annotations

import numpy as np

from experiments.hedera.simulation import Workload
from hedera.fabric import Fabric
from simulator.flow_sizes.published import published_flow_sizes

SMALLEST = 1_000_000
"""Bytes of the smallest flow that is simulated: those below carry 2 % of all bytes, and none is ever scheduled."""

SIZES = published_flow_sizes("data-mining").above(SMALLEST)


def arriving(fabric: Fabric, load: float, end: float, seed: int) -> Workload:
    """Flows that ask for this part of all hosts' interfaces in the mean, from 0 to `end` seconds."""
    random = np.random.default_rng([seed, 7])
    rate = load * fabric.hosts * fabric.nic_rate * 1e6 / 8 / SIZES.mean
    count = int(random.poisson(rate * end))
    source = random.integers(0, fabric.hosts, count)
    target = (source + random.integers(1, fabric.hosts, count)) % fabric.hosts
    start = np.sort(random.uniform(0, end, count))
    return Workload(source.astype(np.int32), target.astype(np.int32), start, SIZES.quantile(random.uniform(size=count)))
