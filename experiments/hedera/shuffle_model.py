"""The authors' shuffle in the flow model: 16 hosts, each of which has 500 MB for each other one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

import numpy as np

from experiments.hedera.shuffle import AUTHORS_BYTES
from experiments.hedera.shuffle_run import ON_THE_WIRE
from experiments.hedera.simulation import Setting, Simulation, Workload
from experiments.hedera.testbed import NON_BLOCKING, ONE_TREE
from hedera.fat_tree import FatTree
from hedera.placement.ecmp import Ecmp
from hedera.placement.interface import Placement

AT_ONCE = 2
"""Transfers of a host at a time, which the authors do not tell."""

_LONG_ENOUGH = 3600.0


def shuffle(hosts: int, size: float, at_once: int, seed: int) -> Workload:
    """Every host sends so many bytes to all others, in an order of its own."""
    random = np.random.default_rng([seed, 5])
    target = np.concatenate([random.permutation(np.delete(np.arange(hosts), host)) for host in range(hosts)])
    flows = target.size
    source = np.repeat(np.arange(hosts, dtype=np.int32), hosts - 1)
    return Workload(source, target.astype(np.int32), np.zeros(flows), np.full(flows, float(size)), at_once)


def run_shuffle(tree: FatTree, placements: Mapping[str, Placement], seed: int) -> dict[str, dict[str, float]]:
    """The authors' four figures under each placement, over one tree, and where nothing blocks."""
    workload = shuffle(tree.hosts, AUTHORS_BYTES, AT_ONCE, seed)

    def figures(placement: Placement, setting: Setting) -> dict[str, float]:
        finished = Simulation(tree, placement, workload, setting).run().finished
        of_host = finished.reshape(tree.hosts, -1).max(axis=1)
        bytes_of_host = AUTHORS_BYTES * (tree.hosts - 1)
        goodput = bytes_of_host / 1e6 / float(of_host.mean())
        return {
            "total_seconds": float(of_host.max()),
            "mean_completion_seconds": float(of_host.mean()),
            "bisection_gbps": goodput * tree.hosts * 8e-3 * ON_THE_WIRE,
            "host_goodput_mbytes": goodput,
        }

    usual = Setting(end=_LONG_ENOUGH, seed=seed)
    return {
        ONE_TREE: figures(Ecmp(), replace(usual, one_tree=True)),
        **{name: figures(placement, usual) for name, placement in placements.items()},
        NON_BLOCKING: figures(Ecmp(), replace(usual, blocking=False)),
    }


def published_shuffle() -> dict[str, dict[str, float]]:
    """The authors' figures, by placement."""
    schemes: dict[str, dict[str, float]] = json.loads(
        (files("experiments.published") / "hedera_shuffle.json").read_text(encoding="utf-8")
    )["schemes"]
    return schemes


def shuffle_text(ours: Mapping[str, Mapping[str, float]], theirs: Mapping[str, Mapping[str, float]]) -> str:
    columns = {
        "total_seconds": "all done (s)",
        "mean_completion_seconds": "a host done (s)",
        "bisection_gbps": "bisection (Gbit/s)",
        "host_goodput_mbytes": "host (MB/s)",
    }
    lines = [
        f"A shuffle of {AUTHORS_BYTES / 1e6:g} MB from each host to each other one, {AT_ONCE} at a time [published]",
        "",
        f"{'':<22}" + "".join(f"{title:>22}" for title in columns.values()),
    ]
    for name, figures in ours.items():
        cells = (
            f"{value:.2f}" + (f" [{theirs[name][column]:.2f}]" if name in theirs else " " * 9)
            for column, value in ((column, figures[column]) for column in columns)
        )
        lines.append(f"{name:<22}" + "".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)
