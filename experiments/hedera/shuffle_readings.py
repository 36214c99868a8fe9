"""The shuffle under other readings of choices that its authors leave open, in the flow model and in packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hedera.schemes import (
    ANNEALING,
    AUTHORS_NIC_RATE,
    AUTHORS_PERIOD,
    ECMP,
    FIRST_FIT,
    NON_BLOCKING,
    ONE_TREE,
    PORTS_OF_SWITCH,
    PacketOptions,
)
from experiments.hedera.shuffle import (
    AUTHORS_BYTES,
    STEP,
    Order,
    ShuffleCase,
    figures,
    published_shuffle,
    receivers_of,
    run_shuffle_case,
    shuffle_workload,
    transfers_from,
    transfers_of,
)
from experiments.hedera.simulation import FluidSetting, tcp_goodput
from experiments.hedera.testbed import published_goodput
from experiments.results.exhibit import Exhibit, Line
from experiments.results.stored_files import each_file
from hedera.network.fabric import Ints
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import authors_matrices
from kuijia_base.sweep.workers import refuse_workers

NAME = "hedera-shuffle-readings"

Hash = Literal["flow", "source", "destination", "suffix", "repeated", "none"]


@dataclass(frozen=True)
class ShuffleReading:
    """Choices that the authors leave open, the same for every scheme.

    Attributes:
        at_once: simultaneous transfers of a host.
        order: of a host's receivers.
        hash: choice of the core switch for flows that are not placed: by flow; by source or destination address; by the
            destination's place in its pod (static tables of the fat-tree's own paper); by a hash that edge and
            aggregation switches repeat, so that half the core is idle; or one core switch for all; in the flow model.
        host_part: share of its cable that a host sends and receives at most, in the flow model.
        period: seconds between two rounds of the scheduler, in the flow model.
        options: buffers, delays and TCP of the packet model.
    """

    at_once: int = 2
    order: Order = "random"
    hash: Hash = "flow"
    host_part: float = 1.0
    period: float = AUTHORS_PERIOD
    options: PacketOptions = field(default_factory=PacketOptions)


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
"""Readings in the flow model, by their names in tables."""

_SMALL, _LARGE = PacketOptions(buffer=16), PacketOptions(buffer=1000)

PACKET_READINGS: Mapping[str, ShuffleReading] = {
    **{name: READINGS[name] for name in list(READINGS)[:5]},
    "one at a time, same order": ShuffleReading(at_once=1, order="same"),
    "two at a time, same order": ShuffleReading(at_once=2, order="same"),
    "four at a time, same order": ShuffleReading(at_once=4, order="same"),
    "five at a time, same order": ShuffleReading(at_once=5, order="same"),
    "queues of 16 KB": ShuffleReading(options=_SMALL),
    "queues of 1 MB": ShuffleReading(options=_LARGE),
    "fifteen at a time, 16 KB": ShuffleReading(at_once=15, options=_SMALL),
    "four, same order, 16 KB": ShuffleReading(at_once=4, order="same", options=_SMALL),
    "round trips of 60 us": ShuffleReading(options=PacketOptions(delay=5)),
    "round trips of 2.4 ms": ShuffleReading(options=PacketOptions(delay=200)),
    "one at a time, 2.4 ms, 16 KB": ShuffleReading(at_once=1, options=PacketOptions(buffer=16, delay=200)),
    "hosts at .6 of their cables": ShuffleReading(options=PacketOptions(host_part=0.6)),
    "hosts at .4 of their cables": ShuffleReading(options=PacketOptions(host_part=0.4)),
    "one, same order, hosts at .7": ShuffleReading(at_once=1, order="same", options=PacketOptions(host_part=0.7)),
    "NewReno": ShuffleReading(options=PacketOptions(tcp="newreno")),
}
"""Readings in packets, by their names in tables."""

_IN_FLOWS = (NON_BLOCKING, ECMP, FIRST_FIT, ANNEALING)
_IN_PACKETS = (NON_BLOCKING, ONE_TREE, ECMP, ANNEALING)


def run_readings(run: Execution, seeds: int) -> Outcome:
    """Run the readings in the flow model and write their means over the seeds (orders and hashes)."""
    tree = FatTree(PORTS_OF_SWITCH, AUTHORS_NIC_RATE)
    drawn = range(run.settings.seed, run.settings.seed + seeds)
    readings = {}
    for name, reading in READINGS.items():
        run.show(name)
        readings[name] = of_reading(tree, reading, drawn)
    theirs = published_shuffle()
    data = {
        "experiment": NAME,
        "backend": "flow",
        "seed": run.settings.seed,
        "seeds": seeds,
        "readings": readings,
        "published": compared({scheme: theirs["schemes"][scheme] for scheme in _IN_FLOWS}),
        "source": theirs["source"],
    }
    return run.studied(data, exhibits(data))


def of_reading(tree: FatTree, reading: ShuffleReading, seeds: range) -> dict[str, float]:
    """Return a reading's relative times of the schemes, and the deviation of its hash from the authors' matrices."""
    found: dict[str, list[dict[str, float]]] = {scheme: [] for scheme in _IN_FLOWS}
    for seed in seeds:
        receivers = [receivers_of(host, tree.hosts, seed, reading.order) for host in range(tree.hosts)]
        workload = shuffle_workload(receivers, AUTHORS_BYTES, reading.at_once)
        hashed = labels(reading.hash, tree, workload.source, workload.target, seed)
        setting = FluidSetting(period=reading.period, step=STEP, host_part=reading.host_part)
        for scheme in _IN_FLOWS:
            done = transfers_of(tree, scheme, workload, setting, hashed)
            found[scheme].append(figures(done, AUTHORS_BYTES))
    means = {scheme: {name: fmean(each[name] for each in runs) for name in runs[0]} for scheme, runs in found.items()}
    return {**compared(means), "off the matrices": off_the_matrices(tree, reading.hash, seeds)}


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
        ends = matrix.source, matrix.target
        paths = [tree.flow_paths(*ends, labels(kind, tree, *ends, seed)) for seed in seeds]
        carried = fmean(float(tcp_goodput(tree.capacity, each).sum()) for each in paths)
        off.append(abs(published_goodput(name)[ECMP] / carried - 1))
    return fmean(off)


def run_packet_readings(run: Execution, scale: float) -> Outcome:
    """Run the readings in packets with `scale` of the authors' data and rounds in proportion."""
    seed, size, period = run.settings.seed, round(AUTHORS_BYTES * scale), AUTHORS_PERIOD * scale
    cases = {
        name: [
            ShuffleCase(
                scheme, run.settings.seed, size, each.at_once, each.order, AUTHORS_NIC_RATE, period, each.options
            )
            for scheme in _IN_PACKETS
        ]
        for name, each in PACKET_READINGS.items()
    }
    with run.swept(run_shuffle_case, cases, "-packet") as runs:
        found = {
            name: {
                scheme: {**figures(transfers_from(one), size), **{key: one[key] for key in one if key != "transfers"}}
                for scheme, one in zip(_IN_PACKETS, of_reading, strict=True)
            }
            for name, of_reading in runs.items()
        }
        lost = {name: each[NON_BLOCKING]["dropped"] / each[NON_BLOCKING]["sent"] for name, each in found.items()}
        data = {
            "experiment": NAME,
            "backend": "packet",
            "seed": seed,
            "size": size,
            "period": period,
            "readings": {name: {**compared_in_packets(each), "lost": lost[name]} for name, each in found.items()},
            "measured": found,
            "published": published_in_packets(),
            "source": published_shuffle()["source"],
            "manifest": run.computed(),
        }
        return run.studied(data, exhibits(data))


