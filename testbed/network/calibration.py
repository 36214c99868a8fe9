"""Measures every link before an experiment: its capacity, and the strict priority of its queues.

Each direction of each link is offered more than it can carry: frames of the normal class at 60 % of the capacity and
frames of the victim class at 100 %. The link must carry its capacity, including all normal frames. The frames go
through the port's own queues and are counted where they arrive; the switch there drops them, as no flow entry matches
their label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from kuijia_app.tables.queues import Queue, QueueLayout
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import TestbedError
from te_solver.model.topology import Link, Topology
from testbed.links.link_probes import FRAME_BYTES, LinkProbeError, ProbeSink, ProbeStream
from testbed.machine.ovs import Datapath

HIGH_LOAD, LOW_LOAD = 0.6, 1.0
"""Offered load of the normal and of the victim class, as parts of the capacity."""

ATTEMPTS = 4
"""Attempts before a link that is out of tolerance fails, the first together with others, then alone.

A busy machine can delay a sender by chance. A slow one, such as user-mode Linux, measures 7 to 9 Mbit/s on ten links
of 10 together, and 10 on each alone, all but once in 30 times.
"""

FRAMES_PER_SECOND = 60_000
"""Links are measured together up to this total offered load."""


@dataclass(frozen=True)
class ProbeRate:
    """Frames per second of one stream, as sent and as they arrived."""

    sent: float
    arrived: float


class MeasurableNetwork(Protocol):
    """Network to measure."""

    @property
    def topology(self) -> Topology: ...

    @property
    def wiring(self) -> Wiring: ...

    @property
    def layout(self) -> QueueLayout: ...

    def datapath_of(self, switch: str) -> Datapath: ...

    def interface(self, switch: str, port: int) -> str:
        """Return the device of a port."""

    def probe(
        self, streams: Sequence[tuple[str, ProbeStream]], sinks: Sequence[tuple[str, ProbeSink]]
    ) -> list[ProbeRate]:
        """Send each stream from its switch to the sink at the same position, all at the same time.

        Raises:
            TestbedError: a device is down; a LinkProbeError for a device of this machine.
        """


@dataclass(frozen=True)
class LinkCalibration:
    """Result of one direction of a link under overload.

    Attributes:
        capacity: its nominal rate, Mbit/s.
        rate: measured rate, Mbit/s, counting all bytes from the Ethernet header on.
        high_share: share of the normal frames sent that arrived.
        low_share: share of the capacity used by victim frames.
    """

    source: str
    target: str
    capacity: float
    rate: float
    high_share: float
    low_share: float

    def fault(self, tolerance: float) -> str | None:
        """Return the fault in words, None if everything is within `tolerance` (a part of 1)."""
        name = f"link {self.source}-{self.target}"
        if abs(self.rate - self.capacity) > tolerance * self.capacity:
            return f"{name} carries {self.rate:.2f} Mbit/s instead of {self.capacity:g}"
        if self.high_share < 1 - tolerance:
            return f"{name} carries only {self.high_share:.1%} of the normal traffic while victims are waiting"
        return None


def calibrate(
    network: MeasurableNetwork,
    tolerance: float = 0.05,
    report: Callable[[str], None] = lambda _: None,
    frames_per_second: float = FRAMES_PER_SECOND,
) -> tuple[LinkCalibration, ...]:
    """Measure all directed links of a network that carries no traffic, in about a second for every 20 of 20 Mbit/s.

    Args:
        network: a started network; its flow entries do not matter.
        tolerance: largest deviation of a rate or a share, as a part of 1.
        report: receives a line about every repeated measurement.
        frames_per_second: total offered load of links measured together at the first attempt.

    Raises:
        TestbedError: a link is out of tolerance, or cannot be measured as an interface is down; the message names it.
    """
    results: dict[tuple[str, str], LinkCalibration] = {}
    pending: Sequence[Link] = network.topology.links
    for attempt in range(ATTEMPTS):
        for batch in _batches(pending, frames_per_second if attempt == 0 else 0):
            results.update({(result.source, result.target): result for result in _measure(network, batch)})
        pending = [link for link in pending if results[link.ends].fault(tolerance)]
        if not pending:
            return tuple(results[link.ends] for link in network.topology.links)
        if attempt + 1 < ATTEMPTS:
            report(f"measuring again: {results[pending[0].ends].fault(tolerance)}")
    raise TestbedError(f"{results[pending[0].ends].fault(tolerance)}; the machine may be busy or the capacity too high")


def _batches(links: Sequence[Link], most: float) -> Iterator[list[Link]]:
    batch: list[Link] = []
    load = 0.0
    for link in links:
        frames = (HIGH_LOAD + LOW_LOAD) * _frames_per_second(link)
        if batch and load + frames > most:
            yield batch
            batch, load = [], 0.0
        batch.append(link)
        load += frames
    if batch:
        yield batch


def _measure(network: MeasurableNetwork, links: Sequence[Link]) -> list[LinkCalibration]:
    """Return the results of links measured together, by two streams and two sinks for each, normal class first."""
    served = network.layout.classes[0]
    queues = (served.normal, served.victim)
    streams: list[tuple[str, ProbeStream]] = []
    sinks: list[tuple[str, ProbeSink]] = []
    for link in links:
        near = network.interface(link.source, network.wiring.port(link.source, link.target))
        far = network.interface(link.target, network.wiring.port(link.target, link.source))
        kernel = network.datapath_of(link.source) is Datapath.KERNEL
        for queue, load in zip(queues, (HIGH_LOAD, LOW_LOAD), strict=True):
            priority = _skb_priority(queue, kernel=kernel)
            rate = load * _frames_per_second(link)
            streams.append((link.source, ProbeStream(near, queue.traffic_class, priority, rate)))
            sinks.append((link.target, ProbeSink(far, queue.traffic_class)))
    try:
        rates = network.probe(streams, sinks)
    except LinkProbeError as error:
        ends = [stream.interface for _, stream in streams], [sink.interface for _, sink in sinks]
        link = next(links[at // 2] for of_all in ends for at, name in enumerate(of_all) if name == error.interface)
        raise TestbedError(f"link {link.source}-{link.target} cannot be measured: {error.reason}") from error
    return [_result(link, *rates[2 * at : 2 * at + 2]) for at, link in enumerate(links)]


def _result(link: Link, high: ProbeRate, low: ProbeRate) -> LinkCalibration:
    to_rate = FRAME_BYTES * 8 / 1e6
    return LinkCalibration(
        *link.ends,
        capacity=link.capacity,
        rate=(high.arrived + low.arrived) * to_rate,
        high_share=min(1.0, high.arrived / high.sent) if high.sent else 0.0,  # some were in flight
        low_share=low.arrived * to_rate / link.capacity,
    )


def _frames_per_second(link: Link) -> float:
    return link.capacity * 1e6 / 8 / FRAME_BYTES


def _skb_priority(queue: Queue, *, kernel: bool) -> int | None:
    """Return the packet priority that names HTB class 1:n+1, as the kernel datapath's `set_queue` sets it."""
    return 1 << 16 | queue.queue_id + 1 if kernel else None
