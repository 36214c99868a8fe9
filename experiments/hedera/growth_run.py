"""Simulates larger and larger fat-trees, each pattern in its own process, and reports its time and memory."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.hedera.arrivals import arriving, larger
from experiments.hedera.large_run import NIC_RATE, PLACEMENTS, of_pattern
from experiments.hedera.simulation import Setting, Simulation
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Settings
from hedera.fat_tree import FatTree
from hedera.matrices import Matrix, random_bijection, random_targets, staggered, stride
from simulator.flow_sizes.published import published_flow_sizes
from te_solver.manifest import describe_computation
from te_solver.picture_file import picture_bytes

NAME = "hedera-growth"
LOAD, FLOW_SIZES = 0.4, "data-mining"
SECONDS = 20.0
"""Seconds in which flows come and go."""

_ANNEALING = "simulated-annealing"
PATTERNS: Mapping[str, Callable[[FatTree, np.random.Generator], Matrix]] = {
    "stride N/2": lambda tree, _: stride(tree.hosts, tree.hosts // 2),
    "stag(.5,.3)": lambda tree, random: staggered(tree, 0.5, 0.3, random),
    "random": lambda tree, random: random_targets(tree.hosts, random),
    "bijection": lambda tree, random: random_bijection(tree.hosts, random),
}
ARRIVALS = ("ecmp", _ANNEALING)
"""Placements that are run with arriving flows."""


def run_growth(settings: Settings, ports: Sequence[int], output: OutputFolder, progress: Progress) -> Outcome:
    """Simulate every size, with as many parts in parallel as processors; write the table as text, JSON and picture."""
    began = time.time()
    parts = [(each, part) for each in ports for part in (*PATTERNS, *ARRIVALS)]
    progress.show(f"{NAME}: {len(parts)} simulations of {min(ports)} to {max(ports)} ports")
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = dict(
            zip(parts, threads.map(lambda part: in_own_process(part[0], part[1], settings.seed), parts), strict=True)
        )
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
        "seed": settings.seed,
        "load": LOAD,
        "flow_sizes": FLOW_SIZES,
        "sizes": rows,
        "manifest": describe_computation(began, time.time() - began),
    }
    text = table_text(data)
    output.write_json(f"{NAME}.json", data)
    output.write_text(f"{NAME}.txt", f"{text}\n")
    output.write_bytes(f"{NAME}.svg", picture_bytes(figure(data), ".svg"))
    return Outcome(text, data, tuple(missed_bars(data)))


def in_own_process(ports: int, part: str, seed: int) -> dict[str, float]:
    """Run `simulate` in its own process and return its result."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(simulate, ports, part, seed).result()


def simulate(ports: int, part: str, seed: int) -> dict[str, float]:
    """Return the goodput on a fat-tree, and the time and memory of this process, which must do nothing else.

    Args:
        ports: of a switch.
        part: one of `PATTERNS`, to run all placements on, or one of the placements in `ARRIVALS`.
        seed: of all random choices.
    """
    tree = FatTree(ports, NIC_RATE)
    began = time.process_time()
    if part in PATTERNS:
        matrix = PATTERNS[part](tree, np.random.default_rng([seed, ports]))
        reached = of_pattern(tree, matrix, Setting(seed=seed))
    else:
        workload = arriving(tree, larger(published_flow_sizes(FLOW_SIZES), FLOW_SIZES), LOAD, SECONDS, seed)
        placement = PLACEMENTS[part](tree.hosts, seed)
        history = Simulation(tree, placement, workload, Setting(end=SECONDS, seed=seed)).run()
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


def missed_bars(data: dict[str, Any]) -> list[str]:
    return [
        f"{row['hosts']:,} hosts, {name}: annealing reaches {parts[_ANNEALING]:.3f}, ECMP {parts['ecmp']:.3f}"
        for row in data["sizes"]
        for name, parts in row["patterns"].items()
        if parts[_ANNEALING] < parts["ecmp"] - 1e-3
    ]


def table_text(data: dict[str, Any]) -> str:
    """Return the table as text."""
    rows = data["sizes"]
    lines = [
        "Goodput under ECMP, first fit and annealing, in parts of what it is where nothing blocks, and the seconds of",
        "processor time that a simulated minute of each of the four took together",
        "",
        f"{'hosts':>8}" + "".join(f"{name:>34}" for name in rows[0]["patterns"]),
    ]
    for row in rows:
        cells = (
            " ".join(f"{parts[name]:.3f}" for name in PLACEMENTS) + f" {parts['seconds']:7.1f} s"
            for parts in row["patterns"].values()
        )
        lines.append(f"{row['hosts']:>8,}" + "".join(f"{cell:>34}" for cell in cells))
    lines += [
        "",
        f"{SECONDS:g} s of flows of 1 MB and more ({data['flow_sizes']}) that come and go, {data['load']:.0%} of",
        "interfaces in the mean: goodput in Gbit/s, seconds of processor time; the most memory that any of this took",
        "",
        f"{'hosts':>8}{'flows':>12}{'ECMP':>22}{'annealing':>22}{'MB':>8}",
    ]
    for row in rows:
        cells = (f"{each['goodput'] / 1000:.1f} {each['seconds']:7.1f} s" for each in row["arrivals"].values())
        told = "".join(f"{cell:>22}" for cell in cells)
        lines.append(f"{row['hosts']:>8,}{row['arrivals']['ecmp']['flows']:>12,}{told}{row['megabytes']:>8.0f}")
    return "\n".join(lines)


def figure(data: dict[str, Any]) -> Figure:
    """Return time and memory over the number of hosts, on logarithmic axes."""
    rows = data["sizes"]
    hosts = [row["hosts"] for row in rows]
    drawn = Figure(figsize=(8.0, 3.6), dpi=150, layout="constrained")
    times, memory = drawn.subplots(1, 2)
    for name in rows[0]["patterns"]:
        times.loglog(hosts, [row["patterns"][name]["seconds"] for row in rows], marker="o", label=name)
    for name in rows[0]["arrivals"]:
        seconds = [row["arrivals"][name]["seconds"] for row in rows]
        times.loglog(hosts, seconds, marker="s", linestyle="--", label=f"arrivals, {name}")
    times.set_ylabel("processor time (s)")
    times.legend(fontsize="x-small")
    memory.loglog(hosts, [row["megabytes"] for row in rows], marker="o", color="tab:gray")
    memory.set_ylabel("peak memory (MB)")
    for axes in (times, memory):
        axes.set_xlabel("hosts")
        axes.set_xticks(hosts, [f"{each:,}" for each in hosts], fontsize="small")
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    return drawn
