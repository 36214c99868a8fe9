"""8,192 hosts: patterns as in Hedera's figure, and flows that come and go, in the flow model and in packets."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Options, Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hedera.packet import PollTiming, in_rounds, packet_counts
from experiments.hedera.schemes import (
    ANNEALING,
    AUTHORS_NIC_RATE,
    ECMP,
    FIRST_FIT,
    NON_BLOCKING,
    PacketOptions,
    add_ramp,
    configure_packets,
    packet_options_from,
    ramp_from,
    refuse_packet_options,
)
from experiments.hedera.simulation import FlowTrace, FluidHistory, FluidSetting, FluidSimulation, endless_goodput
from experiments.results.exhibit import Exhibit, Line
from experiments.results.result import Check
from experiments.results.score import limit, order
from experiments.results.stored_files import each_file
from hedera.network.fabric import HASHED, Fabric, Ints
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix, random_bijection, random_targets, staggered, stride
from hedera.placement.interface import Placement
from hedera.placement.registry import EcmpPlacement, GlobalFirstFit, hashed_labels
from hedera.placement.scheduling_round import ELEPHANT, PollReply, SchedulingRound
from hedera.placement.simulated_annealing import Annealing, SimulatedAnnealing
from kuijia_base.errors import InputError, quoted
from kuijia_base.option_values import positive_number_within
from kuijia_base.text import parse_whole
from simulator.flow.timeline import Ramp
from simulator.flow_sizes.published import FlowSizes, find_flow_sizes
from simulator.packet import scenario
from simulator.packet import simulation as packets
from simulator.packet.flows import Flows, Path
from simulator.packet.queues import Fifo
from simulator.packet.topologies import of_graph, single_switch

NAME = "hedera-8192"
WINDOW = (10.0, 50.0)

_PORTS, _QUICK_PORTS = 32, 8
_PACKET_PORTS, _QUICK_PACKET_PORTS = 16, 4
_SECONDS, _QUICK_SECONDS = 5.0, 2.0
_SECONDS_WITHIN = (0.01, 600.0)
_ROUNDS = 10
"""Rounds of the scheduler in a run in packets."""
_FEWEST_PORTS, _MOST_PORTS = 4, 64
_LOAD = 0.4


def configure(options: Options) -> None:
    options.add_argument(
        "--ports",
        type=_ports,
        metavar="K",
        help=f"ports of a switch: K^3 / 4 hosts (default: {_PORTS}, with --quick {_QUICK_PORTS}; in packets"
        f" {_PACKET_PORTS}, with --full {_PORTS}, with --quick {_QUICK_PACKET_PORTS})",
    )
    options.add_argument(
        "--seconds",
        type=positive_number_within(*_SECONDS_WITHIN, "{:g} to {:g} seconds".format(*_SECONDS_WITHIN)),
        metavar="S",
        help="with --backend packet: seconds to simulate, with ten rounds of the scheduler"
        f" (default: {_SECONDS:g}, with --quick {_QUICK_SECONDS:g})",
    )
    options.add_argument(
        "--arriving-load",
        type=positive_number_within(0.0, 1.0, "a number above 0, at most 1"),
        default=_LOAD,
        metavar="F",
        help="mean load of arriving flows, as a share of the hosts' interfaces (default: %(default)s)",
    )
    options.add_argument(
        "--flow-sizes",
        default="data-mining",
        metavar="NAME|FILE",
        help="sizes of arriving flows; only those above 1 MB are simulated (default: %(default)s)",
    )
    add_ramp(options)
    configure_packets(options)


def _ports(text: str) -> int:
    ports = parse_whole(text)
    if ports is None or ports % 2 or not _FEWEST_PORTS <= ports <= _MOST_PORTS:
        raise argparse.ArgumentTypeError(
            f"{quoted(text)}, expected an even number from {_FEWEST_PORTS} to {_MOST_PORTS}"
        )
    return ports


@dataclass(frozen=True)
class LargeOptions:
    """A network and its arriving flows.

    Attributes:
        ports: of a switch.
        load: mean demand of the flows as a share of all hosts' interfaces.
        flow_sizes: name of a published distribution, or a file.
        ramp: TCP's ramp to its rates; None for rates at once.
    """

    ports: int
    load: float
    flow_sizes: str
    ramp: Ramp | None = None


SMALLEST = 1_000_000
"""Bytes of the smallest simulated flow: smaller ones carry 2 % of all bytes in a data-mining cluster, and none is ever
scheduled."""

CLASSES = {"1 to 10 MB": (0.0, 1e7), "10 to 100 MB": (1e7, 1e8), "above 100 MB": (1e8, math.inf)}
"""Size classes of arriving flows: bytes from and below."""

ITERATIONS, FLOW_ITERATIONS = 1_000_000, 100_000
"""Iterations of annealing per round, and for single flows; beyond 8,192 hosts in proportion (some 120 per host)."""

_OF_HOSTS = 8192

FEE = 0.5
"""Cost of moving a flow, in parts of its demand."""

_WITH_FEE = "annealing with a fee"


def annealing(hosts: int, seed: int, fee: float = 0.0) -> Annealing:
    iterations, of_flows = (each * max(hosts, _OF_HOSTS) // _OF_HOSTS for each in (ITERATIONS, FLOW_ITERATIONS))
    return Annealing(iterations, of_flows, movement_fee=fee, seed=seed)


PLACEMENTS: Mapping[str, Callable[[int, int], Placement]] = {
    ECMP: lambda *_: EcmpPlacement(),
    FIRST_FIT: lambda *_: GlobalFirstFit(),
    ANNEALING: lambda hosts, seed: SimulatedAnnealing(annealing(hosts, seed)),
}
"""Functions that create each placement for a number of hosts and a seed."""


def larger(sizes: FlowSizes, source: str) -> FlowSizes:
    """Return the distribution of the flows larger than `SMALLEST`.

    Raises:
        InputError: there are none; the message names `source`.
    """
    if float(sizes.probability(SMALLEST)) >= 1:
        raise InputError(source, "", "no flow is larger than 1 MB", "some that last for rounds of the scheduler")
    return sizes.above(SMALLEST)


def arriving(fabric: Fabric, sizes: FlowSizes, load: float, end: float, seed: int) -> FlowTrace:
    """Return flows of these sizes, from 0 to `end` seconds, whose mean load is a share of all hosts' interfaces."""
    random = np.random.default_rng([seed, 7])
    rate = load * fabric.hosts * fabric.nic_rate * 1e6 / 8 / sizes.mean
    count = int(random.poisson(rate * end))
    source = random.integers(0, fabric.hosts, count)
    target = (source + random.integers(1, fabric.hosts, count)) % fabric.hosts
    start = np.sort(random.uniform(0, end, count))
    drawn = sizes.quantile(random.uniform(0.0, 1.0, count))
    return FlowTrace(source.astype(np.int32), target.astype(np.int32), start, drawn)