def compared(means: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the speed of schemes relative to each other, and of hosts relative to their cables without blocking."""
    sent = (PORTS_OF_SWITCH**3 // 4 - 1) * AUTHORS_BYTES * 8e-6
    host = sent / means[NON_BLOCKING]["mean_completion_seconds"] / AUTHORS_NIC_RATE
    return {"host": host, **_relative(means, ECMP)}


def compared_in_packets(means: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the same by the hosts' goodput, with annealing next to one tree, and the end of all next to the mean."""
    control = means[NON_BLOCKING]
    return {
        "host": control["host_goodput_mbps"] / AUTHORS_NIC_RATE,
        "last": control["total_seconds"] / control["mean_completion_seconds"],
        **_relative(means, ONE_TREE),
    }


def _relative(means: Mapping[str, Mapping[str, float]], worst: str) -> dict[str, float]:
    """Return the speeds of schemes, of that without blocking, and annealing's gain over the worst."""
    seconds = {scheme: each["mean_completion_seconds"] for scheme, each in means.items()}
    control = seconds.pop(NON_BLOCKING)
    speeds = {scheme: control / each for scheme, each in seconds.items()}
    return {**speeds, "gain": seconds[worst] / seconds[ANNEALING]}


def published_in_packets() -> dict[str, float]:
    """Return the authors' figures as `compared_in_packets` has ours; their ECMP represents one tree."""
    theirs = published_shuffle()["schemes"]
    with_goodput = {
        scheme: {**theirs[scheme], "host_goodput_mbps": 8 * theirs[scheme]["host_goodput_mbytes"]}
        for scheme in (NON_BLOCKING, ONE_TREE, ANNEALING)
    }
    return compared_in_packets(with_goodput)


_COLUMNS = {
    "flow": {
        "host": "a host's cable",
        ECMP: "hash alone",
        FIRST_FIT: "first fit",
        ANNEALING: "annealing",
        "gain": "annealing/hash",
        "off the matrices": "off matrices",
    },
    "packet": {
        "host": "a host's cable",
        "last": "all/a host done",
        ONE_TREE: "one tree",
        ECMP: "hash alone",
        ANNEALING: "annealing",
        "gain": "annealing/tree",
        "lost": "packets lost",
    },
}

_COMPARED = {
    "flow": (
        "A host's goodput where nothing blocks, of its cable; bandwidth of schemes, of that; annealing, of the hash"
        " alone; how far the hash alone is off the published figures for the matrices."
    ),
    "packet": (
        "A host's goodput where nothing blocks, of its cable; the time until all is done, of that until a host is, in"
        " the mean; bandwidth of schemes, of non-blocking; annealing, of one tree; lost packets without blocking."
    ),
}


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the readings beside the published numbers, which are the same for all."""
    backend, theirs = data["backend"], data["published"]

    def line(column: str, title: str) -> Line:
        ours = {name: 100 * row[column] if column in row else None for name, row in data["readings"].items()}
        return Line.of(title, ours, dict.fromkeys(ours, 100 * theirs[column]) if column in theirs else {})

    drawn = (
        f"Rounds every {data['period']:g} s; one order of receivers and one hash."
        if backend == "packet"
        else f"Means over {data['seeds']} seeds; the hash is the same under all schemes."
    )
    return (
        Exhibit(
            NAME,
            f"shuffle of {data.get('size', AUTHORS_BYTES) * 240 / 1e9:g} GB under several readings of the paper",
            "Hedera's shuffle",
            backend,
            "reading",
            "percent",
            tuple(line(column, title) for column, title in _COLUMNS[backend].items()),
            data["source"],
            remarks=(_COMPARED[backend], drawn),
        ),
    )


_SEEDS, _QUICK_SEEDS = 10, 2

_SCALE, _QUICK_SCALE = 0.1, 0.01
"""Part of the authors' data in packets, unless `--full`."""


def hedera_shuffle_readings(run: Execution) -> Outcome:
    if run.settings.backend == "packet":
        return run_packet_readings(run, run.sized(_QUICK_SCALE, _SCALE, 1.0))
    refuse_workers(run.args, f"changes nothing on {run.settings.backend}", ["those with --backend packet"])
    return run_readings(run, run.sized(_QUICK_SEEDS, _SEEDS))


SIZE_BARS = {"hedera-shuffle-readings*": None}  # shows readings beside each other

EXPERIMENTS = offered(
    {
        NAME: Offered(
            hedera_shuffle_readings,
            without=("repetitions",),
            full="with --backend packet: the authors' amount of data (default: a tenth)",
            reader=each_file(exhibits),
        )
    }
)
