"""A packet study as plain data: the common settings of its runs, the runs, alone or as a sweep, and their results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field
from math import isfinite
from typing import Any

from kuijia_base.errors import InputError, UnsoundError, key_path
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, no_preparation, swept
from kuijia_base.sweep.work import digest_of
from kuijia_base.sweep.workers import Workers
from simulator.flow_sizes.published import FlowSizes
from simulator.packet.credited import Credited, FlashPass
from simulator.packet.faults import SwitchFault
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.packet.network import Network
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.summary import FlowTable, size_classes, summary_of
from simulator.packet.traffic.arrivals import Arrivals
from simulator.packet.traffic.load import Load, Reference
from simulator.packet.traffic.patterns import Pairs, Pattern
from simulator.packet.traffic.workload import Workload, flows_at_once, pairs_at_once
from simulator.packet.transports import Tcp, Transport
from simulator.packet.units import LONGEST
from simulator.studies.packet.networks import equipped, may_wait_too_long, require_default_wait
from simulator.studies.packet.tables import flows_csv, links_csv
from simulator.studies.packet.transports import DEFAULT_BUFFER, Credits, Mark, queueing, transport_of, with_ports

NOT_DIVIDED = "the run cannot be divided among threads"
"""Beginning of the core's reason to refuse several threads."""

PATIENCE = Tcp().max_timeout
"""Seconds without anything new at any flow after which a run with faults ends: longer than TCP waits to try again."""


@dataclass(frozen=True)
class Traffic:
    """Flows of a study.

    Attributes:
        pattern: of sources and targets.
        arrivals: arrival process; None for all flows at 0 seconds.
    """

    sizes: FlowSizes
    pattern: Pattern
    arrivals: Arrivals | None
    of: Reference
    flows: int

    def drawn(self, network: Network, transport: Transport, load: float | None, seed: int) -> Flows:
        if self.arrivals is None or load is None:
            return flows_at_once(self.pattern, self.sizes, network, transport, seed)
        return self._workload(self.arrivals, load).drawn(network, transport, seed)

    def pairs(self, network: Network, load: float | None, seed: int) -> Pairs:
        """Return the pairs of hosts of the flows, without these."""
        if self.arrivals is None or load is None:
            return pairs_at_once(self.pattern, network, seed)
        return self._workload(self.arrivals, load).pairs(network, seed)

    def _workload(self, arrivals: Arrivals, load: float) -> Workload:
        return Workload(self.sizes, Load(load, self.of), self.flows, arrivals, self.pattern)


@dataclass(frozen=True, eq=False)
class Study:
    """Settings common to all runs.

    Attributes:
        network: without queues, which `buffer`, `mark` and the run determine.
        tcp: of all flows, except congestion control.
        buffer: bytes of each output of a switch.
        mark: threshold for packets that are capable of ECN.
        until: longest simulated time in seconds.
        classes: bounds of size classes in bytes.
        details: True to include every flow and link.
        credits: settings of transports by credits.
        flowlet_gap: seconds of a pause between flowlets; None for that of the load balancer.
        own_streams: each flow draws its random numbers from a stream of its own.
        threads: of each run, which do not change its results.
    """

    network: Network
    names: Sequence[str]
    traffic: Traffic
    tcp: Tcp = field(default_factory=Tcp)
    buffer: int = DEFAULT_BUFFER
    mark: Mark = field(default_factory=Mark)
    until: float = LONGEST
    classes: tuple[int, ...] = ()
    details: bool = False
    load_balancer: str = "fixed"
    credits: Credits = field(default_factory=Credits)
    outages: Sequence[Outage] = ()
    faults: Sequence[SwitchFault] = ()
    flowlet_gap: float | None = None
    own_streams: bool = False
    threads: int = 1

    @property
    def patience(self) -> float:
        """Seconds after which a run ends in which flows receive nothing new."""
        return PATIENCE if self.outages or self.faults else LONGEST

    def identity(self) -> dict[str, Any]:
        """Return everything that results depend on, as JSON data."""
        traffic = self.traffic
        points = [traffic.sizes.sizes.tolist(), traffic.sizes.probabilities.tolist()]
        return {
            "network": digest_of(
                [[astuple(link) for link in self.network.links], self.network.hosts, list(self.names)]
            ),
            "sizes": digest_of([points, traffic.sizes.interpolation.value]),
            "pattern": repr(traffic.pattern),
            "arrivals": repr(traffic.arrivals),
            "load_of": traffic.of.value,
            "flows": traffic.flows,
            "tcp": repr(self.tcp),
            "buffer": self.buffer,
            "mark": repr(self.mark),
            "until": self.until,
            "classes": list(self.classes),
            "details": self.details,
            "load_balancer": self.load_balancer,
            "flowlet_gap": self.flowlet_gap,
            "own_streams": self.own_streams,
            "credits": repr(self.credits),
            "faults": digest_of([list(map(repr, self.outages)), list(map(repr, self.faults))]),
        }


