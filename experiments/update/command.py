"""Measures whether replacing the plan or the controller loses packets, with numbered packets across the network.

The paper has no such figure. The bars are our own goals.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from experiments.experiment import Options, Outcome
from experiments.grid import Execution, Offered, offered
from experiments.measuring.packet_options import add_notice, notice_from, refuse_notice
from experiments.results.stored_files import each_file
from experiments.update.report import NETWORK, UpdateOptions, exhibits_of_run
from kuijia_base.errors import InputError
from kuijia_base.option_values import positive_count
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network

UPDATES, QUICK_UPDATES = 6, 2
RESTARTS, QUICK_RESTARTS = 3, 1


def configure(options: Options) -> None:
    add_notice(options)
    for name, usual, quick, what in (
        ("updates", UPDATES, QUICK_UPDATES, "plans that replace one another"),
        ("restarts", RESTARTS, QUICK_RESTARTS, "controllers that are killed and restarted"),
    ):
        help_text = f"{what} under load (default: {usual}, with --quick {quick})"
        options.add_argument(f"--{name}", type=positive_count, metavar="N", help=help_text)


def options_from(args: argparse.Namespace, *, quick: bool) -> UpdateOptions:
    """Return the options given on the command line."""
    updates = args.updates or (QUICK_UPDATES if quick else UPDATES)
    return UpdateOptions(updates, args.restarts or (QUICK_RESTARTS if quick else RESTARTS))


def update(run: Execution) -> Outcome:
    args, options = run.args, options_from(run.args, quick=run.settings.quick)
    if run.backend == "packet":
        if args.restarts is not None:
            problem = "the simulated controller cannot be restarted"
            raise InputError("option", "--restarts", problem, "--backend emulation or boxes")
        from experiments.update.run import simulate_update  # noqa: PLC0415  # only on Linux

        options = replace(options, restarts=0)
        notice = notice_from(args, load_topology(shipped_network(NETWORK)).nodes)
        return simulate_update(run, options, notice)
    refuse_notice(args, run.backend)
    from experiments.update.run import run_update  # noqa: PLC0415  # only on Linux

    return run_update(run, options)


EXPERIMENTS = offered(
    {
        "update": Offered(
            update,
            without=("repetitions", "full"),
            has_capacity=True,
            sweeps=False,
            configure=configure,
            reader=each_file(exhibits_of_run, having="manifest"),  # others are summaries of them
        )
    }
)
