"""Figures 11 and 12, 14, 15 and 5: flows that come and go over the WAN of three data centres."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.experiment import Outcome
from experiments.flashpass.schemes import (
    BURSTS,
    LABELS,
    NAMES,
    PACED_BY_US,
    PUBLISHED,
    TransportScheme,
    packet_exhibit,
    published_name,
)
from experiments.grid import Execution, Offered, lines_of, offered
from experiments.results.exhibit import Line, Point
from experiments.results.result import Check
from experiments.results.score import SizeBar, slower
from simulator.flow_sizes.published import FlowSizes, published_flow_sizes
from simulator.packet.credited import Finishing, FlashPass
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.traffic.load import Load
from simulator.packet.traffic.patterns import Random
from simulator.packet.traffic.workload import Workload

HOSTS = 20
"""Hosts in each data centre."""

HOST_RATE, WAN_RATE = 1_000.0, 10_000.0
HOST_DELAY = 1e-5
DELAYS = {(0, 1): 0.04, (0, 2): 0.03, (1, 2): 0.02}
"""Seconds one way between two data centres."""

SMALL = 10_000_000
"""Bytes below which a flow is small."""

_PATIENCE = 60.0
"""Simulated seconds after the last start; a flow that takes longer counts as unfinished."""


def wan() -> Network:
    """Return hosts at three border routers, data centre by data centre, and the links between these."""
    network = Network()
    hosts = [network.add_host() for _ in range(3 * HOSTS)]
    routers = [network.add_switch() for _ in range(3)]
    for host in hosts:
        network.connect((host, routers[host // HOSTS]), HOST_RATE, HOST_DELAY)
        network.connect((routers[host // HOSTS], host), HOST_RATE, HOST_DELAY)
    for (one, other), delay in DELAYS.items():
        network.connect((routers[one], routers[other]), WAN_RATE, delay)
        network.connect((routers[other], routers[one]), WAN_RATE, delay)
    return network


@dataclass(frozen=True)
class WanRun:
    """A run over the WAN.

    Attributes:
        scheme: transport and queues.
        load: of hosts' links; those between data centres have the same.
        size: bytes of every flow; None for the sizes of the WAN of Alibaba.
    """

    load: float
    flows: int
    seed: int
    scheme: TransportScheme = field(default_factory=lambda: TransportScheme.of("flashpass"))
    size: int | None = None

    def drawn(self, network: Network) -> Flows:
        """Return the flows, the same under every scheme."""
        sizes = published_flow_sizes("wan-alibaba") if self.size is None else FlowSizes.of_one(self.size)
        workload = Workload(sizes, Load(self.load), self.flows, pattern=Random(HOSTS))
        return workload.drawn(network, self.scheme.transport, self.seed)


def outcome(case: WanRun) -> dict[str, Any]:
    """Return completion times in milliseconds by size, and the fate of packets and credits, as JSON data."""
    network = case.scheme.on(wan())
    flows = case.drawn(network)
    simulation = Simulation(network, [flows], Setting(seed=case.seed))
    simulation.complete(float(flows.start.max()) + _PATIENCE)
    results, credited = simulation.flow_results(), simulation.credit_results()
    ended = np.isfinite(results.completion)
    milliseconds = 1e3 * results.completion
    small = ended & (flows.size < SMALL)
    large = ended & (flows.size >= SMALL)
    found: dict[str, Any] = {
        "small average": _mean(milliseconds[small]),
        "small 99th": float(np.percentile(milliseconds[small], 99)) if small.any() else None,
        "large average": _mean(milliseconds[large]),
        "all average": _mean(milliseconds[ended]),
        "unfinished": int((~ended).sum()),
        "dropped": int(results.dropped.sum()),
        "sent": int(results.sent.sum()),
        "offered": int(credited.offered.sum()),
        "credits": int(credited.credits.sum()),
        "unused": int(credited.unused.sum()),
        "yielded": int(credited.yielded.sum()),
        "allocated": simulation.totals().allocated,
    }
    return found


def _mean(values: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    return float(values.mean()) if values.size else None


STATISTICS = ("small average", "small 99th", "large average", "all average")
TARGETS = ((0.01, 0.05), (0.01, 0.1), (0.01, 0.2), (0.05, 0.1))
FINISHING_LOAD = TARGETS_LOAD = 0.8
MEGABYTES = (10, 20, 40, 80)


OFF = "Off: emulation packets beyond the demand are like all others."
SAVED = (
    "Saved are the credits of over-provisioned emulation packets that queues drop: the published savings are 2.7 MB of"
    " data a flow at each size, what one round trip can over-provision."
)

LOADS = {"flashpass-fig11": 0.4, "flashpass-fig12": 0.8}
QUICK_FLOWS, FLOWS, FULL_FLOWS = 40, 400, 3_000

Found = Mapping[Any, Sequence[Mapping[str, Any]]]


def _flows(execution: Execution) -> int:
    return execution.sized(QUICK_FLOWS, FLOWS, FULL_FLOWS)


def run_load(execution: Execution) -> Outcome:
    """Run the five transports, and Cubic with pacing, at one load."""
    load, flows = LOADS[execution.name], _flows(execution)
    made = {scheme: TransportScheme.of(scheme) for scheme in LABELS}
    keyed = {scheme: [WanRun(load, flows, seed, made[scheme]) for seed in execution.seeds] for scheme in LABELS}
    theirs = PUBLISHED["dynamic"].get(f"{load:g}", {})
    with execution.swept(outcome, keyed) as found:
        lines = lines_of(
            LABELS,
            STATISTICS,
            lambda scheme, each: [run[each] for run in found[scheme]],
            lambda scheme, each: theirs[each][list(NAMES).index(published_name(scheme))] if theirs else None,
        )
        exhibit = packet_exhibit(
            name=execution.name,
            title=f"flows over three data centres at load {load:g}, {flows:,} flows",
            reproduces=f"FlashPass Figure {execution.name[-2:]}",
            axis="flows",
            quantity="completion time (ms)",
            lines=lines,
            checks=tuple(ratio_checks(lines)),
            remarks=(*_remarks(found), "Small flows have less than 10 MB."),
        )
        return execution.written(exhibit)


def run_targets(execution: Execution) -> Outcome:
    """Run FlashPass with different target losses of emulation packets."""
    flows = _flows(execution)
    data = PUBLISHED["targets"]
    labels = dict(zip(data["labels"], TARGETS, strict=True))
    keyed = {
        label: [
            WanRun(TARGETS_LOAD, flows, seed, TransportScheme(FlashPass(least_loss=least, most_loss=most)))
            for seed in execution.seeds
        ]
        for label, (least, most) in labels.items()
    }
    with execution.swept(outcome, keyed) as found:
        means = {label: [run["all average"] for run in runs] for label, runs in found.items()}
        first = means[data["labels"][0]]
        fct = [
            Point.of(label, [ours / base for ours, base in zip(means[label], first, strict=True)], data["fct"][place])
            for place, label in enumerate(labels)
        ]
        loss = [
            Point.of(label, [100 * (1 - run["credits"] / run["offered"]) for run in found[label]], data["loss"][place])
            for place, label in enumerate(labels)
        ]
        by_time = sorted(fct, key=lambda point: point.published or 0.0)
        orders = [
            check
            for fast, slow in itertools.pairwise(by_time)
            for check in slower(f"{slow.x} / {fast.x}", slow, fast, relative=True)
        ]
        exhibits = [
            packet_exhibit(
                name=f"flashpass-fig14-{key}",
                title=f"target losses of emulation packets, load {TARGETS_LOAD:g}, {flows:,} flows",
                reproduces="FlashPass Figure 14",
                axis="target loss",
                quantity=quantity,
                lines=(Line("FlashPass", tuple(points)),),
                checks=tuple(orders) if key == "fct" else (),
                remarks=_remarks(found),
            )
            for key, quantity, points in (
                ("fct", "mean completion time relative to 1-5 %", fct),
                ("loss", "loss of emulation packets (%)", loss),
            )
        ]
        return execution.written(*exhibits)


def run_finishing(execution: Execution) -> Outcome:
    """Run FlashPass with and without selective dropping of over-provisioned emulation packets, flows of one size."""
    flows = _flows(execution)
    data = PUBLISHED["finishing"]
    kinds = (Finishing.SELECTIVE, Finishing.AGGRESSIVE)
    keyed = {
        (size, kind): [
            WanRun(FINISHING_LOAD, flows, seed, TransportScheme(FlashPass(finishing=kind)), size * 1_000_000)
            for seed in execution.seeds
        ]
        for size in MEGABYTES
        for kind in kinds
    }
    with execution.swept(outcome, keyed) as found:
        fct, saved = [], []
        for place, megabytes in enumerate(MEGABYTES):
            pairs = list(zip(found[megabytes, kinds[0]], found[megabytes, kinds[1]], strict=True))
            ratios = [on["all average"] / off["all average"] for on, off in pairs]
            parts = [100 * on["yielded"] / max(on["sent"], 1) for on, _ in pairs]
            fct.append(Point.of(megabytes, ratios, data["fct"][place]))
            saved.append(Point.of(megabytes, parts, data["saved"][place]))
        exhibits = [
            packet_exhibit(
                name=f"flashpass-fig15-{key}",
                title=f"over-provisioning with selective dropping, load {FINISHING_LOAD:g}, {flows:,} flows",
                reproduces="FlashPass Figure 15",
                axis="size of flows (MB)",
                quantity=quantity,
                lines=(Line("on / off" if key == "fct" else "saved", tuple(points)),),
                remarks=(*_remarks(found), said),
            )
            for key, quantity, points, said in (
                ("fct", "mean completion time, with relative to without", fct, OFF),
                ("saved", "credits saved (% of data packets)", saved, SAVED),
            )
        ]
        return execution.written(*exhibits)


def run_waste(execution: Execution) -> Outcome:
    """Run ExpressPass, whose receivers send credits until they are told to stop, with flows of one size."""
    flows = _flows(execution)
    data = PUBLISHED["waste"]
    scheme = TransportScheme.of("expresspass")
    keyed = {
        size: [WanRun(FINISHING_LOAD, flows, seed, scheme, size * 1_000_000) for seed in execution.seeds]
        for size in MEGABYTES
    }
    with execution.swept(outcome, keyed) as found:
        points = [
            Point.of(size, [100 * run["unused"] / run["credits"] for run in found[size]], data["wasted"][place])
            for place, size in enumerate(MEGABYTES)
        ]
        exhibit = packet_exhibit(
            name="flashpass-fig5",
            title=f"credits of ExpressPass without data, load {FINISHING_LOAD:g}, {flows:,} flows",
            reproduces="FlashPass Figure 5",
            axis="size of flows (MB)",
            quantity="wasted credits (% of those that reach senders)",
            lines=(Line(NAMES["expresspass"], tuple(points)),),
            remarks=_remarks(found),
        )
        return execution.written(exhibit)


def _remarks(found: Found) -> tuple[str, ...]:
    runs = [run for of_key in found.values() for run in of_key]
    unfinished = sum(run["unfinished"] for run in runs)
    said = f"{unfinished:,} flows of all runs had not ended a minute after the last had begun." if unfinished else ""
    return (said,) if said else ()


def ratio_checks(lines: Sequence[Line]) -> list[Check]:
    """Return the orders of transports by the mean over all flows, each beside the next slower one."""
    at = {line.label: line.at("all average") for line in lines}
    return [
        check
        for slow, fast in itertools.pairwise(label for label in NAMES.values() if label in at)
        for check in slower(f"all flows: {slow} / {fast}", at[slow], at[fast])
    ]


SIZE_BARS = {
    "flashpass-fig1[12]": SizeBar(
        cause="400 flows are over before the load is steady (docs/flashpass.md)",
        causes={"Cubic": BURSTS, "Cubic, paced": PACED_BY_US},
    ),
    "flashpass-fig14-loss": SizeBar(
        cause="ours counts the first round trips of flows, which emulate at the full rate (docs/flashpass.md)"
    ),
}

_LONG = "3,000 flows in each run (default: 400)"
EXPERIMENTS = offered(
    {
        "flashpass-fig5": Offered(run_waste, full=_LONG),
        "flashpass-fig11": Offered(run_load, full=_LONG),
        "flashpass-fig12": Offered(run_load, full=_LONG),
        "flashpass-fig14": Offered(run_targets, full=_LONG),
        "flashpass-fig15": Offered(run_finishing, full=_LONG),
    }
)
