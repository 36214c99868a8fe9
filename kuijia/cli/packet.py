"""`kuijia packet`: simulates flows over a network packet by packet, at any loads and under any schemes."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments.packet_study.fault_file import Faults, read_faults
from experiments.packet_study.networks import FORMS, Links, generated, is_generated, node_names, of_topology
from experiments.packet_study.schemes import Mark, require_room
from experiments.packet_study.study import Run, Study, Traffic, result_of, simulation_of
from experiments.packet_study.sweep import results_of
from experiments.packet_study.tables import summary_csv, summary_lines
from experiments.packet_study.transports import Credits, require_queues
from experiments.sweep.workers import workers_from
from kuijia.cli import packet_values as values
from kuijia.cli.inputs import read_topology
from kuijia.cli.packet_options import AT_A_LOAD, HEADER, configure
from kuijia_base.errors import InputError, InterruptedWorkError
from kuijia_base.manifest import python_versions
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.quantities import size
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.packet.simulation import Simulation
from simulator.packet.traffic.load import Reference
from simulator.packet.transports import Tcp
from simulator.packet.units import LONGEST
from te_solver.formats.notes import counted
from te_solver.formats.topohub_networks import PREFIX

__all__ = ["configure", "run"]

_LAST_SEED = 2**63 - 1

_OF_SOME_NETWORKS = {"topology_format": "--format", "default_capacity": "--capacity", "fabric_rate": "--fabric-rate"}
"""Options that not all networks have, by the names of the parsed arguments."""

_NOT_TOLD = ("run", "json", "verbose", "output", "workers", "cluster", "threads")
"""Arguments that do not change the results."""


def run(args: argparse.Namespace) -> int:
    if args.details and args.output is None:
        raise InputError("option", "--details", "given without a folder", "-o DIR as well")
    if (last := args.seed + args.seeds - 1) > _LAST_SEED:
        raise InputError("option", "--seed", f"the last seed is {last}", f"{_LAST_SEED} or less")
    _complete(args)
    assumptions: list[str] = []
    study = _study(args, assumptions)
    runs = [
        Run(*each)
        for each in itertools.product(
            args.queue,
            args.transport,
            (None,) if args.at_once else args.load,
            range(args.seed, args.seed + args.seeds),
        )
    ]
    folder = None if args.output is None else OutputFolder(args.output)
    progress = Progress(sys.stderr)
    if not args.at_once and max(args.load) >= 1:
        progress.say(f"warning: load {max(args.load):g} leaves no spare capacity: queues grow all the time")
    try:
        with _results(args, study, runs, folder, progress) as results:
            told, details = _without_details(results)
            data = {"format": "kuijia-packet", "version": 1, **_provenance(args, assumptions), "runs": told}
            if folder is not None:
                folder.write_json("packet.json", data)
                folder.write_text("packet.csv", summary_csv(told))
                for name, text in details:
                    folder.write_text(name, text)
    finally:
        progress.close()
        if folder is not None:
            folder.remove_if_empty()
    print(json.dumps(data, indent=1, allow_nan=False) if args.json else "\n".join(_lines(args, study, told)))
    if folder is not None:
        others = f" and {counted(len(details), 'file')} of details" if details else ""
        progress.say(f"wrote packet.json, packet.csv{others} in {folder.path}")
    if told[0]["stopped"]:
        finished = told[0]["classes"][0]["finished"]
        message = f"stopped after {told[0]['seconds']:.6g} simulated seconds, {counted(finished, 'flow')} finished"
        raise InterruptedWorkError(f"{message}: the results cover these")
    return 0


def _complete(args: argparse.Namespace) -> None:
    """Set the defaults of options that only a load has, or refuse these options if all flows start at once."""
    for name, default in AT_A_LOAD.items():
        if getattr(args, name) is None:
            setattr(args, name, default)
        elif args.at_once:
            raise InputError("option", f"--{name.replace('_', '-')}", "given with --at-once", "--load instead of it")


def _study(args: argparse.Namespace, assumptions: list[str]) -> Study:
    links = Links(args.rate, args.fabric_rate, args.delay)
    if is_generated(args.topology):
        _refuse(args, ("topology_format", "default_capacity"), "a topology file")
        network = generated(args.topology, links)
        names = node_names(network, None)
    else:
        if ":" in args.topology and not args.topology.startswith(PREFIX) and not _is_there(args.topology):
            raise InputError("network", args.topology, "unknown", f"{', '.join(FORMS)}, or a topology file")
        _refuse(args, ("fabric_rate",), "leaf-spine or dumbbell")
        topology = read_topology(args, assumptions)
        network = of_topology(topology, args.topology, links)
        names = node_names(network, topology)
    if args.flowlet_gap is not None and not LOAD_BALANCERS[args.load_balancer].has_flowlets:
        having = ", ".join(name for name, each in LOAD_BALANCERS.items() if each.has_flowlets)
        raise InputError("option", "--flowlet-gap", f"given with --load-balancer {args.load_balancer}", having)
    require_queues(args.transport, args.queue)
    for queue in args.queue:
        require_room(queue, args.buffer, max(network.inputs), args.packet)
    arrivals = None if args.at_once else values.arrivals(args.arrivals)
    pattern = values.pattern(args.pattern, len(network.hosts))
    traffic = Traffic(values.sizes(args.sizes), pattern, arrivals, Reference(args.load_of), args.flows)
    until = LONGEST if args.until is None else args.until
    faults = Faults(network) if args.faults is None else read_faults(Path(args.faults), network, names)
    return Study(
        faults.network,
        names,
        traffic,
        _tcp(args),
        args.buffer,
        args.mark,
        until,
        args.classes,
        args.details,
        args.load_balancer,
        Credits(args.wait, args.credit_share),
        faults.outages,
        faults.switches,
        args.flowlet_gap,
        args.own_streams,
        args.threads,
    )


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError:  # such as a name that is too long for a file
        return False


def _tcp(args: argparse.Namespace) -> Tcp:
    """Return TCP's settings; only with a handshake the first timeout defaults to RFC 6298's second."""
    shortest = args.min_timeout
    if shortest is None:
        shortest = 0.01 if is_generated(args.topology) else 0.2
    first = args.first_timeout
    if first is None:
        first = 1.0 if args.handshake else shortest
    return Tcp(
        payload=args.packet - HEADER,
        initial_window=args.initial_window,
        handshake=args.handshake,
        first_timeout=first,
        min_timeout=shortest,
    )


def _refuse(args: argparse.Namespace, names: Sequence[str], expected: str) -> None:
    """Raise InputError for options of other networks."""
    for name in names:
        if getattr(args, name) is not None:
            raise InputError("option", _OF_SOME_NETWORKS[name], f"given for {args.topology}", expected)


@contextmanager
def _results(
    args: argparse.Namespace, study: Study, runs: Sequence[Run], folder: OutputFolder | None, progress: Progress
) -> Iterator[list[dict[str, Any]]]:
    """Yield the results; those of a single run also if it is interrupted."""
    if len(runs) > 1 or args.cluster is not None:
        with results_of(study, runs, workers_from(args), folder, progress) as results:
            yield results
        return
    simulation = simulation_of(study, runs[0])
    flows = sum(group.count for group in simulation.flows)

    def show(now: Simulation) -> None:
        progress.show(f"{now.now:.6f} s simulated, {flows - now.unfinished:,} of {flows:,} flows finished")

    complete = simulation.run(study.until, show, study.patience)
    yield [result_of(study, runs[0], simulation, stopped=not complete)]


def _without_details(results: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the results without their details, and the details as files of flows and links."""
    files = [
        (f"{kind}-{_run_name(result)}.csv", result[f"{kind}_csv"])
        for result in results
        for kind in ("flows", "links")
        if f"{kind}_csv" in result
    ]
    told = [{key: value for key, value in result.items() if not key.endswith("_csv")} for result in results]
    return told, files


