"""One failure under one scheme, beside the same flows without it: conditions, losses, times; and the sweep of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.slots import cut_slots
from kuijia_base.errors import UnsoundError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, swept
from kuijia_base.sweep.work import digest_of
from kuijia_base.sweep.workers import Workers
from simulator.flow_sizes.published import FlowSizes
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.transports import Congestion, Tcp
from simulator.planned.events import Cut, Timing, controller_at
from simulator.planned.network import Physical
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from simulator.portable_random import Draws
from te_solver.formats.plan_file import plan_to_json
from te_solver.model.failures import Failure
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.schemes.failure_scheme import FailureScheme

WARMUP = 1.0
"""Seconds of traffic before the cut."""

DRAIN = 20.0
"""Most seconds in which flows may end after the last one began."""

MOST_PACKETS = 500_000
"""Data packets of a run to which rates are scaled, unless the user chooses the scale."""

TRANSPORTS = tuple(each.value for each in Congestion)

_MARKED = 0.4
"""Share of a queue from which packets are marked, for DCTCP."""

_LAYOUTS = tuple(LAYOUTS[name] for name in ("plain", "four", "eight"))
"""Layouts of queues, the one with the fewest classes first."""


@dataclass(frozen=True, eq=False)
class Conditions:
    """Flows, transport, queues, delays and times of notice; all runs of a study have the same.

    Attributes:
        sizes: of flows, in bytes of payload.
        load: mean share of the planned rates that flows offer, in payload.
        seconds: from the cut until the last flow begins, for which losses are counted.
        buffer: bytes that may wait in each queue of a port.
        detection: seconds from the cut until the switches beside it notice.
        controller: site of the controller; None for the one whose farthest site is nearest.
        link_delay: seconds of each link that has no delay of its own.
        seed: of the flows and of all other randomness.
    """

    sizes: FlowSizes
    load: float = 0.7
    seconds: float = 1.0
    transport: str = Congestion.CUBIC.value
    buffer: int = 1_500_000
    detection: float = 0.01
    controller: str | None = None
    link_delay: float = 0.005
    scale: float = 1.0
    seed: int = 1

    @property
    def tcp(self) -> Tcp:
        return Tcp(Congestion(self.transport), handshake=True)

    @property
    def end(self) -> float:
        """Seconds at which the last flow begins, counted from the first."""
        return WARMUP + self.seconds

    @property
    def physical(self) -> Physical:
        marks = self.transport == Congestion.DCTCP.value
        marking = Threshold(round(_MARKED * self.buffer)) if marks else None
        return Physical(queue=Fifo(self.buffer, marking))

    def packets(self, plan: Plan) -> float:
        """Return the mean number of data packets of a run; each flow's last one may be small."""
        flows = self.load * plan.allocated * 1e6 / 8 * self.end / self.sizes.mean
        return flows * (self.sizes.mean / self.tcp.payload + 1)

    def scaled_plan(self, plan: Plan) -> Plan:
        """Return the plan at scaled rates, on links that all have a delay."""
        links = [
            replace(link, capacity=link.capacity * self.scale, delay=link.delay or self.link_delay)
            for link in plan.topology.links
        ]
        pairs = [replace(pair, allocated=pair.allocated * self.scale) for pair in plan.pairs]
        return replace(plan, topology=replace(plan.topology, links=tuple(links)), pairs=tuple(pairs))


def central_site(topology: Topology) -> str:
    """Return the node whose farthest node has the least delay to it; raises UnsoundError if some are unconnected."""
    return min(topology.nodes, key=lambda node: max(controller_at(topology, node).values()))


def switch_options(plan: Plan, scheme: FailureScheme) -> PipelineOptions:
    """Return the options of a plan's tables, with the first layout of queues that serves all classes of its traffic.

    Raises:
        UnsoundError: no layout does.
    """
    wanted = {pair.priority for pair in plan.pairs}
    for layout in _LAYOUTS:
        if wanted <= {each.priority for each in layout.classes}:
            return PipelineOptions(scheme, layout=layout)
    most = len(_LAYOUTS[-1].classes) - 1
    raise UnsoundError(("priority",), f"traffic of class {max(wanted)}", f"classes 0 to {most}, which have queues")


@dataclass(frozen=True, eq=False)
class TunnelFlows:
    """F flows, pair by pair.

    Attributes:
        flows: the flows as they are simulated.
        tunnel: position of each flow's own tunnel among all tunnels of the plan, shape (F,).
    """

    flows: SiteFlows
    tunnel: NDArray[np.int64]

    @property
    def count(self) -> int:
        return self.flows.count

    @property
    def payload(self) -> int:
        """Bytes of all flows."""
        return int(self.flows.size.sum())


