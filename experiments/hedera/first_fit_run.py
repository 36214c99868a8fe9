"""Runs the authors' matrices under every reading of first fit, and compares each with their simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from experiments.hedera.first_fit_readings import READINGS, FirstFitReading, detected, first_fit_labels
from experiments.hedera.goodput import non_blocking, tcp_goodput
from experiments.hedera.matrices_run import FIRST_FIT, NIC_RATE, published
from experiments.registry import Outcome, Settings
from experiments.reporting.exhibit_output import write_study
from experiments.results.exhibit import Exhibit, Line, Point
from hedera.fabric import Fabric
from hedera.fat_tree import FatTree
from hedera.matrices import Matrix, authors_matrices
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

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


def run_first_fit(settings: Settings, seeds: int, output: OutputFolder, progress: Progress) -> Outcome:
    """Run every reading on the published matrices; write a table and a picture."""
    tree = FatTree(4, NIC_RATE)
    matrices = authors_matrices()
    drawn = range(settings.seed, settings.seed + seeds)
    parts: dict[str, dict[str, list[float]]] = {}
    for name, reading in READINGS.items():
        progress.show(f"{NAME}: {name}")
        parts[name] = {
            each: [part_of(tree, matrices[each], reading, seed) for seed in drawn]
            for kind in KINDS.values()
            for each in kind
        }
    theirs = published()
    column = theirs["columns"].index(FIRST_FIT)
    data = {
        "experiment": NAME,
        "backend": "flow",
        "seed": settings.seed,
        "seeds": seeds,
        "parts": parts,
        "published": {
            each: theirs["rows"][each][column] / theirs["rows"][each][0] for kind in KINDS.values() for each in kind
        },
        "source": theirs["source"],
    }
    return write_study(NAME, data, exhibits(data), output)


def part_of(fabric: Fabric, matrix: Matrix, reading: FirstFitReading, seed: int) -> float:
    """Return the part of the non-blocking goodput that first fit reaches."""
    flows = detected(matrix, reading.order, seed)
    paths = fabric.flow_paths(flows.source, flows.target, first_fit_labels(fabric, flows, reading, seed))
    carried, control = (tcp_goodput(capacity, paths).sum() for capacity in (fabric.capacity, non_blocking(fabric)))
    return float(carried / control)


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
