"""`kuijia demands`: makes demands for a network by a seeded model."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields

from kuijia.api.demands import (
    DEFAULT_UTILISATION,
    MASSES,
    MODELS,
    DemandModel,
    drawn,
    ncflow_model_of,
    pairs_of,
    require_scale,
    share_of,
)
from kuijia.cli.inputs import add_topology, read_topology
from kuijia.cli.printing import document
from kuijia_base.option_values import path_name, positive_number, positive_rate
from kuijia_base.options import typed_options
from kuijia_base.progress import Progress as ProgressLine
from kuijia_base.quantities import counted, rate, share
from kuijia_base.reading import uncollected
from te_solver.formats.demands_file import demands_csv, save_demands
from te_solver.model.demand_generators import shortest_path_utilisation
from te_solver.model.demands import Demand
from te_solver.model.ncflow_demands import MODELS as NCFLOW_MODELS


def configure(parser: argparse.ArgumentParser) -> None:
    add_topology(parser)
    parser.add_argument(
        "--model", choices=MODELS, default=MODELS[0], help="model of the demands (default: %(default)s)"
    )
    parser.add_argument(
        "--masses",
        choices=MASSES,
        default=MASSES[0],
        help="gravity: a node's mass is the capacity of its links, or a random number (default: %(default)s)",
    )
    parser.add_argument(
        "--large-share",
        type=share_of,
        default=0.2,
        metavar="SHARE",
        help="bimodal: share of large demands (default: %(default)g)",
    )
    parser.add_argument(
        "--large-to-small",
        type=positive_number,
        default=4.0,
        metavar="RATIO",
        help="bimodal: ratio of the mean large demand to the mean small one (default: %(default)g)",
    )
    parser.add_argument(
        "--pairs",
        type=pairs_of,
        default=5,
        metavar="N",
        help="pairs: number of pairs (default: %(default)s)",
    )
    parser.add_argument(
        "--ncflow",
        type=ncflow_model_of,
        metavar="MODEL,...",
        help=f"instead of --model, one of NCFlow's ({', '.join(NCFLOW_MODELS)}) with its parameters, such as "
        "uniform,most=0.46: draws the numbers that NCFlow and POP draw from the same seed, unscaled",
    )
    parser.add_argument(
        "--factor",
        type=positive_number,
        default=1.0,
        metavar="F",
        help="ncflow: factor for all rates (default: %(default)g)",
    )
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--rate", type=positive_rate, metavar="RATE", help="pairs: rate of each, Mbit/s or as in 10G")
    scale.add_argument("--total", type=positive_rate, metavar="RATE", help="sum of all demands, Mbit/s or as in 10G")
    scale.add_argument(
        "--max-utilisation",
        type=positive_number,
        default=DEFAULT_UTILISATION,
        metavar="SHARE",
        help="utilisation of the busiest link when all demands take their shortest path (default: %(default)g)",
    )
    parser.add_argument(
        "-o", "--output", type=path_name, metavar="FILE", help="write CSV to this file (default: print it)"
    )


def run(args: argparse.Namespace) -> int:
    how = DemandModel(**{field.name: getattr(args, field.name) for field in fields(DemandModel)})
    with typed_options():
        require_scale(how)
    topology = read_topology(args)
    progress = ProgressLine(sys.stderr)
    show_late = progress.patiently()

    def show(done: int, of: int) -> None:
        show_late(f"{done:,} of {of:,} nodes have their demands on shortest paths")

    try:
        demands, words = drawn(topology, how, args.topology, show)
        with uncollected():
            utilisation = shortest_path_utilisation(topology, demands, show)
    finally:
        progress.close()
    comment = f"Demands for {topology.name}, made by kuijia demands: {words}."
    if args.output is not None:
        save_demands(demands, args.output, comment)
    total = sum(demand.rate for demand in demands)
    if args.json:
        _print_json(
            {"topology": topology.name, "made_by": words, "total": total, "shortest_path_utilisation": utilisation},
            demands,
        )
    elif args.output is None:
        print(demands_csv(demands, comment), end="")
    else:
        print(f"{topology.name}: {words}")
        print(f"{counted(len(demands), 'demand')}, {rate(total)}; busiest link on shortest paths: {share(utilisation)}")
        print(f"wrote {args.output}")
    return 0


def _print_json(told: dict[str, object], demands: tuple[Demand, ...]) -> None:
    """Print one JSON object, demand by demand: a million of them would take 1 GB together."""
    opened = json.dumps(document("demands", {**told, "demands": []}), indent=1, ensure_ascii=False).removesuffix("]\n}")
    before = f"{opened}\n  "
    for each in demands:
        demand = {"source": each.source, "target": each.target, "rate": each.rate}
        print(before + json.dumps(demand, indent=1, ensure_ascii=False).replace("\n", "\n  "), end="")
        before = ",\n  "
    print("\n ]\n}")
