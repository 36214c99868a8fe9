"""Runs the patterns on a large fat-tree, then arrivals, with and without a fee for moving flows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.experiment import Outcome, Settings
from experiments.hedera.arrivals import arriving, larger
from experiments.hedera.large_options import CLASSES, LargeOptions
from experiments.hedera.packet.arrivals_report import exhibits as packet_exhibits
from experiments.hedera.simulation import History, Setting, Simulation, Workload
from experiments.reporting.exhibit_output import write_study
from experiments.results.bars import limit, order
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix, random_bijection, random_targets, staggered, stride
from hedera.placement.interface import Placement
from hedera.placement.registry import EcmpPlacement, GlobalFirstFit
from hedera.placement.simulated_annealing import Annealing, SimulatedAnnealing
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from simulator.flow_sizes.published import find_flow_sizes

NAME, NAME_OF_FIGURE = "hedera-8192", "Hedera's simulator"
NIC_RATE = 1000.0
WINDOW = (10.0, 50.0)
ITERATIONS, FLOW_ITERATIONS = 1_000_000, 100_000
"""Iterations of annealing per round, and for single flows; beyond 8,192 hosts in proportion (some 120 per host)."""

_OF_HOSTS = 8192

FEE = 0.5
"""Cost of moving a flow, in parts of its demand."""


def annealing(hosts: int, seed: int, fee: float = 0.0) -> Annealing:
    iterations, of_flows = (each * max(hosts, _OF_HOSTS) // _OF_HOSTS for each in (ITERATIONS, FLOW_ITERATIONS))
    return Annealing(iterations, of_flows, movement_fee=fee, seed=seed)


PLACEMENTS: Mapping[str, Callable[[int, int], Placement]] = {
    "ecmp": lambda *_: EcmpPlacement(),
    "global-first-fit": lambda *_: GlobalFirstFit(),
    "simulated-annealing": lambda hosts, seed: SimulatedAnnealing(annealing(hosts, seed)),
}
"""Functions that create each placement for a number of hosts and a seed."""

_WITH_FEE, _CONTROL = "annealing with a fee", "non-blocking"
_WORSE = 0.1
"""Percentage points that a placement may be below ECMP."""

_MOST_MOVES, _LEAST_GOODPUT = 0.5, 0.98
"""Bars with the fee: most moves and least goodput, relative to no fee."""


def run_large(settings: Settings, options: LargeOptions, output: OutputFolder, progress: Progress) -> Outcome:
    """Simulate a minute of everything; write tables and a picture."""
    sizes = larger(find_flow_sizes(options.flow_sizes), options.flow_sizes)
    tree = FatTree(options.ports, NIC_RATE)
    patterns = {}
    for matrix in matrices(tree, settings.seed):
        progress.show(f"hedera-8192: {matrix.name}")
        patterns[matrix.name] = of_pattern(tree, matrix, Setting(seed=settings.seed, ramp=options.ramp))
    setting = Setting(seed=settings.seed, ramp=options.ramp)
    workload = arriving(tree, sizes, options.load, setting.end, settings.seed)
    data = {
        "experiment": NAME,
        "backend": "flow",
        "hosts": tree.hosts,
        "patterns": patterns,
        "load": options.load,
        "flow_sizes": options.flow_sizes,
        "ramp": None if options.ramp is None else asdict(options.ramp),
        "arrivals": of_arrivals(tree, workload, setting, progress),
    }
    return write_study(NAME, data, exhibits(data), output)


def matrices(tree: FatTree, seed: int) -> list[Matrix]:
    random = np.random.default_rng([seed, 3])
    pod = tree.half * tree.half
    return [
        *(stride(tree.hosts, step) for step in (1, tree.half, pod, tree.hosts // 2)),
        *(staggered(tree, *parts, random) for parts in ((1.0, 0.0), (0.5, 0.3), (0.2, 0.3))),
        random_targets(tree.hosts, random),
        random_bijection(tree.hosts, random),
    ]


def of_pattern(tree: FatTree, matrix: Matrix, setting: Setting) -> dict[str, float]:
    """Return the non-blocking goodput in Mbit/s, and the share of it that each placement reaches."""
    workload = Workload.endless(matrix.source, matrix.target)

    def goodput(placement: Placement, setting: Setting) -> float:
        return Simulation(tree, placement, workload, setting).run().mean_goodput(*WINDOW)

    control = goodput(EcmpPlacement(), replace(setting, blocking=False))
    parts = {name: goodput(make(tree.hosts, setting.seed), setting) / control for name, make in PLACEMENTS.items()}
    return {_CONTROL: control, **parts}


def of_arrivals(tree: FatTree, workload: Workload, setting: Setting, progress: Progress) -> dict[str, dict[str, Any]]:
    """Return goodput, moves and completion times of each placement while flows come and go."""
    placements = {name: make(tree.hosts, setting.seed) for name, make in PLACEMENTS.items()}
    placements[_WITH_FEE] = SimulatedAnnealing(annealing(tree.hosts, setting.seed, FEE))
    told = {}
    for name, placement in placements.items():
        progress.show(f"hedera-8192: {workload.flows:,} flows come and go, {name}")
        told[name] = figures_of(workload, Simulation(tree, placement, workload, setting).run())
    nothing_blocks = Simulation(tree, EcmpPlacement(), workload, replace(setting, blocking=False))
    return {**told, _CONTROL: figures_of(workload, nothing_blocks.run())}


def figures_of(workload: Workload, history: History, window: tuple[float, float] = WINDOW) -> dict[str, Any]:
    """Return the figures of arriving flows: rates in Mbit/s in the window, mean seconds by size class."""
    done = np.isfinite(history.finished)
    seconds = history.finished - workload.start
    of_class = {
        name: done & (least <= workload.size) & (workload.size < most) for name, (least, most) in CLASSES.items()
    }
    return {
        "goodput": history.mean_goodput(*window),
        "moves per round": float(np.mean(history.moves or [0])),
        "elephants per round": float(np.mean(history.elephants or [0])),
        "finished": int(done.sum()),
        "mean seconds": {name: float(seconds[which].mean()) for name, which in of_class.items() if which.any()},
    }


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return goodput of the patterns and of arriving flows, with the bars of both."""
    if data["backend"] == "packet":
        return packet_exhibits(data)
    hosts, patterns, arrivals = data["hosts"], data["patterns"], data["arrivals"]
    about = (NAME_OF_FIGURE, data["backend"])
    names = (*PLACEMENTS, _CONTROL)
    return (
        Exhibit(
            NAME,
            f"aggregate goodput of {hosts:,} hosts",
            *about,
            "pattern",
            "aggregate goodput (Gbit/s)",
            tuple(
                Line(name, tuple(Point.of(each, [_gigabits(parts, name)]) for each, parts in patterns.items()))
                for name in names
            ),
            remarks=("Hedera's figure for 8,192 hosts has no numbers that can be read.",),
        ),
        Exhibit(
            f"{NAME}-parts",
            f"part of the goodput without blocking that placements reach on {hosts:,} hosts",
            *about,
            "pattern",
            "part of goodput without blocking (%)",
            tuple(
                Line(name, tuple(Point.of(each, [100 * parts[name]]) for each, parts in patterns.items()))
                for name in PLACEMENTS
            ),
            published="Al-Fares et al., Hedera, NSDI 2010, figure for 8,192 hosts, whose numbers cannot be read",
            checks=tuple(
                order(f"{placement} less ecmp on {name}, points", 100 * (parts[placement] - parts["ecmp"]), low=-_WORSE)
                for name, parts in patterns.items()
                for placement in PLACEMENTS
                if placement != "ecmp"
            ),
        ),
        Exhibit(
            f"{NAME}-arrivals",
            f"flows of 1 MB and more ({data['flow_sizes']}) come and go, {data['load']:.0%} of interfaces in the mean",
            *about,
            "measure",
            f"units as in the headings; {_rates(data['ramp'])}",
            tuple(Line(name, tuple(_arrival_points(each))) for name, each in arrivals.items()),
            checks=tuple(_fee_checks(arrivals)),
            mixed=True,
        ),
    )


