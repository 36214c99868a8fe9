"""`kuijia chaos`: breaks its own lab in every way and finds packets lost without an excuse."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kuijia.cli.inputs import (
    add_demands,
    add_paths,
    add_topology,
    add_tunnels,
    read_demands,
    read_finder,
    read_topology,
)
from kuijia.cli.table_options import add_table_options, option_words
from kuijia_app.tables.options import Liveness, OptionWords, pipeline_options
from kuijia_base.additions import require_installed
from kuijia_base.errors import InputError, KuijiaError
from kuijia_base.json_document import read_json
from kuijia_base.manifest import describe_computation
from kuijia_base.option_values import (
    PICTURE_SUFFIXES,
    different_ones,
    path_name,
    picture_path,
    positive_number,
    positive_rate,
    whole_number,
)
from kuijia_base.options import options_named, typed_options
from kuijia_base.picture_file import LIBRARY
from kuijia_base.text import require_writable, write_bytes
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from testbed.chaos.faults import KINDS, PAIR_KINDS, PLAN_KINDS, ChaosFault, draw_faults, faults_from_json
from testbed.chaos.oracle import LossWindows

DEFAULT_CAPACITY = 20.0
_INTERRUPTED_STATUS = 130

MOST_LOAD = 0.9
"""Greatest share of a tunnel's rate that a load takes."""

BFD_SECONDS = 0.13
"""Seconds that a failure further on may cost with BFD at its default interval of 30 ms."""

BFD_SESSION_SECONDS = 3.0
"""Seconds until sessions that have ended are up again: they send a packet a second until then (RFC 5880, 6.8.3)."""

