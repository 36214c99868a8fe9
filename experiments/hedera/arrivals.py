"""Arriving and ending flows: Poisson arrivals between random hosts, with sizes measured in data centres."""

from __future__ import annotations

import numpy as np

from experiments.hedera.simulation import Workload
from hedera.network.fabric import Fabric
from kuijia_base.errors import InputError
from simulator.flow_sizes.distribution import FlowSizes

SMALLEST = 1_000_000
"""Bytes of the smallest simulated flow: smaller ones carry 2 % of all bytes in a data-mining cluster, and none is ever
scheduled."""


def larger(sizes: FlowSizes, source: str) -> FlowSizes:
    """Return the distribution of the flows larger than `SMALLEST`.

    Raises:
        InputError: there are none; the message names `source`.
    """
    if float(sizes.probability(SMALLEST)) >= 1:
        raise InputError(source, "", "no flow is larger than 1 MB", "some that last for rounds of the scheduler")
    return sizes.above(SMALLEST)


def arriving(fabric: Fabric, sizes: FlowSizes, load: float, end: float, seed: int) -> Workload:
    """Return flows of these sizes, from 0 to `end` seconds, whose mean load is a share of all hosts' interfaces."""
    random = np.random.default_rng([seed, 7])
    rate = load * fabric.hosts * fabric.nic_rate * 1e6 / 8 / sizes.mean
    count = int(random.poisson(rate * end))
    source = random.integers(0, fabric.hosts, count)
    target = (source + random.integers(1, fabric.hosts, count)) % fabric.hosts
    start = np.sort(random.uniform(0, end, count))
    drawn = sizes.quantile(random.uniform(0.0, 1.0, count))
    return Workload(source.astype(np.int32), target.astype(np.int32), start, drawn)
