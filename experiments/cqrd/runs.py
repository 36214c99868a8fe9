"""One run of the papers' traffic: which flows there are, and how long each took; a case of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from experiments.cqrd.switches import OneSwitch, TwoTiers
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.sweep.sweep import Sweep, swept
from experiments.sweep.workers import Workers
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

SHORT, GIANT = 100_000, 1_000_000
"""Bytes below which a flow is short, and above which it is giant; what is not short is large."""


@dataclass(frozen=True)
class Choices:
    """What the papers leave open; `docs/cqrd.md` says why these, and what comes of others.

    Attributes:
        overload: the load, as a part of all hosts' links, that the papers' load of 1 is taken for.
        sigma: of the logarithm of the gaps between flows.
        payload: bytes of a full segment.
        cell: bytes of a crosspoint's cell.
        min_timeout: seconds of a retransmission timeout, and of the first one.
        handshake: connections are opened by a packet there and one back.
        gain: of DCTCP.
        card_packets: of a flow in its host's card at most; 0 for no limit.
        window: the most segments that a flow has under way.
    """

    overload: float = 24.0
    sigma: float = 1.0
    payload: int = 1460
    cell: int = 1
    min_timeout: float = 2e-4
    handshake: bool = True
    gain: float = 0.0625
    card_packets: int = 8
    window: int = 2**31


@dataclass(frozen=True)
class Case:
    """A run.

    Attributes:
        place: the switches.
        flows: how many.
        load: as the papers call it.
        dctcp: instead of TCP with SACK.
    """

    place: OneSwitch | TwoTiers
    flows: int
    load: float
    seed: int
    dctcp: bool = False
    choices: Choices = field(default_factory=Choices)

    def network(self) -> Network:
        return self.place.network(marks=self.dctcp, cell=self.choices.cell)

    def drawn(self, network: Network) -> Flows:
        """The same for all switches."""
        load = Load(self.load * self.choices.overload)
        workload = Workload(published_flow_sizes("cqrd"), load, self.flows, LogNormal(self.choices.sigma))
        return workload.drawn(network, transport(self.choices, dctcp=self.dctcp), self.seed)


def transport(choices: Choices, *, dctcp: bool = False) -> Tcp:
    """TCP with SACK, initial window 4, timeouts of 200 us at the least (journal, section 6.1)."""
    return Tcp(
        congestion=Congestion.DCTCP if dctcp else Congestion.NEW_RENO,
        handshake=choices.handshake,
        payload=choices.payload,
        initial_window=4,
        dctcp_gain=choices.gain,
        card_packets=choices.card_packets,
        receive_window=choices.window,
        first_timeout=choices.min_timeout,
        min_timeout=choices.min_timeout,
    )


@dataclass(frozen=True, eq=False)
class Run:
    """What became of F flows, each shape (F,): bytes, seconds."""

    size: NDArray[np.int64]
    start: Vector
    completion: Vector

    @property
    def short(self) -> NDArray[np.bool_]:
        return self.size < SHORT

    def milliseconds(self, which: NDArray[np.bool_] | None = None) -> Vector:
        """Completion times of short flows, of those chosen."""
        return 1e3 * self.completion[self.short if which is None else self.short & which]

    def gigabits(self, which: NDArray[np.bool_] | None = None) -> Vector:
        """Goodput of large flows, of those chosen."""
        chosen = ~self.short if which is None else ~self.short & which
        return 8e-9 * self.size[chosen] / self.completion[chosen]


def run_cases(
    name: str, cases: Sequence[Case], workers: Workers, output: OutputFolder, progress: Progress
) -> list[Run]:
    """All cases, in their order; finished ones are kept in `output` until all are."""
    told = {"cases_of": [asdict(case) for case in cases]}
    sweep = Sweep(name, told, None, prepare=_nothing, work=completions, cases=cases)
    with swept(sweep, workers, output, progress) as found:
        runs = []
        for case, completion in zip(cases, found, strict=True):
            flows = case.drawn(case.network())
            runs.append(Run(flows.size, flows.start, np.array(completion) * 1e-9))
        return runs


def _nothing(context: None) -> None:
    """Cases need nothing in common."""
    return context


def completions(ready: None, case: Case) -> list[int]:
    """Nanoseconds that each flow took, to the arrival of its last byte."""
    del ready
    network = case.network()
    simulation = Simulation(network, [case.drawn(network)], Setting(seed=case.seed))
    simulation.run()
    nanoseconds: list[int] = np.rint(simulation.flow_results().completion * 1e9).astype(np.int64).tolist()
    return nanoseconds


def interference(case: Case, run: Run) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which flows have met a giant one: at an output of a switch, though on no switch path; and on a switch path.

    Two flows meet when both are under way at a time; a switch path is an input of a switch and one of its outputs.
    Which flows are under way is taken from this run, so that of several switches one has to say it.
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