def run_large(run: Execution, options: LargeOptions) -> Outcome:
    """Simulate a minute of everything; write tables and a picture."""
    sizes = larger(find_flow_sizes(options.flow_sizes), options.flow_sizes)
    tree = FatTree(options.ports, AUTHORS_NIC_RATE)
    patterns = {}
    setting = FluidSetting(seed=run.seed, ramp=options.ramp)
    for matrix in matrices(tree, run.seed):
        run.show(matrix.name)
        patterns[matrix.name] = of_pattern(tree, matrix, setting)
    workload = arriving(tree, sizes, options.load, setting.end, run.seed)
    data = {
        "experiment": NAME,
        "backend": "flow",
        "hosts": tree.hosts,
        "patterns": patterns,
        "load": options.load,
        "flow_sizes": options.flow_sizes,
        "ramp": None if options.ramp is None else asdict(options.ramp),
        "arrivals": of_arrivals(tree, workload, setting, run.show),
    }
    return run.studied(data, exhibits(data))


def matrices(tree: FatTree, seed: int) -> list[Matrix]:
    random = np.random.default_rng([seed, 3])
    pod = tree.half * tree.half
    return [
        *(stride(tree.hosts, step) for step in (1, tree.half, pod, tree.hosts // 2)),
        *(staggered(tree, *parts, random) for parts in ((1.0, 0.0), (0.5, 0.3), (0.2, 0.3))),
        random_targets(tree.hosts, random),
        random_bijection(tree.hosts, random),
    ]


def of_pattern(tree: FatTree, matrix: Matrix, setting: FluidSetting) -> dict[str, float]:
    """Return the non-blocking goodput in Mbit/s, and the share of it that each placement reaches."""
    control = endless_goodput(tree, EcmpPlacement(), matrix, replace(setting, blocking=False), WINDOW)
    placements = {name: make(tree.hosts, setting.seed) for name, make in PLACEMENTS.items()}
    parts = {name: endless_goodput(tree, each, matrix, setting, WINDOW) / control for name, each in placements.items()}
    return {NON_BLOCKING: control, **parts}


def of_arrivals(
    tree: FatTree, workload: FlowTrace, setting: FluidSetting, show: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Return goodput, moves and completion times of each placement while flows come and go."""
    placements = {name: make(tree.hosts, setting.seed) for name, make in PLACEMENTS.items()}
    placements[_WITH_FEE] = SimulatedAnnealing(annealing(tree.hosts, setting.seed, FEE))
    found = {}
    for name, placement in placements.items():
        show(f"{workload.flows:,} flows arrive and end, {name}")
        found[name] = figures_of(workload, FluidSimulation(tree, placement, workload, setting).run())
    nothing_blocks = FluidSimulation(tree, EcmpPlacement(), workload, replace(setting, blocking=False))
    return {**found, NON_BLOCKING: figures_of(workload, nothing_blocks.run())}


def figures_of(workload: FlowTrace, history: FluidHistory, window: tuple[float, float] = WINDOW) -> dict[str, Any]:
    """Return the figures of arriving flows: rates in Mbit/s in the window, mean seconds by size class."""
    done = np.isfinite(history.finished)
    seconds = history.finished - workload.start
    of_class = {
        name: done & (least <= workload.size) & (workload.size < most) for name, (least, most) in CLASSES.items()
    }
    return {
        "goodput": history.mean_goodput(*window),
        "moves per round": float(np.mean(history.moves or [0])),
        "elephants per round": float(np.mean(history.elephants or [0])),
        "finished": int(done.sum()),
        "mean seconds": {name: float(seconds[which].mean()) for name, which in of_class.items() if which.any()},
    }


SCHEMES = (*PLACEMENTS, NON_BLOCKING)
"""In packets."""


@dataclass(frozen=True)
class ArrivalCase:
    """A run of arriving flows.

    Attributes:
        scheme: from `SCHEMES`.
        ports: of a switch.
        load: mean demand of the flows as a share of all hosts' interfaces.
        flow_sizes: name of a published distribution, or a file.
        end: seconds that are simulated.
        period: seconds between two rounds.
        seed: of flows, hash and search.
        options: of the packet model.
    """

    scheme: str
    ports: int
    load: float
    flow_sizes: str
    end: float
    period: float
    seed: int
    options: PacketOptions


def run_arrivals(case: ArrivalCase) -> dict[str, Any]:
    """Return the figures of arriving flows in packets and in the flow model, as JSON data."""
    tree = FatTree(case.ports, AUTHORS_NIC_RATE)
    sizes = larger(find_flow_sizes(case.flow_sizes), case.flow_sizes)
    workload = arriving(tree, sizes, case.load, case.end, case.seed)
    if not workload.flows:
        raise InputError("option", "--seconds", f"no flow begins in {case.end:g} s", "a longer time, or a larger load")
    played = _Arrivals(case, tree, workload)
    window = case.end / 5, case.end
    history = played.play(window[0])
    setting = FluidSetting(case.end, case.period, seed=case.seed, blocking=case.scheme != NON_BLOCKING)
    flow = FluidSimulation(tree, _placement(case, tree), workload, setting).run()
    return {
        "flows": workload.flows,
        "packet": figures_of(workload, history, window),
        "flow": figures_of(workload, flow, window),
        **packet_counts(played.simulation),
    }


def _placement(case: ArrivalCase, tree: FatTree) -> Placement:
    return PLACEMENTS[ECMP if case.scheme == NON_BLOCKING else case.scheme](tree.hosts, case.seed)


class _Arrivals:
    """Arriving flows while they are simulated."""

    def __init__(self, case: ArrivalCase, tree: FatTree, workload: FlowTrace) -> None:
        self._case, self._tree, self._workload = case, tree, workload
        self._hash = hashed_labels(tree, np.arange(workload.flows, dtype=np.uint64), case.seed)
        self._choice = np.full(workload.flows, HASHED, np.int32)
        self._round = SchedulingRound(tree, _placement(case, tree))
        self._moves: list[int] = []
        self._elephants: list[int] = []
        queueing, delay = Fifo(limit=round(1000 * case.options.buffer)), 1e-6 * case.options.delay
        ends = workload.source, workload.target
        if case.scheme == NON_BLOCKING:
            network = single_switch(tree.hosts, AUTHORS_NIC_RATE, delay, queueing)
            # A host's link to the switch comes before the one from it.
            pairs = zip(workload.source.tolist(), workload.target.tolist(), strict=True)
            paths: list[Path] = [((2 * a, 2 * b + 1), (2 * b, 2 * a + 1)) for a, b in pairs]
        else:
            names = [f"h{host}" for host in range(tree.hosts)]
            network = of_graph(tree.topology, names, queueing, delay=delay)
            paths = self._paths(np.arange(workload.flows), self._hash)
        size = np.maximum(1, np.rint(workload.size)).astype(np.int64)
        self._transport = case.options.transport
        flows = Flows.of(*ends, self._transport, size=size, start=workload.start, paths=paths)
        self.simulation = packets.Simulation(network, [flows], scenario.Setting(seed=case.seed))
        if case.scheme not in (NON_BLOCKING, ECMP):
            timing = PollTiming(case.period, 1e-3 * case.options.message_delay)
            in_rounds(self.simulation, timing, lambda: None, self._read, self._place, self._apply)

    def play(self, begin: float) -> FluidHistory:
        """Simulate and return results as those of the flow model; goodput is averaged from `begin` on."""
        simulation, workload, end = self.simulation, self._workload, self._case.end
        arrived = []
        for moment in (begin, end):
            simulation.complete(moment)
            arrived.append(8e-6 * float(simulation.flow_results().goodput.sum()))
        goodput = [arrived[0] / begin, (arrived[1] - arrived[0]) / (end - begin)]
        finished = simulation.flow_results().finished
        return FluidHistory(workload.start, finished, end, [0.0, begin], goodput, self._moves, self._elephants)

    def _paths(self, flows: NDArray[np.int64], label: Ints) -> list[Path]:
        source, target = self._workload.source[flows], self._workload.target[flows]
        both = []
        for one, other in ((source, target), (target, source)):
            found = self._tree.flow_paths(one, other, label)
            links, first = found.links.tolist(), found.first.tolist()
            both.append([tuple(links[begin:end]) for begin, end in pairwise(first)])
        return list(zip(*both, strict=True))

    def _read(self, asked: None) -> tuple[NDArray[np.int64], PollReply]:
        """Read the counters of all edge switches: of flows that have begun and not ended."""
        del asked
        now, workload = self.simulation.now, self._workload
        sent = self.simulation.flow_counters()["sent"]
        is_over = np.isfinite(self.simulation.flow_results().finished)
        active = np.flatnonzero((workload.start < now) & ~is_over)
        active = active[np.argsort(workload.source[active], kind="stable")]
        edges = self._tree.edge_first.size - 1
        poll = PollReply(
            now,
            np.arange(edges, dtype=np.int32),
            np.searchsorted(workload.source[active], self._tree.edge_first).astype(np.int64),
            active.astype(np.uint64),
            workload.source[active],
            workload.target[active],
            sent[active].astype(np.uint64) * np.uint64(self._transport.largest_packet),
            now - workload.start[active],
        )
        return active, poll

    def _place(self, read: tuple[NDArray[np.int64], PollReply]) -> tuple[NDArray[np.int64], Ints]:
        active, poll = read
        changes = self._round.run(poll)
        self._elephants.append(int((changes.rates > ELEPHANT * AUTHORS_NIC_RATE).sum()))
        changed = np.concatenate([active[changes.placed], active[changes.released]])
        return changed, np.concatenate([changes.labels, np.full(changes.released.size, HASHED, np.int32)])

    def _apply(self, changes: tuple[NDArray[np.int64], Ints]) -> None:
        flows, choice = changes
        before = self._choice[flows]
        old, new = (self._paths(flows, self._labels(flows, labels)) for labels in (before, choice))
        self._choice[flows] = choice
        moved = {flow: path for flow, was, path in zip(flows.tolist(), old, new, strict=True) if was != path}
        self.simulation.move_all(moved)
        placed = set(flows[(before != HASHED) & (choice != HASHED)].tolist())
        self._moves.append(len(placed & moved.keys()))

    def _labels(self, flows: NDArray[np.int64], choice: Ints) -> Ints:
        return np.where(choice == HASHED, self._hash[flows], choice)


def run_packet_arrivals(run: Execution, usual: ArrivalCase) -> Outcome:
    """Run every scheme with the options of `usual`; write figures as text, JSON and picture."""
    cases = {scheme: [replace(usual, scheme=scheme)] for scheme in SCHEMES}
    with run.swept(run_arrivals, cases, "-packet") as runs:
        data = {
            "experiment": NAME,
            "backend": run.backend,
            "hosts": usual.ports**3 // 4,
            "load": usual.load,
            "flow_sizes": usual.flow_sizes,
            "seconds": usual.end,
            "period": usual.period,
            "seed": usual.seed,
            "packet": asdict(usual.options),
            "schemes": {scheme: one for scheme, (one,) in runs.items()},
            "manifest": run.computed(),
        }
        return run.studied(data, exhibits(data))


_WORSE = 0.1
"""Percentage points that a placement may be below ECMP."""

_MOST_MOVES, _LEAST_GOODPUT = 0.5, 0.98
"""Bars with the fee: most moves and least goodput, relative to no fee."""


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return goodput of the patterns, in the flow model alone, and figures of arriving flows, with the bars of both."""
    return (_in_both_models(data),) if data["backend"] == "packet" else (*_patterns(data), _arrivals(data))


def _patterns(data: Mapping[str, Any]) -> Iterator[Exhibit]:
    hosts, patterns = data["hosts"], data["patterns"]

    def exhibit(suffix: str, title: str, quantity: str, lines: Iterator[Line]) -> Exhibit:
        about = ("Hedera's simulator", data["backend"], "pattern")
        return Exhibit(f"{NAME}{suffix}", title, *about, quantity, tuple(lines))

    gigabits = exhibit(
        "",
        f"aggregate goodput of {hosts:,} hosts",
        "aggregate goodput (Gbit/s)",
        (Line.of(name, {each: _gigabits(parts, name) for each, parts in patterns.items()}) for name in SCHEMES),
    )
    yield replace(gigabits, remarks=("Hedera's figure for 8,192 hosts has no numbers that can be read.",))
    of_control = exhibit(
        "-parts",
        f"part of the goodput without blocking that placements reach on {hosts:,} hosts",
        "part of goodput without blocking (%)",
        (Line.of(name, {each: 100 * parts[name] for each, parts in patterns.items()}) for name in PLACEMENTS),
    )
    yield replace(
        of_control,
        published="Al-Fares et al., Hedera, NSDI 2010, figure for 8,192 hosts, whose numbers cannot be read",
        checks=tuple(
            order(f"{placement} less ecmp on {name}, points", 100 * (parts[placement] - parts[ECMP]), low=-_WORSE)
            for name, parts in patterns.items()
            for placement in PLACEMENTS
            if placement != ECMP
        ),
    )


def _gigabits(parts: Mapping[str, float], name: str) -> float:
    return (1.0 if name == NON_BLOCKING else parts[name]) * parts[NON_BLOCKING] / 1000


def _arrivals(data: Mapping[str, Any]) -> Exhibit:
    arrivals, ramp = data["arrivals"], data["ramp"]
    rates = (
        "flows have their rates at once"
        if ramp is None
        else f"flows come to their rates by TCP's ramps at round trips of {1e3 * ramp['round_trip']:g} ms"
    )
    return Exhibit(
        f"{NAME}-arrivals",
        f"flows of 1 MB and more ({data['flow_sizes']}) come and go, {data['load']:.0%} of interfaces in the mean",
        "Hedera's simulator",
        data["backend"],
        "measure",
        f"units as in the headings; {rates}",
        tuple(Line.of(name, _measures(each, _MEASURES)) for name, each in arrivals.items()),
        checks=tuple(_fee_checks(arrivals)),
        mixed=True,
    )


def _in_both_models(data: Mapping[str, Any]) -> Exhibit:
    schemes, backends = data["schemes"], ("packet", "flow")
    flows = next(iter(schemes.values()))["flows"]
    gains = {
        backend: schemes[ANNEALING][backend]["goodput"] / schemes[ECMP][backend]["goodput"] for backend in backends
    }
    return Exhibit(
        f"{NAME}-arrivals",
        f"{flows:,} flows of 1 MB and more ({data['flow_sizes']}) come and go among {data['hosts']:,} hosts in"
        f" {data['seconds']:g} s, {data['load']:.0%} of interfaces in the mean",
        "Hedera's simulator",
        data["backend"],
        "measure",
        f"units as in the headings; rounds every {data['period']:g} s",
        tuple(
            Line.of(f"{scheme}, {backend}", _measures(each[backend], _MEASURES_IN_BOTH))
            for scheme, each in schemes.items()
            for backend in backends
        ),
        checks=tuple(order(f"annealing's goodput, of ecmp's, {name}", gain, low=1.0) for name, gain in gains.items()),
        remarks=("Goodput without the first fifth of the time; means of the flows that ended.",),
        mixed=True,
    )


_MEASURES = {
    "goodput (Gbit/s)": ("goodput", 1e3),
    "moves a round": ("moves per round", 1),
    "elephants a round": ("elephants per round", 1),
    "flows finished": ("finished", 1),
}
"""Headings of figures, with their names and what they are divided by."""

_MEASURES_IN_BOTH = {heading: each for heading, each in _MEASURES.items() if heading != "elephants a round"}


def _measures(each: Mapping[str, Any], chosen: Mapping[str, tuple[str, float]]) -> dict[str, float]:
    """Return the chosen figures by heading, and the mean times of all sizes that flows had."""
    seconds = each["mean seconds"]
    return {
        **{heading: each[name] / unit for heading, (name, unit) in chosen.items()},
        **{f"mean ms, {size}": 1000 * seconds[size] for size in CLASSES if size in seconds},
    }


def _fee_checks(arrivals: Mapping[str, Any]) -> Iterator[Check]:
    free, charged = (arrivals[name] for name in (ANNEALING, _WITH_FEE))
    most = _MOST_MOVES * free["moves per round"]
    yield limit("moves a round with a fee", charged["moves per round"], high=most)
    yield limit("goodput with a fee, of that without", charged["goodput"] / free["goodput"], low=_LEAST_GOODPUT)


def hedera_8192(run: Execution) -> Outcome:
    args = run.args
    if run.backend == "flow":
        refuse_packet_options(args, run.backend)
        if args.seconds is not None:
            raise InputError("option", "--seconds", "changes nothing on flow", "--backend packet with it")
        ports = args.ports or run.sized(_QUICK_PORTS, _PORTS)
        return run_large(run, LargeOptions(ports, args.arriving_load, args.flow_sizes, ramp_from(args, "flow")))
    ramp_from(args, run.backend)
    seconds = args.seconds or run.sized(_QUICK_SECONDS, _SECONDS)
    case = ArrivalCase(
        scheme="",
        ports=args.ports or run.sized(_QUICK_PACKET_PORTS, _PACKET_PORTS, _PORTS),
        load=args.arriving_load,
        flow_sizes=args.flow_sizes,
        end=seconds,
        period=seconds / _ROUNDS,
        seed=run.seed,
        options=packet_options_from(args),
    )
    return run_packet_arrivals(run, case)


EXPERIMENTS = offered(
    {
        NAME: Offered(
            hedera_8192,
            without=("repetitions",),
            full="with --backend packet: 8,192 hosts (default: 1,024)",
            configure=configure,
            reader=each_file(exhibits),
        )
    }
)
