"""The authors' traffic matrices in the flow model, beside their own simulator's, and readings of global first fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import Any, Literal

import numpy as np

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hedera.schemes import ANNEALING, AUTHORS_NIC_RATE, ECMP, FIRST_FIT
from experiments.hedera.simulation import FluidSetting, endless_goodput, reached_and_control, tcp_goodput
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_numbers
from experiments.results.result import Check
from experiments.results.score import SizeBar, size
from experiments.results.stored_files import each_file
from hedera.network.fabric import HASHED, Fabric, Ints, Vector
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix, authors_matrices
from hedera.placement.demand_estimation import estimate_demands
from hedera.placement.interface import Elephants, amounts
from hedera.placement.registry import EcmpPlacement, GlobalFirstFit, hashed_labels, make_placement
from hedera.placement.simulated_annealing import AnnealingPerHost

NAME = "hedera-matrices"
WINDOW = (10.0, 50.0)
"""Seconds over which the authors averaged."""

IN_ROUNDS = "first fit in rounds"
"""First fit in rounds of our scheduler, in which all flows have been detected before the first one is placed. The other
is as in the authors' slides: it places every flow when it is detected and keeps the demand estimated then reserved."""

PER_HOST = AnnealingPerHost.name
"""The paper's annealing alone; `ANNEALING` adds a search of single flows."""

PLACEMENTS = (ECMP, FIRST_FIT, ANNEALING, PER_HOST)
_FIRST_FIT_REMARK = (
    "First fit places each flow when it is detected and reserves the demand that it is estimated to have at that time;"
    " in rounds of the scheduler the demands of all flows are known."
)
_ANNEALING_REMARK = (
    f"{PER_HOST} is the paper's annealing alone, {ANNEALING} adds a search of single flows; both stand beside the same"
    " published numbers."
)
_WORST_ANNEALED = 0.97
"""The authors' lowest part under annealing, on randx4."""


@dataclass(frozen=True)
class MatrixRow:
    """A matrix: non-blocking goodput in Mbit/s, and the share of it that is reached, one value per seed."""

    name: str
    control: float
    parts: Mapping[str, list[float]]


def run_matrices(run: Execution) -> Outcome:
    """Simulate a minute of every matrix; write the table as text, JSON and picture."""
    tree = FatTree(4, AUTHORS_NIC_RATE)
    rows = []
    for name, matrix in authors_matrices().items():
        run.show(name)
        rows.append(row_of(tree, matrix, run.seeds))
    data = summary(rows, published())
    return run.studied(data, exhibits(data))


def row_of(tree: Fabric, matrix: Matrix, seeds: range) -> MatrixRow:
    control = endless_goodput(tree, EcmpPlacement(), matrix, FluidSetting(blocking=False), WINDOW)
    parts: dict[str, list[float]] = {name: [] for name in (*PLACEMENTS, IN_ROUNDS)}
    for seed in seeds:
        order = np.random.default_rng([seed, 1]).permutation(matrix.source.size)
        detected = Matrix(matrix.name, matrix.source[order], matrix.target[order])
        for name in PLACEMENTS:
            placement = make_placement(name, seed)
            in_rounds = endless_goodput(tree, placement, detected, FluidSetting(seed=seed), WINDOW)
            parts[IN_ROUNDS if name == FIRST_FIT else name].append(in_rounds / control)
        parts[FIRST_FIT].append(_goodput_upon_detection(tree, detected, seed) / control)
    return MatrixRow(matrix.name, control, parts)


