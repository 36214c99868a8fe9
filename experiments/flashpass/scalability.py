"""Flow scalability of ExpressPass: how full a link is, and how evenly 4 to 1,024 pairs of hosts share it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.experiment import Outcome
from experiments.flashpass.convergence import AS_PRINTED, KINDS
from experiments.flashpass.schemes import PUBLISHED
from experiments.grid import Execution, Offered, lines_of, offered
from experiments.results.bars import limit
from experiments.results.exhibit import Exhibit
from experiments.results.score import SizeBar
from simulator.packet.credited import DATA
from simulator.packet.flows import Flows
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import Bottleneck, dumbbell
from simulator.portable_random import Draws

RATE, ROUND_TRIP = 10_000.0, 1e-4

COUNTS = (4, 16, 64, 256, 1024)
"""Pairs of hosts, as in Figure 15 (b), (d) and (f)."""

INTERVAL, INTERVALS = 0.1, 2
"""Seconds over which each flow's throughput is taken, as in the paper, and how often."""

SETTLED = 0.05
"""Seconds until the first interval; flows start within the first fifth of them."""

FAIR = 0.98
"""Bar: least fairness. The paper says "very good"; with 1,024 flows a flow sends 75 packets in an interval, and packets
let through by chance alone give 75 / 76."""

_PORTS = "Over all ports, from the start."
_STARTS = 106


@dataclass(frozen=True)
class Case:
    """A run of so many flows by a kind of `KINDS`."""

    kind: str
    flows: int
    seed: int


def outcome(ready: None, case: Case) -> dict[str, Any]:
    """Return the part of the link with data, Jain's fairness index, and the longest queue of data in KB."""
    del ready
    transport, ports = KINDS[case.kind]
    bottleneck = Bottleneck(RATE, ROUND_TRIP / 4, Fifo())
    network = ports.on(dumbbell(case.flows, RATE, ROUND_TRIP / 8, bottleneck))
    senders = np.arange(case.flows)
    starts = Draws(case.seed, _STARTS).uniform(case.flows) * SETTLED / 5
    flows = Flows.of(senders, case.flows + senders, transport, start=starts)
    simulation = Simulation(network, [flows], Setting(seed=case.seed))
    counts = []
    for interval in range(INTERVALS + 1):
        simulation.complete(SETTLED + interval * INTERVAL)
        counts.append(simulation.flow_results().arrived.astype(float))
    gained = np.diff(counts, axis=0)
    fairness = gained.sum(axis=1) ** 2 / (case.flows * (gained**2).sum(axis=1))
    return {
        "utilisation": float(gained.sum()) * DATA * 8 / (RATE * 1e6 * INTERVALS * INTERVAL),
        "fairness": float(fairness.mean()),
        "queue": float(simulation.link_results().queued_peak.max()) / 1e3,
    }


def run_scalability(execution: Execution) -> Outcome:
    """Run all kinds of ExpressPass with all numbers of flows: utilisation, fairness and queues by these."""
    keyed = {(kind, flows): [Case(kind, flows, seed) for seed in execution.seeds] for kind in KINDS for flows in COUNTS}
    theirs: Mapping[str, float] = PUBLISHED["flows"]

    def table(what: str, title: str, quantity: str, *remarks: str) -> Exhibit:
        lines = lines_of(
            {kind: kind for kind in KINDS},
            COUNTS,
            lambda kind, flows: [run[what] for run in found[kind, flows]],
            lambda kind, _: theirs.get(what) if kind == AS_PRINTED else None,
        )
        return Exhibit(
            name=f"expresspass-flows-{what}",
            title=title,
            reproduces="ExpressPass, flow scalability",
            backend="packet",
            axis="flows",
            quantity=quantity,
            lines=lines,
            published=PUBLISHED["source"] if what in theirs else "",
            checks=tuple(
                limit(f"{line.label}, {point.x} flows", point.value or 0.0, FAIR)
                for line in lines
                for point in line.points
                if what == "fairness" and line.label == AS_PRINTED
            ),
            remarks=(
                f"{RATE / 1000:g} Gbit/s, round trip {1e3 * ROUND_TRIP:g} ms, a sender and a receiver for each flow.",
                f"Means of {len(execution.seeds)} seeds.",
                *remarks,
            ),
        )

    with execution.swept(outcome, keyed) as found:
        return execution.written(
            table("utilisation", "data on a link that many flows share", "part of the link"),
            table("fairness", "fairness among many flows on a link", f"Jain's index over {1e3 * INTERVAL:g} ms"),
            table("queue", "longest queue of data where many flows share a link", "KB", _PORTS),
        )


SIZE_BARS = {"expresspass-flows-queue": SizeBar(cause="less than a packet is published; here a second one waits")}

EXPERIMENTS = offered({"expresspass-flows": Offered(run_scalability, seeds=(5, 1), without=("full",))})
