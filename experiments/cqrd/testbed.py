"""The papers' testbed, simulated: short flows of seven hosts meet two long ones in front of the eighth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from experiments.cqrd.published import published
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
from simulator.packet.transports import Congestion, Tcp
from simulator.portable_random import Draws

PORTS, RATE, MEMORY = 8, 1_000.0, 1_130_000
DELAY = 50e-6
"""Delay of a link: round trips of 200 us at 1 Gbit/s, for which the journal sizes crosspoints."""

WINDOW = 44
"""Segments of a flow in flight at most: 64 KB; see docs/cqrd.md."""

NO_LIMIT = 2**31

MOST_GAP, SHORT_BYTES = 0.5, 10_000
_SHORT_STARTS = 0.1
TESTED = ("cqrd", "cq", "oq")


@dataclass(frozen=True)
class Outcomes:
    """Mean of the short flows in milliseconds and their number; Gbit/s of the long ones."""

    short: float
    count: int
    long: list[float]


def simulate(scheme: str, seed: int, seconds: float, window: int = WINDOW) -> Outcomes:
    """Simulate two permanent long flows, and short ones from seven hosts after gaps of at most half a second."""
    network = single_switch(PORTS, RATE, DELAY, queueing(scheme, MEMORY, PORTS))
    tcp = Tcp(Congestion.NEW_RENO, handshake=True, receive_window=window)
    source, start = [], []
    for host in range(1, PORTS):
        times = _SHORT_STARTS + np.cumsum(MOST_GAP * Draws(seed, host).uniform(int(4 * seconds / MOST_GAP)))
        start += times[times < seconds].tolist()
        source += [host] * int((times < seconds).sum())
    groups = [Flows.of([1, 2], 0, tcp), Flows.of(source, 0, tcp, size=SHORT_BYTES, start=start)]
    simulation = Simulation(network, groups, Setting(seed=seed))
    simulation.complete(seconds)
    results = simulation.flow_results()
    completion = results.completion[2:]
    done = completion[np.isfinite(completion)]
    return Outcomes(float(1e3 * done.mean()), int(done.size), (8e-9 * results.goodput[:2] / seconds).tolist())


def _line(label: str, runs: Mapping[str, list[Outcomes]], theirs: Mapping[str, float]) -> Line:
    points = [Point.of(SWITCHES[key], [run.short for run in of], theirs.get(key)) for key, of in runs.items()]
    return Line(label, tuple(points))


def run_testbed(settings: Settings, seconds: float, output: OutputFolder) -> Outcome:
    """Run all three switches of the testbed; repetitions use different seeds."""
    theirs = published()["testbed"]
    seeds = settings.seeds
    runs = {scheme: [simulate(scheme, seed, seconds) for seed in seeds] for scheme in TESTED}
    unlimited = {scheme: [simulate(scheme, seed, seconds, NO_LIMIT) for seed in seeds] for scheme in TESTED}
    short = {scheme: fmean(run.short for run in of) for scheme, of in runs.items()}
    shorts = Exhibit(
        name="cqrd-testbed-short",
        title="short flows of seven hosts and two long ones",
        reproduces="CQRD Figure 16",
        backend="packet",
        axis="switch",
        quantity="average completion time (ms)",
        lines=(
            _line("windows of 64 KB", runs, theirs["short_ms"]),
            _line("windows without limit", unlimited, {}),
        ),
        published=published()["source"],
        checks=(
            order("CQRD / OQ, windows of 64 KB", short["cqrd"] / short["oq"], high=1.0),
            order("CQRD / CQ, windows of 64 KB", short["cqrd"] / short["cq"], high=1.0),
        ),
        remarks=(
            f"Simulated, not measured: links of {DELAY * 1e6:.0f} us, initial windows of 10 segments.",
            f"{runs['oq'][0].count} short flows in {seconds:g} s (published: about 600 in 20 s).",
            "With windows of 64 KB no crosspoint is ever full, so CQ and CQRD behave alike.",
        ),
    )
    longs = Exhibit(
        name="cqrd-testbed-long",
        title="goodput of the two long flows",
        reproduces="CQRD Figure 16",
        backend="packet",
        axis="flow",
        quantity="goodput (Gbit/s)",
        lines=tuple(
            Line(
                SWITCHES[key],
                tuple(
                    Point.of(f"long {flow}", [run.long[flow] for run in of], theirs["long_gbits"][key][flow])
                    for flow in range(2)
                ),
            )
            for key, of in runs.items()
        ),
        published=published()["source"],
        checks=(size("CQRD, both together", fmean(sum(run.long) for run in runs["cqrd"]), 0.95),),
    )
    return write_exhibits("cqrd-testbed", [shorts, longs], settings, output)