def _goodput_upon_detection(tree: Fabric, matrix: Matrix, seed: int) -> float:
    """Return the goodput of first fit when flows are detected one by one, in the order of the matrix."""
    count = matrix.source.size
    hashed = hashed_labels(tree, np.arange(count, dtype=np.uint64), seed)
    choice: Ints = np.full(count, HASHED, np.int32)
    reserved = np.zeros(count)
    placement = GlobalFirstFit()
    for flow in range(count):
        known = slice(0, flow + 1)
        source, target = matrix.source[known], matrix.target[known]
        reserved[flow] = estimate_demands(tree.hosts, source, target, tree.nic_rate).demand[flow]
        elephants = Elephants.of(source, target, reserved[known], choice[known])
        choice[known] = placement.place(tree, elephants, tree.capacity)
    label = np.where(choice == HASHED, hashed, choice)
    return float(tcp_goodput(tree.capacity, tree.flow_paths(matrix.source, matrix.target, label)).sum())


def published() -> dict[str, Any]:
    """Return the authors' table."""
    return published_numbers("hedera_simulator")


def summary(rows: list[MatrixRow], theirs: dict[str, Any]) -> dict[str, Any]:
    """Return means and spreads over seeds, beside the published shares of the published control."""
    columns: list[str] = theirs["columns"]
    matrices = {}
    for row in rows:
        entry: dict[str, Any] = {"non-blocking": row.control}
        entry["part"] = {name: fmean(values) for name, values in row.parts.items()}
        entry["spread"] = {name: pstdev(values) for name, values in row.parts.items()}
        if row.name in theirs["rows"]:
            control, *others = theirs["rows"][row.name]
            entry["published"] = {
                "non-blocking": control,
                "part": _of_both({name: value / control for name, value in zip(columns[1:], others, strict=True)}),
            }
        matrices[row.name] = entry
    compared = [entry for entry in matrices.values() if "published" in entry]
    return {
        "experiment": NAME,
        "backend": "flow",
        "seeds": len(rows[0].parts[ECMP]),
        "matrices": matrices,
        "mean": {name: fmean(e["part"][name] for e in matrices.values()) for name in rows[0].parts},
        "mean_where_published": {name: fmean(e["part"][name] for e in compared) for name in rows[0].parts},
        "published_mean": {name: fmean(e["published"]["part"][name] for e in compared) for name in PLACEMENTS},
        "published_mean_of_29": _of_both(theirs["means_of_29"]),
        "control_error": max(abs(e["non-blocking"] / e["published"]["non-blocking"] - 1) for e in compared),
        "source": theirs["source"],
    }


