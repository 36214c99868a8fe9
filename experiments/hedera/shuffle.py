"""The authors' data shuffle, each host sending the same to all others: emulated, in packets and in the flow model."""

from __future__ import annotations

import argparse
import random
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any, Literal

import numpy as np

from experiments.experiment import Options, Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hedera.lab import ATTEMPTS, HederaLab, authors_lab
from experiments.hedera.packet import PacketNetwork
from experiments.hedera.schemes import (
    ANNEALING,
    AUTHORS_NIC_RATE,
    AUTHORS_PERIOD,
    DEFAULT_PERIOD,
    ECMP,
    NON_BLOCKING,
    ONE_TREE,
    PORTS_OF_SWITCH,
    SOURCE_PORTS,
    UNSCHEDULED,
    PacketOptions,
    add_ramp,
    add_scheduling,
    configure_packets,
    nic_rate_from,
    packet_options_from,
    ramp_from,
    refuse_packet_options,
)
from experiments.hedera.simulation import FlowTrace, FluidSetting, FluidSimulation
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_numbers
from experiments.results.result import Check
from experiments.results.score import SizeBar, order
from experiments.results.stored_files import each_file
from hedera.network.fabric import Fabric, Ints
from hedera.network.fat_tree import FatTree
from hedera.placement.registry import make_placement
from kuijia_base.manifest import describe_computation
from kuijia_base.option_values import positive_count, positive_number
from kuijia_base.progress import Progress
from simulator.flow.timeline import Ramp
from testbed.traffic.transfers import Errand, Transfer, run_transfers

NAME = "hedera-shuffle"

AUTHORS_BYTES = 500_000_000
"""Bytes of each of 240 transfers: 120 GB in total."""

TIME_SCALE, QUICK_TIME_SCALE, QUICK_PACKET_TIME_SCALE = 0.5, 0.1, 0.01
"""Scale of the data, on top of the scale of the link rate; the packet model has the authors' size otherwise."""

QUICK_PERIOD = 0.5

Order = Literal["random", "rotated", "same"]
"""Order of a host's receivers: random for each host; all starting with their next neighbour; or the same for all, by
their numbers."""


@dataclass(frozen=True)
class ShuffleOptions:
    """Options of the shuffle.

    Attributes:
        size: bytes of each transfer.
        at_once: simultaneous transfers of a sending host.
        schemes: from `ARRANGEMENTS`.
        nic_rate: of every cable, in Mbit/s.
        period: seconds between two rounds of the scheduler.
        time_scale: factor from the authors' seconds to ours.
        ramp: ramp of the model's flows to their rates; None for rates at once.
    """

    size: int
    at_once: int
    schemes: tuple[str, ...]
    nic_rate: float
    period: float
    time_scale: float
    ramp: Ramp | None = None


def configure(options: Options) -> None:
    options.add_argument(
        "--time-scale",
        type=positive_number,
        metavar="F",
        help="amount of data, and so time, relative to the authors' "
        f"(default: {TIME_SCALE:g}, with --quick {QUICK_TIME_SCALE:g}, with --full 1; in packets 1, with --quick "
        f"{QUICK_PACKET_TIME_SCALE:g})",
    )
    options.add_argument(
        "--at-once",
        type=positive_count,
        default=2,
        metavar="N",
        help="hosts to which each host sends at a time, which the authors do not state (default: %(default)s)",
    )
    add_scheduling(options)
    add_ramp(options)
    configure_packets(options)


def options_from(args: argparse.Namespace, backend: str = "emulation", *, quick: bool) -> ShuffleOptions:
    """Return the options given on the command line."""
    is_packet = backend == "packet"
    is_full = args.full or (is_packet and not quick)
    quick_scale = QUICK_PACKET_TIME_SCALE if is_packet else QUICK_TIME_SCALE
    usual_period = AUTHORS_PERIOD if is_full else QUICK_PERIOD if quick else DEFAULT_PERIOD
    scale = args.time_scale or (1.0 if is_full else quick_scale if quick else TIME_SCALE)
    nic_rate = nic_rate_from(args, backend)
    return ShuffleOptions(
        size=max(1, round(AUTHORS_BYTES * nic_rate / AUTHORS_NIC_RATE * scale)),
        at_once=args.at_once,
        schemes=(NON_BLOCKING, *args.placements),
        nic_rate=nic_rate,
        period=args.period or usual_period,
        time_scale=scale,
        ramp=ramp_from(args, backend),
    )


