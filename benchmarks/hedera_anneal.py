"""Simulated annealing at the paper's sizes and beyond: the kernel and its reference in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import timed
from benchmarks.registry import Comparison, Setting, benchmark, goal
from experiments.hedera.timing import random_flows
from hedera import _core
from hedera.network.fat_tree import FatTree
from hedera.placement.demand_estimation import estimate_demands
from hedera.placement.interface import UNIT, amounts
from hedera.placement.simulated_annealing import Seats
from tests.hedera.reference import annealing as reference

_PORTS = 48
_FLOWS, _ITERATIONS = 50_000, 10_000
_PUBLISHED_MS = 11.0
_GROWTH = ((16, 5_000), (32, 50_000), (48, 50_000), (48, 250_000), (64, 250_000), (96, 250_000))
_OF_REFERENCE = (8, 300, 20)
"""Ports, flows and iterations of the reference, in which every state costs as much as the kernel's first one."""
_REPETITIONS = 25
_GREED = 1000.0
_GOAL_MS = 2.0


@dataclass(frozen=True)
class _Problem:
    """A search of one size: in the kernel, and in the reference."""

    fast: Callable[[], Any]
    slow: Callable[[], reference.Annealed]

    @classmethod
    def of(cls, ports: int, flows: int, iterations: int) -> _Problem:
        tree = FatTree(ports)
        source, target = random_flows(tree.hosts, flows)
        demand = amounts(estimate_demands(tree.hosts, source, target, tree.nic_rate).demand, tree)
        room, seats = amounts(tree.capacity, tree), Seats.of(tree)
        host = seats.draw(tree, np.random.default_rng(1))
        fee = np.zeros(tree.hosts, np.int64)
        schedule = (iterations, _GREED, UNIT, 1)
        routes = tree.routes(source, target)
        ranges = (seats.pod_first, seats.block_first, tree.edge_first)
        search = reference.Search(tree, source, target, demand, room, seats, fee.astype(np.int32))
        return cls(
            lambda: _core.anneal(routes, demand, room, seats.label, host, ranges, fee, schedule),
            lambda: reference.anneal(search, host.tolist(), schedule),
        )

    def milliseconds(self) -> float:
        """Return the best of several times."""
        return min(timed(self.fast).seconds for _ in range(_REPETITIONS)) * 1e3


@benchmark("hedera-anneal")
def hedera_anneal(setting: Setting) -> Iterator[Comparison]:
    rows = []
    for ports, flows in _GROWTH:
        setting.progress.show(f"{ports} ports, {flows:,} flows")
        problem = _Problem.of(ports, flows, _ITERATIONS)
        rows.append({"ports": ports, "hosts": ports**3 // 4, "flows": flows, "ms": problem.milliseconds()})
    largest = _Problem.of(_PORTS, _FLOWS, _ITERATIONS).milliseconds()
    ports, flows, iterations = _OF_REFERENCE
    setting.progress.show(f"the reference, {flows:,} flows, {iterations} iterations")
    small = _Problem.of(*_OF_REFERENCE)
    slow = timed(small.slow)
    found, before, after, improvements = small.fast()
    same = (found.tolist(), after - before) == (slow.value.host, slow.value.after - slow.value.before)
    detail = {
        "problem": f"{flows:,} flows on a fat-tree of {ports}-port switches, {iterations} iterations",
        f"ms for {_FLOWS:,} flows, {_ITERATIONS:,} iterations, {_PORTS} ports (best of {_REPETITIONS})": largest,
        "published ms for as many": _PUBLISHED_MS,
        f"ms for {_ITERATIONS:,} iterations, by size": rows,
        "the same state as the reference, after as many improvements": same and improvements == slow.value.improvements,
        "goals": [goal(f"at most {_GOAL_MS:g} ms for {_FLOWS:,} flows", met=largest <= _GOAL_MS)],
    }
    yield Comparison(small.milliseconds(), slow.seconds * 1e3, "reference in Python", "ms", detail)