def _of_both(theirs: Mapping[str, float]) -> dict[str, float]:
    """Return the published numbers with those on annealing beside both of ours."""
    return {**theirs, PER_HOST: theirs[ANNEALING]}


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the reached parts of non-blocking goodput with their bars, and that goodput itself."""
    matrices = data["matrices"]
    about = ("Hedera's simulator", data["backend"])
    ours = {name: entry["non-blocking"] for name, entry in matrices.items()}
    theirs = {name: entry["published"]["non-blocking"] for name, entry in matrices.items() if "published" in entry}
    return (
        Exhibit(
            NAME,
            f"part of the goodput without blocking on 16 hosts, {data['seeds']} seeds",
            *about,
            "matrix",
            "part of goodput without blocking (%)",
            tuple(Line(name, tuple(_points(data, name))) for name in (*PLACEMENTS, IN_ROUNDS)),
            data["source"],
            tuple(_checks(data)),
            (_FIRST_FIT_REMARK, _ANNEALING_REMARK, "The published mean of all is that of the authors' 29 matrices."),
        ),
        Exhibit(
            f"{NAME}-control",
            "goodput on 16 hosts where nothing blocks",
            *about,
            "matrix",
            "aggregate goodput (Mbit/s)",
            (Line.of("non-blocking", ours, theirs),),
            data["source"],
            remarks=(f"They match the authors' within {data['control_error']:.1%}, two constants fitted to three.",),
        ),
    )


def _points(data: Mapping[str, Any], name: str) -> Iterator[Point]:
    for each, entry in data["matrices"].items():
        theirs = entry.get("published", {"part": {}})["part"].get(name)
        yield replace(Point.of(each, [100 * entry["part"][name]], _percent(theirs)), spread=100 * entry["spread"][name])
    theirs_of = data["published_mean"]
    yield Point.of("mean of all", [100 * data["mean"][name]], _percent(data["published_mean_of_29"].get(name)))
    yield Point.of("mean where published", [100 * data["mean_where_published"][name]], _percent(theirs_of.get(name)))


def _percent(part: float | None) -> float | None:
    return None if part is None else 100 * part


def _checks(data: Mapping[str, Any]) -> Iterator[Check]:
    annealed = {name: entry["part"][PER_HOST] for name, entry in data["matrices"].items()}
    worst = min(annealed, key=lambda name: annealed[name])
    theirs = data["published_mean_of_29"]
    yield size(f"{PER_HOST} on {worst}, its worst matrix", annealed[worst], _WORST_ANNEALED)
    for name in (ANNEALING, PER_HOST):
        yield size(f"{name} in the mean", data["mean"][name], theirs[name])
    ecmp = data["published_mean"][ECMP]
    yield size("ecmp in the mean where published", data["mean_where_published"][ECMP], ecmp)
    yield size(f"{FIRST_FIT} in the mean", data["mean"][FIRST_FIT], theirs[FIRST_FIT])


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


FIRST_FIT_NAME = "hedera-first-fit"

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
        "experiment": FIRST_FIT_NAME,
        "backend": "flow",
        "seed": run.settings.seed,
        "seeds": len(run.seeds),
        "parts": parts,
        "published": {each: theirs["rows"][each][column] / theirs["rows"][each][0] for each in compared},
        "source": theirs["source"],
    }
    return run.studied(data, exhibits_of_readings(data))


def part_of(fabric: Fabric, matrix: Matrix, reading: FirstFitReading, seed: int) -> float:
    """Return the part of the non-blocking goodput that first fit reaches."""
    flows = detected(matrix, reading.order, seed)
    paths = fabric.flow_paths(flows.source, flows.target, first_fit_labels(fabric, flows, reading, seed))
    reached, control = reached_and_control(fabric, paths)
    return reached / control


def exhibits_of_readings(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the mean of each kind of matrix under each reading, and the mean distance from the published."""
    return (
        Exhibit(
            FIRST_FIT_NAME,
            f"readings of global first fit on the authors' matrices, {data['seeds']} seeds",
            "Hedera's simulator",
            data["backend"],
            "matrices",
            "part of goodput without blocking (%)",
            tuple(
                Line(name, tuple(_points_of_reading(parts, data["published"]))) for name, parts in data["parts"].items()
            ),
            data["source"],
            remarks=(
                "Each reading changes one thing.",
                "Bias: our part less the published one, mean of 18 matrices; distance: mean of its absolute value.",
            ),
        ),
    )


def _points_of_reading(parts: Mapping[str, list[float]], theirs: Mapping[str, float]) -> Iterator[Point]:
    mean = {name: fmean(values) for name, values in parts.items()}
    for kind, names in KINDS.items():
        ours, published = (100 * fmean(each[name] for name in names) for each in (mean, theirs))
        yield Point.of(kind, [ours], published)
    off = [100 * (mean[name] - theirs[name]) for name in theirs]
    yield Point.of("bias", [fmean(off)])
    yield Point.of("distance", [fmean(map(abs, off))])


SIZE_BARS = {
    "hedera-matrices": SizeBar(cause="neither ECMP's hash nor what first fit reserves is known (docs/hedera.md)"),
    "hedera-first-fit": None,  # shows readings beside each other
}

EXPERIMENTS = offered(
    {
        NAME: Offered(run_matrices, (20, 4), ("repetitions", "full"), sweeps=False, reader=each_file(exhibits)),
        FIRST_FIT_NAME: Offered(
            run_first_fit, (20, 2), ("repetitions", "full"), sweeps=False, reader=each_file(exhibits_of_readings)
        ),
    }
)
