"""`kuijia packet`: simulates flows over a network packet by packet, at any loads and under any schemes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any

from kuijia.api.packet_study import (
    AT_A_LOAD,
    Flows,
    is_there,
    refuse,
    require_network,
    results_of_runs,
    study_of,
    warn_of_overload,
    without_details,
)
from kuijia.cli.inputs import read_topology
from kuijia.cli.packet_options import configure
from kuijia.cli.printing import document, show
from kuijia_base.errors import InputError, InterruptedWorkError
from kuijia_base.manifest import python_versions
from kuijia_base.options import typed_options
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.quantities import size
from kuijia_base.sweep.workers import workers_from
from kuijia_base.text_table import TextTable
from simulator.studies.packet.networks import is_generated
from simulator.studies.packet.schemes import Mark
from simulator.studies.packet.study import Run, Study
from simulator.studies.packet.tables import summary_csv, summary_lines
from te_solver.formats.notes import counted

__all__ = ["configure", "run"]

_FILES = ("packet.json", "packet.csv")
"""Names of the files in the output folder, beside those of details."""

_NOT_TOLD = ("run", "json", "verbose", "output", "workers", "cluster", "threads")
"""Arguments that do not change the results."""


def run(args: argparse.Namespace) -> int:
    if args.details and args.output is None:
        raise InputError("option", "--details", "given without a folder", "-o DIR as well")
    assumptions: list[str] = []
    with typed_options():
        how = Flows(**{field.name: getattr(args, field.name) for field in fields(Flows)}).completed()
        for name in AT_A_LOAD:  # the results name the values that were used
            setattr(args, name, getattr(how, name))
        study = _study(args, how, assumptions)
    runs = how.runs()
    folder = None if args.output is None else OutputFolder(args.output)
    if folder is not None:
        folder.require_names(_FILES)
    progress = Progress(sys.stderr)
    warn_of_overload(how, progress.say)
    try:
        with _results(args, study, runs, folder, progress) as results:
            told, details = without_details(results)
            data = document("packet", {**_provenance(args, assumptions), "runs": told})
            if folder is not None:
                results_file, table_file = _FILES
                folder.write_json(results_file, data)
                folder.write_text(table_file, summary_csv(told))
                for name, text in details:
                    folder.write_text(name, text)
    finally:
        progress.close()
        if folder is not None:
            folder.remove_if_empty()
    if args.json:
        print(json.dumps(data, indent=1, allow_nan=False))
    else:
        show(_parts(args, study, told))
    if folder is not None:
        others = f" and {counted(len(details), 'file')} of details" if details else ""
        progress.say(f"wrote {', '.join(_FILES)}{others} in {folder.path}")
    if told[0]["stopped"]:
        finished = told[0]["classes"][0]["finished"]
        message = f"stopped after {told[0]['seconds']:.6g} simulated seconds, {counted(finished, 'flow')} finished"
        raise InterruptedWorkError(f"{message}: the results cover these")
    return 0


def _study(args: argparse.Namespace, how: Flows, assumptions: list[str]) -> Study:
    topology = None
    if is_generated(args.topology):
        given = {"format": args.topology_format, "default_capacity": args.default_capacity, "rate_unit": args.rate_unit}
        refuse(args.topology, given, "a topology file")
    else:
        require_network(args.topology, is_there=is_there(args.topology))
        refuse(args.topology, {"fabric_rate": args.fabric_rate}, "leaf-spine or dumbbell")
        topology = read_topology(args, assumptions)
    return study_of(args.topology, topology, how)


def _results(
    args: argparse.Namespace, study: Study, runs: Sequence[Run], folder: OutputFolder | None, progress: Progress
) -> AbstractContextManager[list[dict[str, Any]]]:
    return results_of_runs(study, runs, workers_from(args), folder, progress)


def _parts(args: argparse.Namespace, study: Study, results: Sequence[dict[str, Any]]) -> Iterator[str | TextTable]:
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
