"""`kuijia run hedera-first-fit`: the authors' matrices under other readings of global first fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import numpy as np

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hedera.matrices import published
from experiments.hedera.schemes import AUTHORS_NIC_RATE, FIRST_FIT
from experiments.hedera.simulation import reached_and_control, tcp_goodput
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.stored_files import each_file
from hedera.network.fabric import Fabric, Ints, Vector
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix, authors_matrices
from hedera.placement.demand_estimation import estimate_demands
from hedera.placement.interface import amounts
from hedera.placement.registry import hashed_labels

Order = Literal["random", "by sender", "by receiver"]
"""In which flows are detected."""

Demand = Literal["as detected", "all known", "whole interfaces", "measured"]
"""That a flow reserves: estimated from the flows detected so far, or from all flows; its sender's interface; or what it
gets at the time, with earlier flows on their paths and later ones where the hash sends them."""

First = Literal["lowest", "columns in turn", "hashed", "random"]
"""Path that a flow tries first: of the lowest label; the same with another aggregation switch next; that of its hash,
and then the following labels; or any, and then the others in random order."""


@dataclass(frozen=True)
class FirstFitReading:
    """A reading of first fit; `fills` is False if a link's load must stay below its capacity."""

    order: Order = "random"
    demand: Demand = "as detected"
    first: First = "lowest"
    fills: bool = True


OURS = "ours"

READINGS: Mapping[str, FirstFitReading] = {
    OURS: FirstFitReading(),
    "order: by sender": FirstFitReading(order="by sender"),
    "order: by receiver": FirstFitReading(order="by receiver"),
    "demand: all known": FirstFitReading(demand="all known"),
    "demand: whole interfaces": FirstFitReading(demand="whole interfaces"),
    "demand: measured": FirstFitReading(demand="measured"),
    "first path: columns in turn": FirstFitReading(first="columns in turn"),
    "first path: the hashed one": FirstFitReading(first="hashed"),
    "first path: any": FirstFitReading(first="random"),
    "load below capacity": FirstFitReading(fills=False),
    "measured, the hashed path first": FirstFitReading(demand="measured", first="hashed"),
    "measured, any path first": FirstFitReading(demand="measured", first="random"),
}
"""By name: each changes one thing in ours, the last two two things; ours is `global-first-fit` of `hedera-matrices`."""


def detected(matrix: Matrix, order: Order, seed: int) -> Matrix:
    """Return the flows in the order in which they are detected."""
    if order == "random":
        places = np.random.default_rng([seed, 1]).permutation(matrix.source.size)
    else:
        places = np.argsort(matrix.source if order == "by sender" else matrix.target, kind="stable")
    return Matrix(matrix.name, matrix.source[places], matrix.target[places])


def first_fit_labels(fabric: Fabric, matrix: Matrix, reading: FirstFitReading, seed: int) -> Ints:
    """Return the labels of flows that are placed one after the other; those that fit nowhere have that of the hash."""
    count = matrix.source.size
    hashed = hashed_labels(fabric, np.arange(count, dtype=np.uint64), seed)
    estimated = None if reading.demand == "measured" else amounts(_demands(fabric, matrix, reading.demand), fabric)
    room = amounts(fabric.capacity, fabric) - (0 if reading.fills else 1)
    random = np.random.default_rng([seed, 13])
    label: Ints = hashed.copy()
    for flow, (source, target) in enumerate(zip(matrix.source.tolist(), matrix.target.tolist(), strict=True)):
        reserved = int((_measured(fabric, matrix, label) if estimated is None else estimated)[flow])
        for tried in _tried(fabric, reading.first, int(hashed[flow]), random):
            links = [link for link in fabric.path(source, target, tried) if fabric.inner[link]]
            if (room[links] >= reserved).all():
                room[links] -= reserved
                label[flow] = tried
                break
    return label


def _measured(fabric: Fabric, matrix: Matrix, label: Ints) -> Ints:
    return amounts(tcp_goodput(fabric.capacity, fabric.flow_paths(matrix.source, matrix.target, label)), fabric)


