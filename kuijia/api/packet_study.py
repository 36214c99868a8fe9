"""The parts of a packet study, for `kuijia.packet` and the command `kuijia packet`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from kuijia.api.packet_options import HEADER, PacketStudyOptions, arrivals_of, pattern_of, sizes_of
from kuijia_base.errors import InputError
from kuijia_base.options import bad_option, spelled
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.quantities import counted, size
from kuijia_base.sweep.workers import Workers
from simulator.packet.load_balancing import LOAD_BALANCERS, SourceRouted
from simulator.packet.simulation import Simulation
from simulator.packet.traffic.load import Reference
from simulator.packet.transports import Tcp
from simulator.packet.units import LONGEST
from simulator.studies.packet.fault_file import FaultyNetwork, read_faults
from simulator.studies.packet.limits import Checked, require_links
from simulator.studies.packet.networks import FORMS, LinkParameters, generated, node_names, of_topology
from simulator.studies.packet.schemes import require_room
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
from te_solver.model.topology import Topology


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


def refuse(name: str, given: Mapping[str, object], expected: str) -> None:
    """Raise InputError for options of other networks."""
    for option, value in given.items():
        if value is not None:
            raise bad_option(option, f"given for {name}", expected)


def study_of(name: str, topology: Topology | None, how: PacketStudyOptions) -> Study:
    """Return the study of complete options, on a topology or, without one, on the generated network of this name.

    Raises:
        InputError: a network or an option cannot be used.
    """
    links = LinkParameters(how.rate, how.fabric_rate, how.delay)
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
    arrivals = None if how.at_once else arrivals_of(how.arrivals)
    pattern = pattern_of(how.pattern, len(network.hosts))
    traffic = Traffic(sizes_of(how.sizes), pattern, arrivals, Reference(how.load_of), how.flows)
    tcp, of_credits = _tcp(how, generated_network=topology is None), Credits(how.wait, how.credit_share)
    until = LONGEST if how.until is None else how.until
    transports = {each: transport_of(each, tcp, of_credits) for each in how.transport}
    source, place = ("network", name) if topology is None else (name, "")
    require_links(Checked(network, names, source, place), transports, until)
    if how.faults == "":
        raise bad_option("faults", "an empty name", "the name of a JSON file")
    faults = FaultyNetwork(network)
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


def _require_sense(how: PacketStudyOptions, inputs: int) -> None:
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


def _require_users(how: PacketStudyOptions) -> None:
    """Raise InputError for an option that none of the transports uses."""
    defaults = PacketStudyOptions()
    for option in OPTIONS:
        given = getattr(how, option) != getattr(defaults, option)
        if given and not any(uses(transport, option) for transport in how.transport):
            with_these = spelled("transport", ",".join(how.transport))
            raise bad_option(option, f"given with {with_these}", ", ".join(users(option)))


def _require_divisible(how: PacketStudyOptions) -> None:
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


def _tcp(how: PacketStudyOptions, *, generated_network: bool) -> Tcp:
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


def warn_of_overload(how: PacketStudyOptions, say: Callable[[str], None]) -> None:
    """Warn if a load leaves no spare capacity."""
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


def heading(name: str, study: Study, how: PacketStudyOptions) -> list[str]:
    """Return the lines above the results, on the network and its flows."""
    hosts, switches = len(study.network.hosts), study.network.nodes - len(study.network.hosts)
    came = f"{how.pattern} at once" if how.at_once else f"{how.pattern}, {how.arrivals}, load of {how.load_of}"
    seeds = f"seed {how.seed}" if how.seeds == 1 else f"seeds {how.seed} to {how.seed + how.seeds - 1}"
    return [
        f"{name}: {counted(hosts, 'host')}, {counted(switches, 'switch', 'switches')}",
        f"flows: sizes {how.sizes} (mean {size(study.traffic.sizes.mean)}), {came}, {seeds}",
    ]


def as_data(how: PacketStudyOptions) -> dict[str, Any]:
    """Return the options that decide the results, as JSON data."""
    given = {field.name: getattr(how, field.name) for field in fields(how) if field.name != "threads"}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    return {**plain, "mark": str(how.mark)}
