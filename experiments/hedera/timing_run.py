"""Times demand estimation and whole rounds, without the polling, at the sizes of the paper's tables."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from matplotlib.figure import Figure

from experiments.hedera.bars import bar_figure
from experiments.hedera.polled_traffic import polls, random_flows
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome
from hedera.demand_estimation import estimate_demands
from hedera.fat_tree import FatTree
from hedera.placement.simulated_annealing import SimulatedAnnealing
from hedera.scheduling_round import SchedulingRound
from te_solver.picture_file import picture_bytes

_PORTS = {1_024: 16, 8_192: 32, 27_648: 48}
_REPETITIONS = 8
_PERIOD = 0.1
_ALL_ARE_ELEPHANTS = 0.01


def run_timing(most_hosts: int, output: OutputFolder, progress: Progress) -> Outcome:
    """Time all sizes up to this number of hosts; an estimation slower than the paper's is a missed bar."""
    theirs = json.loads((files("experiments.published") / "hedera_timing.json").read_text(encoding="utf-8"))
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
    data = {"experiment": "hedera-timing", "backend": "flow", "rows": rows, "source": theirs["source"]}
    text = table_text(data)
    output.write_json("hedera-timing.json", data)
    output.write_text("hedera-timing.txt", f"{text}\n")
    output.write_bytes("hedera-timing.svg", picture_bytes(figure(data), ".svg"))
    return Outcome(text, data, tuple(missed_bars(data)))


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


def missed_bars(data: dict[str, Any]) -> list[str]:
    return [
        f"{row['what']}, {row['flows']:,} flows on {row['hosts']:,} hosts: {row['ms']:.2f} ms, published "
        f"{row['published_ms']:g}"
        for row in data["rows"]
        if row["what"] == "estimation" and row["ms"] > row["published_ms"]
    ]


def table_text(data: dict[str, Any]) -> str:
    lines = [
        "Milliseconds, one thread; of the paper's rounds (from memory) less the 100 ms of polling",
        "",
        f"{'':<12}{'hosts':>10}{'flows':>12}{'ours':>12}{'published':>12}",
    ]
    lines += [
        f"{row['what']:<12}{row['hosts']:>10,}{row['flows']:>12,}{row['ms']:>12.2f}{row['published_ms']:>12.2f}"
        for row in data["rows"]
    ]
    return "\n".join(lines)


def figure(data: dict[str, Any]) -> Figure:
    """Return bars on a logarithmic axis, with black lines for the paper's numbers."""
    rows = data["rows"]
    names = [f"{row['what']}, {row['flows']:,}/{row['hosts']:,}" for row in rows]
    ours, theirs = ([row[key] for row in rows] for key in ("ms", "published_ms"))
    drawn = bar_figure(names, {"ours": ours}, "milliseconds (flows/hosts)", {"ours": theirs})
    drawn.axes[0].set_yscale("log")
    return drawn
