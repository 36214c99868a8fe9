"""Measures every link before an experiment: does it carry its capacity, and is the order of its queues strict?

Each direction of each link is offered more than it can carry: frames of the normal class at 60 % of the capacity and
frames of the victim class at 100 %. The link must let the capacity through, all normal frames among it. The frames are
sent through the queues of the port itself and counted where they come out; the switch there drops them, as no flow
entry matches their label.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Protocol

from kuijia_app.queues import Queue, QueueLayout
from kuijia_app.wiring import Wiring
from te_solver.topology import Link, Topology
from testbed.errors import TestbedError
from testbed.ovs import Datapath
from testbed.probe_frames import FRAME_BYTES, ProbeCounter, ProbeSender

HIGH_LOAD, LOW_LOAD = 0.6, 1.0
"""Offered load of the normal and of the victim class, as parts of the capacity."""

SETTLE_SECONDS, MEASURE_SECONDS = 0.1, 0.4
ATTEMPTS = 3
"""A link fails when it is out of tolerance so many times: a busy machine can hold up a sender by chance."""

_FRAMES_PER_SECOND = 60_000
"""Links are measured together as long as they are offered no more than this in total."""

_TICK = 0.001
_LONGEST_BURST = 0.01
"""Seconds' worth of frames sent at once after the sender was held up; more would overflow a queue."""


class MeasurableNetwork(Protocol):
    """What is measured: a network whose ports are devices of the calling thread's network namespace."""

    @property
    def topology(self) -> Topology: ...

    @property
    def wiring(self) -> Wiring: ...

    @property
    def layout(self) -> QueueLayout: ...

    @property
    def datapath(self) -> Datapath: ...

    def interface(self, switch: str, port: int) -> str: ...


@dataclass(frozen=True)
class LinkCalibration:
    """What one direction of a link carried under overload.

    Attributes:
        source, target: the switches.
        capacity: what it should carry, Mbit/s.
        rate: what it carried, Mbit/s, counting all bytes from the Ethernet header on.
        high_share: part of the normal frames that arrived, of those sent.
        low_share: part of the capacity that victim frames took.
    """

    source: str
    target: str
    capacity: float
    rate: float
    high_share: float
    low_share: float

    def fault(self, tolerance: float) -> str | None:
        """What is wrong in words, None when everything is within `tolerance` (a part of 1)."""
        name = f"link {self.source}-{self.target}"
        if abs(self.rate - self.capacity) > tolerance * self.capacity:
            return f"{name} carries {self.rate:.2f} Mbit/s instead of {self.capacity:g}"
        if self.high_share < 1 - tolerance:
            return f"{name} carries only {self.high_share:.1%} of the normal traffic while victims are waiting"
        return None


def calibrate(
    network: MeasurableNetwork, tolerance: float = 0.05, report: Callable[[str], None] = lambda _: None
) -> tuple[LinkCalibration, ...]:
    """Measure all directed links of a network that carries no traffic, in about a second for every 20 of 20 Mbit/s.

    Args:
        network: a started network; its flow entries do not matter.
        tolerance: how far a rate or a share may be off, as a part of 1.
        report: told in one line of every repeated measurement.

    Raises:
        TestbedError: a link is out of tolerance, or cannot be measured as an interface is down; the message names it.
    """
    results: dict[tuple[str, str], LinkCalibration] = {}
    pending: Sequence[Link] = network.topology.links
    for attempt in range(ATTEMPTS):
        for batch in _batches(pending):
            results.update({(result.source, result.target): result for result in _measure(network, batch)})
        pending = [link for link in pending if results[link.ends].fault(tolerance)]
        if not pending:
            return tuple(results[link.ends] for link in network.topology.links)
        if attempt + 1 < ATTEMPTS:
            report(f"measuring again: {results[pending[0].ends].fault(tolerance)}")
    raise TestbedError(f"{results[pending[0].ends].fault(tolerance)}; the machine may be busy or the capacity too high")


