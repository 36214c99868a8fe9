"""The parts of a packet study, for `kuijia.packet` and the command `kuijia packet`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kuijia.api import packet_values as values
from kuijia_base.errors import InputError
from kuijia_base.options import bad_option, spelled
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import Workers
from simulator.packet.load_balancing import LOAD_BALANCERS, SourceRouted
from simulator.packet.simulation import Simulation
from simulator.packet.traffic.load import Reference
from simulator.packet.transports import Congestion, Tcp
from simulator.packet.units import LONGEST
from simulator.studies.packet.fault_file import Faults, read_faults
from simulator.studies.packet.limits import Checked, require_links
from simulator.studies.packet.networks import FORMS, Links, generated, node_names, of_topology
from simulator.studies.packet.schemes import DEFAULT_BUFFER, Mark, require_room
from simulator.studies.packet.study import Run, Study, Traffic, enough_memory, result_of, simulation_of
from simulator.studies.packet.sweep import results_of
from simulator.studies.packet.transports import (
    OPTIONS,
    Credits,
    draws,
    require_balancer,
    require_queues,
    transport_of,
    users,
    uses,
)
from te_solver.formats.topohub_networks import PREFIX
from te_solver.topology import Topology

HEADER = Tcp().header
"""Bytes of headers in a packet."""

AT_A_LOAD: dict[str, Any] = {"load_of": Reference.HOSTS.value, "flows": 1000, "arrivals": "poisson"}
"""Defaults of options without a meaning for flows that all start at once."""

REFERENCES = tuple(each.value for each in Reference)

_LAST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Flows:
    """The options of a packet study beside its network; see `kuijia.packet`. Options at a load are None by default."""

    rate: float | None = None
    fabric_rate: float | None = None
    delay: float | None = None
    faults: str | None = None
    queue: tuple[str, ...] = ("drop-tail",)
    buffer: int = DEFAULT_BUFFER
    mark: Mark = Mark()  # noqa: RUF009  # frozen
    transport: tuple[str, ...] = (Congestion.CUBIC.value,)
    wait: float | None = None
    credit_share: float | None = None
    load_balancer: str = "fixed"
    flowlet_gap: float | None = None
    min_timeout: float | None = None
    first_timeout: float | None = None
    handshake: bool = False
    initial_window: int = 10
    packet: int = 1500
    sizes: str = "web-search"
    load: tuple[float, ...] = (0.5,)
    at_once: bool = False
    load_of: str | None = None
    flows: int | None = None
    arrivals: str | None = None
    pattern: str = "random"
    seed: int = 1
    seeds: int = 1
    until: float | None = None
    classes: tuple[int, ...] = (100_000, 1_000_000)
    threads: int = 1
    own_streams: bool = False
    details: bool = False

    def completed(self) -> Flows:
        """Return the options with defaults for those that only a load has; raises InputError."""
        if (last := self.seed + self.seeds - 1) > _LAST_SEED:
            raise bad_option("seed", f"the last seed is {last}", f"{_LAST_SEED} or less")
        missing = {name: default for name, default in AT_A_LOAD.items() if getattr(self, name) is None}
        if self.at_once and len(missing) < len(AT_A_LOAD):
            given = next(name for name in AT_A_LOAD if name not in missing)
            raise bad_option(given, f"given with {spelled('at_once')}", f"{spelled('load')} instead of it")
        return replace(self, **missing)

    def runs(self) -> list[Run]:
        """Return every run: each queue and transport, at each load, with each seed."""
        loads = (None,) if self.at_once else self.load
        seeds = range(self.seed, self.seed + self.seeds)
        return [Run(*each) for each in itertools.product(self.queue, self.transport, loads, seeds)]


def require_network(name: str, *, is_there: bool) -> None:
    """Raise InputError for an empty name, or that of a generated network that does not exist."""
    if not name:
        raise InputError("network", "", "an empty name", f"{', '.join(FORMS)}, or a topology file")
    if ":" in name and not name.startswith(PREFIX) and not is_there:
        raise InputError("network", name, "unknown", f"{', '.join(FORMS)}, or a topology file")


def is_there(name: str) -> bool:
    """Return True if there is a file of this name."""
    try:
        return Path(name).exists()
    except OSError:  # such as a name that is too long for a file
        return False


def refuse(name: str, given: dict[str, object], expected: str) -> None:
    """Raise InputError for options of other networks."""
    for option, value in given.items():
        if value is not None:
            raise bad_option(option, f"given for {name}", expected)


def study_of(name: str, topology: Topology | None, how: Flows) -> Study:
    """Return the study of complete options, on a topology or, without one, on the generated network of this name.

    Raises:
        InputError: a network or an option cannot be used.
    """
    links = Links(how.rate, how.fabric_rate, how.delay)
    if topology is None:
        network = generated(name, links)
    else:
        refuse(name, {"fabric_rate": how.fabric_rate}, "leaf-spine or dumbbell")
        network = of_topology(topology, name, links)
    names = node_names(network, topology)
    _require_sense(how, max(network.inputs))
    assert how.load_of is not None, "the options are complete"
    assert how.flows is not None, "the options are complete"
    assert how.arrivals is not None, "the options are complete"
    arrivals = None if how.at_once else values.arrivals(how.arrivals)
    pattern = values.pattern(how.pattern, len(network.hosts))
    traffic = Traffic(values.sizes(how.sizes), pattern, arrivals, Reference(how.load_of), how.flows)
    tcp, of_credits = _tcp(how, generated_network=topology is None), Credits(how.wait, how.credit_share)
    until = LONGEST if how.until is None else how.until
    transports = {each: transport_of(each, tcp, of_credits) for each in how.transport}
    source, place = ("network", name) if topology is None else (name, "")
    require_links(Checked(network, names, source, place), transports, until)
    if how.faults == "":
        raise bad_option("faults", "an empty name", "the name of a JSON file")
    faults = Faults(network)
    if how.faults is not None:
        faults = read_faults(Path(how.faults), network, names)
        require_links(Checked(faults.network, names, how.faults), transports, until)
    return Study(
        faults.network,
        names,
        traffic,
        tcp,
        how.buffer,
        how.mark,
        until,
        how.classes,
        how.details,
        how.load_balancer,
        of_credits,
        faults.outages,
        faults.switches,
        how.flowlet_gap,
        how.own_streams,
        how.threads,
    )


def _require_sense(how: Flows, inputs: int) -> None:
    """Raise InputError for options that do not go together, or outputs whose buffer is too small for their inputs."""
    if how.flowlet_gap is not None and not LOAD_BALANCERS[how.load_balancer].has_flowlets:
        having = ", ".join(name for name, each in LOAD_BALANCERS.items() if each.has_flowlets)
        raise bad_option("flowlet_gap", f"given with {spelled('load_balancer', how.load_balancer)}", having)
    _require_users(how)
    if how.threads > 1:
        _require_divisible(how)
    require_queues(how.transport, how.queue)
    require_balancer(how.transport, how.load_balancer)
    for queue in how.queue:
        require_room(queue, how.buffer, inputs, how.packet)


def _require_users(how: Flows) -> None:
    """Raise InputError for an option that none of the transports uses."""
    defaults = Flows()
    for option in OPTIONS:
        given = getattr(how, option) != getattr(defaults, option)
        if given and not any(uses(transport, option) for transport in how.transport):
            with_these = spelled("transport", ",".join(how.transport))
            raise bad_option(option, f"given with {with_these}", ", ".join(users(option)))


def _require_divisible(how: Flows) -> None:
    """Raise InputError if another option keeps the parts of a network from running in threads of their own."""
    balancer = LOAD_BALANCERS[how.load_balancer]
    if balancer.several_paths or not isinstance(balancer.forwarding, SourceRouted):
        problem = f"given with {spelled('load_balancer', how.load_balancer)}, whose state the parts would share"
        raise bad_option("threads", problem, f"1, or {spelled('load_balancer', 'fixed')}")
    drawing = next((name for name in how.transport if draws(name)), None)
    if drawing is not None and not how.own_streams:
        given = f"given with {spelled('transport', drawing)}"
        problem = f"{given}, whose flows draw from one stream of random numbers"
        raise bad_option("threads", problem, f"1, or {spelled('own_streams', value=True)} as well")


def _tcp(how: Flows, *, generated_network: bool) -> Tcp:
    """Return TCP's settings; only with a handshake the first timeout defaults to RFC 6298's second."""
    shortest = how.min_timeout
    if shortest is None:
        shortest = 0.01 if generated_network else 0.2
    first = how.first_timeout
    if first is None:
        first = 1.0 if how.handshake else shortest
    return Tcp(
        payload=how.packet - HEADER,
        initial_window=how.initial_window,
        handshake=how.handshake,
        first_timeout=first,
        min_timeout=shortest,
    )


def warn_of_overload(how: Flows, say: Callable[[str], None]) -> None:
    """Say so if a load leaves no spare capacity."""
    if not how.at_once and max(how.load) >= 1:
        say(f"warning: load {max(how.load):g} leaves no spare capacity: queues grow all the time")


@contextmanager
def results_of_runs(
    study: Study, runs: Sequence[Run], workers: Workers, folder: OutputFolder | None, progress: Progress
) -> Iterator[list[dict[str, Any]]]:
    """Yield the results; those of a single run on this machine also if it is interrupted."""
    if len(runs) > 1 or workers.cluster is not None:
        with results_of(study, runs, workers, folder, progress) as results:
            yield results
        return
    simulation = simulation_of(study, runs[0])
    flows = sum(group.count for group in simulation.flows)

    def show(now: Simulation) -> None:
        progress.show(f"{now.now:.6f} s simulated, {flows - now.unfinished:,} of {flows:,} flows finished")

    with enough_memory():
        complete = simulation.run(study.until, show, study.patience)
        results = [result_of(study, runs[0], simulation, stopped=not complete)]
    yield results


def without_details(results: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the results without their details, and the details as files of flows and links."""
    files = [
        (f"{kind}-{run_name(result)}.csv", result[f"{kind}_csv"])
        for result in results
        for kind in ("flows", "links")
        if f"{kind}_csv" in result
    ]
    told = [{key: value for key, value in result.items() if not key.endswith("_csv")} for result in results]
    return told, files


def run_name(result: Mapping[str, Any]) -> str:
    """Return the part of the name of a run's files that says which run it is."""
    load = "at-once" if result["load"] is None else f"{result['load']}"
    transport = result["transport"].replace("*", "-early")
    return f"{result['queue']}-{transport}-{load}-{result['seed']}"