BFD_STALL_SECONDS = 0.06
"""Stall of the machine from which on sessions end: two intervals, as the last packet may be one interval old."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_topology(parser, scaled=True)
    add_demands(parser, optional=False)
    add_tunnels(parser)
    add_paths(parser)
    add_table_options(parser)
    parser.add_argument("--framework", choices=["os-ken", "ryu"], default="os-ken", help="controller framework")
    parser.add_argument(
        "--controllers",
        type=whole_number(1, 2),
        default=1,
        metavar="N",
        help="controllers: 1, or a pair of 2 (default: 1)",
    )
    parser.add_argument(
        "--capacity",
        type=positive_rate,
        default=DEFAULT_CAPACITY,
        help="Mbit/s of the largest link; the others and the demands are scaled with it (default: %(default)g)",
    )
    parser.add_argument(
        "--seconds", type=positive_number, default=60.0, metavar="S", help="length of the run (default: 60)"
    )
    parser.add_argument(
        "--every", type=positive_number, default=5.0, metavar="S", help="mean time between two faults (default: 5)"
    )
    parser.add_argument(
        "--kinds",
        type=different_ones(KINDS),
        metavar="KIND,...",
        help=(
            f"kinds of faults to draw from (default: all): {', '.join(KINDS)}; "
            f"{', '.join(PAIR_KINDS)} need --controllers 2"
        ),
    )
    parser.add_argument("--faults", type=Path, metavar="FILE", help="repeat the faults of a report or a file")
    parser.add_argument(
        "--tick",
        type=positive_number,
        default=0.002,
        metavar="S",
        help="time between two probes of a flow (default: 0.002)",
    )
    parser.add_argument(
        "--load",
        type=positive_number,
        default=0.0,
        metavar="SHARE",
        help=(
            "instead of running iperf3, fill each tunnel with UDP to this share of its rate, up to 0.9, so that "
            "queues overflow where victims are added; without --kinds the plan then stays the same (default: 0)"
        ),
    )
    parser.add_argument("--probes-only", action="store_true", help="no iperf3 flows next to the probes")
    parser.add_argument(
        "--slack",
        type=positive_number,
        default=0.0,
        metavar="S",
        help="on a machine that forwards slowly: additional time that a failure may cost (default: 0)",
    )
    parser.add_argument(
        "--shrink",
        type=whole_number(0, 1000),
        default=0,
        metavar="RUNS",
        help="after a finding, search for the shortest sequence of faults that reproduces it, in at most this many "
        "further runs",
    )
    parser.add_argument("-o", "--output", type=path_name, metavar="FILE", help="write the report to this file, as JSON")
    suffixes = ", ".join(PICTURE_SUFFIXES)
    parser.add_argument("--plot", type=picture_path, metavar="FILE", help=f"draw the run: file ending in {suffixes}")


def run(args: argparse.Namespace) -> int:
    topology = read_topology(args)
    demands = read_demands(args, topology)
    words = option_words(args)
    tables = pipeline_options(words)
    tables.wired(topology)
    drawn = _faults(args, topology)
    if args.plot is not None:
        require_installed(LIBRARY, "--plot")
    for path in (args.output, args.plot):
        if path is not None:
            require_writable(path)
    # The optimiser takes a second to import; --help and bad input should not wait for it.
    from te_solver.solve import solve  # noqa: PLC0415  # slow to import: CVXPY
    from testbed.chaos.faults import shortest_failing  # noqa: PLC0415
    from testbed.chaos.report import report_json, report_text  # noqa: PLC0415  # needs Linux, as the rest
    from testbed.chaos.run import INTERRUPTED, ChaosResult, ChaosRun, run_chaos  # noqa: PLC0415
    from testbed.lab.lab_options import LabOptions  # noqa: PLC0415

    def plan(tunnels: int) -> Plan:
        factor = args.capacity / max(link.capacity for link in topology.links)
        scaled = [replace(demand, rate=demand.rate * factor) for demand in demands]
        with typed_options(), options_named():
            finder = read_finder(args, topology.scaled(factor))
            return solve(topology.scaled(factor), scaled, tunnels, finder=finder, source=args.demands)

    # The plan that comes in turn lacks tunnels: each change adds or removes entries at the switches.
    plans = plan(args.tunnels), plan(max(1, args.tunnels - 1))
    windows = _windows(args)
    options = LabOptions(
        framework=args.framework, controllers=args.controllers, tunnels_per_pair=args.tunnels, **_of_lab(words)
    )
    last: list[ChaosResult] = []

    def fails(faults: tuple[ChaosFault, ...]) -> bool:
        last.append(
            run_chaos(
                ChaosRun(
                    plans, options, faults, windows, _say, args.tick, has_streams=not args.probes_only, load=args.load
                )
            )
        )
        return not last[-1].passed

    began = time.time()
    if fails(drawn) and args.shrink and INTERRUPTED not in last[0].errors:
        kept = shortest_failing(drawn, fails, args.shrink)
        last.append(next(result for result in reversed(last) if result.faults == kept))
    result = last[-1]
    document = report_json(result, topology.name, args.seed, windows, describe_computation(began, time.time() - began))
    if args.output is not None:
        write_bytes(args.output, json.dumps(document, indent=1).encode() + b"\n")
    if args.plot is not None:
        from testbed.chaos.report import chaos_picture  # noqa: PLC0415  # slow to import, and not always installed

        write_bytes(args.plot, chaos_picture(document, args.plot.suffix))
    print(json.dumps(document) if args.json else report_text(result))
    if INTERRUPTED in result.errors:
        return _INTERRUPTED_STATUS
    return 0 if result.passed else KuijiaError.exit_status


def _faults(args: argparse.Namespace, topology: Topology) -> tuple[ChaosFault, ...]:
    impossible = () if args.controllers > 1 else PAIR_KINDS
    if args.load > MOST_LOAD:
        raise InputError("option", "--load", f"{args.load:g}", f"{MOST_LOAD:g} at most: links carry the probes, too")
    if args.faults is None:
        # Once a plan has been replaced, nobody knows which tunnel a flow of the load is on.
        left_out = (*impossible, *(PLAN_KINDS if args.load else ()))
        kinds = args.kinds or [kind for kind in KINDS if kind not in left_out]
        faults = draw_faults(topology, args.seed, args.seconds, args.every, kinds)
        chosen = set(kinds)
    else:
        document = read_json(args.faults, "a report on faults", "faults in JSON")
        rows = document.get("faults") if isinstance(document, dict) else document
        faults = faults_from_json(rows, topology, str(args.faults))
        chosen = {fault.kind for fault in faults}
    for kind in sorted(chosen.intersection(impossible)):
        raise InputError("option", "--controllers", f"{args.controllers}: {kind} needs a pair", "2")
    return faults


def _windows(args: argparse.Namespace) -> LossWindows:
    usual = LossWindows()
    by_bfd = args.liveness == Liveness.BFD.value
    if by_bfd:
        usual = replace(
            usual, remote=BFD_SECONDS, again=BFD_SESSION_SECONDS, by_bfd=True, ends_sessions=BFD_STALL_SECONDS
        )
    return replace(usual, local=usual.local + args.slack, remote=usual.remote + args.slack)


def _of_lab(words: OptionWords) -> dict[str, Any]:
    of_lab = asdict(words)
    return {"slot_count": of_lab.pop("slots"), **of_lab}


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
