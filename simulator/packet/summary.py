"""What a simulation comes to: completion times and slowdowns by classes of size, goodput, losses, queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum

import numpy as np
from numpy.typing import NDArray

from simulator.packet.ideal import ideal_completion
from simulator.packet.simulation import Simulation

Vector = NDArray[np.float64]

_PERCENTILES = (50, 95, 99, 99.9)


@dataclass(frozen=True)
class Spread:
    """Mean and percentiles (between two values, what is proportional) of what is known; None where nothing is."""

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
    """Flows of one class of sizes.

    Attributes:
        name: of the class.
        flows: how many there are.
        finished: how many have come to their end; only these have the figures below.
        completion: seconds from start to the last byte's arrival.
        slowdown: completion over the ideal one.
        goodput: Mbit/s, a flow's size by its completion time.
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
        mean: bytes that wait in front of a link in the mean, over time and links.
        busiest_mean: of the link with most.
        peak: the most bytes that waited in front of one link at a time.
    """

    mean: float
    busiest_mean: float
    peak: int


@dataclass(frozen=True)
class Summary:
    """A simulation until now.

    Attributes:
        seconds: simulated.
        goodput: Mbit/s of all flows together, over the time simulated.
        sent, dropped, marked, retransmitted: packets of data; those marked that arrived.
        lost: packets of all kinds, on links that failed or lose some.
        timeouts: of TCP.
        classes: of sizes, the first being all.
        queues: of switches.
    """

    seconds: float
    goodput: float
    sent: int
    dropped: int
    marked: int
    lost: int
    retransmitted: int
    timeouts: int
    classes: tuple[ClassSummary, ...]
    queues: QueueSummary


@dataclass(frozen=True, eq=False)
class FlowTable:
    """Each flow's figures, shape (F,) each.

    Attributes:
        size: bytes.
        start: seconds.
        completion: seconds; infinite for what has not come to its end.
        ideal: seconds, of `ideal_completion`.
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
        """Completion time over the ideal one; infinite for what has not come to its end, NaN without an ideal."""
        return self.completion / self.ideal

    @property
    def goodput(self) -> Vector:
        """Mbit/s, size by completion time; 0 for what has not come to its end."""
        return 8e-6 * self.size / self.completion


@dataclass(frozen=True)
class SizeClass:
    """Flows of `least` bytes and more, but fewer than `below`."""

    name: str
    least: float = 0
    below: float = np.inf


def size_classes(bounds: Sequence[int]) -> tuple[SizeClass, ...]:
    """All flows, then those below, between and from these bounds on, bytes in rising order."""
    if not bounds:
        return (SizeClass("all"),)
    ends = [0, *bounds, np.inf]
    names = [f"under {_bytes(bounds[0])}"]
    names += [f"{_bytes(low)} to {_bytes(high)}" for low, high in pairwise(bounds)]
    names.append(f"{_bytes(bounds[-1])} and more")
    return (SizeClass("all"), *map(SizeClass, names, ends[:-1], ends[1:]))


def summary_of(simulation: Simulation, classes: Sequence[SizeClass], flows: FlowTable) -> Summary:
    """The state now; `flows` is what `FlowTable.of` has of it."""
    results, links, totals = simulation.flow_results(), simulation.link_results(), simulation.totals()
    seconds = simulation.now
    hosts = set(simulation.network.hosts)
    of_switches = np.array([link.source not in hosts for link in simulation.network.links], np.bool_)
    queued = links.queued_byte_seconds[of_switches] / max(seconds, 1e-12)
    return Summary(
        seconds=seconds,
        goodput=float(results.goodput.sum()) * 8e-6 / max(seconds, 1e-12),
        sent=int(results.sent.sum()),
        dropped=int(results.dropped.sum()),
        marked=int(results.marked.sum()),
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
