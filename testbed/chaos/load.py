"""Traffic next to the probes: every tunnel carries a share of its planned rate, and some flows are iperf3's."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from kuijia_app.preparation.queues import MAX_FRAME
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.queues import QueueLayout
from kuijia_base.errors import TestbedError
from te_solver.model.plan import Plan
from te_solver.schemes.failure_scheme import VICTIM
from testbed.chaos.full_queues import FullQueueLoad, LoadFlow, busiest_share
from testbed.chaos.oracle import ProbeFlow
from testbed.chaos.probes import DRAIN_SECONDS, LOAD_PORT, Probe, code_point
from testbed.network.lab_network import LabNetwork
from testbed.traffic.iperf import IperfFlow, IperfRun
from testbed.traffic.recorder_program import PACKET
from testbed.traffic.ticks import Recorders

MOST = 0.95
"""Greatest part of its rate that a link may have to carry while nothing is broken, probes included."""

_HEADERS = 8 + 20 + 14 + 4
"""Bytes of UDP, IPv4, Ethernet and a label."""


@dataclass(frozen=True)
class LoadCount:
    """Packets of the load by one tunnel: sent and arrived; `rate` is in Mbit/s."""

    flow: ProbeFlow
    rate: float
    sent: int
    came: int


def paces_of(plan: Plan, share: float, senders: Iterable[Probe]) -> dict[Probe, float]:
    """Return the rate in Mbit/s of each flow, by which it fills its tunnel to a share of the planned rate."""
    rates = {
        (pair.source, pair.target, pair.priority, tunnel.nodes): share * tunnel.rate
        for pair in plan.pairs
        for tunnel in pair.tunnels
    }
    paces = {
        each: rates[each.flow.source, each.flow.target, each.flow.priority, each.flow.tunnel or ()] for each in senders
    }
    return {each: rate for each, rate in paces.items() if rate > 0}


def load_of(
    plan: Plan,
    probes: Iterable[Probe],
    paces: Mapping[Probe, float],
    tick: float,
    options: PipelineOptions,
    buffer_packets: int,
) -> FullQueueLoad:
    """Return all that a lab has to carry.

    Args:
        plan: the lab's.
        probes: all of them.
        paces: rates of the flows beside them.
        tick: seconds between two probes of a flow.
        options: of the tables.
        buffer_packets: length of every queue.

    Raises:
        TestbedError: a link cannot carry it even while nothing is broken.
    """
    of_probe = (PACKET.size + _HEADERS) * 8 / 1e6 / tick
    rates = [*((probe, of_probe) for probe in probes), *paces.items()]
    flows = tuple(LoadFlow(replace(each.flow, number=number), rate) for number, (each, rate) in enumerate(rates))
    load = FullQueueLoad(flows, options.layout, options.scheme.demotes(VICTIM), buffer_packets)
    busiest = busiest_share(load, plan)
    if busiest > MOST:
        raise TestbedError(f"a link would have to carry {busiest:.0%} of its rate, probes included; {MOST:.0%} at most")
    return load


class LoadRun(Recorders):
    """The load from `start` to `stop`; used as a context manager, which ends its programs in any case.

    Args:
        paces: rate in Mbit/s of each flow.
    """

    def __init__(self, network: LabNetwork, paces: Mapping[Probe, float]) -> None:
        super().__init__("the program of the load")
        self._network = network
        self._paces = paces

    def start(self) -> None:
        """Start to listen, then to send; raises TestbedError if a program failed."""
        for target in sorted({sender.flow.target for sender in self._paces}):
            host = self._network.host(target)
            self._launch(host, "receive-load", str(host.address), str(LOAD_PORT))
        for source in sorted({sender.flow.source for sender in self._paces}):
            rows = [
                f"{each.flow.number},{each.address},{each.port},{each.code_point << 2},"
                f"{self._network.host(each.flow.target).address},{LOAD_PORT},{MAX_FRAME * 8 / 1e6 / rate}"
                for each, rate in self._paces.items()
                if each.flow.source == source
            ]
            self._launch(self._network.host(source), "send-load", *rows)

    def stop(self) -> tuple[LoadCount, ...]:
        """End the load and return what was sent and arrived; raises TestbedError if a program failed."""
        sent = self._counts("send-load")
        time.sleep(DRAIN_SECONDS if sent else 0.0)
        came = self._counts("receive-load")
        return tuple(
            LoadCount(each.flow, rate, sent[each.flow.number], came.get(each.flow.number, 0))
            for each, rate in self._paces.items()
        )

    def _counts(self, role: str) -> dict[int, int]:
        return {int(number): count for record in self._records(role) for number, count in record.items()}


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
