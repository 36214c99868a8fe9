"""ExpressPass in its paper's data centre: queues (Table 3), credits without data (Figure 20), and the shuffle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from experiments.experiment import Outcome
from experiments.flashpass.schemes import EXPRESSPASS, HEADER, PRINTED, PUBLISHED, packet_exhibit, with_printed_credits
from experiments.grid import Execution, Offered, lines_of, offered
from experiments.results.exhibit import Exhibit, Line
from experiments.results.result import Check
from experiments.results.score import SizeBar, order
from simulator.flow_sizes.published import published_flow_sizes
from simulator.packet.credited import DATA, EXPRESSPASS_PORTS, SHARE, ExpressPass
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import single_switch
from simulator.packet.traffic.load import Load, Reference
from simulator.packet.traffic.patterns import Random
from simulator.packet.traffic.workload import Workload
from simulator.packet.transports import Congestion, Tcp, Transport
from simulator.portable_random import Draws

PODS, RACKS, RACK_HOSTS, AGGREGATIONS, CORES = 8, 4, 6, 2, 8
"""192 hosts in 32 racks, 16 aggregation and 8 core switches."""

OVERSUBSCRIBED = RACK_HOSTS / AGGREGATIONS
"""Rate of all hosts of a rack relative to that of its links to aggregation switches."""

LINK_DELAY, HOST_DELAY = 4e-6, 1e-6
"""Seconds of a link, and of a host beside its link: the largest round trip without load is 52 us."""

WORKLOADS = {
    "data mining": "data-mining-expresspass",
    "web search": "web-search-expresspass",
    "cache follower": "cache-follower",
    "web server": "web-server",
}

TRANSPORT = with_printed_credits(replace(EXPRESSPASS, scaled_start=0))
"""ExpressPass with its paper's credits and first rates of short flows.

Such credits leave a twentieth of the links to data that has queued. With 76 to 92 bytes, as in the scripts, links
that are busy both ways have no such room, and queues grow with the time (docs/flashpass.md).
"""

FLOWS = {"data mining": 10_000, "web search": 10_000, "cache follower": 20_000, "web server": 100_000}
"""Flows of a run by default; the paper has 100,000 of each, with which data mining takes half an hour."""

_QUICK_FLOWS, _FULL_FLOWS = 200, 100_000

LOADS = (0.2, 0.4, 0.6)
"""Of the racks' links to aggregation switches, with headers, if all flows leave their racks."""

WASTE_LOAD = 0.6
RATES = (10_000.0, 40_000.0)
STARTS = {"1/2": 1 / 2, "1/16": 1 / 16}

BUFFER = 38.45
"""Bytes of data before a link, per Mbit/s: 250 packets at 10 Gbit/s."""

_PATIENCE = 20.0
"""Simulated seconds after the last start; a flow that takes longer counts as unfinished."""


@dataclass(frozen=True)
class RackRun:
    """A run: flow sizes by name, load of the racks' links, rate of all links, first rate and weight of ExpressPass."""

    workload: str
    load: float
    rate: float
    start: float
    flows: int
    seed: int


def flows_of(execution: Execution) -> Mapping[str, int]:
    """Return the number of flows of each workload."""
    quick, full = (dict.fromkeys(WORKLOADS, flows) for flows in (_QUICK_FLOWS, _FULL_FLOWS))
    return execution.sized(quick, FLOWS, full)


def data_center(rate: float) -> Network:
    """Return hosts, racks linked to both aggregation switches of their pod, and these to half of the cores each."""
    network = Network()
    hosts = iter([network.add_host() for _ in range(PODS * RACKS * RACK_HOSTS)])
    cores = [network.add_switch() for _ in range(CORES)]

    def link(one: int, other: int, delay: float = LINK_DELAY) -> None:
        network.connect((one, other), rate, delay)
        network.connect((other, one), rate, delay)

    for _ in range(PODS):
        aggregations = [network.add_switch() for _ in range(AGGREGATIONS)]
        for place, aggregation in enumerate(aggregations):
            for core in cores[place::AGGREGATIONS]:
                link(aggregation, core)
        for _ in range(RACKS):
            rack = network.add_switch()
            for aggregation in aggregations:
                link(rack, aggregation)
            for _ in range(RACK_HOSTS):
                link(next(hosts), rack, LINK_DELAY + HOST_DELAY)
    return network


