"""The authors' matrices packet by packet, one run for each matrix and scheme, and the same in the flow model."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.hedera.packet.network import UNSCHEDULED, PacketNetwork
from experiments.hedera.packet.options import PacketOptions
from experiments.hedera.simulation import Setting, Simulation, Workload
from experiments.hedera.testbed_cases import ECMP, NON_BLOCKING, ONE_TREE, Span
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix, authors_matrix
from hedera.placement.registry import make_placement

PORTS_OF_SWITCH = 4
_SOURCE_PORTS = range(20000, 30000)
_STARTS_WITHIN = 0.1
"""Seconds within which the flows of a matrix begin."""


@dataclass(frozen=True)
class MatrixCase:
    """A run of a matrix.

    Attributes:
        pattern: name of the matrix.
        scheme: from `experiments.hedera.testbed_cases.ARRANGEMENTS`.
        seed: of source ports, starts and the switches' hash.
        nic_rate: of every cable, in Mbit/s.
        period: seconds between two rounds of the scheduler.
        span: of the measurement; times count from the start of the first flow.
        options: of the packet model.
    """

    pattern: str
    scheme: str
    seed: int
    nic_rate: float
    period: float
    span: Span
    options: PacketOptions


def run_case(ready: None, case: MatrixCase) -> dict[str, Any]:
    """Return the goodput of each flow in packets and in the flow model, in Mbit/s, and counts, as JSON data."""
    del ready
    matrix = authors_matrix(case.pattern)
    drawn = random.Random(f"{matrix.name} {case.seed}")
    ports = drawn.sample(_SOURCE_PORTS, matrix.source.size)
    starts = [drawn.uniform(0, _STARTS_WITHIN) for _ in ports]
    network = PacketNetwork(case.scheme, PORTS_OF_SWITCH, case.nic_rate, case.period, case.options, case.seed)
    ends = list(zip(matrix.source.tolist(), matrix.target.tolist(), strict=True))
    network.add(ends, ports, starts)
    simulation, span = network.simulation, case.span
    arrived = []
    for moment in (span.begin, span.end):
        simulation.complete(moment)
        arrived.append(simulation.flow_results().goodput.astype(np.float64))
    results = simulation.flow_results()
    goodput = (arrived[1] - arrived[0]) * 8e-6 / (span.end - span.begin)
    rounds = [] if network.loop is None else network.loop.rounds
    return {
        "goodput": goodput.tolist(),
        "flow": _in_flow_model(case, matrix, network, ports),
        "moved": sum(each.moved for each in rounds),
        "rounds": len(rounds),
        "dropped": int(results.dropped.sum()),
        "sent": int(results.sent.sum()),
        "timeouts": int(results.timeouts.sum()),
    }


def _in_flow_model(case: MatrixCase, matrix: Matrix, network: PacketNetwork, ports: list[int]) -> float:
    """Return the goodput of all flows in the flow model, with the same hash; with one tree all have one label."""
    tree = FatTree(PORTS_OF_SWITCH, case.nic_rate)
    hashed = np.zeros(matrix.source.size, np.int32)
    if case.scheme not in (NON_BLOCKING, ONE_TREE):
        for flow, (source, target) in enumerate(zip(matrix.source.tolist(), matrix.target.tolist(), strict=True)):
            by_label = [tree.path(source, target, label) for label in range(tree.labels)]
            hashed[flow] = network.label_of((source, target), ports[flow], by_label)
    setting = Setting(case.span.end, case.period, blocking=case.scheme != NON_BLOCKING)
    placement = make_placement(ECMP if case.scheme in UNSCHEDULED else case.scheme)
    workload = Workload.endless(matrix.source, matrix.target)
    history = Simulation(tree, placement, workload, setting, hashed).run()
    return history.mean_goodput(case.span.begin, case.span.end)