def _batches(links: Sequence[Link]) -> Iterator[list[Link]]:
    batch: list[Link] = []
    load = 0.0
    for link in links:
        frames = (HIGH_LOAD + LOW_LOAD) * _frames_per_second(link)
        if batch and load + frames > _FRAMES_PER_SECOND:
            yield batch
            batch, load = [], 0.0
        batch.append(link)
        load += frames
    if batch:
        yield batch


def _measure(network: MeasurableNetwork, links: Sequence[Link]) -> list[LinkCalibration]:
    with ExitStack() as stack:
        probes = [_LinkProbe(network, link, stack) for link in links]
        clock = _send_until(probes, 0.0, SETTLE_SECONDS)
        for probe in probes:
            probe.begin()
        _send_until(probes, clock, clock + MEASURE_SECONDS)
        return [probe.result() for probe in probes]


def _send_until(probes: Sequence[_LinkProbe], clock: float, end: float) -> float:
    """Send at the offered rates while the sending clock goes from `clock` to `end` seconds; return where it stopped.

    The clock follows the real one, except when the sender was held up for longer than `_LONGEST_BURST`.
    """
    last = time.monotonic()
    while clock < end:
        now = time.monotonic()
        clock += min(now - last, _LONGEST_BURST)
        last = now
        for probe in probes:
            probe.send_up_to(clock)
        time.sleep(_TICK)  # paces the sender
    return clock


class _LinkProbe:
    """Senders and counters of one directed link."""

    def __init__(self, network: MeasurableNetwork, link: Link, stack: ExitStack) -> None:
        self.link = link
        self._begun_at = 0.0
        self._high_sent_before = 0
        near = network.interface(link.source, network.wiring.port(link.source, link.target))
        far = network.interface(link.target, network.wiring.port(link.target, link.source))
        served = network.layout.classes[0]
        kernel = network.datapath is Datapath.KERNEL
        try:
            self._high, self._low = (
                stack.enter_context(
                    closing(ProbeSender(near, queue.traffic_class, _skb_priority(queue, kernel=kernel)))
                )
                for queue in (served.normal, served.victim)
            )
            self._high_counter, self._low_counter = (
                stack.enter_context(closing(ProbeCounter(far, queue.traffic_class)))
                for queue in (served.normal, served.victim)
            )
        except OSError as error:
            raise self._broken(error) from error

    def send_up_to(self, clock: float) -> None:
        """Send what is due `clock` seconds after the start."""
        for sender, load in ((self._high, HIGH_LOAD), (self._low, LOW_LOAD)):
            try:
                sender.send(int(clock * load * _frames_per_second(self.link)) - sender.sent)
            except OSError as error:
                raise self._broken(error) from error

    def begin(self) -> None:
        self._high_counter.take()
        self._low_counter.take()
        self._begun_at = time.monotonic()
        self._high_sent_before = self._high.sent

    def result(self) -> LinkCalibration:
        high, low = self._high_counter.take(), self._low_counter.take()
        seconds = time.monotonic() - self._begun_at
        to_rate = FRAME_BYTES * 8 / 1e6 / seconds
        return LinkCalibration(
            *self.link.ends,
            capacity=self.link.capacity,
            rate=(high + low) * to_rate,
            high_share=min(1.0, high / max(1, self._high.sent - self._high_sent_before)),  # some were under way
            low_share=low * to_rate / self.link.capacity,
        )

    def _broken(self, error: OSError) -> TestbedError:
        return TestbedError(f"link {self.link.source}-{self.link.target} cannot be measured: {error.strerror}")


def _frames_per_second(link: Link) -> float:
    return link.capacity * 1e6 / 8 / FRAME_BYTES


def _skb_priority(queue: Queue, *, kernel: bool) -> int | None:
    """The kernel datapath's `set_queue` names the HTB class 1:n+1 in the packet's priority."""
    return 1 << 16 | queue.queue_id + 1 if kernel else None
