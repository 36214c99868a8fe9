"""Shuffle: every task on each of 40 hosts sends a megabyte to every task on all others, at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from experiments.experiment import Outcome
from experiments.flashpass.data_center import BUFFER, HOST_DELAY, LINK_DELAY
from experiments.flashpass.schemes import EXPRESSPASS, HEADER, PRINTED, PUBLISHED
from experiments.grid import Execution, Offered, lines_of, offered
from experiments.results.bars import order
from experiments.results.exhibit import Exhibit
from simulator.packet.credited import DATA, SHARE, ExpressPass
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import single_switch
from simulator.packet.transports import Congestion, Tcp, Transport
from simulator.portable_random import Draws

HOSTS, MEGABYTE, RATE = 40, 1_000_000, 10_000.0

TASKS, FULL_TASKS = 2, 8
"""Tasks on a host by default and in the paper, where a host receives 2,496 flows."""

STATISTICS = ("median", "99th", "longest")

_MARKED = 65 * DATA
_LEAST_TIMEOUT = 0.01
_SPREAD = 1e-3
"""Seconds within which all flows start."""

_PATIENCE = 120.0
_STARTS = 105

BY_CODE, DCTCP = "ExpressPass by its public code", "DCTCP"
TRANSPORTS: dict[str, tuple[Transport, str]] = {
    BY_CODE: (replace(EXPRESSPASS, scaled_start=0), "expresspass"),
    "ExpressPass as printed": (PRINTED, "expresspass"),
    DCTCP: (
        Tcp(
            Congestion.DCTCP,
            header=HEADER,
            handshake=True,
            first_timeout=_LEAST_TIMEOUT,
            min_timeout=_LEAST_TIMEOUT,
        ),
        "dctcp",
    ),
}
"""Transports, and the published line of each."""


@dataclass(frozen=True)
class Case:
    """A run with a transport of `TRANSPORTS`."""

    transport: str
    tasks: int
    seed: int
    hosts: int = HOSTS


def ideal(hosts: int, tasks: int) -> float:
    """Return the seconds that a host's link needs for all that it receives, at the most that credits allow."""
    payload = EXPRESSPASS.payload / DATA * (1 - SHARE) * RATE * 1e6
    return 8 * (hosts - 1) * tasks**2 * MEGABYTE / payload


def network_for(transport: Transport, hosts: int) -> Network:
    """Return hosts at one switch, with the queues that the transport needs."""
    delay = LINK_DELAY + HOST_DELAY
    if isinstance(transport, Tcp):
        return single_switch(hosts, RATE, delay, Fifo(round(BUFFER * RATE), Threshold(_MARKED)))
    assert isinstance(transport, ExpressPass)
    return replace(transport.ports, buffer=BUFFER).on(single_switch(hosts, RATE, delay, Fifo()))


def outcome(ready: None, case: Case) -> dict[str, Any]:
    """Return completion times relative to the ideal one, and how many flows have not ended, as JSON data."""
    del ready
    transport, _ = TRANSPORTS[case.transport]
    pairs = np.repeat(np.array(list(permutations(range(case.hosts), 2))), case.tasks**2, axis=0)
    start = _SPREAD * Draws(case.seed, _STARTS).uniform(len(pairs))
    flows = Flows.of(pairs[:, 0], pairs[:, 1], transport, size=MEGABYTE, start=start)
    simulation = Simulation(network_for(transport, case.hosts), [flows], Setting(seed=case.seed))
    simulation.complete(_PATIENCE)
    completion = simulation.flow_results().completion
    ended = completion[np.isfinite(completion)]
    parts = ended / ideal(case.hosts, case.tasks)
    return {
        "median": float(np.median(parts)),
        "99th": float(np.percentile(parts, 99)),
        "longest": float(parts.max()),
        "unfinished": int(completion.size - ended.size),
    }


def run_shuffle(execution: Execution) -> Outcome:
    """Run all transports and show completion times relative to the ideal one beside the published."""
    tasks = execution.sized(1, TASKS, FULL_TASKS)
    keyed = {transport: [Case(transport, tasks, seed) for seed in execution.seeds] for transport in TRANSPORTS}
    with execution.swept(outcome, keyed) as found:
        return execution.written(_exhibit(execution.name, tasks, found))


def _exhibit(name: str, tasks: int, found: Mapping[str, Sequence[Mapping[str, Any]]]) -> Exhibit:
    lines = lines_of(
        {label: label for label in TRANSPORTS},
        STATISTICS,
        lambda label, statistic: [run[statistic] for run in found[label]],
        lambda label, statistic: (
            PUBLISHED["shuffle"][TRANSPORTS[label][1]][STATISTICS.index(statistic)] / ideal(HOSTS, FULL_TASKS)
        ),
    )
    longest = {line.label: line.points[-1].value or 0.0 for line in lines}
    checks = [order(f"longest flow, {BY_CODE} / {DCTCP}", longest[BY_CODE] / longest[DCTCP], high=1.0)]
    unfinished = sum(run["unfinished"] for runs in found.values() for run in runs)
    return Exhibit(
        name=name,
        title=f"a shuffle among {HOSTS} hosts with {tasks} tasks each",
        reproduces="ExpressPass, shuffle",
        backend="packet",
        axis="flows",
        quantity="completion time relative to what the data of a host takes",
        lines=lines,
        published=PUBLISHED["source"],
        checks=tuple(checks),
        remarks=(
            f"A host receives {(HOSTS - 1) * tasks**2:,} flows of 1 MB at {RATE / 1000:g} Gbit/s, in the paper 2,496.",
            *([f"{unfinished:,} flows of all runs had not ended after {_PATIENCE:g} s."] if unfinished else []),
        ),
    )


_FULL = "8 tasks on each host, as in the paper: an hour (default: 2, with --quick 1)"
EXPERIMENTS = offered({"expresspass-shuffle": Offered(run_shuffle, full=_FULL)})
