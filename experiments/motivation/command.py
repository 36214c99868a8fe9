"""Tables 2 and 3 for `kuijia run`: options, and which backend measures; the tables are in `report`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

from experiments.compared_schemes import add_schemes
from experiments.experiment import (
    DEFAULT_CAPACITY,
    LOWER_CAPACITY,
    SIMULATED_CAPACITY,
    Experiment,
    Options,
    Outcome,
    Settings,
    given,
    refuse_given,
)
from experiments.measuring.packet_options import BUFFER_PACKETS, add_clocks, add_conditions
from experiments.motivation import flow_run
from experiments.motivation.report import (
    CASES,
    LOCAL_CUT,
    PAPERS_CUT,
    TABLES,
    MotivationOptions,
    MotivationTable,
    exhibits_of_files,
)
from experiments.results.score import SizeBar
from kuijia_app.tables.options import Liveness, Tagging
from kuijia_base.errors import InputError
from kuijia_base.option_values import positive_number
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_SECONDS = {
    "warmup": (4.0, 3.0, "from the start of the flows to the first measurement"),
    "before": (8.0, 4.0, "measured before the cut"),
    "settle": (6.0, 6.0, "from the cut to the second measurement, for TCP to settle"),
    "after": (30.0, 12.0, "measured after the cut"),
}
"""Phase to its default, its default with --quick, and its meaning."""

_OWN_HELP = {
    "capacity": "capacity of a link, in Mbit/s or as in 10M; published rates are scaled to it (default:"
    f" {DEFAULT_CAPACITY:g}, or {LOWER_CAPACITY:g} on a machine too slow for that; with --backend packet"
    f" {SIMULATED_CAPACITY:g}, as in the paper)"
}

_MODELLED = ("schemes", "cut")
_UNMODELLED = {
    "kill_controller": "the model has no controller",
    "liveness": "in the model failures are noticed at once",
    "tagging": "the model has no headers",
    "buffer_packets": "the model has no buffers",
    "link_delay_seconds": "the model has no delays",
    "congestion_control": "the model has one kind of TCP",
    "clock_ppm": "the model has no packets",
}
_MEASURED = "--backend emulation or boxes"


def configure(options: Options) -> None:
    add_schemes(options)
    options.add_argument("--cut", choices=CASES, default=PAPERS_CUT, help="the link that fails (default: %(default)s)")
    options.add_argument(
        "--kill-controller",
        action="store_true",
        help=f"kill the controller before the cut; needs --cut {LOCAL_CUT} or --liveness bfd",
    )
    options.add_argument(
        "--liveness",
        choices=[each.value for each in Liveness],
        default=Liveness.CONTROLLER.value,
        help="party that notices a failure beyond a tunnel's first link (default: %(default)s)",
    )
    options.add_argument(
        "--tagging",
        choices=[each.value for each in Tagging],
        default=Tagging.MPLS.value,
        help="header fields that carry tunnel and queue (default: %(default)s)",
    )
    add_conditions(options)
    for phase, (usual, quick, meaning) in _SECONDS.items():
        options.add_argument(
            f"--{phase}-seconds",
            type=positive_number,
            metavar="S",
            help=f"seconds {meaning} (default: {usual:g}, with --quick {quick:g})",
        )
    options.add_argument(
        "--interval-seconds",
        type=positive_number,
        default=0.2,
        metavar="S",
        help="interval of the throughput series (default: 0.2)",
    )


def options_from(args: argparse.Namespace, *, quick: bool) -> MotivationOptions:
    """Return the options given on the command line.

    Raises:
        InputError: the controller is to be killed before a cut that one direction cannot notice without it.
    """
    if args.kill_controller and not CASES[args.cut].local and args.liveness != Liveness.BFD.value:
        problem = f"one end of the failed tunnel cannot notice a cut of {args.cut} without the controller"
        raise InputError("option", "--kill-controller", problem, f"--cut {LOCAL_CUT} or --liveness bfd")
    seconds = {}
    for phase, (usual, quick_one, _) in _SECONDS.items():
        given = getattr(args, f"{phase}_seconds")
        seconds[f"{phase}_seconds"] = given if given is not None else quick_one if quick else usual
    return MotivationOptions(
        schemes=args.schemes,
        cut=args.cut,
        kill_controller=args.kill_controller,
        liveness=args.liveness,
        tagging=args.tagging,
        congestion_control=args.congestion_control,
        buffer_packets=args.buffer_packets or BUFFER_PACKETS,
        link_delay_seconds=args.link_delay_seconds,
        interval_seconds=args.interval_seconds,
        **seconds,
    )


def refuse_unmodelled(args: argparse.Namespace) -> None:
    """Raise InputError when an option has a value that the fluid model, which has no packets, would ignore."""
    for name in given(args, configure):
        if name not in _MODELLED:
            option = f"--{name.replace('_', '-')}"
            raise InputError("option", option, _UNMODELLED.get(name, "changes nothing in the model"), _MEASURED)


def _run(
    table: MotivationTable, settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    options = options_from(args, quick=settings.quick)
    if settings.backend == "flow":
        refuse_unmodelled(args)
        return flow_run.run_table(table, settings, options, output)
    if settings.backend == "packet":
        if args.kill_controller:
            problem = "the simulated controller cannot be killed"
            raise InputError("option", "--kill-controller", problem, _MEASURED)
        from experiments.measuring.packet_run import conditions_from  # noqa: PLC0415  # only on Linux
        from experiments.motivation import packet_run  # noqa: PLC0415  # only on Linux

        conditions = conditions_from(args)
        options = replace(options, buffer_packets=conditions.buffer_packets)
        return packet_run.run_table(table, settings, options, conditions, output, progress)
    refuse_given(args, add_clocks, f"changes nothing in {args.experiment} on {settings.backend}", "packet")
    from experiments.motivation import run  # noqa: PLC0415  # only on Linux

    return run.run_table(table, settings, options, output, progress)


# 2 % of the link: flows that a full link starves still send again now and then.
SIZE_BARS = {"table[23]": SizeBar(20.0, frozenset({"offered"}))}

EXPERIMENTS = {
    table.name: Experiment(
        partial(_run, table),
        configure=configure,
        without=("full",),
        own_help=_OWN_HELP,
        reader=exhibits_of_files,
    )
    for table in TABLES.values()
}
