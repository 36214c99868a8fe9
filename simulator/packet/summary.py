"""Summary of a simulation by size class: completion and ideal times, slowdowns, goodput, losses, queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum

import numpy as np
from numpy.typing import NDArray

from simulator.packet.credited import Credited
from simulator.packet.flows import ENDLESS, Flows
from simulator.packet.network import Network
from simulator.packet.routing import RouteTable
from simulator.packet.simulation import Simulation
from simulator.packet.transports import Tcp
from simulator.packet.units import PICOSECONDS, bits_per_second, picoseconds

Whole = NDArray[np.int64]


def ideal_completion(network: Network, groups: Sequence[Flows], seed: int) -> Vector:
    """Return each flow's seconds from start to the last byte's arrival on its own path, all groups, shape (F,).

    A lower bound where the flow keeps this path; one whose segments take several paths may be faster. All segments
    leave the source back to back and wait for nothing but the segment before them; packets are stored and forwarded,
    headers included, and a handshake comes first where the transport has one. NaN for endless flows, and for transports
    other than TCP, whose pace is given.

    Raises:
        UnsoundError, NoPathError: as `Simulation`.
    """
    paths = _Paths.of(network, groups, seed)
    found, first = [np.empty(0)], 0
    for group in groups:
        if isinstance(group.transport, Tcp):
            rows = np.arange(first, first + group.count)
            found.append(np.where(group.size == ENDLESS, np.nan, _of_tcp(group, group.transport, paths, rows)))
        else:
            found.append(np.full(group.count, np.nan))
        first += group.count
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class _Paths:
    """The forward and backward paths of all flows as rows of links, padded to the longest with a link without delay.

    Attributes:
        rates: bit/s of each link, shape (L,).
        delays: picoseconds of each link, and a zero for padding, shape (L + 1,).
        forward, backward: numbers of links, shape (F, longest).
    """

    rates: Whole
    delays: Whole
    forward: Whole
    backward: Whole

    @classmethod
    def of(cls, network: Network, groups: Sequence[Flows], seed: int) -> _Paths:
        table = RouteTable(network, groups, seed)
        starts, links = table.arrays()
        nothing = len(network.links)
        longest = int(np.diff(starts).max(initial=0))
        padded = np.append(links.astype(np.int64), np.full(longest, nothing))
        rows = padded[starts[:-1, None] + np.arange(longest)]
        rows[np.arange(longest) >= np.diff(starts)[:, None]] = nothing
        taken = np.array(table.taken, np.int64).reshape(-1, 2)
        rates = np.array([bits_per_second(link.rate) for link in network.links], np.int64)
        delays = np.append(picoseconds([link.delay for link in network.links]), 0)
        return cls(rates, delays, rows[taken[:, 0]], rows[taken[:, 1]])

    def times(self, ways: Whole, size: Whole) -> Vector:
        """Return the picoseconds that each link of each path takes to send `size` bytes, shape (F, longest)."""
        inside = ways < self.rates.size
        rate = self.rates[np.where(inside, ways, 0)]
        return np.where(inside, -(-8 * PICOSECONDS * size[:, None] // rate), 0).astype(np.float64)


def _of_tcp(group: Flows, tcp: Tcp, paths: _Paths, rows: Whole) -> Vector:
    """Return the ideal completion times of a group of TCP flows, in seconds.

    All segments but the last are of full size. The longest chain of transmissions that wait for each other is thus: the
    first full segment up to some link, the others at the slowest link up to there, the last segment from there on.
    """
    forward = paths.forward[rows]
    segments = np.maximum(-(-group.size // tcp.payload), 1)
    full = paths.times(forward, np.full(group.count, tcp.payload + tcp.header))
    last = paths.times(forward, group.size - (segments - 1) * tcp.payload + tcp.header)
    before = np.cumsum(full, axis=1) + (segments[:, None] - 2) * np.maximum.accumulate(full, axis=1)
    after = np.cumsum(last[:, ::-1], axis=1)[:, ::-1]
    sending = np.where(segments == 1, after[:, 0], (before + after).max(axis=1))
    total: Vector = sending + paths.delays[forward].sum(axis=1)
    if tcp.handshake:
        for ways in (forward, paths.backward[rows]):
            total += paths.times(ways, np.full(group.count, tcp.header)).sum(axis=1) + paths.delays[ways].sum(axis=1)
    return total / PICOSECONDS


Vector = NDArray[np.float64]

_PERCENTILES = (50, 95, 99, 99.9)


@dataclass(frozen=True)
class Spread:
    """Mean and percentiles (linearly interpolated) of the finite values; None if there are none."""

    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    p999: float | None

    @classmethod
    def of(cls, values: Vector) -> Spread:
        known = values[np.isfinite(values)]
        if known.size == 0:
            return cls(None, None, None, None, None)
        return cls(fsum(known.tolist()) / known.size, *np.percentile(known, _PERCENTILES).tolist())


@dataclass(frozen=True)
class ClassSummary:
    """Flows of one size class.

    Attributes:
        finished: the number of finished flows; the figures below are of these only.
        completion: seconds from start to the last byte's arrival.
        slowdown: completion time divided by the ideal one.
        goodput: Mbit/s, a flow's size divided by its completion time.
    """

    name: str
    flows: int
    finished: int
    completion: Spread
    slowdown: Spread
    goodput: Spread


@dataclass(frozen=True)
class QueueSummary:
    """The queues of switches.

    Attributes:
        mean: mean queue of a link in bytes, over links and all simulated seconds, idle ones at the end too.
        busiest_mean: the largest mean queue of a link.
        peak: the most bytes that ever waited for one link.
    """

    mean: float
    busiest_mean: float
    peak: int


@dataclass(frozen=True)
class Summary:
    """The summary of a simulation until now.

    Attributes:
        seconds: simulated seconds; a run goes on after the last end until the last timer of a flow has run out.
        goodput: Mbit/s of all flows together, over the time until the last one had all of its bytes; over the simulated
            time if a flow has not ended.
        sent, dropped, marked, retransmitted: data packets; `marked` counts those that arrived with a mark. It is None
            if all flows are of transports by credits, whose queues mark by thresholds that are for other packets.
        lost: packets of all kinds lost on failed or lossy links.
        classes: size classes; the first one has all flows.
    """

    seconds: float
    goodput: float
    sent: int
    dropped: int
    marked: int | None
    lost: int
    retransmitted: int
    timeouts: int
    classes: tuple[ClassSummary, ...]
    queues: QueueSummary


@dataclass(frozen=True, eq=False)
class FlowTable:
    """The figures of each flow, shape (F,) each.

    Attributes:
        size: bytes.
        start: seconds.
        completion: seconds; infinite for unfinished flows.
        ideal: seconds, from `ideal_completion`.
    """

    size: NDArray[np.int64]
    start: Vector
    completion: Vector
    ideal: Vector

    @classmethod
    def of(cls, simulation: Simulation) -> FlowTable:
        ideal = ideal_completion(simulation.network, simulation.flows, simulation.setting.seed)
        results = simulation.flow_results()
        sizes = [np.empty(0, np.int64), *(group.size for group in simulation.flows)]
        return cls(np.concatenate(sizes), results.start, results.completion, ideal)

    @property
    def slowdown(self) -> Vector:
        """Completion time divided by the ideal one; infinite for unfinished flows, NaN without an ideal."""
        return self.completion / self.ideal

    @property
    def goodput(self) -> Vector:
        """Mbit/s, size divided by completion time; 0 for unfinished flows."""
        return 8e-6 * self.size / self.completion


@dataclass(frozen=True)
class SizeClass:
    """Flows of at least `least` and fewer than `below` bytes."""

    name: str
    least: float = 0
    below: float = np.inf


def size_classes(bounds: Sequence[int]) -> tuple[SizeClass, ...]:
    """Return the class of all flows, then those below, between and above these bounds, in rising bytes."""
    if not bounds:
        return (SizeClass("all"),)
    ends = [0, *bounds, np.inf]
    names = [f"under {_bytes(bounds[0])}"]
    names += [f"{_bytes(low)} to {_bytes(high)}" for low, high in pairwise(bounds)]
    names.append(f"{_bytes(bounds[-1])} and more")
    return (SizeClass("all"), *map(SizeClass, names, ends[:-1], ends[1:]))


def summary_of(simulation: Simulation, classes: Sequence[SizeClass], flows: FlowTable) -> Summary:
    """Return the summary of the present state; `flows` is its `FlowTable.of`."""
    results, links, totals = simulation.flow_results(), simulation.link_results(), simulation.totals()
    seconds = simulation.now
    ended = float(results.finished.max(initial=0.0))  # infinite if a flow has not
    hosts = set(simulation.network.hosts)
    of_switches = np.array([link.source not in hosts for link in simulation.network.links], np.bool_)
    queued = links.queued_byte_seconds[of_switches] / max(seconds, 1e-12)
    return Summary(
        seconds=seconds,
        goodput=float(results.goodput.sum()) * 8e-6 / max(min(ended or seconds, seconds), 1e-12),
        sent=int(results.sent.sum()),
        dropped=int(results.dropped.sum()),
        marked=int(results.marked.sum()) if has_marks(simulation) else None,
        lost=totals.lost,
        retransmitted=int(results.retransmitted.sum()),
        timeouts=int(results.timeouts.sum()),
        classes=tuple(_class_summary(each, flows) for each in classes),
        queues=QueueSummary(
            mean=float(queued.mean()) if queued.size else 0.0,
            busiest_mean=float(queued.max(initial=0.0)),
            peak=int(links.queued_peak[of_switches].max(initial=0)),
        ),
    )


def has_marks(simulation: Simulation) -> bool:
    """Return True unless marks mean nothing to any flow, as all are of transports by credits."""
    return not simulation.flows or any(not isinstance(group.transport, Credited) for group in simulation.flows)


def _class_summary(which: SizeClass, flows: FlowTable) -> ClassSummary:
    of_it = (flows.size >= which.least) & (flows.size < which.below)
    done = of_it & np.isfinite(flows.completion)
    return ClassSummary(
        which.name,
        int(of_it.sum()),
        int(done.sum()),
        Spread.of(flows.completion[done]),
        Spread.of(flows.slowdown[done]),
        Spread.of(flows.goodput[done]),
    )


def _bytes(size: float) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size:g} B"
