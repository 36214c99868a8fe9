"""Duration of demand estimation and of whole scheduler rounds, beside the paper's tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.results.exhibit import Exhibit, Line
from experiments.results.published import published_numbers
from experiments.results.score import SizeBar, limit
from experiments.results.stored_files import each_file
from hedera.network.fabric import Fabric, Ints
from hedera.network.fat_tree import FatTree
from hedera.placement.demand_estimation import estimate_demands
from hedera.placement.scheduling_round import PollReply, SchedulingRound
from hedera.placement.simulated_annealing import SimulatedAnnealing

Ends = tuple[Ints, Ints]


def random_flows(hosts: int, flows: int, seed: int = 1) -> Ends:
    """Return flows between random different hosts, ordered by source, as when edge switches are polled."""
    random = np.random.default_rng(seed)
    source = np.sort(random.integers(0, hosts, flows)).astype(np.int32)
    other = (source + random.integers(1, hosts, flows)) % hosts
    return source, other.astype(np.int32)


def polls(fabric: Fabric, flows_per_host: int, count: int, period: float) -> list[PollReply]:
    """Return the answers of all edge switches in a number of rounds, with each host's interface shared by its flows.

    In each round a twentieth of the flows has just begun, replacing others that ended.
    """
    flows = fabric.hosts * flows_per_host
    source = np.repeat(np.arange(fabric.hosts, dtype=np.int32), flows_per_host)
    target = random_flows(fabric.hosts, flows)[1]
    edges = fabric.edge_first.size - 1
    first = fabric.edge_first.astype(np.int64) * flows_per_host
    key = np.arange(flows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    sent = np.zeros(flows, np.uint64)
    age = np.zeros(flows)
    passed = np.uint64(fabric.nic_rate * period / flows_per_host * 1.2e6 / 8)
    random = np.random.default_rng(2)
    made = []
    for number in range(1, count + 1):
        begun = random.random(flows) < 0.05
        key = np.where(begun, key + np.uint64(1), key)
        sent = np.where(begun, passed, sent + passed)
        age = np.where(begun, period, age + period)
        made.append(PollReply(number * period, np.arange(edges, dtype=np.int32), first, key, source, target, sent, age))
    return made


NAME = "hedera-timing"


_TITLES = {
    "estimation": "time of estimating the demands of all flows",
    "round": "time of a whole round of the scheduler",
}


_PORTS = {1_024: 16, 8_192: 32, 27_648: 48}


_REPETITIONS = 8


_PERIOD = 0.1


_ALL_ARE_ELEPHANTS = 0.01


def run_timing(run: Execution, most_hosts: int) -> Outcome:
    """Time all sizes up to this number of hosts; an estimation slower than the paper's is a missed bar."""
    theirs = published_numbers("hedera_timing")
    rows = []
    for hosts, flows, published in theirs["estimation"]:
        if hosts <= most_hosts:
            run.show(f"{flows:,} flows on {hosts:,} hosts")
            rows.append(_row("estimation", hosts, flows, estimation_ms(hosts, flows), published))
    for hosts, per_host, published in theirs["loop"]:
        if hosts <= most_hosts:
            run.show(f"a round of {per_host} flows per host on {hosts:,} hosts")
            computing = round(published - theirs["polling"], 1)
            rows.append(_row("round", hosts, per_host * hosts, round_ms(hosts, per_host), computing))
    data = {"experiment": NAME, "backend": "flow", "rows": rows, "source": theirs["source"]}
    return run.studied(data, exhibits(data))


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
        ours, theirs = ({_place(row): row[key] for row in rows} for key in ("ms", "published_ms"))
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
                (Line.of(what, ours, theirs),),
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


def hedera_timing(run: Execution) -> Outcome:
    return run_timing(run, run.sized(_QUICK_HOSTS, _MOST_HOSTS))


SIZE_BARS = {"hedera-timing*": SizeBar(cause="another machine, fifteen years younger")}

EXPERIMENTS = offered(
    {NAME: Offered(hedera_timing, without=("repetitions", "full"), sweeps=False, reader=each_file(exhibits))}
)
