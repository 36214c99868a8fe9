"""The authors' traffic matrices in the flow model, beside the results of their own flow-level simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import Any

import numpy as np

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hedera.schemes import ANNEALING, AUTHORS_NIC_RATE, ECMP, FIRST_FIT
from experiments.hedera.simulation import FluidSetting, endless_goodput, tcp_goodput
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_numbers
from experiments.results.result import Check
from experiments.results.score import SizeBar, size
from experiments.results.stored_files import each_file
from hedera.network.fabric import HASHED, Fabric, Ints
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix, authors_matrices
from hedera.placement.demand_estimation import estimate_demands
from hedera.placement.interface import Elephants
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


SIZE_BARS = {
    "hedera-matrices": SizeBar(cause="neither ECMP's hash nor what first fit reserves is known (docs/hedera.md)")
}

EXPERIMENTS = offered(
    {NAME: Offered(run_matrices, (20, 4), ("repetitions", "full"), sweeps=False, reader=each_file(exhibits))}
)