def outcome(case: RackRun) -> dict[str, Any]:
    """Return kilobytes queued at outputs of switches while flows begin, and the fate of credits, as JSON data."""
    plain = data_center(case.rate)
    network = replace(EXPRESSPASS_PORTS, buffer=BUFFER).on(plain)
    transport = replace(TRANSPORT, initial_rate=case.start, initial_weight=case.start)
    sizes = published_flow_sizes(WORKLOADS[case.workload])
    load = Load(case.load / OVERSUBSCRIBED * transport.payload / transport.largest_packet, Reference.HOSTS)
    workload = Workload(sizes, load, case.flows, pattern=Random())
    flows = workload.drawn(plain, transport, case.seed)
    simulation = Simulation(network, [flows], Setting(seed=case.seed))
    last = float(flows.start.max())
    simulation.complete(last)
    of_switches = np.array([link.source not in set(plain.hosts) for link in plain.links])
    links = simulation.link_results()
    mean = float(links.queued_byte_seconds[of_switches].mean()) / max(last, 1e-9)
    peak = float(links.queued_peak[of_switches].max())
    simulation.complete(last + _PATIENCE)
    results, credited = simulation.flow_results(), simulation.credit_results()
    return {
        "mean": mean / 1000,
        "peak": peak / 1000,
        "unused": int(credited.unused.sum()),
        "credits": int(credited.credits.sum()),
        "dropped": int(results.dropped.sum()),
        "unfinished": int((~np.isfinite(results.completion)).sum()),
    }


def run_queues(execution: Execution) -> Outcome:
    """Run four workloads at three loads and measure the queues at switches."""
    flows = flows_of(execution)
    keyed = {
        (name, load): [RackRun(name, load, RATES[0], STARTS["1/16"], flows[name], seed) for seed in execution.seeds]
        for name in WORKLOADS
        for load in LOADS
    }

    def table(key: str, quantity: str) -> Exhibit:
        theirs = PUBLISHED["queues"][key]
        return packet_exhibit(
            name=f"expresspass-queues-{key}",
            title="queues at switches under ExpressPass, 192 hosts at 10 Gbit/s",
            reproduces="ExpressPass Table 3",
            axis="load of the racks' links",
            quantity=quantity,
            lines=lines_of(
                {name: name for name in WORKLOADS},
                LOADS,
                lambda name, load: [run[key] for run in found[name, load]],
                lambda name, load: theirs[name][LOADS.index(load)],
            ),
            remarks=(
                "All outputs of switches, from the first start of a flow to the last.",
                "The paper's table names no workloads; its rows are taken in the order of its figures.",
                *_remarks(flows, found),
            ),
            logarithmic=key == "mean",
        )

    with execution.swept(outcome, keyed) as found:
        return execution.written(table("mean", "mean queue (KB)"), table("peak", "longest queue (KB)"))


def run_waste(execution: Execution) -> Outcome:
    """Run four workloads with two first rates on two rates of links and count credits without data."""
    flows = flows_of(execution)
    labels = {(rate, start): f"{rate / 1000:g} Gbit/s, {start}" for rate in RATES for start in STARTS}
    keyed = {
        ((rate, start), name): [
            RackRun(name, WASTE_LOAD, rate, STARTS[start], flows[name], seed) for seed in execution.seeds
        ]
        for rate, start in labels
        for name in WORKLOADS
    }
    with execution.swept(outcome, keyed) as found:
        lines = lines_of(
            labels,
            list(WORKLOADS),
            lambda kind, name: [100 * run["unused"] / max(run["credits"], 1) for run in found[kind, name]],
            lambda kind, name: PUBLISHED["credit waste"][labels[kind]][name],
        )
        exhibit = packet_exhibit(
            name="expresspass-waste",
            title=f"credits of ExpressPass without data at load {WASTE_LOAD:g}, 192 hosts",
            reproduces="ExpressPass Figure 20",
            axis="workload",
            quantity="wasted credits (% of those that reach senders)",
            lines=lines,
            checks=tuple(_order(lines)),
            remarks=("Lines: rate of links, first rate of credits.", *_remarks(flows, found)),
        )
        return execution.written(exhibit)