def receivers_of(host: int, hosts: int, seed: int, order: Order = "random") -> list[int]:
    """Return the receivers of a host in order, the same under every scheme."""
    if order == "rotated":
        return [(host + step) % hosts for step in range(1, hosts)]
    others = [other for other in range(hosts) if other != host]
    if order == "random":
        random.Random(f"shuffle {seed} {host}").shuffle(others)
    return others


_UNNOTICED = 0.5
"""Seconds for which a poll misses a new flow: Open vSwitch updates its counters at this interval."""

STEP = 0.02
"""Least time in seconds between two looks at flows that end."""

_SLOWEST, _SLOWEST_MEASURED = 50, 20
"""Time limits in models and on switches, as multiples of the time a host needs to send everything unhindered."""


def flow_shuffle(options: ShuffleOptions, scheme: str, seed: int) -> list[Transfer]:
    """Return all transfers of a shuffle under a scheme in the flow model, host by host."""
    tree = FatTree(PORTS_OF_SWITCH, options.nic_rate)
    receivers = [receivers_of(host, tree.hosts, seed) for host in range(tree.hosts)]
    workload = shuffle_workload(receivers, options.size, options.at_once)
    setting = FluidSetting(period=options.period, step=STEP, seed=seed, unnoticed=_UNNOTICED, ramp=options.ramp)
    hashed = np.zeros(workload.flows, np.int32) if scheme == ONE_TREE else None
    return transfers_of(tree, scheme, workload, setting, hashed)


def shuffle_workload(receivers: Sequence[Sequence[int]], size: int, at_once: int) -> FlowTrace:
    """Return a workload in which every host sends `size` bytes to each receiver in order, `at_once` at a time."""
    source = np.repeat(np.arange(len(receivers), dtype=np.int32), [len(each) for each in receivers])
    target = np.concatenate(receivers).astype(np.int32)
    flows = source.size
    return FlowTrace(source, target, np.zeros(flows), np.full(flows, float(size)), at_once)


def transfers_of(
    fabric: Fabric, scheme: str, workload: FlowTrace, setting: FluidSetting, hashed: Ints | None = None
) -> list[Transfer]:
    """Run a shuffle to its end under a scheme of `ARRANGEMENTS`; `hashed` as in `FluidSimulation`."""
    placement = make_placement(ECMP if scheme in UNSCHEDULED else scheme)
    of_host = float(np.bincount(workload.source, workload.size).max()) * 8e-6
    end = _SLOWEST * of_host / (setting.host_part * fabric.nic_rate)
    setting = replace(setting, end=end, blocking=scheme != NON_BLOCKING)
    history = FluidSimulation(fabric, placement, workload, setting, hashed).run()
    flows = zip(workload.source.tolist(), workload.target.tolist(), history.began, history.finished, strict=True)
    return [Transfer(f"h{source}", f"h{target}", float(began), float(ended)) for source, target, began, ended in flows]


_LOOKS, _SHORTEST_PAUSE = 1000, 5e-4
"""Looks for ended transfers as often as one can end, at most once in so many seconds; then the next begins."""


