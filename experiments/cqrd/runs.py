"""Networks of the CQRD papers' switches, and one run of their traffic: its flows, and the completion time of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.grid import Execution, Key
from experiments.results.exhibit import Exhibit
from experiments.results.published import published_numbers
from experiments.results.score import SizeBar
from simulator.flow_sizes.published import published_flow_sizes
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Crosspoints, Fifo, HashedCredits, Queueing, Threshold
from simulator.packet.routing import Ecmp
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import single_switch
from simulator.packet.traffic.arrivals import LogNormal
from simulator.packet.traffic.load import Load
from simulator.packet.traffic.workload import Workload
from simulator.packet.transports import Congestion, Tcp

PUBLISHED = published_numbers("cqrd")
"""All published numbers; `experiments/results/published/cqrd.json` names their sources."""

packet_exhibit = partial(Exhibit, backend="packet", published=PUBLISHED["source"])
"""Returns an exhibit of simulated packets next to published numbers."""

LOADS = (0.1, 0.4, 0.7)
"""The papers' moderate, heavy and extreme load."""

HOSTS_UNKNOWN = SizeBar(
    cause="the paper gives neither the rate of load 1 nor hosts' queues, and both move these times (docs/cqrd.md)"
)

FCT, GOODPUT = "FCT of short flows (ms)", "goodput of large flows (Gbit/s)"
"""FCT is the flow completion time."""


def value(*keys: str | int) -> float | None:
    """Return the number under these keys, None if there is none."""
    found: Any = PUBLISHED
    for key in keys:
        if isinstance(found, dict):
            if key not in found:
                return None
            found = found[key]
        else:
            assert isinstance(key, int)
            found = found[key]
    assert found is None or isinstance(found, int | float)
    return found


SWITCHES = {
    "cqrd": "CQRD",
    "cq": "CQ",
    "hcf": "HCF",
    "oq": "OQ",
}
"""Crosspoints with random drop, crosspoints with tail drop, Hashed Credits Fair, and output queues."""

MARKED_FROM = 0.4
"""Marking threshold as a share of a queue's capacity, for all switches (journal, section 6.6)."""


@dataclass(frozen=True)
class DeviceConditions:
    """Settings that all switches and hosts of a network share.

    Attributes:
        marks: True if queues mark packets that are capable of ECN.
        cell: bytes of a crosspoint's cell.
        packet: bytes of the largest packet, for which a crosspoint always has room.
        host_queue: most packets that wait in front of a host's link; None for no limit.
    """

    marks: bool = False
    cell: int = 1
    packet: int = 1500
    host_queue: int | None = None

    def at_hosts(self) -> Fifo | None:
        """Return the queue in front of a host's link; None for one that never overflows."""
        return None if self.host_queue is None else Fifo(self.host_queue * self.packet)


NOTHING_SPECIAL = DeviceConditions()


