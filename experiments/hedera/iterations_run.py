"""Places flows to random destinations by the paper's annealing, with more and more iterations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from experiments.hedera.goodput import fair_rates, non_blocking, tcp_goodput
from experiments.hedera.iterations_cases import CURVES, READINGS, IterationReading, Scope
from experiments.hedera.iterations_report import NAME, exhibits, published
from experiments.registry import Outcome, Settings
from experiments.reporting.exhibit_output import write_study
from hedera.demand_estimation import estimate_demands
from hedera.fabric import HASHED, Fabric, Ints
from hedera.fat_tree import FatTree
from hedera.matrices import Matrix, random_targets
from hedera.placement.interface import Elephants
from hedera.placement.simulated_annealing import Annealing, AnnealingPerHost
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

NIC_RATE = 1000.0


@dataclass(frozen=True)
class Carried:
    """Goodput under annealing, in parts of the non-blocking one, and the latter in parts of all hosts' interfaces."""

    part: float
    control: float


def run_iterations(settings: Settings, scope: Scope, output: OutputFolder, progress: Progress) -> Outcome:
    """Run every reading; write tables and pictures."""
    began = time.time()
    theirs = published()
    rows = []
    for ports, (name, reading), iterations in _cases(scope, theirs["iterations"]):
        progress.show(f"{NAME}: {ports} ports, {name}, {iterations:,} iterations")
        tree = FatTree(ports, NIC_RATE)
        seeds = range(settings.seed, settings.seed + scope.seeds)
        found = [carried(tree, targets(tree, reading.flows, seed), reading, iterations, seed) for seed in seeds]
        rows.append(
            {
                "ports": ports,
                "reading": name,
                "iterations": iterations,
                "parts": [each.part for each in found],
                "control": [each.control for each in found],
            }
        )
    data = {
        "experiment": NAME,
        "backend": "flow",
        "seeds": scope.seeds,
        "rows": rows,
        "published": theirs,
        "manifest": describe_computation(began, time.time() - began),
    }
    return write_study(NAME, data, exhibits(data), output)


def _cases(scope: Scope, iterations: list[int]) -> Iterator[tuple[int, tuple[str, IterationReading], int]]:
    for ports, (name, reading) in product(scope.ports, READINGS.items()):
        most = min(scope.most_iterations, CURVES.get(name, iterations[0]))
        for each in (0, *iterations):
            if each <= most:
                yield ports, (name, reading), each


def targets(tree: FatTree, flows: int, seed: int) -> Matrix:
    """Return this number of flows from each host to random others; the first of each are the same for any number."""
    random = np.random.default_rng([seed, tree.k, 5])
    drawn = [random_targets(tree.hosts, random) for _ in range(flows)]
    return Matrix("random", np.concatenate([m.source for m in drawn]), np.concatenate([m.target for m in drawn]))


def carried(fabric: Fabric, matrix: Matrix, reading: IterationReading, iterations: int, seed: int) -> Carried:
    """Return what the network carries after annealing, which begins from nothing."""
    source, target = matrix.source, matrix.target
    demand = (
        estimate_demands(fabric.hosts, source, target, fabric.nic_rate).demand
        if reading.demands == "estimated"
        else np.full(source.size, fabric.nic_rate)
    )
    swaps = iterations * (fabric.pod_first.size - 1 if reading.in_every_pod else 1)
    placement = AnnealingPerHost(Annealing(swaps, greed=reading.greed, seed=seed, start=reading.start))
    label: Ints = np.full(source.size, HASHED, np.int32)
    for _ in range(reading.rounds):
        label = placement.place(fabric, Elephants.of(source, target, demand, label), fabric.capacity)
    paths = fabric.flow_paths(source, target, label)
    rates = tcp_goodput if reading.sharing == "tcp" else fair_rates
    reached, control = (float(rates(each, paths).sum()) for each in (fabric.capacity, non_blocking(fabric)))
    return Carried(reached / control, control / (fabric.hosts * fabric.nic_rate))