@dataclass(frozen=True)
class ShuffleCase:
    """A shuffle in packets.

    Attributes:
        scheme: from `ARRANGEMENTS`.
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


def run_shuffle_case(case: ShuffleCase) -> dict[str, Any]:
    """Return the transfers and counts of packets, as JSON data."""
    played = _Shuffle(case)
    return {"transfers": played.play(), **played.network.counts()}


def transfers_from(run: dict[str, Any]) -> list[Transfer]:
    """Return the transfers of a run in packets, host by host."""
    return [Transfer(f"h{source}", f"h{target}", began, ended) for source, target, began, ended in run["transfers"]]


class _Shuffle:
    """A shuffle in packets while it runs."""

    def __init__(self, case: ShuffleCase) -> None:
        self._case = case
        hosts = PORTS_OF_SWITCH**3 // 4
        self.network = PacketNetwork(case.scheme, PORTS_OF_SWITCH, case.nic_rate, case.period, case.options, case.seed)
        self._waiting: list[deque[tuple[int, int]]] = []
        for host in range(hosts):
            receivers = receivers_of(host, hosts, case.seed, case.order)
            ports = random.Random(f"ports {case.seed} {host}").sample(SOURCE_PORTS, len(receivers))
            self._waiting.append(deque(zip(receivers, ports, strict=True)))
        self._least = case.size * 8e-6 / case.nic_rate
        self._limit = _SLOWEST * self._least * (hosts - 1)
        self._ends: list[tuple[int, int]] = []
        self._sending: list[int] = []

    def play(self) -> list[tuple[int, int, float, float]]:
        """Return source, target, start and end of each transfer; those that do not end within the limit end then."""
        simulation = self.network.simulation
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
        until = np.minimum(results.acknowledged, simulation.now).tolist()
        times = zip(self._ends, results.start.tolist(), until, strict=True)
        return sorted(((*ends, began, ended) for ends, began, ended in times), key=lambda each: each[0])

    def _begin_next(self, host: int) -> None:
        if not self._waiting[host]:
            return
        target, port = self._waiting[host].popleft()
        self._sending += self.network.add([(host, target)], [port], [self.network.simulation.now], self._case.size)
        self._ends.append((host, target))

    def _pause(self) -> float:
        """Return seconds in which no transfer can end, but no less than the pause between two looks."""
        goodput = self.network.simulation.flow_counters()["goodput"]
        left = self._case.size - max(int(goodput[flow]) for flow in self._sending)
        return max(left * 8e-6 / self._case.nic_rate, self._least / _LOOKS, _SHORTEST_PAUSE)


def _measure(
    scheme: str, options: ShuffleOptions, seed: int, progress: Progress
) -> tuple[list[Transfer], dict[str, Any]]:
    """Shuffle in a lab and return the transfers and the circumstances."""
    with authors_lab(scheme, options.nic_rate, options.period, progress.say) as lab:
        done, load, disturbed = lab.measure(partial(_send, lab, options, seed))
        return done, {"switch": load.switch, "disturbed": disturbed, "manifest": lab.manifest()}


def _send(lab: HederaLab, options: ShuffleOptions, seed: int, attempt: int) -> list[Transfer]:
    hosts = [lab.network.host(site.name) for site in lab.centre.wiring.sites]
    errands = []
    for number, sender in enumerate(hosts):
        receivers = [hosts[other] for other in receivers_of(number, len(hosts), seed)]
        # The ports of an earlier attempt cannot be bound again at once.
        ports = random.Random(f"ports {seed} {number}").sample(SOURCE_PORTS[attempt::ATTEMPTS], len(receivers))
        errands.append(Errand(sender, list(zip(receivers, ports, strict=True))))
    least = options.size * (len(hosts) - 1) * 8 / 1e6 / options.nic_rate
    return run_transfers(errands, options.size, options.at_once, "cubic", timeout=_SLOWEST_MEASURED * least + 10)


Done = dict[str, tuple[list[Transfer], dict[str, Any]]]
"""Transfers and circumstances by scheme."""


def run_shuffle(run: Execution, options: ShuffleOptions) -> Outcome:
    """Shuffle under every scheme on switches or in the flow model; write figures and all transfers."""
    done: Done = {}
    for scheme in options.schemes:
        if run.backend == "flow":
            began = time.time()
            transfers = flow_shuffle(options, scheme, run.seed)
            done[scheme] = transfers, {"disturbed": (), "manifest": describe_computation(began, time.time() - began)}
        else:
            done[scheme] = _measure(scheme, options, run.seed, run.progress)
        run.progress.say(f"{scheme}: {figures(done[scheme][0], options.size)['total_seconds']:.1f} s")
    return _written(run, done, options)


def run_packet_shuffle(run: Execution, options: ShuffleOptions) -> Outcome:
    """Shuffle under every scheme in packets; write figures and all transfers."""
    packet = packet_options_from(run.args)
    usual = ShuffleCase("", run.seed, options.size, options.at_once, "random", options.nic_rate, options.period, packet)
    cases = {scheme: [replace(usual, scheme=scheme)] for scheme in options.schemes}
    with run.swept(run_shuffle_case, cases, "-packet") as found:
        of_runs = {"disturbed": (), "manifest": run.computed()}
        done: Done = {}
        for scheme, (one,) in found.items():
            counts = {name: each for name, each in one.items() if name != "transfers"}
            done[scheme] = transfers_from(one), {**counts, **of_runs}
        return _written(run, done, options, packet=asdict(packet))


def _written(run: Execution, done: Done, options: ShuffleOptions, **more: dict[str, Any]) -> Outcome:
    found = {
        scheme: {**figures(transfers, options.size), **circumstances}
        for scheme, (transfers, circumstances) in done.items()
    }
    data = {**summary(found, options, run.seed, run.backend), **more}
    transfers = {scheme: [asdict(each) for each in of_scheme] for scheme, (of_scheme, _) in done.items()}
    run.output.write_json(f"{NAME}-transfers.json", transfers)
    return run.studied(data, exhibits(data))


GAIN = 1.30
"""Least ratio of annealing's bisection bandwidth to one tree's; the authors have 1.37 times their ECMP."""

ON_THE_WIRE = 1518 / 1448
"""Bytes of a full frame per byte of TCP data in it: the authors' bisection bandwidth exceeds their hosts' goodput by
this factor."""


def figures(transfers: Sequence[Transfer], size: int) -> dict[str, float]:
    """Return the authors' four figures, in seconds, Mbit/s and Mbit/s per host, of transfers of `size` bytes each."""
    ended: dict[str, float] = {}
    sent: dict[str, int] = {}
    for each in transfers:
        ended[each.source] = max(ended.get(each.source, 0.0), each.ended)
        sent[each.source] = sent.get(each.source, 0) + size
    completion = fmean(ended.values())
    goodput = fmean(sent.values()) * 8 / 1e6 / completion
    return {
        "total_seconds": max(ended.values()),
        "mean_completion_seconds": completion,
        "bisection_mbps": goodput * len(ended) * ON_THE_WIRE,
        "host_goodput_mbps": goodput,
    }


