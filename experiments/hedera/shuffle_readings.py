"""`kuijia run hedera-shuffle-readings`: the shuffle under other readings of choices that its authors leave open."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Experiment, Outcome, Settings
from experiments.hedera.goodput import tcp_goodput
from experiments.hedera.packet.readings_report import exhibits as packet_exhibits
from experiments.hedera.shuffle_cases import AUTHORS_BYTES, AUTHORS_RATE, Order, receivers_of
from experiments.hedera.shuffle_flow import PORTS_OF_SWITCH, STEP, shuffle_workload, transfers_of
from experiments.hedera.shuffle_report import figures, published_shuffle
from experiments.hedera.simulation import Setting
from experiments.hedera.testbed_cases import ANNEALING, ECMP, FIRST_FIT, NON_BLOCKING
from experiments.hedera.testbed_report import published_goodput
from experiments.reporting.exhibit_output import write_study
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.stored_files import each_file
from hedera.network.fabric import Ints
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import authors_matrices
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import refuse_workers, workers_from

Hash = Literal["flow", "source", "destination", "suffix", "repeated", "none"]


@dataclass(frozen=True)
class ShuffleReading:
    """Choices that the authors leave open, the same for every scheme.

    Attributes:
        at_once: simultaneous transfers of a host.
        order: of a host's receivers.
        hash: choice of the core switch for flows that are not placed: by flow; by source or destination address; by the
            destination's place in its pod (static tables of the fat-tree's own paper); by a hash that edge and
            aggregation switches repeat, so that half the core is idle; or one core switch for all.
        host_part: share of its cable that a host sends and receives at most.
        period: seconds between two rounds of the scheduler.
    """

    at_once: int = 2
    order: Order = "random"
    hash: Hash = "flow"
    host_part: float = 1.0
    period: float = 5.0


READINGS: Mapping[str, ShuffleReading] = {
    "as in hedera-shuffle": ShuffleReading(),
    "one transfer at a time": ShuffleReading(at_once=1),
    "four at a time": ShuffleReading(at_once=4),
    "all fifteen at a time": ShuffleReading(at_once=15),
    "one at a time, in turn": ShuffleReading(at_once=1, order="rotated"),
    "rounds every half second": ShuffleReading(period=0.5),
    "hosts at .6 of their cables": ShuffleReading(host_part=0.6),
    "hash of the source": ShuffleReading(hash="source"),
    "hash of the destination": ShuffleReading(hash="destination"),
    "destination's suffix": ShuffleReading(hash="suffix"),
    "hash that repeats itself": ShuffleReading(hash="repeated"),
    "one core switch": ShuffleReading(hash="none"),
    "one core switch, one at a time": ShuffleReading(hash="none", at_once=1),
    "one core switch, hosts at .6": ShuffleReading(hash="none", host_part=0.6),
    "one core, one at a time, at .7": ShuffleReading(hash="none", at_once=1, host_part=0.7),
}
"""Readings by their names in tables."""


NAME = "hedera-shuffle-readings"
_MEASURED = (NON_BLOCKING, ECMP, FIRST_FIT, ANNEALING)


def run_readings(settings: Settings, seeds: int, output: OutputFolder, progress: Progress) -> Outcome:
    """Run the readings and write their means over the seeds (orders and hashes) as text and JSON."""
    tree = FatTree(PORTS_OF_SWITCH, AUTHORS_RATE)
    drawn = range(settings.seed, settings.seed + seeds)
    readings = {}
    for name, reading in READINGS.items():
        progress.show(f"{NAME}: {name}")
        readings[name] = of_reading(tree, reading, drawn)
    theirs = published_shuffle()
    data = {
        "experiment": NAME,
        "backend": "flow",
        "seed": settings.seed,
        "seeds": seeds,
        "readings": readings,
        "published": compared({scheme: theirs["schemes"][scheme] for scheme in _MEASURED}),
        "source": theirs["source"],
    }
    return write_study(NAME, data, exhibits(data), output)


def of_reading(tree: FatTree, reading: ShuffleReading, seeds: range) -> dict[str, float]:
    """Return a reading's relative times of the schemes, and the deviation of its hash from the authors' matrices."""
    found: dict[str, list[dict[str, float]]] = {scheme: [] for scheme in _MEASURED}
    for seed in seeds:
        receivers = [receivers_of(host, tree.hosts, seed, reading.order) for host in range(tree.hosts)]
        workload = shuffle_workload(receivers, AUTHORS_BYTES, reading.at_once)
        hashed = labels(reading.hash, tree, workload.source, workload.target, seed)
        setting = Setting(period=reading.period, step=STEP, host_part=reading.host_part)
        for scheme in _MEASURED:
            done = transfers_of(tree, scheme, workload, setting, hashed)
            found[scheme].append(figures(done, AUTHORS_BYTES))
    means = {scheme: {name: fmean(each[name] for each in runs) for name in runs[0]} for scheme, runs in found.items()}
    return {**compared(means), "off the matrices": off_the_matrices(tree, reading.hash, seeds)}


def compared(means: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the speed of schemes relative to each other, and of hosts relative to their cables without blocking."""
    seconds = {scheme: each["mean_completion_seconds"] for scheme, each in means.items()}
    sent = (PORTS_OF_SWITCH**3 // 4 - 1) * AUTHORS_BYTES * 8e-6
    return {
        "host": sent / seconds[NON_BLOCKING] / AUTHORS_RATE,
        **{scheme: seconds[NON_BLOCKING] / seconds[scheme] for scheme in _MEASURED[1:]},
        "gain": seconds[ECMP] / seconds[ANNEALING],
    }


def labels(kind: Hash, tree: FatTree, source: Ints, target: Ints, seed: int) -> Ints:
    """Return the labels, of shape (F,), of flows that are not placed."""
    random = np.random.default_rng([seed, 11])
    of_host = random.integers(0, tree.labels, tree.hosts)
    repeated = random.integers(0, tree.half, source.size) * (tree.half + 1)
    found: dict[Hash, NDArray[np.int64]] = {
        "flow": random.integers(0, tree.labels, source.size),
        "source": of_host[source],
        "destination": of_host[target],
        "suffix": target.astype(np.int64) % tree.labels,
        "repeated": repeated,
        "none": np.zeros(source.size, np.int64),
    }
    return found[kind].astype(np.int32)


def off_the_matrices(tree: FatTree, kind: Hash, seeds: range) -> float:
    """Return the mean relative difference of the authors' ECMP on their matrices from the goodput with this hash."""
    off = []
    for name, matrix in authors_matrices().items():
        carried = fmean(
            float(
                tcp_goodput(
                    tree.capacity,
                    tree.flow_paths(
                        matrix.source, matrix.target, labels(kind, tree, matrix.source, matrix.target, seed)
                    ),
                ).sum()
            )
            for seed in seeds
        )
        off.append(abs(published_goodput(name)[ECMP] / carried - 1))
    return fmean(off)


_COLUMNS = {
    "host": "a host's cable",
    ECMP: "hash alone",
    FIRST_FIT: "first fit",
    ANNEALING: "annealing",
    "gain": "annealing/hash",
    "off the matrices": "off matrices",
}


_COMPARED = (
    "A host's goodput where nothing blocks, of its cable; bandwidth of schemes, of that; annealing, of the hash alone;"
    " how far the hash alone is off the published figures for the matrices."
)


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the readings beside the published numbers, which are the same for all."""
    if data["backend"] == "packet":
        return packet_exhibits(data)
    theirs = data["published"]
    lines = tuple(
        Line(
            title,
            tuple(
                Point.of(
                    name,
                    [100 * row[column]] if column in row else [],
                    100 * theirs[column] if column in theirs else None,
                )
                for name, row in data["readings"].items()
            ),
        )
        for column, title in _COLUMNS.items()
    )
    return (
        Exhibit(
            NAME,
            "shuffle of 120 GB under several readings of the paper",
            "Hedera's shuffle",
            data["backend"],
            "reading",
            "percent",
            lines,
            data["source"],
            remarks=(
                _COMPARED,
                f"Means over {data['seeds']} seeds; the hash is the same under all schemes.",
            ),
        ),
    )


_SEEDS, _QUICK_SEEDS = 10, 2

_SCALE, _QUICK_SCALE = 0.1, 0.01
"""Part of the authors' data in packets, unless `--full`."""


def hedera_shuffle_readings(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    if settings.backend == "packet":
        from experiments.hedera.packet.readings_run import run_packet_readings  # noqa: PLC0415  # slow to import

        scale = 1.0 if args.full else _QUICK_SCALE if settings.quick else _SCALE
        return run_packet_readings(settings, scale, workers_from(args), output, progress)
    refuse_workers(args, f"changes nothing on {settings.backend}", ["those with --backend packet"])

    return run_readings(settings, _QUICK_SEEDS if settings.quick else _SEEDS, output, progress)


EXPERIMENTS = {
    "hedera-shuffle-readings": Experiment(
        hedera_shuffle_readings,
        sweeps=True,
        without=("capacity", "repetitions"),
        own_help={"full": "with --backend packet: the authors' amount of data (default: a tenth)"},
        reader=each_file("experiments.hedera.shuffle_readings"),
    ),
}