def _demands(fabric: Fabric, matrix: Matrix, demand: Demand) -> Vector:
    source, target = matrix.source, matrix.target
    if demand == "whole interfaces":
        return np.full(source.size, fabric.nic_rate)
    if demand == "all known":
        return estimate_demands(fabric.hosts, source, target, fabric.nic_rate).demand
    known = range(1, source.size + 1)
    return np.array(
        [estimate_demands(fabric.hosts, source[:size], target[:size], fabric.nic_rate).demand[-1] for size in known]
    )


def _tried(fabric: Fabric, first: First, hashed: int, random: np.random.Generator) -> list[int]:
    labels = list(range(fabric.labels))
    if first == "columns in turn":
        columns = fabric.labels // fabric.blocks
        return [label for column in range(columns) for label in labels[column::columns]]
    if first == "hashed":
        return labels[hashed:] + labels[:hashed]
    return [int(label) for label in random.permutation(labels)] if first == "random" else labels


NAME = "hedera-first-fit"

KINDS = {
    "rand0-2": ("rand0", "rand1", "rand2"),
    "randbij0-2": ("randbij0", "randbij1", "randbij2"),
    "randx2-4": ("randx2", "randx3", "randx4"),
    "stag(.2,.3)": ("stag0(.2,.3)", "stag1(.2,.3)", "stag2(.2,.3)"),
    "stag(.5,.3)": ("stag0(.5,.3)", "stag1(.5,.3)", "stag2(.5,.3)"),
    "stride2-8": ("stride2", "stride4", "stride8"),
}
"""The published matrices by kind, without the two that block nothing."""


def run_first_fit(run: Execution) -> Outcome:
    """Run every reading on the published matrices; write a table and a picture."""
    tree = FatTree(4, AUTHORS_NIC_RATE)
    matrices = authors_matrices()
    compared = [name for names in KINDS.values() for name in names]
    parts: dict[str, dict[str, list[float]]] = {}
    for name, reading in READINGS.items():
        run.show(name)
        parts[name] = {each: [part_of(tree, matrices[each], reading, seed) for seed in run.seeds] for each in compared}
    theirs = published()
    column = theirs["columns"].index(FIRST_FIT)
    data = {
        "experiment": NAME,
        "backend": "flow",
        "seed": run.settings.seed,
        "seeds": len(run.seeds),
        "parts": parts,
        "published": {each: theirs["rows"][each][column] / theirs["rows"][each][0] for each in compared},
        "source": theirs["source"],
    }
    return run.studied(data, exhibits(data))


def part_of(fabric: Fabric, matrix: Matrix, reading: FirstFitReading, seed: int) -> float:
    """Return the part of the non-blocking goodput that first fit reaches."""
    flows = detected(matrix, reading.order, seed)
    paths = fabric.flow_paths(flows.source, flows.target, first_fit_labels(fabric, flows, reading, seed))
    reached, control = reached_and_control(fabric, paths)
    return reached / control


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the mean of each kind of matrix under each reading, and the mean distance from the published."""
    return (
        Exhibit(
            NAME,
            f"readings of global first fit on the authors' matrices, {data['seeds']} seeds",
            "Hedera's simulator",
            data["backend"],
            "matrices",
            "part of goodput without blocking (%)",
            tuple(Line(name, tuple(_points(parts, data["published"]))) for name, parts in data["parts"].items()),
            data["source"],
            remarks=(
                "Each reading changes one thing.",
                "Bias: our part less the published one, mean of 18 matrices; distance: mean of its absolute value.",
            ),
        ),
    )


def _points(parts: Mapping[str, list[float]], theirs: Mapping[str, float]) -> Iterator[Point]:
    mean = {name: fmean(values) for name, values in parts.items()}
    for kind, names in KINDS.items():
        ours, published = (100 * fmean(each[name] for name in names) for each in (mean, theirs))
        yield Point.of(kind, [ours], published)
    off = [100 * (mean[name] - theirs[name]) for name in theirs]
    yield Point.of("bias", [fmean(off)])
    yield Point.of("distance", [fmean(map(abs, off))])


SIZE_BARS = {"hedera-first-fit": None}  # shows readings beside each other

EXPERIMENTS = offered(
    {NAME: Offered(run_first_fit, (20, 2), ("repetitions", "full"), sweeps=False, reader=each_file(exhibits))}
)