def _run_name(result: dict[str, Any]) -> str:
    load = "at-once" if result["load"] is None else f"{result['load']}"
    transport = result["transport"].replace("*", "-early")
    return f"{result['queue']}-{transport}-{load}-{result['seed']}"


def _lines(args: argparse.Namespace, study: Study, results: Sequence[dict[str, Any]]) -> Iterator[str]:
    hosts, switches = len(study.network.hosts), study.network.nodes - len(study.network.hosts)
    yield f"{args.topology}: {counted(hosts, 'host')}, {counted(switches, 'switch', 'switches')}"
    mean = study.traffic.sizes.mean
    how = f"{args.pattern} at once" if args.at_once else f"{args.pattern}, {args.arrivals}, load of {args.load_of}"
    seeds = f"seed {args.seed}" if args.seeds == 1 else f"seeds {args.seed} to {args.seed + args.seeds - 1}"
    yield f"flows: sizes {args.sizes} (mean {size(mean)}), {how}, {seeds}"
    yield ""
    yield from summary_lines(results)


def _provenance(args: argparse.Namespace, assumptions: Sequence[str]) -> dict[str, Any]:
    """Return all settings that decide the results."""
    return {
        "options": {name: _plain(value) for name, value in vars(args).items() if name not in _NOT_TOLD},
        "assumptions": list(assumptions),
        "versions": python_versions(),
    }


def _plain(value: object) -> object:
    """Return an argument's value as JSON data."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Mark) else value
