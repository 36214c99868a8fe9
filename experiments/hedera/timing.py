"""Duration of demand estimation and of whole scheduler rounds, beside the paper's tables."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

from experiments.experiment import Experiment, Outcome, Settings
from experiments.hedera.polled_traffic import polls, random_flows
from experiments.reporting.exhibit_output import write_study
from experiments.results.bars import limit
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_numbers
from experiments.results.stored_files import each_file
from hedera.network.fat_tree import FatTree
from hedera.placement.demand_estimation import estimate_demands
from hedera.placement.scheduling_round import SchedulingRound
from hedera.placement.simulated_annealing import SimulatedAnnealing
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

NAME = "hedera-timing"
_TITLES = {
    "estimation": "time of estimating the demands of all flows",
    "round": "time of a whole round of the scheduler",
}
_PORTS = {1_024: 16, 8_192: 32, 27_648: 48}
_REPETITIONS = 8
_PERIOD = 0.1
_ALL_ARE_ELEPHANTS = 0.01


def run_timing(most_hosts: int, output: OutputFolder, progress: Progress) -> Outcome:
    """Time all sizes up to this number of hosts; an estimation slower than the paper's is a missed bar."""
    theirs = published_numbers("hedera_timing")
    rows = []
    for hosts, flows, published in theirs["estimation"]:
        if hosts <= most_hosts:
            progress.show(f"hedera-timing: {flows:,} flows on {hosts:,} hosts")
            rows.append(_row("estimation", hosts, flows, estimation_ms(hosts, flows), published))
    for hosts, per_host, published in theirs["loop"]:
        if hosts <= most_hosts:
            progress.show(f"hedera-timing: a round of {per_host} flows per host on {hosts:,} hosts")
            computing = round(published - theirs["polling"], 1)
            rows.append(_row("round", hosts, per_host * hosts, round_ms(hosts, per_host), computing))
    data = {"experiment": NAME, "backend": "flow", "rows": rows, "source": theirs["source"]}
    return write_study(NAME, data, exhibits(data), output)


def _row(what: str, hosts: int, flows: int, ours: float, published: float) -> dict[str, Any]:
    return {"what": what, "hosts": hosts, "flows": flows, "ms": ours, "published_ms": published}


def estimation_ms(hosts: int, flows: int) -> float:
    """Return the shortest of a few estimations, in milliseconds."""
    source, target = random_flows(hosts, flows)
    return min(_milliseconds(lambda: estimate_demands(hosts, source, target, 1.0)) for _ in range(_REPETITIONS))


def round_ms(hosts: int, flows_per_host: int) -> float:
    """Return the shortest of a few rounds in milliseconds, without the first, in which everything is new."""
    tree = FatTree(_PORTS[hosts])
    scheduler = SchedulingRound(tree, SimulatedAnnealing(), threshold=_ALL_ARE_ELEPHANTS)
    times = []
    for poll in polls(tree, flows_per_host, _REPETITIONS, _PERIOD):
        began = time.perf_counter()
        scheduler.run(poll)
        times.append((time.perf_counter() - began) * 1e3)
    return min(times[1:])


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return estimations and rounds beside the paper's; an estimation slower than the paper's misses its bar."""
    found = []
    for what, title in _TITLES.items():
        rows = [row for row in data["rows"] if row["what"] == what]
        points = tuple(Point.of(_place(row), [row["ms"]], row["published_ms"]) for row in rows)
        checks = tuple(
            limit(f"{what} in ms, {_place(row)}", row["ms"], high=row["published_ms"])
            for row in rows
            if what == "estimation"
        )
        found.append(
            Exhibit(
                NAME if what == "estimation" else f"{NAME}-{what}s",
                title,
                "Hedera's tables on timing",
                data["backend"],
                "flows and hosts",
                "milliseconds, one thread",
                (Line(what, points),),
                data["source"],
                checks,
                ("The paper's rounds are from memory, less the 100 ms of polling.",) if what == "round" else (),
                logarithmic=True,
            )
        )
    return tuple(found)


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['flows']:,} flows, {row['hosts']:,} hosts"


_MOST_HOSTS, _QUICK_HOSTS = 27_648, 8_192


def hedera_timing(settings: Settings, _: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    # The kernels are imported on use, so that experiments can be listed without them.

    return run_timing(_QUICK_HOSTS if settings.quick else _MOST_HOSTS, output, progress)


EXPERIMENTS = {
    "hedera-timing": Experiment(
        hedera_timing,
        without=("capacity", "repetitions", "full"),
        reader=each_file("experiments.hedera.timing"),
    ),
}
