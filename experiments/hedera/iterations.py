"""Hedera's tables: bandwidth over annealing's iterations, and the duration of demand estimation and of whole rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, product
from statistics import fmean
from typing import Any, Literal

import numpy as np

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hedera.schemes import AUTHORS_NIC_RATE
from experiments.hedera.simulation import fair_rates, reached_and_control, tcp_goodput
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_numbers
from experiments.results.score import SizeBar, limit
from experiments.results.stored_files import each_file
from hedera.network.fabric import HASHED, Fabric, Ints
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix, random_targets
from hedera.placement.demand_estimation import estimate_demands
from hedera.placement.interface import Elephants
from hedera.placement.scheduling_round import PollReply, SchedulingRound
from hedera.placement.simulated_annealing import Annealing, AnnealingPerHost, SimulatedAnnealing, Start

NAME = "hedera-iterations"

_SHARE = "part of goodput without blocking (%)"
_REMARKS = (
    "Flows go to random hosts; annealing begins from nothing, and all flows to a host have one label.",
    "Published: bisection bandwidth, divided by that of the network that does not block.",
)


def published() -> dict[str, Any]:
    """Return the authors' table."""
    return published_numbers("hedera_iterations")


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the share over iterations of ours and of the nearest reading, and all readings at the fewest."""
    theirs, rows = data["published"], data["rows"]
    fewest = theirs["iterations"][0]
    ports = list(dict.fromkeys(row["ports"] for row in rows))

    def exhibit(suffix: str, title: str, axis: str, quantity: str, lines: Iterable[Line]) -> Exhibit:
        about = ("Hedera's table of iterations", data["backend"])
        seeds = f"Means over {data['seeds']} seeds."
        name, remarks = f"{NAME}{suffix}", (*_REMARKS, seeds)
        return Exhibit(name, title, *about, axis, quantity, tuple(lines), theirs["source"], remarks=remarks)

    def shares(x: str, where: str, value: str | int, label: str = "") -> Iterator[Line]:
        """Yield our share of each network over `x`, by the rows in which `where` has this value."""
        for each in ports:
            chosen = [row for row in rows if (row["ports"], row[where]) == (each, value)]
            points = (
                Point.of(row[x], [100 * fmean(row["parts"])], _share(theirs, each, row["iterations"])) for row in chosen
            )
            yield Line(f"{each} ports{label}", tuple(points))

    first = shares("reading", "iterations", 0, ", at first")
    by_reading = zip(shares("reading", "iterations", fewest), first, strict=True)
    controls = (
        Line(
            f"{each} ports",
            tuple(
                Point.of(row["reading"], [100 * part for part in row["control"]], theirs["non-blocking"].get(str(each)))
                for row in rows
                if (row["ports"], row["iterations"]) == (each, fewest)
            ),
        )
        for each in ports
    )
    return (
        exhibit(
            "",
            "random destinations under annealing, one flow from each host",
            "iterations",
            _SHARE,
            shares("iterations", "reading", OURS),
        ),
        exhibit(
            "-nearest",
            f"the same in the nearest reading: {NEAREST}",
            "iterations",
            _SHARE,
            shares("iterations", "reading", NEAREST),
        ),
        exhibit(
            "-readings",
            f"every reading after {fewest:,} iterations and before the first one",
            "reading",
            _SHARE,
            chain.from_iterable(by_reading),
        ),
        exhibit("-control", "goodput where nothing blocks", "reading", "part of all hosts' interfaces (%)", controls),
    )


def _share(theirs: Mapping[str, Any], ports: int, iterations: int) -> float | None:
    """Return the published share of the non-blocking bandwidth in percent, or None."""
    if str(ports) not in theirs["percent"] or iterations not in theirs["iterations"]:
        return None
    percent: float = theirs["percent"][str(ports)][theirs["iterations"].index(iterations)]
    control: float = theirs["non-blocking"][str(ports)]
    return 100 * percent / control


Demands = Literal["estimated", "whole interfaces"]

Sharing = Literal["tcp", "ideal"]
"""Of links: as TCP's saw-tooth leaves them (`experiments.hedera.goodput`), or max-min fair and full."""


@dataclass(frozen=True)
class Scope:
    """Networks and seeds of a run.

    Attributes:
        ports: of a switch, for each network.
        seeds: of the destinations and of the search, for each network.
        most_iterations: published numbers of iterations beyond it are left out.
    """

    ports: tuple[int, ...]
    seeds: int
    most_iterations: int = 2_000_000