def _order(lines: Sequence[Line]) -> list[Check]:
    """Return that a lower first rate wastes no more, and that short flows waste most, as published."""
    checks = []
    for fast, slow in zip(lines[::2], lines[1::2], strict=True):
        for one, other in zip(fast.points, slow.points, strict=True):
            if one.value is not None and other.value is not None:
                checks.append(order(f"{one.x}: {slow.label} less {fast.label}", other.value - one.value, high=0.0))
    for line in lines:
        values = {point.x: point.value or 0.0 for point in line.points}
        most = values.pop("web server")
        checks.append(order(f"{line.label}: web server less the highest other", most - max(values.values()), low=0.0))
    return checks


def _remarks(flows: Mapping[str, int], found: Mapping[Any, Sequence[Mapping[str, Any]]]) -> list[str]:
    runs = [run for of_key in found.values() for run in of_key]
    unfinished, dropped = (sum(run[key] for run in runs) for key in ("unfinished", "dropped"))
    numbers = ", ".join(f"{flows[name]:,} of {name}" for name in WORKLOADS)
    said = [f"Flows of a run: {numbers}.", f"{dropped:,} data packets of all runs were dropped."]
    if unfinished:
        said.append(f"{unfinished:,} flows of all runs had not ended {_PATIENCE:g} s after the last had begun.")
    return said


SIZE_BARS = {
    "expresspass-queues-*": SizeBar(cause="the sizes of credits decide how fast queues drain (docs/flashpass.md)"),
    "expresspass-waste": SizeBar(cause="of large flows more is published than a round trip of credits"),
}

_LONGEST = "100,000 flows in each run (default: 10,000 to 100,000, by workload)"


HOSTS, MEGABYTE, RATE = 40, 1_000_000, 10_000.0

TASKS, FULL_TASKS = 2, 8
"""Tasks on a host by default and in the paper, where a host receives 2,496 flows."""

STATISTICS = ("median", "99th", "longest")

_MARKED = 65 * DATA
_LEAST_TIMEOUT = 0.01
_SPREAD = 1e-3
"""Seconds within which all flows start."""

_SHUFFLE_PATIENCE = 120.0
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
class TaskCase:
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


def shuffled(case: TaskCase) -> dict[str, Any]:
    """Return completion times relative to the ideal one, and the number of unfinished flows, as JSON data."""
    transport, _ = TRANSPORTS[case.transport]
    pairs = np.repeat(np.array(list(permutations(range(case.hosts), 2))), case.tasks**2, axis=0)
    start = _SPREAD * Draws(case.seed, _STARTS).uniform(len(pairs))
    flows = Flows.of(pairs[:, 0], pairs[:, 1], transport, size=MEGABYTE, start=start)
    simulation = Simulation(network_for(transport, case.hosts), [flows], Setting(seed=case.seed))
    simulation.complete(_SHUFFLE_PATIENCE)
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
    """Run all transports and show completion times relative to the ideal one, next to the published."""
    tasks = execution.sized(1, TASKS, FULL_TASKS)
    keyed = {transport: [TaskCase(transport, tasks, seed) for seed in execution.seeds] for transport in TRANSPORTS}
    with execution.swept(shuffled, keyed) as found:
        return execution.written(_shuffle_exhibit(execution.name, tasks, found))


def _shuffle_exhibit(name: str, tasks: int, found: Mapping[str, Sequence[Mapping[str, Any]]]) -> Exhibit:
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
    return packet_exhibit(
        name=name,
        title=f"a shuffle among {HOSTS} hosts with {tasks} tasks each",
        reproduces="ExpressPass, shuffle",
        axis="flows",
        quantity="completion time relative to what the data of a host takes",
        lines=lines,
        checks=tuple(checks),
        remarks=(
            f"A host receives {(HOSTS - 1) * tasks**2:,} flows of 1 MB at {RATE / 1000:g} Gbit/s, in the paper 2,496.",
            *([f"{unfinished:,} flows of all runs had not ended after {_SHUFFLE_PATIENCE:g} s."] if unfinished else []),
        ),
    )


_FULL = "8 tasks on each host, as in the paper: an hour (default: 2, with --quick 1)"

EXPERIMENTS = offered(
    {
        "expresspass-queues": Offered(run_queues, full=_LONGEST),
        "expresspass-waste": Offered(run_waste, full=_LONGEST),
        "expresspass-shuffle": Offered(run_shuffle, full=_FULL),
    }
)
