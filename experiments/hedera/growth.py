"""Scaling of the simulation: larger and larger fat-trees, the goodput on them, and the time and memory it takes."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hedera.large import PLACEMENTS, arriving, larger, of_pattern
from experiments.hedera.schemes import ANNEALING, AUTHORS_NIC_RATE, ECMP
from experiments.hedera.simulation import FluidSetting, FluidSimulation
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_numbers
from experiments.results.result import Check
from experiments.results.score import order
from experiments.results.stored_files import each_file
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix, random_bijection, random_targets, staggered, stride
from kuijia_base.parallel import end_with
from simulator.flow_sizes.published import published_flow_sizes

NAME = "hedera-growth"
LOAD, FLOW_SIZES = 0.4, "data-mining"
SECONDS = 20.0
"""Seconds in which flows come and go."""

_WORSE = 0.1
"""Percentage points that annealing may be below ECMP."""
_RANDOMIZED = ("random", "bijection")
"""Patterns that the paper may mean by a randomised matrix."""
PATTERNS: Mapping[str, Callable[[FatTree, np.random.Generator], Matrix]] = {
    "stride N/2": lambda tree, _: stride(tree.hosts, tree.hosts // 2),
    "stag(.5,.3)": lambda tree, random: staggered(tree, 0.5, 0.3, random),
    "random": lambda tree, random: random_targets(tree.hosts, random),
    "bijection": lambda tree, random: random_bijection(tree.hosts, random),
}
ARRIVALS = (ECMP, ANNEALING)
"""Placements to run with arriving flows."""


def run_growth(run: Execution, ports: Sequence[int]) -> Outcome:
    """Simulate every size, with as many parts in parallel as processors; write the table as text, JSON and picture."""
    parts = [(each, part) for each in ports for part in (*PATTERNS, *ARRIVALS)]
    run.show(f"{len(parts)} simulations of {min(ports)} to {max(ports)} ports")
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        played = threads.map(lambda part: in_own_process(part[0], part[1], run.settings.seed), parts)
        found = dict(zip(parts, played, strict=True))
    rows = [
        {
            "ports": each,
            "hosts": FatTree(each).hosts,
            "patterns": {name: found[each, name] for name in PATTERNS},
            "arrivals": {name: found[each, name] for name in ARRIVALS},
            "megabytes": max(found[each, part]["megabytes"] for part in (*PATTERNS, *ARRIVALS)),
        }
        for each in ports
    ]
    data = {
        "experiment": NAME,
        "backend": "flow",
        "seed": run.settings.seed,
        "load": LOAD,
        "flow_sizes": FLOW_SIZES,
        "sizes": rows,
        "manifest": run.computed(),
    }
    return run.studied(data, exhibits(data))


def in_own_process(ports: int, part: str, seed: int) -> dict[str, float]:
    """Run `simulate` in its own process and return its result."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), end_with, (os.getpid(),)) as process:
        return process.submit(simulate, ports, part, seed).result()


def simulate(ports: int, part: str, seed: int) -> dict[str, float]:
    """Return the goodput on a fat-tree, and the time and memory of this process, which must do nothing else.

    Args:
        ports: of a switch.
        part: one of `PATTERNS`, to run all placements on, or one of the placements in `ARRIVALS`.
        seed: of all random choices.
    """
    tree = FatTree(ports, AUTHORS_NIC_RATE)
    began = time.process_time()
    if part in PATTERNS:
        matrix = PATTERNS[part](tree, np.random.default_rng([seed, ports]))
        reached = of_pattern(tree, matrix, FluidSetting(seed=seed))
    else:
        workload = arriving(tree, larger(published_flow_sizes(FLOW_SIZES), FLOW_SIZES), LOAD, SECONDS, seed)
        placement = PLACEMENTS[part](tree.hosts, seed)
        history = FluidSimulation(tree, placement, workload, FluidSetting(end=SECONDS, seed=seed)).run()
        reached = {"flows": workload.flows, "goodput": history.mean_goodput(SECONDS / 4, SECONDS)}
    return {
        **reached,
        "seconds": time.process_time() - began,
        "megabytes": _peak_megabytes(),
    }