@dataclass(frozen=True)
class IterationReading:
    """A reading of what the authors simulated.

    Attributes:
        flows: from each host, to a random other one each.
        start: first state of the search.
        demands: of flows, as the search sees them.
        rounds: of the scheduler, each of which goes on where the last one ended.
        in_every_pod: True if an iteration is an exchange in every pod, not one in a single pod.
        sharing: of links by flows.
        greed: as in `Annealing`; None for the paper's.
    """

    flows: int = 1
    start: Start = "drawn"
    demands: Demands = "estimated"
    rounds: int = 1
    in_every_pod: bool = False
    sharing: Sharing = "tcp"
    greed: float | None = None


OURS, NEAREST = "ours", "3 flows, 12 rounds, in every pod"

READINGS: Mapping[str, IterationReading] = {
    OURS: IterationReading(),
    "2 flows a host": IterationReading(flows=2),
    "3 flows a host": IterationReading(flows=3),
    "4 flows a host": IterationReading(flows=4),
    "8 flows a host": IterationReading(flows=8),
    "spread": IterationReading(start="spread"),
    "in order": IterationReading(start="in order"),
    "whole interfaces": IterationReading(demands="whole interfaces"),
    "12 rounds": IterationReading(rounds=12),
    "in every pod": IterationReading(in_every_pod=True),
    "ideal sharing": IterationReading(sharing="ideal"),
    "warmer": IterationReading(greed=0.5),
    "3 flows, 12 rounds": IterationReading(flows=3, rounds=12),
    "3 flows, in every pod": IterationReading(flows=3, in_every_pod=True),
    NEAREST: IterationReading(flows=3, rounds=12, in_every_pod=True),
}
"""By name: each changes one thing in ours, and the last ones several of these. A minute has 12 rounds."""

CURVES = {OURS: 2_000_000, NEAREST: 100_000}
"""Readings that are run at published numbers of iterations up to these; the others only at none and at the least. The
published bandwidth changes little beyond 100,000, which are 38 million exchanges in a minute on 8,192 hosts."""


def run_iterations(run: Execution) -> Outcome:
    """Run every reading; write tables and pictures."""
    scope = run.sized(_QUICK, _USUAL, _FULL)
    theirs = published()
    rows = []
    for ports, (name, reading), iterations in _cases(scope, theirs["iterations"]):
        run.show(f"{ports} ports, {name}, {iterations:,} iterations")
        tree = FatTree(ports, AUTHORS_NIC_RATE)
        seeds = range(run.settings.seed, run.settings.seed + scope.seeds)
        found = [carried(tree, targets(tree, reading.flows, seed), reading, iterations, seed) for seed in seeds]
        rows.append(
            {
                "ports": ports,
                "reading": name,
                "iterations": iterations,
                "parts": [part for part, _ in found],
                "control": [control for _, control in found],
            }
        )
    data = {
        "experiment": NAME,
        "backend": "flow",
        "seeds": scope.seeds,
        "rows": rows,
        "published": theirs,
        "manifest": run.computed(),
    }
    return run.studied(data, exhibits(data))


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


def carried(
    fabric: Fabric, matrix: Matrix, reading: IterationReading, iterations: int, seed: int
) -> tuple[float, float]:
    """Return goodput after annealing as a part of the non-blocking one, and that as a part of all hosts' interfaces."""
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
    reached, control = reached_and_control(fabric, paths, tcp_goodput if reading.sharing == "tcp" else fair_rates)
    return reached / control, control / (fabric.hosts * fabric.nic_rate)


_QUICK = Scope((16,), seeds=1, most_iterations=50_000)
_USUAL = Scope((16, 24), seeds=3)
_FULL = Scope((16, 24, 32), seeds=3)


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


TIMING = "hedera-timing"


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
    data = {"experiment": TIMING, "backend": "flow", "rows": rows, "source": theirs["source"]}
    return run.studied(data, exhibits_of_timing(data))


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


def exhibits_of_timing(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
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
                TIMING if what == "estimation" else f"{TIMING}-{what}s",
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


SIZE_BARS = {
    "hedera-iterations-[!n]*": None,
    "hedera-iterations": SizeBar(
        cause="ours is one round with one exchange an iteration, theirs seems to be more (docs/hedera.md)"
    ),
    "hedera-timing*": SizeBar(cause="another machine, fifteen years younger"),
}

EXPERIMENTS = offered(
    {
        NAME: Offered(
            run_iterations,
            without=("repetitions",),
            full="also 32 ports (default: 16 and 24)",
            sweeps=False,
            reader=each_file(exhibits),
        ),
        TIMING: Offered(
            hedera_timing, without=("repetitions", "full"), sweeps=False, reader=each_file(exhibits_of_timing)
        ),
    }
)
