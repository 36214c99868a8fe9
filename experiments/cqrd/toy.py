"""The papers' toy example: five short flows meet two long ones at an output of an eight-port switch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from experiments.cqrd.published import published
from experiments.cqrd.runs import Choices, conditions, transport
from experiments.cqrd.switches import SWITCHES, queueing
from experiments.experiment import Outcome, Settings
from experiments.reporting.exhibit_output import write_exhibits
from experiments.results.bars import order, size
from experiments.results.exhibit import Exhibit, Line, Point
from kuijia_base.output_folder import OutputFolder
from simulator.packet.flows import Flows
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import single_switch

PORTS, RATE, DELAY, MEMORY = 8, 10_000.0, 4e-6, 36_000
TARGET = 7
LONG, SHORT = (5, 6), (0, 1, 2, 3, 4)
LONG_BYTES, SHORT_BYTES = 100_000_000, 10_000
SHORT_START = 5e-3
LATER = 20e-6
"""Seconds from the start of the first long flow to that of the second: a flow already there locks the others out."""

SLOWER = 100.0
_PATIENCE = 10.0


@dataclass(frozen=True)
class Outcomes:
    """Milliseconds of the short flows, in order; Gbit/s of the long ones."""

    short: list[float]
    long: list[float]


def simulate(scheme: str, seed: int, later: float = LATER) -> Outcomes:
    """Return the outcome of one run; the second long flow begins `later` seconds after the first."""
    tcp = transport(Choices())
    common = conditions(Choices())
    queues = queueing(scheme, MEMORY, PORTS, common)
    network = single_switch(PORTS, RATE, DELAY, queues, common.at_hosts())
    flows = [
        Flows.of(LONG, TARGET, tcp, size=LONG_BYTES, start=[0.0, later]),
        Flows.of(SHORT, TARGET, tcp, size=SHORT_BYTES, start=SHORT_START),
    ]
    simulation = Simulation(network, flows, Setting(seed=seed))
    simulation.complete(_PATIENCE)
    completion = simulation.flow_results().completion
    long, short = completion[: len(LONG)], completion[len(LONG) :]
    return Outcomes((1e3 * short).tolist(), (8e-9 * LONG_BYTES / long).tolist())


def run_toy(settings: Settings, seeds: int, output: OutputFolder) -> Outcome:
    """Run every switch with some seeds, with the second long flow later than the first and at the same time."""
    chosen = range(settings.seed, settings.seed + seeds)
    runs = {scheme: [simulate(scheme, seed) for seed in chosen] for scheme in SWITCHES}
    together = {scheme: [simulate(scheme, seed, later=0.0) for seed in chosen] for scheme in SWITCHES}
    return write_exhibits("cqrd-toy", [_short(runs, together), _long(runs)], settings, output)


def _short(runs: Mapping[str, list[Outcomes]], together: Mapping[str, list[Outcomes]]) -> Exhibit:
    theirs = published()["toy"]["short_ms"]
    columns = [f"flow {flow + 1}" for flow in SHORT]
    lines = [
        Line(
            name,
            tuple(
                Point.of(x, [run.short[place] for run in runs[key]], theirs.get(key)) for place, x in enumerate(columns)
            ),
        )
        for key, name in SWITCHES.items()
    ]
    mean = {key: fmean(value for run in of for value in run.short) for key, of in runs.items()}
    at_once = {key: fmean(value for run in of for value in run.short) for key, of in together.items()}
    return Exhibit(
        name="cqrd-toy-short",
        title="short flows meet two long ones at an output",
        reproduces="CQRD Figure 2",
        backend="packet",
        axis="flow of 10 KB",
        quantity="completion time (ms)",
        lines=tuple(lines),
        published=published()["source"],
        checks=(
            order("OQ / CQ, means of short flows", mean["oq"] / mean["cq"], low=SLOWER),
            order("OQ / CQRD", mean["oq"] / mean["cqrd"], low=SLOWER),
            order("OQ / HCF", mean["oq"] / mean["hcf"], low=1.0),
            order("HCF / CQRD", mean["hcf"] / mean["cqrd"], low=1.0),
        ),
        remarks=(
            f"The second long flow begins {LATER * 1e6:.0f} us after the first. Where both begin at once, none has a "
            "stream without gaps that keeps the queue full, and short flows take "
            + ", ".join(f"{at_once[key]:.2f} ms under {name}" for key, name in SWITCHES.items())
            + ". Simulators that serve simultaneous packets always in the same order have such a first flow.",
            "Published numbers are read from a logarithmic axis by eye.",
        ),
    )


def _long(runs: Mapping[str, list[Outcomes]]) -> Exhibit:
    theirs = published()["toy"]["long_gbits"]
    lines = []
    for key, name in SWITCHES.items():
        points = [
            Point.of(
                f"flow {host + 1}", [run.long[place] for run in runs[key]], theirs.get(key, (None, None))[1 - place]
            )
            for place, host in enumerate(LONG)
        ]
        lines.append(Line(name, tuple(points)))
    checks = [
        size(f"CQRD, long flow {place + 1}", fmean(run.long[place] for run in runs["cqrd"]), 5.0)
        for place in range(len(LONG))
    ]
    return Exhibit(
        name="cqrd-toy-long",
        title="goodput of the two long flows",
        reproduces="CQRD Figure 2",
        backend="packet",
        axis="flow of 100 MB",
        quantity="goodput (Gbit/s)",
        lines=tuple(lines),
        published=published()["source"],
        checks=tuple(checks),
    )