def _peak_megabytes() -> float:
    """Return the peak memory of this process; `getrusage` may give that of its parent, from which it was forked."""
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return time, memory and goodput over the number of hosts; annealing must not be worse than ECMP."""
    sizes = data["sizes"]
    patterns, placements = sizes[0]["patterns"], sizes[0]["arrivals"]

    def line(label: str, *keys: str, scale: float = 1.0) -> Line:
        return Line.of(label, {row["hosts"]: scale * reduce(getitem, keys, row) for row in sizes})

    def exhibit(name: str, title: str, quantity: str, *lines: Line) -> Exhibit:
        return Exhibit(name, title, "Hedera, larger", data["backend"], "hosts", quantity, lines)

    time = exhibit(
        NAME,
        "processor time of a simulated minute of every pattern under all placements, and of arriving flows",
        "processor time (s)",
        *(line(name, "patterns", name, "seconds") for name in patterns),
        *(line(f"arrivals, {name}", "arrivals", name, "seconds") for name in placements),
    )
    goodput = exhibit(
        f"{NAME}-goodput",
        "goodput of endless flows",
        "part of goodput without blocking (%)",
        *(
            line(f"{pattern}, {name}", "patterns", pattern, name, scale=100)
            for pattern in patterns
            for name in PLACEMENTS
        ),
    )
    arrivals = exhibit(
        f"{NAME}-arrivals",
        f"goodput of flows of 1 MB and more ({data['flow_sizes']}) that come and go for {SECONDS:g} s,"
        f" {data['load']:.0%} of interfaces in the mean",
        "goodput (Gbit/s)",
        *(line(name, "arrivals", name, "goodput", scale=1e-3) for name in placements),
    )
    memory = exhibit(
        f"{NAME}-memory", "most memory that any of the simulations took", "peak memory (MB)", line("all", "megabytes")
    )
    return (
        replace(time, logarithmic=True),
        replace(goodput, checks=tuple(_checks(sizes))),
        *_wasted(data),
        arrivals,
        replace(memory, logarithmic=True),
    )


def _wasted(data: Mapping[str, Any]) -> Iterator[Exhibit]:
    """Yield the part of the bisection bandwidth that ECMP wastes, nothing without a bijection.

    A bijection without blocking uses all of it. With random receivers some of it is wasted under any placement.
    """
    sizes = data["sizes"]
    if not all("bijection" in row["patterns"] for row in sizes):
        return
    theirs = published_numbers("hedera_growth")
    lines = []
    for pattern in _RANDOMIZED:
        points = []
        for row in sizes:
            used, most = row["patterns"][pattern], row["patterns"]["bijection"]["non-blocking"]
            wasted = 100 * (1 - used[ECMP] * used["non-blocking"] / most)
            points.append(Point.of(row["hosts"], [wasted], theirs["wasted"].get(str(row["hosts"]))))
        lines.append(Line(pattern, tuple(points)))
    yield Exhibit(
        name=f"{NAME}-wasted",
        title="bisection bandwidth that ECMP wastes",
        reproduces="Hedera, bandwidth that ECMP wastes",
        backend=data["backend"],
        axis="hosts",
        quantity="part of the bisection bandwidth (%)",
        lines=tuple(lines),
        published=theirs["source"],
        remarks=(
            "Random: each host sends to any other; what receivers without a flow leave empty counts as wasted too.",
            "Bijection: each host receives one flow. Which of the two the paper means is not known to us.",
        ),
    )


def _checks(sizes: Iterable[Mapping[str, Any]]) -> Iterator[Check]:
    for row in sizes:
        for name, parts in row["patterns"].items():
            more = 100 * (parts[ANNEALING] - parts[ECMP])
            yield order(f"annealing less ECMP at {row['hosts']:,} hosts, {name}, points", more, low=-_WORSE)


_PORTS, _QUICK_PORTS = (16, 32, 48, 64), (4, 8)


def hedera_growth(run: Execution) -> Outcome:
    return run_growth(run, run.sized(_QUICK_PORTS, _PORTS))


EXPERIMENTS = offered(
    {NAME: Offered(hedera_growth, without=("repetitions", "full"), sweeps=False, reader=each_file(exhibits))}
)
