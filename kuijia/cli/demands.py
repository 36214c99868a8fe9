"""`kuijia demands`: makes demands for a network by a seeded model."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from kuijia.cli.inputs import add_topology, read_topology
from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.option_values import positive_number, positive_rate, whole_number
from kuijia_base.progress import Progress as ProgressLine
from kuijia_base.quantities import rate
from kuijia_base.reading import uncollected
from kuijia_base.text import parse_number
from te_solver.demand_generators import (
    Progress,
    bimodal,
    gravity,
    random_pairs,
    scaled_to_total,
    scaled_to_utilisation,
    shortest_path_utilisation,
    uniform,
)
from te_solver.demands import Demand
from te_solver.demands_file import save_demands
from te_solver.formats.demands_csv import demands_csv
from te_solver.formats.notes import counted
from te_solver.topology import Topology

MODELS = ("gravity", "uniform", "bimodal", "pairs")
DEFAULT_UTILISATION = 1.0

Drawn = tuple[tuple[Demand, ...], str]
"""Demands and how they were made, in words."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_topology(parser)
    parser.add_argument(
        "--model", choices=MODELS, default=MODELS[0], help="model of the demands (default: %(default)s)"
    )
    parser.add_argument(
        "--masses",
        choices=["capacity", "random"],
        default="capacity",
        help="gravity: a node's mass is the capacity of its links, or a random number (default: %(default)s)",
    )
    parser.add_argument(
        "--large-share",
        type=_share,
        default=0.2,
        metavar="SHARE",
        help="bimodal: the share of large demands (default: %(default)g)",
    )
    parser.add_argument(
        "--large-to-small",
        type=positive_number,
        default=4.0,
        metavar="RATIO",
        help="bimodal: mean of the large demands over that of the small ones (default: %(default)g)",
    )
    parser.add_argument(
        "--pairs",
        type=whole_number(1, 10**9, expected="a whole number, one or more"),
        default=5,
        metavar="N",
        help="pairs: number of pairs (default: %(default)s)",
    )
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--rate", type=positive_rate, metavar="RATE", help="pairs: demand of each, Mbit/s or as in 10G")
    scale.add_argument("--total", type=positive_rate, metavar="RATE", help="sum of all demands, Mbit/s or as in 10G")
    scale.add_argument(
        "--max-utilisation",
        type=positive_number,
        default=DEFAULT_UTILISATION,
        metavar="SHARE",
        help="utilisation of the busiest link when all demands take their shortest path (default: %(default)g)",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write CSV to this file (default: print it)")


def run(args: argparse.Namespace) -> int:
    if args.rate is not None and args.model != "pairs":
        raise InputError("option", "--rate", f"given for the model {args.model}", "--total or --max-utilisation")
    topology = read_topology(args)
    progress = ProgressLine(sys.stderr)
    show_late = progress.patiently()

    def show(done: int, of: int) -> None:
        show_late(f"{done:,} of {of:,} nodes have their demands on shortest paths")

    try:
        with uncollected():
            demands, how = _scaled(topology, args, *_drawn(topology, args), show)
            utilisation = shortest_path_utilisation(topology, demands, show)
    except UnsoundError as error:
        raise InputError(args.topology, "", error.problem, error.expected) from error
    finally:
        progress.close()
    comment = f"Demands for {topology.name}, made by kuijia demands: {how}."
    if args.output is not None:
        save_demands(demands, args.output, comment)
    total = sum(demand.rate for demand in demands)
    if args.json:
        _print_json(
            {"topology": topology.name, "made_by": how, "total": total, "shortest_path_utilisation": utilisation},
            demands,
        )
    elif args.output is None:
        print(demands_csv(demands, comment), end="")
    else:
        print(f"{topology.name}: {how}")
        print(f"{counted(len(demands), 'demand')}, {rate(total)}; busiest link on shortest paths: {utilisation:.1%}")
        print(f"wrote {args.output}")
    return 0


def _drawn(topology: Topology, args: argparse.Namespace) -> Drawn:
    random = np.random.default_rng(args.seed)
    if args.model == "gravity" and args.masses == "capacity":
        return gravity(topology), "gravity with the capacity of a node's links as its mass"
    seed = f"seed {args.seed}"
    if args.model == "gravity":
        return gravity(topology, random), f"gravity with random masses, {seed}"
    if args.model == "uniform":
        return uniform(topology, random), f"uniform, {seed}"
    if args.model == "bimodal":
        how = f"bimodal, {args.large_share:.0%} of them {args.large_to_small:g} times as large, {seed}"
        return bimodal(topology, random, args.large_share, args.large_to_small), how
    drawn = random_pairs(topology, random, args.pairs, args.rate or 1.0)
    return drawn, f"{counted(args.pairs, 'random pair')} with equal demands, {seed}"


def _scaled(
    topology: Topology, args: argparse.Namespace, demands: tuple[Demand, ...], how: str, show: Progress
) -> Drawn:
    if args.rate is not None:
        return demands, f"{how}, {rate(args.rate)} each"
    if args.total is not None:
        return scaled_to_total(demands, args.total), f"{how}, scaled to {rate(args.total)} in all"
    scaled = scaled_to_utilisation(topology, demands, args.max_utilisation, show)
    return scaled, f"{how}, scaled to a busiest link at {args.max_utilisation * 100:.6g}% on shortest paths"


def _print_json(told: dict[str, object], demands: tuple[Demand, ...]) -> None:
    """Print one JSON object, demand by demand: a million of them would take 1 GB together."""
    opened = json.dumps({**told, "demands": []}, indent=1, ensure_ascii=False).removesuffix("]\n}")
    before = f"{opened}\n  "
    for each in demands:
        demand = {"source": each.source, "target": each.target, "rate": each.rate}
        print(before + json.dumps(demand, indent=1, ensure_ascii=False).replace("\n", "\n  "), end="")
        before = ",\n  "
    print("\n ]\n}")


def _share(text: str) -> float:
    share = parse_number(text)
    if share is None or not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected a number from 0 to 1")
    return abs(share)  # -0 is 0