def _gigabits(parts: Mapping[str, float], name: str) -> float:
    return (1.0 if name == _CONTROL else parts[name]) * parts[_CONTROL] / 1000


def _rates(ramp: Mapping[str, float] | None) -> str:
    if ramp is None:
        return "flows have their rates at once"
    return f"flows come to their rates by TCP's ramps at round trips of {1e3 * ramp['round_trip']:g} ms"


def _arrival_points(each: Mapping[str, Any]) -> Iterator[Point]:
    yield Point.of("goodput (Gbit/s)", [each["goodput"] / 1000])
    yield Point.of("moves a round", [each["moves per round"]])
    yield Point.of("elephants a round", [each["elephants per round"]])
    yield Point.of("flows finished", [each["finished"]])
    for size in CLASSES:
        if size in each["mean seconds"]:
            yield Point.of(f"mean ms, {size}", [1000 * each["mean seconds"][size]])


def _fee_checks(arrivals: Mapping[str, Any]) -> Iterator[Check]:
    free, charged = (arrivals[name] for name in ("simulated-annealing", _WITH_FEE))
    most = _MOST_MOVES * free["moves per round"]
    yield limit("moves a round with a fee", charged["moves per round"], high=most)
    yield limit("goodput with a fee, of that without", charged["goodput"] / free["goodput"], low=_LEAST_GOODPUT)
