"""Convergence of ExpressPass: round trips until a second flow has its share of a link that a first one fills."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Outcome
from experiments.flashpass.schemes import EXPRESSPASS, PRINTED, PUBLISHED
from experiments.grid import Execution, Offered, offered
from experiments.results.bars import size
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from simulator.packet.credited import EXPRESSPASS_PORTS, ExpressPass, Ports
from simulator.packet.flows import Flows
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import Bottleneck, dumbbell

RATES = (10_000.0, 100_000.0)
STARTS = {"1/2": 1 / 2, "1/16": 1 / 16}
"""First rates, as parts of the highest."""

WEIGHT = 1 / 2
"""First weight, as in Figure 8 (a) of the paper, whose 3 and 6 round trips are those of Figure 16."""

ROUND_TRIP = 1e-4

NEAR = 0.75
"""A flow has converged with the first round trip in which it has this part of half a link."""

FAIR = (0.45, 0.55)
"""Bar: the second flow's lasting share."""

_ALONE = 40
"""Round trips that the first flow has for itself."""

_WATCHED, _LATE = 100, 60
"""Round trips after the second flow's start, and those of them after which its lasting share is measured."""

_RUNS = 10
"""Seeds whose shares are averaged: at 10 Gbit/s a round trip has 77 packets."""

UNIFORM = PRINTED.ports
"""Ports that drop any of the waiting credits instead of the one that comes."""

AS_PRINTED = "as printed"
"""The kind that published numbers are about."""

KINDS = {
    AS_PRINTED: (PRINTED, UNIFORM),
    "as printed, tail drops": (PRINTED, EXPRESSPASS_PORTS),
    "public code": (EXPRESSPASS, EXPRESSPASS_PORTS),
    "public code, uniform drops": (EXPRESSPASS, UNIFORM),
}


def shares(transport: ExpressPass, ports: Ports, rate: float, seed: int) -> NDArray[np.float64]:
    """Return the second flow's share of the data in each round trip from its start on, shape (100,)."""
    network = ports.on(dumbbell(2, rate, ROUND_TRIP / 8, Bottleneck(rate, ROUND_TRIP / 4, Fifo())))
    begins = _ALONE * ROUND_TRIP
    simulation = Simulation(network, [Flows.of([0, 1], [2, 3], transport, start=[0.0, begins])], Setting(seed=seed))
    times = begins + ROUND_TRIP * np.arange(_WATCHED + 1)
    arrived = np.zeros((times.size, 2))
    for place, time in enumerate(times.tolist()):
        simulation.complete(time)
        arrived[place] = simulation.flow_results().arrived
    gained = np.diff(arrived, axis=0)
    found: NDArray[np.float64] = gained[:, 1] / np.maximum(gained.sum(axis=1), 1)
    return found


def converged_after(share: NDArray[np.float64], near: float = NEAR) -> float:
    """Return the round trips until the share is `near` of a half, infinity if it never is."""
    reached = np.flatnonzero(share >= near / 2)
    return float(reached[0] + 1) if reached.size else float("inf")


def run_convergence(execution: Execution) -> Outcome:
    """Run all kinds at both rates with both first rates."""
    found = {
        (kind, rate, start): np.mean(
            [
                shares(replace(transport, initial_rate=part, initial_weight=WEIGHT), ports, rate, seed)
                for seed in range(execution.settings.seed, execution.settings.seed + _RUNS)
            ],
            axis=0,
        )
        for kind, (transport, ports) in KINDS.items()
        for rate in RATES
        for start, part in STARTS.items()
    }
    columns = {(rate, start): f"{rate / 1000:g} Gbit/s, {start}" for rate in RATES for start in STARTS}
    theirs = PUBLISHED["convergence"]
    checks, lines, lasting = [], [], []
    for kind in KINDS:
        points, late = [], []
        for (rate, start), x in columns.items():
            share = found[kind, rate, start]
            after = converged_after(share)
            points.append(Point.of(x, [after if np.isfinite(after) else None], theirs[start]))
            late.append(Point.of(x, [float(share[_LATE:].mean())]))
            if kind == AS_PRINTED:
                checks.append(size(f"{kind}, {x}", min(after, float(_WATCHED)), theirs[start]))
        lines.append(Line(kind, tuple(points)))
        lasting.append(Line(kind, tuple(late)))
    sensitivity = "; ".join(
        f"{kind}: " + ", ".join(f"{converged_after(found[kind, rate, start], 0.9):g}" for rate, start in columns)
        for kind in KINDS
    )
    exhibits = [
        Exhibit(
            name="expresspass-convergence",
            title="round trips until a second flow has its share",
            reproduces="ExpressPass, convergence",
            backend="packet",
            axis="rate of links, first rate",
            quantity="round trips from the second flow's start",
            lines=tuple(lines),
            published=PUBLISHED["source"],
            checks=tuple(checks),
            remarks=(
                f"Until the mean share of {_RUNS} runs is {NEAR:g} of a half; round trip 0.1 ms.",
                "Each flow has its own sender and receiver.",
                f"Until 0.9 of a half, in the order of the columns: {sensitivity}.",
            ),
        ),
        Exhibit(
            name="expresspass-convergence-share",
            title="lasting share of a second flow",
            reproduces="ExpressPass, convergence",
            backend="packet",
            axis="rate of links, first rate",
            quantity=f"share of the link, {_LATE} to {_WATCHED} round trips after its start",
            lines=tuple(lasting),
            checks=tuple(
                Check(f"{line.label}, {point.x}", point.value or 0.0, *FAIR)
                for line in lasting
                for point in line.points
            ),
        ),
    ]
    return execution.written(*exhibits)


EXPERIMENTS = offered(
    {"expresspass-convergence": Offered(run_convergence, without=("repetitions", "quick", "full"), sweeps=False)}
)
