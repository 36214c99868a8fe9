"""Parking lot: how full links are if a long flow of ExpressPass crosses them and shares each with a short one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from experiments.experiment import Outcome
from experiments.flashpass.convergence import UNIFORM
from experiments.flashpass.schemes import EXPRESSPASS, PRINTED, PUBLISHED
from experiments.grid import Execution, Offered, lines_of, offered
from experiments.results.bars import order
from experiments.results.exhibit import Exhibit
from simulator.packet.credited import DATA, EXPRESSPASS_PORTS, SHARE, ExpressPass, Ports
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation

RATE = 10_000.0
DELAY = 5e-6
LENGTHS = (1, 2, 3, 4, 5, 6)
"""Links that the long flow crosses between switches."""

SETTLED, WATCHED = 0.02, 0.02
"""Seconds from the start until the flows have their rates, and over which data is counted then."""

_NO_STEP = 1e-9

NAIVE = ExpressPass(
    initial_rate=1.0, initial_weight=_NO_STEP, least_weight=_NO_STEP, most_weight=_NO_STEP, target_loss=1.0
)
"""Credits at the full rate whatever is lost of them: no loss lowers the rate, and steps are too small to raise it."""

KINDS = {
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
    """Return how full the least used link between switches is with data, of what credits allow."""
    network = parking_lot(links, ports)
    senders = np.array([0, *(2 + 2 * link for link in range(links))])
    simulation = Simulation(network, [Flows.of(senders, senders + 1, transport)], Setting(seed=seed))
    arrived = []
    for until in (SETTLED, SETTLED + WATCHED):
        simulation.complete(until)
        arrived.append(simulation.flow_results().arrived)
    long, *short = np.diff(arrived, axis=0)[0].tolist()
    most = (1 - SHARE) * RATE * 1e6 * WATCHED / (8 * DATA)
    return float(long + min(short)) / most


def run_parking_lot(execution: Execution) -> Outcome:
    """Run all kinds of credits over one to six links."""
    theirs: Mapping[str, Mapping[str, float]] = PUBLISHED["parking lot"]
    lines = lines_of(
        {kind: kind for kind in KINDS},
        LENGTHS,
        lambda kind, links: [utilisation(*KINDS[kind][:2], links, seed) for seed in execution.seeds],
        lambda kind, links: theirs[KINDS[kind][2]].get(str(links)),
    )
    longest = {line.label: line.points[-1].value or 0.0 for line in lines}
    checks = [
        order(f"{kind} / naive, {LENGTHS[-1]} links", longest[kind] / longest["naive"], 1.1)
        for kind, (_, _, key) in KINDS.items()
        if key == "feedback"
    ]
    exhibit = Exhibit(
        name="expresspass-parking-lot",
        title="the least used link of a parking lot",
        reproduces="ExpressPass, parking lot",
        backend="packet",
        axis="links that the long flow crosses",
        quantity="data on the link, of what credits allow",
        lines=lines,
        published=PUBLISHED["source"],
        checks=tuple(checks),
        remarks=(
            "Naive: credits always at the full rate.",
            f"Means of {len(execution.seeds)} seeds.",
            f"{RATE / 1000:g} Gbit/s, {1e6 * DELAY:g} us a link; {1e3 * WATCHED:g} ms after {1e3 * SETTLED:g} ms.",
        ),
    )
    return execution.written(exhibit)


EXPERIMENTS = offered(
    {"expresspass-parking-lot": Offered(run_parking_lot, seeds=(5, 1), without=("full",), sweeps=False)}
)