def traffic_of(plan: Plan, options: PipelineOptions, how: Conditions) -> TunnelFlows:
    """Return the flows of a plan at scaled rates: Poisson arrivals from 0 to `how.end` seconds for each pair.

    The flows of a pair are the same under every scheme, and whatever other pairs do.
    """
    ends: list[tuple[str, str]] = []
    columns: list[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
    priorities: list[int] = []
    first = 0
    for number, pair in enumerate(plan.pairs):
        draws = Draws(how.seed, number)
        start = _arrivals(how.load * pair.allocated * 1e6 / 8 / how.sizes.mean, how.end, draws)
        count = start.size
        slots = draws.whole(options.slot_count, count)
        table = cut_slots([each.weight for each in pair.tunnels], options.slot_count).slots if count else ()
        own = np.array([table[slot].primary for slot in slots.tolist()], np.int64)
        columns.append((start, how.sizes.sample(draws, count), slots, first + own))
        ends += [(pair.source, pair.target)] * count
        priorities += [pair.priority] * count
        first += len(pair.tunnels)
    start, size, slot, tunnel = (np.concatenate(column) for column in zip(*columns, strict=True))
    flows = SiteFlows.of(ends, how.tcp, size=size, start=start, slot=slot, priority=priorities)
    return TunnelFlows(flows, tunnel)


def _arrivals(rate: float, end: float, draws: Draws) -> NDArray[np.float64]:
    """Return the times until `end` of a Poisson process of so many a second."""
    times = np.empty(0)
    last = 0.0
    while rate > 0 and last < end:
        more = last + np.cumsum(draws.exponential(max(16, int(rate * (end - last))))) / rate
        times, last = np.concatenate([times, more]), float(more[-1])
    return times[times < end]


ABORIGINAL, VICTIM = "aboriginal", "victim"
ROLES = (ABORIGINAL, VICTIM)

SMALL, LARGE = "small", "large"
CLASSES = (SMALL, LARGE)

SMALLEST_LARGE = 100_000
"""Bytes from which on a flow is large."""

_DRAINS = 10
"""Steps of the time in which flows may end; the run stops after the one in which the last flow ended."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Flown:
    """Results of a run's F flows.

    Attributes:
        sent, dropped: data packets from the cut until the last flow began, shape (F,).
        delivered: bytes in the same time, shape (F,).
        finished: seconds at which flows ended, infinite if they did not, shape (F,).
        end: seconds at which the run ended.
    """

    sent: NDArray[np.int64]
    dropped: NDArray[np.int64]
    delivered: NDArray[np.int64]
    finished: NDArray[np.float64]
    end: float


class Play:
    """A plan under one scheme, compiled once; without a failure it is simulated once, when that is first needed.

    Attributes:
        plan: the plan at scaled rates.
        controller_delays: seconds from each switch to it.

    Raises:
        UnsoundError: switches cannot carry the plan, the controller's site is unknown, or a switch cannot reach it.
    """

    def __init__(self, plan: Plan, scheme: FailureScheme, how: Conditions) -> None:
        self._how = how
        self.plan = how.scaled_plan(plan)
        self._options = switch_options(self.plan, scheme)
        self._tables = build_tables(self.plan, self._options)
        self.controller = how.controller or central_site(self.plan.topology)
        self.controller_delays = controller_at(self.plan.topology, self.controller)
        self._timing = Timing(port=how.detection, controller=self.controller_delays)
        self.traffic = traffic_of(self.plan, self._options, how)

    def result(self, failure: Failure) -> dict[str, Any]:
        """Return the counts and completion times of each role's flows, as JSON data."""
        edges = _edges(self.plan, failure)
        calm, flown = self._calm, self._flown(edges)
        broken = [[any(tunnel.crosses(*edge) for edge in edges) for tunnel in pair.tunnels] for pair in self.plan.pairs]
        of_flow = self.traffic.tunnel
        victims: Flags = np.array([each for pair in broken for each in pair], bool)[of_flow]
        cut_off: Flags = np.array([all(pair) for pair in broken for _ in pair], bool)[of_flow]
        return {
            ABORIGINAL: self._sums(~victims, cut_off, flown, calm),
            VICTIM: self._sums(victims, cut_off, flown, calm),
        }

    @cached_property
    def _calm(self) -> Flown:
        return self._flown(())

    def _flown(self, edges: Sequence[tuple[str, str]]) -> Flown:
        how = self._how
        events = [Cut(WARMUP, edge) for edge in edges]
        flows = [self.traffic.flows]
        run = PlanRun(
            self.plan, self._options, flows, how.physical, self._timing, events, how.seed, tables=self._tables
        )
        run.run(WARMUP)
        results = run.run(how.end)
        windows, end = results.windows, how.end
        for step in range(1, _DRAINS + 1):
            if not run.simulation.unfinished:
                break
            end = how.end + DRAIN * step / _DRAINS
            results = run.run(end)
        sent, dropped, delivered = (each.sum(axis=0) for each in (windows.sent, windows.dropped, windows.goodput))
        return Flown(sent, dropped, delivered, results.flows.finished, end)

    def _sums(self, chosen: Flags, cut_off: Flags, flown: Flown, calm: Flown) -> dict[str, Any]:
        flows = self.traffic.flows
        # Until the cut both runs are the same: those that had not ended by then are the same flows.
        going = chosen & (calm.finished > WARMUP)
        large = flows.size >= SMALLEST_LARGE
        return {
            "flows": int(going.sum()),
            "cut_off_flows": int((going & cut_off).sum()),
            "sent_packets": int(flown.sent[chosen].sum()),
            "dropped_packets": int(flown.dropped[chosen].sum()),
            "sent_packets_without_failure": int(calm.sent[chosen].sum()),
            "dropped_packets_without_failure": int(calm.dropped[chosen].sum()),
            "delivered_bytes": int(flown.delivered[chosen].sum()),
            "delivered_bytes_without_failure": int(calm.delivered[chosen].sum()),
            "completion": {
                SMALL: _completion(flows.start, going & ~cut_off & ~large, flown, calm),
                LARGE: _completion(flows.start, going & ~cut_off & large, flown, calm),
            },
        }


def _completion(start: NDArray[np.float64], chosen: Flags, flown: Flown, calm: Flown) -> Mapping[str, Any] | None:
    """Return the completion times of flows, of which unfinished ones count until the end; None without flows."""
    if not chosen.any():
        return None
    found: dict[str, Any] = {"flows": int(chosen.sum())}
    for key, of in (("with_failure", flown), ("without_failure", calm)):
        times = np.minimum(of.finished, of.end)[chosen] - start[chosen]
        mean, p99 = float(times.mean()), float(np.quantile(times, 0.99, method="inverted_cdf"))
        unfinished = int(np.isinf(of.finished[chosen]).sum())
        found[key] = {"mean": mean, "p99": p99, "unfinished": unfinished}
    return found


def _edges(plan: Plan, failure: Failure) -> tuple[tuple[str, str], ...]:
    """Return the cables that are down, in the topology's order."""
    down, nodes = {frozenset(edge) for edge in failure.edges}, set(failure.nodes)
    return tuple(edge for edge in plan.topology.edges if frozenset(edge) in down or nodes & set(edge))


@dataclass(frozen=True, eq=False)
class PacketQuestions:
    """Question of a study: the plan and scheme of each contender, their common failures and conditions."""

    contenders: Sequence[tuple[Plan, FailureScheme]]
    failures: Sequence[Failure]
    conditions: Conditions

    def play(self, contender: int) -> Play:
        """Return a contender, compiled; raises UnsoundError if switches cannot carry its plan."""
        return Play(*self.contenders[contender], self.conditions)


class ReadyPlays:
    """The questions, and the contenders that were needed."""

    def __init__(self, questions: PacketQuestions) -> None:
        self._questions = questions
        self._plays: dict[int, Play] = {}

    def result(self, contender: int, failure: int) -> dict[str, Any]:
        if contender not in self._plays:
            self._plays[contender] = self._questions.play(contender)
        return self._plays[contender].result(self._questions.failures[failure])


@contextmanager
def results_of(
    questions: PacketQuestions, workers: Workers, output: OutputFolder | None, progress: Progress
) -> Iterator[list[list[dict[str, Any]]]]:
    """Yield the result of each failure, for each contender.

    A checkpoint in `output` keeps finished cases until the block, which writes the files made from them, has ended.

    Raises:
        KuijiaError, InterruptedWorkError: see `kuijia_base.sweep.sweep.swept`.
    """
    failures, contenders = range(len(questions.failures)), range(len(questions.contenders))
    cases = [(contender, failure) for failure in failures for contender in contenders]
    sweep = Sweep("whatif-packets", _settings(questions), questions, ReadyPlays, _work, cases)
    with swept(sweep, workers, output, progress) as results:
        yield [results[contender :: len(contenders)] for contender in contenders]


def _work(ready: ReadyPlays, case: tuple[int, int]) -> dict[str, Any]:
    return ready.result(*case)


def _settings(questions: PacketQuestions) -> dict[str, Any]:
    how = questions.conditions
    told = {key: value for key, value in vars(how).items() if key != "sizes"}
    points = [how.sizes.sizes.tolist(), how.sizes.probabilities.tolist(), how.sizes.interpolation.value]
    return {
        "network": questions.contenders[0][0].topology.name,
        "schemes": [scheme.name for _, scheme in questions.contenders],
        "failures": digest_of([asdict(failure) for failure in questions.failures]),
        "plans": digest_of([{**plan_to_json(plan), "solve_seconds": None} for plan, _ in questions.contenders]),
        "sizes": digest_of(points),
        **told,
    }
