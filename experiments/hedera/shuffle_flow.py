"""The shuffle in the flow model: TCP shares links as in `experiments.hedera.goodput`, rounds place elephants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from experiments.hedera.shuffle_cases import ShuffleOptions, receivers_of
from experiments.hedera.simulation import Setting, Simulation, Workload
from experiments.hedera.testbed_cases import ECMP, NON_BLOCKING, ONE_TREE
from hedera.network.fabric import Fabric, Ints
from hedera.network.fat_tree import FatTree
from hedera.placement.registry import make_placement
from testbed.traffic.transfers import Transfer

PORTS_OF_SWITCH = 4

_UNNOTICED = 0.5
"""Seconds in which a poll misses a new flow: Open vSwitch updates its counters at this interval."""

STEP = 0.02
"""Least time in seconds between two looks at flows that end."""

_SLOWEST = 50
"""Time limit, as a multiple of the time a host needs to send everything unhindered."""


def flow_shuffle(options: ShuffleOptions, scheme: str, seed: int) -> list[Transfer]:
    """Return all transfers of a shuffle under a scheme, host by host."""
    tree = FatTree(PORTS_OF_SWITCH, options.nic_rate)
    receivers = [receivers_of(host, tree.hosts, seed) for host in range(tree.hosts)]
    workload = shuffle_workload(receivers, options.size, options.at_once)
    setting = Setting(period=options.period, step=STEP, seed=seed, unnoticed=_UNNOTICED, ramp=options.ramp)
    hashed = np.zeros(workload.flows, np.int32) if scheme == ONE_TREE else None
    return transfers_of(tree, scheme, workload, setting, hashed)


def shuffle_workload(receivers: Sequence[Sequence[int]], size: int, at_once: int) -> Workload:
    """Return a workload in which every host sends `size` bytes to each receiver in order, `at_once` at a time."""
    source = np.repeat(np.arange(len(receivers), dtype=np.int32), [len(each) for each in receivers])
    target = np.concatenate(receivers).astype(np.int32)
    flows = source.size
    return Workload(source, target, np.zeros(flows), np.full(flows, float(size)), at_once)


def transfers_of(
    fabric: Fabric, scheme: str, workload: Workload, setting: Setting, hashed: Ints | None = None
) -> list[Transfer]:
    """Play a shuffle to its end under a scheme of `testbed_cases.ARRANGEMENTS`; `hashed` as in `Simulation`."""
    unscheduled = (NON_BLOCKING, ONE_TREE, ECMP)
    placement = make_placement(ECMP if scheme in unscheduled else scheme)
    of_host = float(np.bincount(workload.source, workload.size).max()) * 8e-6
    end = _SLOWEST * of_host / (setting.host_part * fabric.nic_rate)
    setting = replace(setting, end=end, blocking=scheme != NON_BLOCKING)
    history = Simulation(fabric, placement, workload, setting, hashed).run()
    flows = zip(workload.source.tolist(), workload.target.tolist(), history.began, history.finished, strict=True)
    return [Transfer(f"h{source}", f"h{target}", float(began), float(ended)) for source, target, began, ended in flows]
