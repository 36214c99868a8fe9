"""Flows that come and go on a large fat-tree, packet by packet, with the scheduler's rounds on arrays in the loop."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.hedera.arrivals import arriving, larger
from experiments.hedera.large_run import NIC_RATE, PLACEMENTS, figures_of
from experiments.hedera.packet.control_loop import Timing, in_rounds
from experiments.hedera.packet.options import PacketOptions
from experiments.hedera.simulation import History, Workload
from experiments.hedera.simulation import Setting as FlowSetting
from experiments.hedera.simulation import Simulation as FlowSimulation
from experiments.hedera.testbed_cases import ECMP, NON_BLOCKING
from hedera.network.fabric import HASHED, Ints
from hedera.network.fat_tree import FatTree
from hedera.placement.interface import Placement
from hedera.placement.registry import hashed_labels
from hedera.placement.scheduling_round import ELEPHANT, Poll, SchedulingRound
from kuijia_base.errors import InputError
from simulator.flow_sizes.published import find_flow_sizes
from simulator.packet.flows import Flows, Path
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import of_graph, single_switch

SCHEMES = (*PLACEMENTS, NON_BLOCKING)


@dataclass(frozen=True)
class ArrivalCase:
    """A run of arriving flows.

    Attributes:
        scheme: from `SCHEMES`.
        ports: of a switch.
        load: mean demand of the flows as a share of all hosts' interfaces.
        flow_sizes: name of a published distribution, or a file.
        end: seconds that are simulated.
        period: seconds between two rounds.
        seed: of flows, hash and search.
        options: of the packet model.
    """

    scheme: str
    ports: int
    load: float
    flow_sizes: str
    end: float
    period: float
    seed: int
    options: PacketOptions


def run_arrivals(ready: None, case: ArrivalCase) -> dict[str, Any]:
    """Return the figures of arriving flows in packets and in the flow model, as JSON data."""
    del ready
    tree = FatTree(case.ports, NIC_RATE)
    sizes = larger(find_flow_sizes(case.flow_sizes), case.flow_sizes)
    workload = arriving(tree, sizes, case.load, case.end, case.seed)
    if not workload.flows:
        raise InputError("option", "--seconds", f"no flow begins in {case.end:g} s", "a longer time, or a larger load")
    played = _Arrivals(case, tree, workload)
    window = case.end / 5, case.end
    history = played.play(window[0])
    setting = FlowSetting(case.end, case.period, seed=case.seed, blocking=case.scheme != NON_BLOCKING)
    flow = FlowSimulation(tree, _placement(case, tree), workload, setting).run()
    return {
        "flows": workload.flows,
        "packet": figures_of(workload, history, window),
        "flow": figures_of(workload, flow, window),
        **played.counts(),
    }


def _placement(case: ArrivalCase, tree: FatTree) -> Placement:
    return PLACEMENTS[ECMP if case.scheme == NON_BLOCKING else case.scheme](tree.hosts, case.seed)


class _Arrivals:
    """Arriving flows while they are simulated."""

    def __init__(self, case: ArrivalCase, tree: FatTree, workload: Workload) -> None:
        self._case, self._tree, self._workload = case, tree, workload
        self._hash = hashed_labels(tree, np.arange(workload.flows, dtype=np.uint64), case.seed)
        self._choice = np.full(workload.flows, HASHED, np.int32)
        self._round = SchedulingRound(tree, _placement(case, tree))
        self._moves: list[int] = []
        self._elephants: list[int] = []
        queueing, delay = Fifo(limit=round(1000 * case.options.buffer)), 1e-6 * case.options.delay
        ends = workload.source, workload.target
        if case.scheme == NON_BLOCKING:
            network = single_switch(tree.hosts, NIC_RATE, delay, queueing)
            # A host's link to the switch comes before the one from it.
            pairs = zip(workload.source.tolist(), workload.target.tolist(), strict=True)
            paths: list[Path] = [((2 * a, 2 * b + 1), (2 * b, 2 * a + 1)) for a, b in pairs]
        else:
            names = [f"h{host}" for host in range(tree.hosts)]
            network = of_graph(tree.topology, names, queueing, delay=delay)
            paths = self._paths(np.arange(workload.flows), self._hash)
        size = np.maximum(1, np.rint(workload.size)).astype(np.int64)
        self._transport = case.options.transport
        flows = Flows.of(*ends, self._transport, size=size, start=workload.start, paths=paths)
        self._simulation = Simulation(network, [flows], Setting(seed=case.seed))
        if case.scheme not in (NON_BLOCKING, ECMP):
            timing = Timing(case.period, 1e-3 * case.options.message_delay)
            in_rounds(self._simulation, timing, lambda: None, self._read, self._place, self._apply)

    def play(self, begin: float) -> History:
        """Simulate and return results as those of the flow model; goodput is averaged from `begin` on."""
        simulation, workload, end = self._simulation, self._workload, self._case.end
        arrived = []
        for moment in (begin, end):
            simulation.complete(moment)
            arrived.append(8e-6 * float(simulation.flow_results().goodput.sum()))
        goodput = [arrived[0] / begin, (arrived[1] - arrived[0]) / (end - begin)]
        finished = simulation.flow_results().finished
        return History(workload.start, finished, end, [0.0, begin], goodput, self._moves, self._elephants)

    def counts(self) -> dict[str, int]:
        results = self._simulation.flow_results()
        return {name: int(getattr(results, name).sum()) for name in ("sent", "dropped", "timeouts")}

    def _paths(self, flows: NDArray[np.int64], label: Ints) -> list[Path]:
        source, target = self._workload.source[flows], self._workload.target[flows]
        both = []
        for one, other in ((source, target), (target, source)):
            found = self._tree.flow_paths(one, other, label)
            links, first = found.links.tolist(), found.first.tolist()
            both.append([tuple(links[begin:end]) for begin, end in pairwise(first)])
        return list(zip(*both, strict=True))

    def _read(self, asked: None) -> tuple[NDArray[np.int64], Poll]:
        """Read the counters of all edge switches: of flows that have begun and not ended."""
        del asked
        now, workload = self._simulation.now, self._workload
        sent = self._simulation.flow_counters()["sent"]
        is_over = np.isfinite(self._simulation.flow_results().finished)
        active = np.flatnonzero((workload.start < now) & ~is_over)
        active = active[np.argsort(workload.source[active], kind="stable")]
        edges = self._tree.edge_first.size - 1
        poll = Poll(
            now,
            np.arange(edges, dtype=np.int32),
            np.searchsorted(workload.source[active], self._tree.edge_first).astype(np.int64),
            active.astype(np.uint64),
            workload.source[active],
            workload.target[active],
            sent[active].astype(np.uint64) * np.uint64(self._transport.largest_packet),
            now - workload.start[active],
        )
        return active, poll

    def _place(self, read: tuple[NDArray[np.int64], Poll]) -> tuple[NDArray[np.int64], Ints]:
        active, poll = read
        changes = self._round.run(poll)
        self._elephants.append(int((changes.rates > ELEPHANT * NIC_RATE).sum()))
        changed = np.concatenate([active[changes.placed], active[changes.released]])
        return changed, np.concatenate([changes.labels, np.full(changes.released.size, HASHED, np.int32)])

    def _apply(self, changes: tuple[NDArray[np.int64], Ints]) -> None:
        flows, choice = changes
        before = self._choice[flows]
        old, new = (self._paths(flows, self._labels(flows, labels)) for labels in (before, choice))
        self._choice[flows] = choice
        moved = {flow: path for flow, was, path in zip(flows.tolist(), old, new, strict=True) if was != path}
        self._simulation.move_all(moved)
        placed = set(flows[(before != HASHED) & (choice != HASHED)].tolist())
        self._moves.append(len(placed & moved.keys()))

    def _labels(self, flows: NDArray[np.int64], choice: Ints) -> Ints:
        return np.where(choice == HASHED, self._hash[flows], choice)
