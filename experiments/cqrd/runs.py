"""One run of the papers' traffic, as a case of a sweep: its flows, and the completion time of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from experiments.cqrd.switches import Conditions, OneSwitch, TwoTiers
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, no_preparation, swept
from kuijia_base.sweep.workers import Workers
from simulator.flow_sizes.published import published_flow_sizes
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.routing import Ecmp
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.traffic.arrivals import LogNormal
from simulator.packet.traffic.load import Load
from simulator.packet.traffic.workload import Workload
from simulator.packet.transports import Congestion, Tcp

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
class Case:
    """A run of the simulation.

    Attributes:
        place: network with its switches.
        flows: number of flows.
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


def conditions(choices: Choices, *, marks: bool = False) -> Conditions:
    """Return the conditions of a network; its queues mark packets for DCTCP."""
    return Conditions(marks, choices.cell, transport(choices).largest_packet, choices.host_queue)


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
class Run:
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


def run_cases(
    name: str, cases: Sequence[Case], workers: Workers, output: OutputFolder, progress: Progress
) -> list[Run]:
    """Return the runs of all cases, in order; finished ones are kept in `output` until all are done."""
    told = {"cases_of": [asdict(case) for case in cases]}
    sweep = Sweep(name, told, None, prepare=no_preparation, work=completions, cases=cases)
    with swept(sweep, workers, output, progress) as found:
        runs = []
        for case, completion in zip(cases, found, strict=True):
            flows = case.drawn(case.network())
            runs.append(Run(flows.size, flows.start, np.array(completion) * 1e-9))
        return runs


def completions(ready: None, case: Case) -> list[int]:
    """Return the nanoseconds of each flow until the arrival of its last byte."""
    del ready
    network = case.network()
    simulation = Simulation(network, [case.drawn(network)], Setting(seed=case.seed))
    simulation.complete()
    nanoseconds: list[int] = np.rint(simulation.flow_results().completion * 1e9).astype(np.int64).tolist()
    return nanoseconds


def interference(case: Case, run: Run) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
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
