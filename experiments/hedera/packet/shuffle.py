"""The shuffle packet by packet: each host sends to all others in its order, some at a time."""

from __future__ import annotations

import random
import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from experiments.experiment import Outcome, Settings
from experiments.hedera.packet.matrices import PORTS_OF_SWITCH
from experiments.hedera.packet.network import PacketNetwork
from experiments.hedera.packet.options import PacketOptions
from experiments.hedera.shuffle_cases import Order, ShuffleOptions, receivers_of
from experiments.hedera.shuffle_report import NAME, exhibits, figures, summary
from experiments.reporting.exhibit_output import write_study
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, no_preparation, swept
from kuijia_base.sweep.workers import Workers
from testbed.traffic.transfers import Transfer

_SOURCE_PORTS = range(20000, 30000)
_LOOKS, _SHORTEST_PAUSE = 1000, 5e-4
"""Looks for ended transfers in the least time that one takes, at most one in so many seconds; then the next begins."""

_SLOWEST = 50
"""Time limit, as a multiple of the time a host needs to send everything unhindered."""


@dataclass(frozen=True)
class ShuffleCase:
    """A shuffle.

    Attributes:
        scheme: from `experiments.hedera.testbed_cases.ARRANGEMENTS`.
        seed: of orders, source ports and the switches' hash.
        size: bytes of each transfer.
        at_once: simultaneous transfers of a sending host.
        order: of each host's receivers.
        nic_rate: of every cable, in Mbit/s.
        period: seconds between two rounds of the scheduler.
        options: of the packet model.
    """

    scheme: str
    seed: int
    size: int
    at_once: int
    order: Order
    nic_rate: float
    period: float
    options: PacketOptions


def run_shuffle_case(ready: None, case: ShuffleCase) -> dict[str, Any]:
    """Return the transfers and counts of packets, as JSON data."""
    del ready
    played = _Shuffle(case)
    return {"transfers": played.play(), **played.counts()}


def transfers_from(run: dict[str, Any]) -> list[Transfer]:
    """Return the transfers of a run, host by host."""
    return [Transfer(f"h{source}", f"h{target}", began, ended) for source, target, began, ended in run["transfers"]]


class _Shuffle:
    """A shuffle while it runs."""

    def __init__(self, case: ShuffleCase) -> None:
        self._case = case
        hosts = PORTS_OF_SWITCH**3 // 4
        self._network = PacketNetwork(case.scheme, PORTS_OF_SWITCH, case.nic_rate, case.period, case.options, case.seed)
        self._waiting: list[deque[tuple[int, int]]] = []
        for host in range(hosts):
            receivers = receivers_of(host, hosts, case.seed, case.order)
            ports = random.Random(f"ports {case.seed} {host}").sample(_SOURCE_PORTS, len(receivers))
            self._waiting.append(deque(zip(receivers, ports, strict=True)))
        self._least = case.size * 8e-6 / case.nic_rate
        self._limit = _SLOWEST * self._least * (hosts - 1)
        self._ends: list[tuple[int, int]] = []
        self._sending: list[int] = []

    def play(self) -> list[tuple[int, int, float, float]]:
        """Return source, target, start and end of each transfer; those that do not end within the limit end then."""
        simulation = self._network.simulation
        for host in range(len(self._waiting)):
            for _ in range(self._case.at_once):
                self._begin_next(host)
        while self._sending and simulation.now < self._limit:
            simulation.complete(simulation.now + self._pause())
            over = simulation.flow_results().acknowledged
            ended = [flow for flow in self._sending if over[flow] <= simulation.now]
            for flow in ended:
                self._sending.remove(flow)
                self._begin_next(self._ends[flow][0])
        results = simulation.flow_results()
        told = [
            (*ends, began, ended)
            for ends, began, ended in zip(
                self._ends,
                results.start.tolist(),
                np.minimum(results.acknowledged, simulation.now).tolist(),
                strict=True,
            )
        ]
        return sorted(told, key=lambda each: each[0])

    def counts(self) -> dict[str, Any]:
        results = self._network.simulation.flow_results()
        rounds = [] if self._network.loop is None else self._network.loop.rounds
        return {
            **{name: int(getattr(results, name).sum()) for name in ("sent", "dropped", "timeouts")},
            "moved": sum(each.moved for each in rounds),
            "rounds": len(rounds),
        }

    def _begin_next(self, host: int) -> None:
        if not self._waiting[host]:
            return
        target, port = self._waiting[host].popleft()
        network = self._network
        self._sending += network.add([(host, target)], [port], [network.simulation.now], self._case.size)
        self._ends.append((host, target))

    def _pause(self) -> float:
        """Return seconds in which no transfer can end, but no less than the pause between two looks."""
        goodput = self._network.simulation.flow_counters()["goodput"]
        left = self._case.size - max(int(goodput[flow]) for flow in self._sending)
        return max(left * 8e-6 / self._case.nic_rate, self._least / _LOOKS, _SHORTEST_PAUSE)


COUNTS = ("sent", "dropped", "timeouts", "moved", "rounds")


def run_packet_shuffle(
    settings: Settings,
    options: ShuffleOptions,
    packet: PacketOptions,
    workers: Workers,
    output: OutputFolder,
    progress: Progress,
) -> Outcome:
    """Shuffle under every scheme; write figures and all transfers."""
    cases = [
        ShuffleCase(
            scheme, settings.seed, options.size, options.at_once, "random", options.nic_rate, options.period, packet
        )
        for scheme in options.schemes
    ]
    began = time.time()
    asked = {"cases": [asdict(case) for case in cases]}
    sweep = Sweep(f"{NAME}-packet", asked, None, no_preparation, run_shuffle_case, cases)
    with swept(sweep, workers, output, progress) as runs:
        manifest = describe_computation(began, time.time() - began)
        done = {case.scheme: transfers_from(run) for case, run in zip(cases, runs, strict=True)}
        found = {
            case.scheme: {
                **figures(done[case.scheme], options.size),
                **{name: run[name] for name in COUNTS},
                "disturbed": (),
                "manifest": manifest,
            }
            for case, run in zip(cases, runs, strict=True)
        }
        data = {**summary(found, options, settings.seed, settings.backend), "packet": asdict(packet)}
        transfers = {scheme: [asdict(each) for each in of_scheme] for scheme, of_scheme in done.items()}
        output.write_json(f"{NAME}-transfers.json", transfers)
        return write_study(NAME, data, exhibits(data), output)