def queueing(scheme: str, output: int, ports: int, conditions: DeviceConditions = NOTHING_SPECIAL) -> Queueing:
    """Return the queues in front of each output of a switch: one, two, or one for every input port.

    They have `output` bytes together. A packet occupies its crosspoint until it has left.
    """
    if scheme == "oq":
        return _queue(output, conditions)
    if scheme == "hcf":
        return HashedCredits(_queue(output // 2, conditions))
    random = scheme == "cqrd"
    cell = conditions.cell
    size = max(output // ports, -(-conditions.packet // cell) * cell)
    crosspoint = Fifo(size, _marking(size, conditions), random_drop=random, random_mark=random, cell=cell)
    return Crosspoints(crosspoint, held_while_sent=True)


def _queue(size: int, conditions: DeviceConditions) -> Fifo:
    return Fifo(size, _marking(size, conditions))


def _marking(size: int, conditions: DeviceConditions) -> Threshold | None:
    return Threshold(int(MARKED_FROM * size)) if conditions.marks else None


@dataclass(frozen=True)
class OneSwitch:
    """Experiment 1: an aggregation switch with 5 MB and a host at every port; the round-trip time is 16 us.

    Attributes:
        total: bytes of memory.
    """

    scheme: str
    total: int = 5_000_000
    ports: int = 24
    rate: float = 10_000
    delay: float = 4e-6

    def network(self, conditions: DeviceConditions = NOTHING_SPECIAL) -> Network:
        queues = queueing(self.scheme, self.total // self.ports, self.ports, conditions)
        return single_switch(self.ports, self.rate, self.delay, queues, conditions.at_hosts())


@dataclass(frozen=True)
class TwoTiers:
    """Experiments 2 to 5: 24 top-of-rack switches with 20 hosts each, all linked to two aggregation switches.

    Attributes:
        racks: the scheme of each top-of-rack switch.
        aggregation: the scheme of the aggregation switches.
        output: bytes in front of every output; None for 4 MB per top-of-rack switch and 5 MB per aggregation switch.
    """

    racks: tuple[str, ...]
    aggregation: str
    output: int | None = None

    HOSTS = 20
    AGGREGATIONS = 2
    HOST_RATE, FABRIC_RATE, DELAY = 1_000.0, 10_000.0, 2e-6
    RACK_MEMORY, AGGREGATION_MEMORY = 4_000_000, 5_000_000

    @classmethod
    def of(cls, scheme: str, racks: int = 24, output: int | None = None) -> TwoTiers:
        """Return the network with one scheme in all switches."""
        return cls((scheme,) * racks, scheme, output)

    def network(self, conditions: DeviceConditions = NOTHING_SPECIAL) -> Network:
        network = Network()
        hosts = [network.add_host() for _ in range(len(self.racks) * self.HOSTS)]
        racks = [network.add_switch() for _ in self.racks]
        aggregations = [network.add_switch() for _ in range(self.AGGREGATIONS)]
        ports = self.HOSTS + self.AGGREGATIONS
        output = self.output or self.RACK_MEMORY // ports
        in_racks = {scheme: queueing(scheme, output, ports, conditions) for scheme in dict.fromkeys(self.racks)}
        output = self.output or self.AGGREGATION_MEMORY // len(racks)
        above = queueing(self.aggregation, output, len(racks), conditions)
        for host in hosts:
            rack = host // self.HOSTS
            network.connect((host, racks[rack]), self.HOST_RATE, self.DELAY, queueing=conditions.at_hosts())
            network.connect((racks[rack], host), self.HOST_RATE, self.DELAY, queueing=in_racks[self.racks[rack]])
        for rack, scheme in zip(racks, self.racks, strict=True):
            for aggregation in aggregations:
                network.connect((rack, aggregation), self.FABRIC_RATE, self.DELAY, queueing=in_racks[scheme])
                network.connect((aggregation, rack), self.FABRIC_RATE, self.DELAY, queueing=above)
        return network


Vector = NDArray[np.float64]

OVERLOADS = {"journal": 48.0, "lcn": 24.0}
"""The papers' load of 1, as a share of the capacity of all hosts' links; `docs/cqrd.md` says why."""

SHORT, GIANT = 100_000, 1_000_000
"""Bytes below which a flow is short, and above which it is giant; flows that are not short are large."""


@dataclass(frozen=True)
class Choices:
    """Choices that the papers leave open; `docs/cqrd.md` explains these and shows the effect of others.

    Attributes:
        overload: the papers' load of 1, as a share of the capacity of all hosts' links.
        sigma: standard deviation of the logarithm of the gaps between flows.
        payload: bytes of a full segment.
        cell: bytes of a crosspoint's cell.
        min_timeout: smallest retransmission timeout in seconds, also the first one.
        handshake: True if SYN and SYN-ACK precede the data.
        gain: of DCTCP.
        host_queue: most packets that wait in front of a host's link, 50 as in ns-2; None for no limit.
        nic_packets: most packets of a flow in its host's network card; 0 for no limit.
        window: most segments of a flow in flight.
    """

    overload: float = OVERLOADS["journal"]
    sigma: float = 1.0
    payload: int = 1460
    cell: int = 1
    min_timeout: float = 2e-4
    handshake: bool = True
    gain: float = 0.0625
    host_queue: int | None = 50
    nic_packets: int = 0
    window: int = 2**31


@dataclass(frozen=True)
class SwitchRun:
    """A run of the simulation.

    Attributes:
        place: network with its switches.
        load: in the papers' units.
        dctcp: True for DCTCP instead of TCP with SACK.
    """

    place: OneSwitch | TwoTiers
    flows: int
    load: float
    seed: int
    dctcp: bool = False
    choices: Choices = field(default_factory=Choices)

    def network(self) -> Network:
        return self.place.network(conditions(self.choices, marks=self.dctcp))

    def drawn(self, network: Network) -> Flows:
        """Return the flows, the same for all switches."""
        load = Load(self.load * self.choices.overload)
        workload = Workload(published_flow_sizes("cqrd"), load, self.flows, LogNormal(self.choices.sigma))
        return workload.drawn(network, transport(self.choices, dctcp=self.dctcp), self.seed)


def choices_of(paper: str) -> Choices:
    """Return the choices for the flows of the journal or of the conference, which differ in what a load is."""
    return Choices(overload=OVERLOADS[paper])


def conditions(choices: Choices, *, marks: bool = False) -> DeviceConditions:
    """Return the conditions of a network; its queues mark packets for DCTCP."""
    return DeviceConditions(marks, choices.cell, transport(choices).largest_packet, choices.host_queue)


def transport(choices: Choices, *, dctcp: bool = False) -> Tcp:
    """Return TCP with SACK, initial window 4 and timeouts of at least 200 us (journal, section 6.1)."""
    return Tcp(
        congestion=Congestion.DCTCP if dctcp else Congestion.NEW_RENO,
        handshake=choices.handshake,
        payload=choices.payload,
        initial_window=4,
        dctcp_gain=choices.gain,
        nic_packets=choices.nic_packets,
        receive_window=choices.window,
        first_timeout=choices.min_timeout,
        min_timeout=choices.min_timeout,
    )


@dataclass(frozen=True, eq=False)
class FlowTimes:
    """Results of F flows, each of shape (F,): bytes, seconds."""

    size: NDArray[np.int64]
    start: Vector
    completion: Vector

    @property
    def short(self) -> NDArray[np.bool_]:
        return self.size < SHORT

    def milliseconds(self, which: NDArray[np.bool_] | None = None) -> Vector:
        """Return the completion times of short flows, optionally of those chosen."""
        return 1e3 * self.completion[self.short if which is None else self.short & which]

    def gigabits(self, which: NDArray[np.bool_] | None = None) -> Vector:
        """Return the goodput of large flows, optionally of those chosen."""
        chosen = ~self.short if which is None else ~self.short & which
        return 8e-9 * self.size[chosen] / self.completion[chosen]

    def values(self, quantity: str, which: NDArray[np.bool_] | None = None) -> Vector:
        """Return completion times for `fct`, otherwise goodput."""
        return self.milliseconds(which) if quantity == "fct" else self.gigabits(which)


_STATISTICS: Mapping[str, Callable[[Vector], Any]] = {
    "20th": lambda values: np.percentile(values, 20),
    "50th": lambda values: np.percentile(values, 50),
    "average": np.mean,
    "80th": lambda values: np.percentile(values, 80),
    "99th": lambda values: np.percentile(values, 99),
}

PERCENTILES = tuple(_STATISTICS)


def statistic(name: str, values: Vector) -> float | None:
    """Return the statistic of some values, None if there are none."""
    return float(_STATISTICS[name](values)) if values.size else None


@contextmanager
def swept_runs(execution: Execution, keyed: Mapping[Key, Sequence[SwitchRun]]) -> Iterator[dict[Key, list[FlowTimes]]]:
    """Yield the runs of all cases by key; finished ones are kept until the block has written its files."""
    with execution.swept(completions, keyed) as found:
        yield {
            key: [run_of(case, nanoseconds) for case, nanoseconds in zip(cases, found[key], strict=True)]
            for key, cases in keyed.items()
        }


def run_of(case: SwitchRun, nanoseconds: Sequence[int]) -> FlowTimes:
    """Return a run from the completion times of its flows."""
    flows = case.drawn(case.network())
    return FlowTimes(flows.size, flows.start, np.array(nanoseconds) * 1e-9)


def completions(case: SwitchRun) -> list[int]:
    """Return the nanoseconds of each flow until the arrival of its last byte."""
    network = case.network()
    simulation = Simulation(network, [case.drawn(network)], Setting(seed=case.seed))
    simulation.complete()
    nanoseconds: list[int] = np.rint(simulation.flow_results().completion * 1e9).astype(np.int64).tolist()
    return nanoseconds


def interference(case: SwitchRun, run: FlowTimes) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the flows that met a giant one: only at a switch output (not on a switch path), and on a switch path.

    Two flows meet when both are active at the same time; a switch path is an input of a switch and one of its outputs.
    This run decides when flows are active, so a comparison of switches must use the run of one of them.
    """
    network = case.network()
    flows = case.drawn(network)
    ecmp = Ecmp(network, case.seed)
    ends = zip(flows.source.tolist(), flows.target.tolist(), strict=True)
    paths = [ecmp.route(source, target, number) for number, (source, target) in enumerate(ends)]
    giants = np.flatnonzero(run.size > GIANT)
    of_output: dict[int, list[int]] = {}
    of_switch_path: dict[tuple[int, int], list[int]] = {}
    for giant in giants.tolist():
        for before, link in pairwise(paths[giant]):
            of_output.setdefault(link, []).append(giant)
            of_switch_path.setdefault((before, link), []).append(giant)
    end = run.start + run.completion

    def meets(flow: int, others: list[int]) -> bool:
        there = np.array(others, np.int64)
        overlap = (run.start[there] < end[flow]) & (end[there] > run.start[flow]) & (there != flow)
        return bool(overlap.any())

    at_output, on_path = np.zeros(flows.count, np.bool_), np.zeros(flows.count, np.bool_)
    for flow, path in enumerate(paths):
        steps = list(pairwise(path))
        on_path[flow] = any(meets(flow, of_switch_path.get(step, [])) for step in steps)
        at_output[flow] = not on_path[flow] and any(meets(flow, of_output.get(link, [])) for _, link in steps)
    return at_output, on_path