@dataclass(frozen=True)
class Run:
    """A run of a study: names of a discipline and a transport, load (None for flows that arrive at once), seed."""

    queue: str
    transport: str
    load: float | None
    seed: int


def simulation_of(study: Study, run: Run) -> Simulation:
    """Return the simulation of a run, not yet started.

    Raises:
        InputError: the run makes no sense; the message says why.
    """
    try:
        with enough_memory():
            return _simulation(study, run)
    except UnsoundError as error:
        if error.where == ("load",):
            raise InputError("option", "--load", error.problem, error.expected) from error
        if study.threads > 1 and error.problem.startswith(NOT_DIVIDED):
            raise InputError("option", "--threads", error.problem, "1") from error
        raise InputError("packet", key_path(error.where), error.problem, error.expected) from error


@contextmanager
def enough_memory() -> Iterator[None]:
    """Raise InputError if what the block simulates does not fit into memory."""
    try:
        yield
    except MemoryError as error:
        smaller = "fewer flows, lower rates, shorter delays, less to wait, or an earlier end"
        raise InputError("packet", "", "needs more memory than is available", smaller) from error


def _simulation(study: Study, run: Run) -> Simulation:
    transport = transport_of(run.transport, study.tcp, study.credits)
    if isinstance(transport, Credited):
        network = with_ports(study.network, transport, study.buffer)
    else:
        network = equipped(study.network, lambda inputs: queueing(run.queue, study.buffer, study.mark, inputs))
    if isinstance(transport, FlashPass):
        _require_wait(study, run, network, transport)
    flows = study.traffic.drawn(network, transport, run.load, run.seed)
    balancer = LOAD_BALANCERS[study.load_balancer]
    if study.flowlet_gap is not None:
        balancer = balancer.with_gap(study.flowlet_gap)
    setting = Setting(
        run.seed,
        study.outages,
        load_balancer=balancer,
        faults=study.faults,
        own_streams=study.own_streams,
        threads=study.threads,
    )
    return Simulation(network, [flows], setting)


def _require_wait(study: Study, run: Run, network: Network, transport: FlashPass) -> None:
    """Require a waiting time that is long enough, and not too long, before flows are made; raises UnsoundError."""
    if transport.wait is None and not may_wait_too_long(network, transport, study.until):
        return
    from simulator.packet.round_trips import require_wait, round_trips  # noqa: PLC0415  # slow to import: SciPy

    pairs = study.traffic.pairs(network, run.load, run.seed)
    if transport.wait is not None:
        require_wait(network, pairs, transport.wait)
    elif (found := round_trips(network, pairs)) is not None and isfinite(found[0]):
        require_default_wait(network, transport, found[0], study.until)


def result_of(study: Study, run: Run, simulation: Simulation, *, stopped: bool = False) -> dict[str, Any]:
    """Return the results so far, as JSON data."""
    table = FlowTable.of(simulation)
    result: dict[str, Any] = {
        "queue": run.queue,
        "transport": run.transport,
        "load": run.load,
        "seed": run.seed,
        "stopped": stopped,
        **asdict(summary_of(simulation, size_classes(study.classes), table)),
    }
    if study.details:
        result["flows_csv"] = flows_csv(simulation, table, study.names)
        result["links_csv"] = links_csv(simulation, study.names)
    return result


def finished_result(study: Study, run: Run) -> dict[str, Any]:
    """Return the result of a run, as JSON data; the work of a sweep."""
    simulation = simulation_of(study, run)
    with enough_memory():
        simulation.complete(study.until, patience=study.patience)
        return result_of(study, run, simulation)


@contextmanager
def results_of(
    study: Study, runs: Sequence[Run], workers: Workers, output: OutputFolder | None, progress: Progress
) -> Iterator[list[dict[str, Any]]]:
    """Yield the results of all runs, in order.

    A checkpoint in `output` keeps finished runs until the block, which writes the files made from them, has ended.

    Raises:
        As `swept`.
    """
    settings = {"runs": digest_of([astuple(run) for run in runs]), **study.identity()}
    sweep = Sweep("packet", settings, study, no_preparation, finished_result, runs)
    with swept(sweep, workers, output, progress) as results:
        yield results
