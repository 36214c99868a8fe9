"""Probes through a lab: one flow for each tunnel of each pair and class, from the first fault to the end of the run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kuijia_app.tables.queues import QueueLayout
from te_solver.model.plan import PairPlan, Plan
from testbed.chaos.oracle import Loss, ProbeFlow
from testbed.links.label_observer import EgressFlowKey
from testbed.network.lab_network import LabNetwork
from testbed.traffic.hash_probe import probe_marks_seen_by
from testbed.traffic.ticks import Recorders

PORT, LOAD_PORT = 5301, 5302
"""Ports to which probes and the load beside them are sent."""

_FIRST_SOURCE_PORT = {PORT: 30000, LOAD_PORT: 31000}
_ADDRESSES = 48
"""Source addresses to try for each pair: the switch hashes addresses, but not the ports of UDP."""

DRAIN_SECONDS = 1.0
"""Time that the last packets have to arrive."""


@dataclass(frozen=True)
class Probe:
    """A flow of probes, the address and port that it is sent from, and the DSCP value of its packets."""

    flow: ProbeFlow
    address: str
    port: int
    code_point: int


@dataclass(frozen=True)
class ProbeCount:
    """Packets of a flow: sent, arrived, arrived twice, arrived after a later one."""

    flow: int
    sent: int
    came: int
    twice: int
    late: int


@dataclass(frozen=True)
class ProbeResult:
    """The packets of all probes, and the gaps in their arrivals."""

    counts: tuple[ProbeCount, ...]
    losses: tuple[Loss, ...]


def choose_probes(network: LabNetwork, plan: Plan, layout: QueueLayout, port: int = PORT) -> tuple[Probe, ...]:
    """Return one flow to a port, `PORT` or `LOAD_PORT`, for each tunnel that a source address can be found for.

    Raises:
        ProbeError: packets were never seen to leave their ingress.
    """
    return tuple(_chosen(network, plan, layout, port))


def without_probe(plan: Plan, probes: Sequence[Probe]) -> tuple[str, ...]:
    """Return the tunnels of a plan, in words, that no flow is hashed to."""
    probed = {(flow.source, flow.target, flow.priority, flow.tunnel) for flow in (probe.flow for probe in probes)}
    return tuple(
        f"{'-'.join(tunnel.nodes)} of class {pair.priority}"
        for pair in plan.pairs
        for tunnel in pair.tunnels
        if (pair.source, pair.target, pair.priority, tunnel.nodes) not in probed
    )


def _chosen(network: LabNetwork, plan: Plan, layout: QueueLayout, port: int) -> Iterator[Probe]:
    number = 0
    for place, pair in enumerate(plan.pairs):
        if not pair.tunnels:
            continue
        ingress, egress = network.host(pair.source), network.host(pair.target)
        keys = [
            EgressFlowKey(
                "udp", str(ingress.address + step), _FIRST_SOURCE_PORT[port] + place, port, code_point(layout, pair)
            )
            for step in range(_ADDRESSES)
        ]
        marks = probe_marks_seen_by(partial(network.observe, pair.source), ingress, str(egress.address), keys)
        for tunnel in pair.tunnels:
            key = next((each for each in keys if each in marks and marks[each].label == tunnel.path_id), None)
            if key is not None:
                flow = ProbeFlow(number, pair.source, pair.target, pair.priority, tunnel.nodes)
                yield Probe(flow, key.source_address, key.source_port, key.code_point)
                number += 1


def code_point(layout: QueueLayout, pair: PairPlan) -> int:
    """Return the DSCP value by which packets of a pair reach its class."""
    return next(iter(layout.classes[pair.priority].code_points), 0)


class ProbeRun(Recorders):
    """All probes from `start` to `stop`; used as a context manager, which ends its programs in any case.

    Args:
        interval: seconds between two packets of a flow.
    """

    def __init__(self, network: LabNetwork, probes: Sequence[Probe], interval: float) -> None:
        super().__init__("the program of the probes")
        self._network = network
        self._probes = probes
        self._interval = interval

    def start(self) -> None:
        """Start to listen, then to send; raises TestbedError if a program failed."""
        for target in sorted({probe.flow.target for probe in self._probes}):
            host = self._network.host(target)
            self._launch(host, "receive-probes", str(host.address), str(PORT))
        for source in sorted({probe.flow.source for probe in self._probes}):
            rows = [
                f"{probe.flow.number},{probe.address},{probe.port},{probe.code_point << 2},"
                f"{self._network.host(probe.flow.target).address},{PORT}"
                for probe in self._probes
                if probe.flow.source == source
            ]
            self._launch(self._network.host(source), "send-probes", f"{self._interval}", *rows)

    def stop(self) -> ProbeResult:
        """Stop sending, wait for the last packets, and return what is missing; raises TestbedError if one failed."""
        ended_at = time.monotonic()
        sent = {int(flow): count for record in self._records("send-probes") for flow, count in record.items()}
        time.sleep(DRAIN_SECONDS)
        found = {int(flow): each for record in self._records("receive-probes") for flow, each in record.items()}
        return probe_result(sent, found, ended_at)


def probe_result(sent: Mapping[int, int], records: Mapping[int, Mapping[str, Any]], ended_at: float) -> ProbeResult:
    """Return the packets of all flows and the losses, from what senders and receivers recorded.

    Args:
        sent: packets by flow.
        records: what `recorder_program.FlowRecord` holds, by flow; a flow is missing if nothing of it came.
        ended_at: the time at which sending ended, in seconds of the monotonic clock.
    """
    counts, losses = [], []
    for flow, total in sent.items():
        record = records.get(flow)
        if record is None:
            counts.append(ProbeCount(flow, total, 0, 0, 0))
            losses.append(Loss(flow, 0.0, ended_at, total))
            continue
        counts.append(ProbeCount(flow, total, record["came"], record["twice"], record["late"]))
        gaps = [*record["gaps"]]
        if record["first"] > 0:
            gaps.insert(0, [0, record["first"] - 1, 0, 0])
        if record["last"] < total - 1:
            gaps.append([record["last"] + 1, total - 1, record["last_sent_at"], round(ended_at * 1e9)])
        losses += [_loss(flow, *gap) for gap in gaps]
    return ProbeResult(tuple(counts), tuple(losses))


def _loss(flow: int, low: int, high: int, sent_before: int, sent_after: int) -> Loss:
    """Return the loss in a gap; packets in it were sent evenly between its neighbours."""
    missing = high - low + 1
    step = (sent_after - sent_before) / (missing + 1)
    return Loss(flow, (sent_before + step) / 1e9, (sent_after - step) / 1e9, missing)
