"""ExpressPass on small networks: convergence of two flows, a link that many flows share, and the parking lot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Outcome
from experiments.flashpass.schemes import EXPRESSPASS, PRINTED, PUBLISHED, packet_exhibit
from experiments.grid import Execution, Offered, lines_of, offered
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.results.score import SizeBar, limit, order, size
from simulator.packet.credited import DATA, EXPRESSPASS_PORTS, SHARE, ExpressPass, Ports
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import Bottleneck, dumbbell
from simulator.portable_random import Draws

RATES = (10_000.0, 100_000.0)
STARTS = {"1/2": 1 / 2, "1/16": 1 / 16}
"""First rates, as parts of the highest."""

WEIGHT = 1 / 2
"""First weight, as in Figure 8 (a) of the paper, whose 3 and 6 round trips are those of Figure 16."""

ROUND_TRIP = 1e-4

NEAR = 0.75
"""A flow has converged in the first round trip in which it has this part of half a link."""

FAIR_SHARE = (0.45, 0.55)
"""Bar: the second flow's lasting share."""

_ALONE = 40
"""Round trips that the first flow has to itself."""

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
        packet_exhibit(
            name="expresspass-convergence",
            title="round trips until a second flow has its share",
            reproduces="ExpressPass, convergence",
            axis="rate of links, first rate",
            quantity="round trips from the second flow's start",
            lines=tuple(lines),
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
                Check(f"{line.label}, {point.x}", point.value or 0.0, *FAIR_SHARE)
                for line in lasting
                for point in line.points
            ),
        ),
    ]
    return execution.written(*exhibits)


RATE = 10_000.0

COUNTS = (4, 16, 64, 256, 1024)
"""Pairs of hosts, as in Figure 15 (b), (d) and (f)."""

INTERVAL, INTERVALS = 0.1, 2
"""Seconds over which each flow's throughput is taken, as in the paper, and how often."""

SETTLED = 0.05
"""Seconds until the first interval; flows start within the first fifth of them."""

LEAST_FAIRNESS = 0.98
"""Bar: least fairness. The paper says "very good"; with 1,024 flows a flow sends 75 packets in an interval, and packets
let through by chance alone give 75 / 76."""

_PORTS = "Over all ports, from the start."
_STARTS = 106


@dataclass(frozen=True)
class SharedLink:
    """A run of so many flows by a kind of `KINDS`."""

    kind: str
    flows: int
    seed: int


def shared(case: SharedLink) -> dict[str, Any]:
    """Return the part of the link with data, Jain's fairness index, and the longest queue of data in KB."""
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
    keyed = {
        (kind, flows): [SharedLink(kind, flows, seed) for seed in execution.seeds] for kind in KINDS for flows in COUNTS
    }
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
                limit(f"{line.label}, {point.x} flows", point.value or 0.0, LEAST_FAIRNESS)
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

    with execution.swept(shared, keyed) as found:
        return execution.written(
            table("utilisation", "data on a link that many flows share", "part of the link"),
            table("fairness", "fairness among many flows on a link", f"Jain's index over {1e3 * INTERVAL:g} ms"),
            table("queue", "longest queue of data where many flows share a link", "KB", _PORTS),
        )


SIZE_BARS = {"expresspass-flows-queue": SizeBar(cause="less than a packet is published; here a second one waits")}


DELAY = 5e-6
LENGTHS = (1, 2, 3, 4, 5, 6)
"""Links that the long flow crosses between switches."""

PARKED, WATCHED = 0.02, 0.02
"""Seconds from the start until the flows have their rates, and over which data is counted then."""

_NO_STEP = 1e-9

NAIVE = ExpressPass(
    initial_rate=1.0, initial_weight=_NO_STEP, least_weight=_NO_STEP, most_weight=_NO_STEP, target_loss=1.0
)
"""Credits at the full rate whatever their losses: no loss lowers the rate, and steps are too small to raise it."""

PARKING_KINDS = {
    "naive": (NAIVE, EXPRESSPASS_PORTS, "naive"),
    "naive, uniform drops": (NAIVE, UNIFORM, "naive"),
    "as printed": (PRINTED, UNIFORM, "feedback"),
    "public code": (EXPRESSPASS, EXPRESSPASS_PORTS, "feedback"),
}
"""Transports, their ports, and the published line."""


def parking_lot(links: int, ports: Ports) -> Network:
    """Return switches in a line: hosts 0 and 1 at its ends, and hosts 2 + 2 k and 3 + 2 k at the ends of link k."""
    network = Network()
    hosts = [network.add_host() for _ in range(2 + 2 * links)]
    switches = [network.add_switch() for _ in range(links + 1)]
    at = [switches[0], switches[-1], *(switches[link + end] for link in range(links) for end in (0, 1))]
    ends = [*zip(hosts, at, strict=True), *pairwise(switches)]
    for one, other in ends:
        network.connect((one, other), RATE, DELAY)
        network.connect((other, one), RATE, DELAY)
    return ports.on(network)


def utilisation(transport: ExpressPass, ports: Ports, links: int, seed: int) -> float:
    """Return the utilisation of the least used link between switches, relative to what credits allow."""
    network = parking_lot(links, ports)
    senders = np.array([0, *(2 + 2 * link for link in range(links))])
    simulation = Simulation(network, [Flows.of(senders, senders + 1, transport)], Setting(seed=seed))
    arrived = []
    for until in (PARKED, PARKED + WATCHED):
        simulation.complete(until)
        arrived.append(simulation.flow_results().arrived)
    long, *short = np.diff(arrived, axis=0)[0].tolist()
    most = (1 - SHARE) * RATE * 1e6 * WATCHED / (8 * DATA)
    return float(long + min(short)) / most


def run_parking_lot(execution: Execution) -> Outcome:
    """Run all kinds of credits over one to six links."""
    theirs: Mapping[str, Mapping[str, float]] = PUBLISHED["parking lot"]
    lines = lines_of(
        {kind: kind for kind in PARKING_KINDS},
        LENGTHS,
        lambda kind, links: [utilisation(*PARKING_KINDS[kind][:2], links, seed) for seed in execution.seeds],
        lambda kind, links: theirs[PARKING_KINDS[kind][2]].get(str(links)),
    )
    longest = {line.label: line.points[-1].value or 0.0 for line in lines}
    checks = [
        order(f"{kind} / naive, {LENGTHS[-1]} links", longest[kind] / longest["naive"], 1.1)
        for kind, (_, _, key) in PARKING_KINDS.items()
        if key == "feedback"
    ]
    exhibit = packet_exhibit(
        name="expresspass-parking-lot",
        title="the least used link of a parking lot",
        reproduces="ExpressPass, parking lot",
        axis="links that the long flow crosses",
        quantity="data on the link, of what credits allow",
        lines=lines,
        checks=tuple(checks),
        remarks=(
            "Naive: credits always at the full rate.",
            f"Means of {len(execution.seeds)} seeds.",
            f"{RATE / 1000:g} Gbit/s, {1e6 * DELAY:g} us a link; {1e3 * WATCHED:g} ms after {1e3 * PARKED:g} ms.",
        ),
    )
    return execution.written(exhibit)


EXPERIMENTS = offered(
    {
        "expresspass-convergence": Offered(run_convergence, without=("repetitions", "quick", "full"), sweeps=False),
        "expresspass-flows": Offered(run_scalability, seeds=(5, 1), without=("full",)),
        "expresspass-parking-lot": Offered(run_parking_lot, seeds=(5, 1), without=("full",), sweeps=False),
    }
)
