"""Max-min fair rates of many flows over a fat-tree: the simulator's compiled core and its reference in Python."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import timed
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from simulator.flow.model import FluidFlows, Vector, share
from tests.simulator import reference

_PORTS = 32
_CAPACITY = 1000.0
_FLOWS = 100_000
_FLOWS_OF_REFERENCE = 10_000
"""Flows for the reference, whose time grows with the square: seconds for these, many minutes for `_FLOWS`."""
_GROWTH = (1_000, 10_000, 100_000, 1_000_000)
_REPETITIONS = 5

_GOAL_MS = 60.0
_GOAL_RATIO = 100.0


@benchmark("flow-maxmin")
def flow_maxmin(setting: BenchmarkSetting) -> Iterator[Comparison]:
    growth: dict[str, float] = {}
    for count in _GROWTH:
        setting.progress.show(f"ours, {count:,} flows")
        growth[f"{count:,}"] = _milliseconds(*fat_tree(_PORTS, count))
    ours = _milliseconds(*fat_tree(_PORTS, _FLOWS))
    capacity, few = fat_tree(_PORTS, _FLOWS_OF_REFERENCE)
    setting.progress.show(f"the reference, {_FLOWS_OF_REFERENCE:,} flows")
    slow = timed(lambda: reference.share(capacity, few))
    ours_few = _milliseconds(capacity, few)
    ratio = slow.seconds * 1e3 / ours_few
    detail = {
        "problem": f"{_FLOWS_OF_REFERENCE:,} elastic flows without an end between random hosts of a fat-tree of "
        f"{_PORTS}-port switches, {_PORTS**3 // 4:,} hosts, {capacity.size:,} links",
        f"ms for {_FLOWS:,} flows (best of {_REPETITIONS})": ours,
        "ms by number of flows": growth,
        "largest difference from the reference in Mbit/s": float(
            np.abs(share(capacity, few).goodput - slow.value.goodput).max()
        ),
        "goals": [
            goal(f"at most {_GOAL_MS:g} ms for {_FLOWS:,} flows", met=ours <= _GOAL_MS),
            goal(f"{_GOAL_RATIO:g} times as fast as the reference", met=ratio >= _GOAL_RATIO),
        ],
    }
    yield Comparison(ours_few, slow.seconds * 1e3, "reference in Python", "ms", detail)


def fat_tree(ports: int, count: int, seed: int = 1) -> tuple[Vector, FluidFlows]:
    """Return the links of a fat-tree (Al-Fares et al., SIGCOMM 2008) and flows of random hosts over random cores."""
    half = ports // 2
    cables = ports * half * half  # of each layer: host to edge, edge to aggregation, aggregation to core
    random = np.random.default_rng(seed)
    source = random.integers(0, cables, count)
    target = (source + 1 + random.integers(0, cables - 1, count)) % cables
    aggregation, core = random.integers(0, half, (2, count))
    edges = source // half, target // half
    pods = source // half**2, target // half**2
    of_edge = [edge * half + aggregation for edge in edges]
    of_core = [(pod * half + aggregation) * half + core for pod in pods]
    up = [source, cables + of_edge[0], 2 * cables + of_core[0]]
    down = [3 * cables + of_core[1], 4 * cables + of_edge[1], 5 * cables + target]
    crossed = np.ones((count, 6), dtype=np.bool_)
    crossed[pods[0] == pods[1], 2:4] = False
    crossed[edges[0] == edges[1], 1:5] = False
    first = np.concatenate([[0], np.cumsum(crossed.sum(axis=1))])
    links = np.stack(up + down, axis=1)[crossed].astype(np.int32)
    flows = FluidFlows(
        first,
        links,
        np.full(count, np.inf),
        np.zeros(count, np.int32),
        np.ones(count, np.bool_),
        np.ones(count),
    )
    return np.full(6 * cables, _CAPACITY), flows


def _milliseconds(capacity: Vector, flows: FluidFlows) -> float:
    """Return the best of several times."""
    return min(timed(lambda: share(capacity, flows)).seconds for _ in range(_REPETITIONS)) * 1e3
