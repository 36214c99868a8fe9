"""Experiments 3 and 4: the new switches in only a part of the network, and with less or more memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from experiments.cqrd.loads import REMARKS
from experiments.cqrd.published import LOADS, published
from experiments.cqrd.runs import Case, run_cases
from experiments.cqrd.switches import PACKET, SWITCHES, TwoTiers
from experiments.cqrd.tables import FCT, statistic
from experiments.registry import Outcome, Settings
from experiments.reporting.exhibit_output import write_exhibits
from experiments.results.bars import limit, order, size
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.sweep.workers import Workers
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

RACKS = 24
BUFFERS = (30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 330, 360, 390)
"""KB in front of each output."""

STABLE_FROM, STABLE_WITHIN, SHARP_WITHIN = 120, 0.15, 0.5
"""KB from which the average is stable, its tolerance around the mean there, and the margin of the rise at 30 KB: half
of the published one, as a packet of 1500 bytes is half of a crosspoint there and its size is not published."""

FREED = "memory of a crosspoint is freed when its packet begins to leave"


RATIO_WITHIN = 0.15
"""Margin of completion times relative to those of OQ, as a part of the published ratio; that of means elsewhere."""


@dataclass(frozen=True)
class Grid:
    """Size of an experiment.

    Attributes:
        flows: in each run.
        published: flows in the paper's runs.
        steps: positions of the paper's steps that are run; None for all.
    """

    flows: int
    published: int
    loads: tuple[float, ...] = LOADS
    steps: tuple[int, ...] | None = None

    def remarks(self) -> tuple[str, ...]:
        if self.flows == self.published:
            return REMARKS
        return (*REMARKS, f"{self.flows:,} flows instead of {self.published:,}: fewer run at the same time.")


def deployed(scheme: str, racks: int) -> TwoTiers:
    """Return the network with the scheme in some racks, or in the aggregation switches if `racks` is 0; else OQ."""
    above = scheme if racks == 0 else "oq"
    return TwoTiers((scheme,) * racks + ("oq",) * (RACKS - racks), above)


def run_deployment(
    grid: Grid, settings: Settings, workers: Workers, output: OutputFolder, progress: Progress
) -> Outcome:
    """Run experiment 3: a scheme in the aggregation switches, or in some of the racks."""
    data = published()["exp3"]
    steps = grid.steps or tuple(range(len(data["deployed"])))
    racks = [0, *(4 * step for step in range(1, len(data["deployed"])))]
    schemes = [scheme for scheme in SWITCHES if scheme != "oq"]
    keys = [(load, scheme, step) for load in grid.loads for scheme in schemes for step in steps]
    keys += [(load, "oq", 0) for load in grid.loads]
    cases = [Case(deployed(scheme, racks[step]), grid.flows, load, settings.seed) for load, scheme, step in keys]
    runs = run_cases("cqrd-exp3", cases, workers, output, progress)
    averages = {key: float(run.milliseconds().mean()) for key, run in zip(keys, runs, strict=True)}
    exhibits = []
    for load in grid.loads:
        place = LOADS.index(load)
        lines = []
        for scheme in SWITCHES:
            points = [
                Point.of(
                    data["deployed"][step],
                    [averages[load, scheme, 0 if scheme == "oq" else step]],
                    data["oq"][place] if scheme == "oq" else data["fct"][scheme][place][step],
                )
                for step in steps
            ]
            lines.append(Line(SWITCHES[scheme], tuple(points)))
        exhibits.append(
            Exhibit(
                name=f"cqrd-exp3-{load:g}",
                title=f"deployed in a part of the network, load {load:g}, {grid.flows:,} flows",
                reproduces="CQRD Figure 13",
                backend="packet",
                axis="where",
                quantity=f"{FCT}, average",
                lines=tuple(lines),
                published=published()["source"],
                checks=tuple(deployment_checks(lines)) if grid.flows == grid.published else (),
                unjudged=grid.flows != grid.published,
                remarks=grid.remarks(),
            )
        )
    return write_exhibits("cqrd-exp3", exhibits, settings, output)


def run_buffers(grid: Grid, settings: Settings, workers: Workers, output: OutputFolder, progress: Progress) -> Outcome:
    """Run experiment 4: CQRD with the same memory in front of every output of the network."""
    data = published()["exp4"]
    steps = grid.steps or tuple(range(len(BUFFERS)))
    keys = [(load, step) for load in grid.loads for step in steps]
    cases = [
        Case(TwoTiers.of("cqrd", output=1000 * BUFFERS[step]), grid.flows, load, settings.seed) for load, step in keys
    ]
    runs = dict(zip(keys, run_cases("cqrd-exp4", cases, workers, output, progress), strict=True))
    exhibits = []
    for name in ("average", "99th"):
        values = {key: statistic(name, run.milliseconds()) for key, run in runs.items()}
        lines = [
            Line(
                f"load {load:g}",
                tuple(
                    Point.of(BUFFERS[step], [values[load, step]], data[name][LOADS.index(load)][step]) for step in steps
                ),
            )
            for load in grid.loads
        ]
        exhibits.append(
            Exhibit(
                name=f"cqrd-exp4-{name}",
                title=f"CQRD with less and more memory, {grid.flows:,} flows",
                reproduces="CQRD Figure 14",
                backend="packet",
                axis="memory of an output (KB)",
                quantity=f"{FCT}, {name}",
                lines=tuple(lines),
                published=published()["source"],
                checks=tuple(stability_checks(lines)) if name == "average" else (),
                remarks=(
                    *grid.remarks(),
                    "The published numbers are those of the conference's 2,000 flows.",
                    f"A crosspoint has {PACKET:,} bytes at least, room for one packet: at 30 KB, more than its share.",
                ),
            )
        )
    return write_exhibits("cqrd-exp4", exhibits, settings, output)


def deployment_checks(lines: Sequence[Line]) -> Iterator[Check]:
    """Yield the checks of completion times with CQRD in half of the racks and in all, relative to OQ everywhere."""
    ours, base = (next(line for line in lines if line.label == label) for label in ("CQRD", "OQ"))
    for where, x in (("half of the racks", "12 ToRs"), ("all racks", "24 ToRs")):
        one, other = ours.at(x), base.at(x)
        if one.value is not None and other.value is not None and one.published and other.published:
            theirs = one.published / other.published
            yield size(f"CQRD in {where} / OQ everywhere", one.value / other.value, theirs, RATIO_WITHIN * theirs)


def stability_checks(lines: Sequence[Line]) -> list[Check]:
    """Return the checks of the journal's claims: stable from 120 KB on, "sharply" worse at 30 KB.

    Where the published curve is flat, only its level is read.
    """
    levels = {f"load {load:g}": level for load, level in zip(LOADS, published()["exp4"]["level"], strict=True)}
    checks = []
    for line in lines:
        known = [(float(point.x), point.value) for point in line.points if point.value is not None]
        stable = [value for memory, value in known if memory >= STABLE_FROM]
        level = fmean(stable)
        farthest = max(abs(value / level - 1) for value in stable)
        rise = (line.points[0].published or 0.0) / levels[line.label]
        name = f"{line.label}: 30 KB / 120 KB and more"
        checks.append(limit(f"{line.label}: farthest from the mean at 120 KB and more", farthest, high=STABLE_WITHIN))
        checks.append(order(name, known[0][1] / level, low=1.0))
        checks.append(size(name, known[0][1] / level, rise, SHARP_WITHIN * rise, FREED))
    return checks
