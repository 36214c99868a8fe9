"""Full links in addition to the probes: every tunnel carries a share of its planned rate."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from kuijia_app.preparation.queues import MAX_FRAME
from kuijia_app.tables.options import PipelineOptions
from kuijia_base.errors import TestbedError
from te_solver.model.plan import Plan
from te_solver.schemes.failure_scheme import VICTIM
from testbed.chaos import load_program, probe_program
from testbed.chaos.full_queues import FullQueueLoad, LoadFlow, busiest_share
from testbed.chaos.oracle import ProbeFlow
from testbed.chaos.probes import DRAIN_SECONDS, LOAD_PORT, Probe
from testbed.machine.programs import StartedProgram
from testbed.network.lab_network import LabNetwork
from testbed.traffic.recorders import end_recorder, start_recorder

MOST = 0.95
"""Greatest part of its rate that a link may have to carry while nothing is broken, probes included."""

_HEADERS = 8 + 20 + 14 + 4
"""Bytes of UDP, IPv4, Ethernet and a label."""

_END_SECONDS = 20.0
_PROGRAM = "the program of the load"


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
    of_probe = (probe_program.PACKET.size + _HEADERS) * 8 / 1e6 / tick
    rates = [*((probe, of_probe) for probe in probes), *paces.items()]
    flows = tuple(LoadFlow(replace(each.flow, number=number), rate) for number, (each, rate) in enumerate(rates))
    load = FullQueueLoad(flows, options.layout, options.scheme.demotes(VICTIM), buffer_packets)
    busiest = busiest_share(load, plan)
    if busiest > MOST:
        raise TestbedError(f"a link would have to carry {busiest:.0%} of its rate, probes included; {MOST:.0%} at most")
    return load


class LoadRun:
    """The load from `start` to `stop`; used as a context manager, which ends its programs in any case.

    Args:
        network: the lab's.
        paces: rate in Mbit/s of each flow.
    """

    def __init__(self, network: LabNetwork, paces: Mapping[Probe, float]) -> None:
        self._network = network
        self._paces = paces
        self._programs: dict[tuple[str, str], StartedProgram] = {}

    def __enter__(self) -> LoadRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for program in self._programs.values():
            program.stop()

    def start(self) -> None:
        """Start to listen, then to send; raises TestbedError if a program failed."""
        for target in sorted({sender.flow.target for sender in self._paces}):
            address = str(self._network.host(target).address)
            self._launch("receive", target, [address, str(LOAD_PORT)], "listening")
        for source in sorted({sender.flow.source for sender in self._paces}):
            rows = [
                f"{each.flow.number},{each.address},{each.port},{each.code_point << 2},"
                f"{self._network.host(each.flow.target).address},{LOAD_PORT},{MAX_FRAME * 8 / 1e6 / rate}"
                for each, rate in self._paces.items()
                if each.flow.source == source
            ]
            self._launch("send", source, rows, "sending")

    def stop(self) -> tuple[LoadCount, ...]:
        """End the load and return what was sent and arrived; raises TestbedError if a program failed."""
        sent = self._ended("send")
        time.sleep(DRAIN_SECONDS if sent else 0.0)
        came = self._ended("receive")
        return tuple(
            LoadCount(each.flow, rate, sent[each.flow.number], came.get(each.flow.number, 0))
            for each, rate in self._paces.items()
        )

    def _launch(self, role: str, node: str, arguments: Sequence[str], ready: str) -> None:
        host, file = self._network.host(node), Path(load_program.__file__)
        self._programs[role, node] = start_recorder(host, file, [role, *arguments], ready, _PROGRAM)

    def _ended(self, wanted: str) -> dict[int, int]:
        counts: dict[int, int] = {}
        for (role, host), program in self._programs.items():
            if role == wanted:
                record = end_recorder(program, host, _END_SECONDS, _PROGRAM)
                counts |= {int(number): count for number, count in record.items()}
        return counts
