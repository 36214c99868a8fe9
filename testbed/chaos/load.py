"""Full links in addition to the probes: every tunnel carries a share of its planned rate."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kuijia_app.preparation.queues import MAX_FRAME
from kuijia_app.tables.options import PipelineOptions
from kuijia_base.errors import TestbedError
from te_solver.model.plan import Plan
from te_solver.schemes.failure_scheme import VICTIM
from testbed.chaos import load_program
from testbed.chaos.full_queues import FullQueueLoad, LoadFlow, busiest_share
from testbed.chaos.oracle import ProbeFlow
from testbed.chaos.probes import DRAIN_SECONDS, LOAD_PORT, Probe
from testbed.network.lab_network import LabNetwork
from testbed.traffic.recorder_program import PACKET
from testbed.traffic.recorders import Recorders

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
        super().__init__("the program of the load", load_program)
        self._network = network
        self._paces = paces

    def start(self) -> None:
        """Start to listen, then to send; raises TestbedError if a program failed."""
        for target in sorted({sender.flow.target for sender in self._paces}):
            host = self._network.host(target)
            self._launch(host, "receive", str(host.address), str(LOAD_PORT))
        for source in sorted({sender.flow.source for sender in self._paces}):
            rows = [
                f"{each.flow.number},{each.address},{each.port},{each.code_point << 2},"
                f"{self._network.host(each.flow.target).address},{LOAD_PORT},{MAX_FRAME * 8 / 1e6 / rate}"
                for each, rate in self._paces.items()
                if each.flow.source == source
            ]
            self._launch(self._network.host(source), "send", *rows)

    def stop(self) -> tuple[LoadCount, ...]:
        """End the load and return what was sent and arrived; raises TestbedError if a program failed."""
        sent = self._counts("send")
        time.sleep(DRAIN_SECONDS if sent else 0.0)
        came = self._counts("receive")
        return tuple(
            LoadCount(each.flow, rate, sent[each.flow.number], came.get(each.flow.number, 0))
            for each, rate in self._paces.items()
        )

    def _counts(self, role: str) -> dict[int, int]:
        return {int(number): count for record in self._records(role) for number, count in record.items()}
