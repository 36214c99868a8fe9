"""Flows of iperf3 next to the probes, by TCP and UDP, and what they got second by second."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from kuijia_app.tables.queues import QueueLayout
from kuijia_base.errors import TestbedError
from te_solver.model.plan import Plan
from testbed.chaos.probes import code_point
from testbed.network.lab_network import LabNetwork
from testbed.traffic.iperf import IperfFlow, IperfRun

Kind = Literal["tcp", "udp"]

_MOST_PAIRS = 4
_SHARE = 0.1
"""Share of the smallest link for all of them together: probes must find room in every queue, also on a slow link."""

_RUN_SECONDS = 60
"""Seconds until a flow is begun again: a program that has lost its connection may wait for long."""

_SAMPLE_SECONDS = 1.0
_FIRST_SERVER_PORT, _FIRST_SOURCE_PORT = 5400, 42000
_PORTS = 100
"""Source ports of each flow, in turn: TCP does not use one again at once."""


@dataclass
class Stream:
    """A flow and what its receiver got.

    Attributes:
        rate: Mbit/s that it sends at most.
        started: times that it was begun.
        failed: times that a program of it ended early.
        samples: times in seconds of the monotonic clock, and Mbit/s in the second before.
    """

    source: str
    target: str
    kind: Kind
    rate: float
    code_point: int
    started: int = 0
    failed: int = 0
    samples: list[tuple[float, float]] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Mbit/s in the seconds in which its programs ran."""
        return sum(rate for _, rate in self.samples) / len(self.samples) if self.samples else 0.0

    @property
    def silent(self) -> int:
        """Samples in which nothing came."""
        return sum(rate == 0 for _, rate in self.samples)


def streams_of(plan: Plan, layout: QueueLayout) -> tuple[Stream, ...]:
    """Return a flow by TCP and one by UDP for each of the first pairs of a plan."""
    pairs = [pair for pair in plan.pairs if pair.tunnels][:_MOST_PAIRS]
    kinds: tuple[Kind, ...] = ("tcp", "udp")
    smallest = min(link.capacity for link in plan.topology.links)
    rate = _SHARE * smallest / max(len(pairs) * len(kinds), 1)
    return tuple(
        Stream(pair.source, pair.target, kind, rate, code_point(layout, pair)) for pair in pairs for kind in kinds
    )


class StreamRun:
    """All flows from `start` to `stop`, each in a thread of its own; used as a context manager, which ends them."""

    def __init__(self, network: LabNetwork, streams: Sequence[Stream]) -> None:
        self._network = network
        self._streams = streams
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> StreamRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin all flows, in the network namespace of the calling thread."""
        self._threads = [
            threading.Thread(target=self._keep_up, args=(place, stream), name=f"stream {place}", daemon=True)
            for place, stream in enumerate(self._streams)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all flows; their samples are complete then."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _keep_up(self, place: int, stream: Stream) -> None:
        for number in itertools.count():
            if self._ended.is_set():
                return
            flow = _flow(stream, place, number)
            stream.started += 1
            try:
                with IperfRun(self._network, [flow], _RUN_SECONDS, _SAMPLE_SECONDS) as run:
                    self._sample(run, stream)
            except TestbedError:
                stream.failed += 1
                self._ended.wait(_SAMPLE_SECONDS)

    def _sample(self, run: IperfRun, stream: Stream) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            rates = run.live_goodput()
            if not rates:  # its time is over
                return
            stream.samples.append((time.monotonic(), sum(rates.values())))


def _flow(stream: Stream, place: int, number: int) -> IperfFlow:
    return IperfFlow(
        f"{stream.kind} {stream.source}>{stream.target}",
        stream.source,
        stream.target,
        _FIRST_SOURCE_PORT + _PORTS * place + number % _PORTS,
        _FIRST_SERVER_PORT + place,
        stream.kind,
        stream.rate if stream.kind == "udp" else None,
        code_point=stream.code_point,
        pace=stream.rate if stream.kind == "tcp" else None,
    )
