"""Demand estimation at the paper's sizes and beyond: the kernel and its reference in Python."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import timed
from benchmarks.registry import Comparison, Setting, benchmark, goal
from experiments.hedera.timing import random_flows
from hedera.placement import demand_estimation
from tests.hedera.reference import demand_estimation as reference

_PUBLISHED = {
    (1_024, 1_024): 1.45,
    (1_024, 5_000): 4.14,
    (8_192, 8_192): 2.71,
    (8_192, 25_000): 9.23,
    (8_192, 50_000): 26.31,
    (27_648, 27_648): 6.91,
    (27_648, 100_000): 51.30,
    (27_648, 250_000): 199.43,
}
"""Milliseconds of Hedera's table by hosts and flows; its slides confirm only the last ("< 200 ms")."""
_GROWTH = ((65_536, 600_000), (221_184, 2_000_000))
_LARGEST = (27_648, 250_000)
_OF_REFERENCE = (1_024, 5_000)
_REPETITIONS = 15
_GOAL_MS = 20.0


@benchmark("hedera-estimate")
def hedera_estimate(setting: Setting) -> Iterator[Comparison]:
    rows: list[dict[str, float]] = []
    for hosts, flows in (*_PUBLISHED, *_GROWTH):
        setting.progress.show(f"{hosts:,} hosts, {flows:,} flows")
        source, target = random_flows(hosts, flows)
        milliseconds = _milliseconds(hosts, flows)
        rounds = demand_estimation.estimate_demands(hosts, source, target, 1.0).rounds
        rows.append({"hosts": hosts, "flows": flows, "ms": milliseconds, "rounds": rounds})
        if (hosts, flows) in _PUBLISHED:
            rows[-1]["published ms"] = _PUBLISHED[hosts, flows]
    hosts, flows = _OF_REFERENCE
    source, target = random_flows(hosts, flows)
    setting.progress.show(f"the reference, {flows:,} flows")
    slow = timed(lambda: reference.estimate_demands(hosts, source, target, 1.0))
    fast = demand_estimation.estimate_demands(hosts, source, target, 1.0)
    largest = next(row["ms"] for row in rows if row["hosts"] == _LARGEST[0] and row["flows"] == _LARGEST[1])
    detail = {
        "problem": f"{flows:,} flows between {hosts:,} random hosts",
        f"ms by hosts and flows (best of {_REPETITIONS})": rows,
        "largest difference from the reference, in interfaces": float(np.abs(fast.demand - slow.value.demand).max()),
        "goals": [
            goal(f"at most {_GOAL_MS:g} ms for {_LARGEST[1]:,} flows on {_LARGEST[0]:,} hosts", met=largest <= _GOAL_MS)
        ],
    }
    yield Comparison(_milliseconds(hosts, flows), slow.seconds * 1e3, "reference in Python", "ms", detail)


def _milliseconds(hosts: int, flows: int) -> float:
    source, target = random_flows(hosts, flows)
    work = [
        timed(lambda: demand_estimation.estimate_demands(hosts, source, target, 1.0)).seconds
        for _ in range(_REPETITIONS)
    ]
    return min(work) * 1e3
