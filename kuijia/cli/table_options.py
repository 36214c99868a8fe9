"""Inputs of verbs that work on switch tables: a plan, and the options for making tables from it."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from kuijia.api.table_building import Built, built_tables
from kuijia.cli.parsers import add_alias
from kuijia_app.tables.options import Form, Liveness, OptionWords, OtherTraffic, Tagging, pipeline_options
from kuijia_app.tables.queue_layouts import LAYOUTS, PLAIN, layout_file
from kuijia_app.tables.slots import DEFAULT_SLOT_COUNT, SLOT_COUNTS
from kuijia_app.tables.wiring import Neighbours
from kuijia_base.option_values import whole_number
from te_solver.formats.plan_file import load_plan
from te_solver.schemes.all_schemes import switch_schemes
from te_solver.schemes.shipped.kuijia import KUIJIA


def add_plan_and_options(parser: argparse.ArgumentParser) -> None:
    """Add the argument PLAN and the options on its tables."""
    parser.add_argument("plan", type=Path, metavar="PLAN", help="plan file, as `kuijia solve -o` writes it")
    add_table_options(parser)


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the options on tables alone."""
    parser.add_argument(
        "--scheme",
        choices=[each.name for each in switch_schemes()],
        default=KUIJIA.name,
        help="failure scheme for the traffic of failed tunnels (default: %(default)s)",
    )
    add_alias(parser, "--schemes", "--scheme")
    parser.add_argument(
        "--slots",
        type=whole_number(0, expected="a number of slots"),
        choices=SLOT_COUNTS,
        default=DEFAULT_SLOT_COUNT,
        help="hash slots per pair and class (default: %(default)s)",
    )
    parser.add_argument(
        "--layout",
        default=PLAIN,
        metavar="LAYOUT",
        help=f"queues of a port and classes of traffic: {', '.join(LAYOUTS)} or a YAML file (default: %(default)s)",
    )
    parser.add_argument(
        "--tagging",
        choices=[each.value for each in Tagging],
        default=Tagging.MPLS.value,
        help="header fields that carry tunnel and queue (default: %(default)s)",
    )
    parser.add_argument(
        "--pipeline",
        choices=[each.value for each in Form],
        default=Form.SINGLE.value,
        help="one flow table, or two that need less memory (default: %(default)s)",
    )
    parser.add_argument(
        "--liveness",
        choices=[each.value for each in Liveness],
        default=Liveness.CONTROLLER.value,
        help="detection of failures beyond a tunnel's first link (default: %(default)s)",
    )
    parser.add_argument(
        "--other-traffic",
        choices=[each.value for each in OtherTraffic],
        default=OtherTraffic.DROP.value,
        help="treatment of packets between sites without a planned pair (default: %(default)s)",
    )
    add_neighbours(parser)
    add_wiring(parser)


def add_neighbours(parser: argparse.ArgumentParser) -> None:
    """Add the option on who learns hosts."""
    parser.add_argument(
        "--neighbours",
        choices=[each.value for each in Neighbours],
        default=Neighbours.WIRING.value,
        help="sites where the controller learns hosts and answers as their gateway: those with a gateway in the wiring "
        "file, none (static), or all (learned) (default: %(default)s)",
    )


def add_wiring(parser: argparse.ArgumentParser) -> None:
    """Add the option on the numbers of switches and ports."""
    parser.add_argument(
        "--wiring",
        default="",
        metavar="FILE",
        help="file with numbers and prefixes of your own switches, see docs/wiring.md (default: by the topology)",
    )


def option_words(args: argparse.Namespace) -> OptionWords:
    """Return the options of `add_table_options` as words that are valid in any working directory."""
    file = layout_file(args.layout)
    layout = args.layout if file is None else str(file.absolute())
    wiring = str(Path(args.wiring).absolute()) if args.wiring else ""
    return replace(_words(args), layout=layout, wiring=wiring)


def build(args: argparse.Namespace) -> Built:
    """Return the tables chosen by the options of `add_plan_and_options`; raises InputError."""
    return built_tables(load_plan(args.plan), pipeline_options(_words(args)), args.plan)


def _words(args: argparse.Namespace) -> OptionWords:
    return OptionWords(
        args.scheme,
        args.slots,
        args.layout,
        args.tagging,
        args.pipeline,
        args.liveness,
        args.wiring,
        args.other_traffic,
        args.neighbours,
    )
