"""Random traffic on large fat-trees for the scheduler's benchmarks."""

from __future__ import annotations

import numpy as np

from hedera.network.fabric import Fabric, Ints
from hedera.placement.scheduling_round import Poll

Ends = tuple[Ints, Ints]


def random_flows(hosts: int, flows: int, seed: int = 1) -> Ends:
    """Return flows between random different hosts, ordered by source, as when edge switches are polled."""
    random = np.random.default_rng(seed)
    source = np.sort(random.integers(0, hosts, flows)).astype(np.int32)
    other = (source + random.integers(1, hosts, flows)) % hosts
    return source, other.astype(np.int32)


def polls(fabric: Fabric, flows_per_host: int, count: int, period: float) -> list[Poll]:
    """Return the answers of all edge switches in a number of rounds, with each host's interface shared by its flows.

    In each round a twentieth of the flows has just begun, replacing others that ended.
    """
    flows = fabric.hosts * flows_per_host
    source = np.repeat(np.arange(fabric.hosts, dtype=np.int32), flows_per_host)
    target = random_flows(fabric.hosts, flows)[1]
    edges = fabric.edge_first.size - 1
    first = fabric.edge_first.astype(np.int64) * flows_per_host
    key = np.arange(flows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    sent = np.zeros(flows, np.uint64)
    age = np.zeros(flows)
    passed = np.uint64(fabric.nic_rate * period / flows_per_host * 1.2e6 / 8)
    random = np.random.default_rng(2)
    made = []
    for number in range(1, count + 1):
        begun = random.random(flows) < 0.05
        key = np.where(begun, key + np.uint64(1), key)
        sent = np.where(begun, passed, sent + passed)
        age = np.where(begun, period, age + period)
        made.append(Poll(number * period, np.arange(edges, dtype=np.int32), first, key, source, target, sent, age))
    return made