def published_shuffle() -> dict[str, Any]:
    """Return the authors' figures; their ECMP also represents the one tree."""
    theirs = published_numbers("hedera_shuffle")
    return {**theirs, "schemes": {**theirs["schemes"], ONE_TREE: theirs["schemes"][ECMP]}}


def summary(found: Mapping[str, Mapping[str, Any]], options: ShuffleOptions, seed: int, backend: str) -> dict[str, Any]:
    theirs = published_numbers("hedera_shuffle")
    return {
        "experiment": NAME,
        "backend": backend,
        "seed": seed,
        **asdict(options),
        "measured": found,
        "published": theirs["schemes"],
        "source": theirs["source"],
    }


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the authors' four figures beside theirs, scaled to our rate and time; the gain has a bar."""
    measured = data["measured"]
    gains = (f"{scheme} {_gain(measured, scheme, ECMP):.2f}" for scheme in measured if scheme != ECMP)
    disturbed = [f"{scheme}: {'; '.join(ours['disturbed'])}" for scheme, ours in measured.items() if ours["disturbed"]]
    remarks = [f"Bisection bandwidth relative to ecmp: {', '.join(gains)}."] if ECMP in measured else []
    if disturbed:
        remarks += ["Measured on a machine that was too busy, which costs goodput:", *disturbed]
    return (
        Exhibit(
            NAME,
            f"shuffle among 16 hosts, {data['size'] / 1e6:g} MB from each to each, {data['at_once']} at a time,"
            f" over links of {data['nic_rate']:g} Mbit/s",
            "Hedera's shuffle",
            data["backend"],
            "figure",
            "units as in the headings; published numbers are scaled to these links and sizes",
            tuple(Line(scheme, tuple(_points(data, scheme))) for scheme in measured),
            data["source"],
            tuple(_checks(measured)),
            tuple(remarks),
            mixed=True,
        ),
    )


def _points(data: Mapping[str, Any], scheme: str) -> Iterator[Point]:
    rate, scale = data["nic_rate"] / 1000, data["time_scale"]
    ours, theirs = data["measured"][scheme], data["published"][ECMP if scheme == ONE_TREE else scheme]
    yield Point.of("all done (s)", [ours["total_seconds"]], theirs["total_seconds"] * scale)
    yield Point.of("a host done (s)", [ours["mean_completion_seconds"]], theirs["mean_completion_seconds"] * scale)
    yield Point.of("bisection (Mbit/s)", [ours["bisection_mbps"]], theirs["bisection_gbps"] * 1000 * rate)
    yield Point.of("a host (Mbit/s)", [ours["host_goodput_mbps"]], theirs["host_goodput_mbytes"] * 8 * rate)


def _checks(measured: Mapping[str, Mapping[str, float]]) -> Iterator[Check]:
    if {ONE_TREE, ANNEALING} <= measured.keys():
        gain = _gain(measured, ANNEALING, ONE_TREE)
        yield order("annealing's bisection bandwidth, of one tree's", gain, low=GAIN)


def _gain(measured: Mapping[str, Mapping[str, float]], better: str, worse: str) -> float:
    return measured[better]["bisection_mbps"] / measured[worse]["bisection_mbps"]


def hedera_shuffle(run: Execution) -> Outcome:
    options = options_from(run.args, run.backend, quick=run.settings.quick)
    if run.backend == "packet":
        return run_packet_shuffle(run, options)
    refuse_packet_options(run.args, run.backend)
    return run_shuffle(run, options)


SIZE_BARS = {
    "hedera-shuffle*": SizeBar(cause="the authors' hosts sent less even where nothing blocked (docs/hedera_testbed.md)")
}

EXPERIMENTS = offered(
    {
        NAME: Offered(
            hedera_shuffle,
            without=("repetitions", "framework", "slots"),
            full="the authors' amount of data",
            configure=configure,
            reader=each_file(exhibits),
        )
    }
)
