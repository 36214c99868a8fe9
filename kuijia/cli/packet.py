"""`kuijia packet`: simulates flows over a network packet by packet, at any loads and under any schemes."""

from __future__ import annotations

import argparse
import json

from kuijia.api.packet import FILES, packet_study
from kuijia.api.packet_options import PacketStudyOptions
from kuijia.cli.inputs import add_reading
from kuijia.cli.printing import print_notes, show
from kuijia_base.errors import InputError, InterruptedWorkError
from kuijia_base.option_values import folder_name
from kuijia_base.options import add_options, from_arguments, typed_options
from kuijia_base.output_folder import output_folder
from kuijia_base.progress import progress_line
from kuijia_base.quantities import counted
from kuijia_base.sweep.workers import add_workers, workers_from
from simulator.studies.packet.networks import FORMS


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topology",
        metavar="NETWORK",
        help=f"{', '.join(FORMS)}, or a topology file or shipped network with a host at each node",
    )
    add_reading(parser)
    add_options(parser, PacketStudyOptions)
    add_workers(parser)
    parser.add_argument("-o", "--output", type=folder_name, metavar="DIR", help="folder for results, as JSON and CSV")


def run(args: argparse.Namespace) -> int:
    if args.details and args.output is None:
        raise InputError("option", "--details", "given without a folder", "-o DIR as well")
    how = from_arguments(PacketStudyOptions, args)
    reading = {"format": args.topology_format, "default_capacity": args.default_capacity, "rate_unit": args.rate_unit}
    origin = {name: getattr(args, name) for name in ("topology", "topology_format", "default_capacity", "rate_unit")}
    with output_folder(args.output) as folder, progress_line() as progress, typed_options():
        if folder is not None:
            folder.require_names(FILES)
        with packet_study(args.topology, how, reading, origin, workers_from(args), folder, progress) as result:
            print_notes(args.topology, result.notes)
            if folder is not None:
                result.write(folder)
    if args.json:
        print(json.dumps(result.to_json(), indent=1, allow_nan=False))
    else:
        show([*result.heading, "", *result.summary().parts])
    if folder is not None:
        others = f" and {counted(len(result.files), 'file')} of details" if result.files else ""
        progress.say(f"wrote {', '.join(FILES)}{others} in {folder.path}")
    first = result.runs[0]
    if first["stopped"]:
        finished = counted(first["classes"][0]["finished"], "flow")
        message = f"stopped after {first['seconds']:.6g} simulated seconds, {finished} finished"
        raise InterruptedWorkError(f"{message}: the results cover these")
    return 0
