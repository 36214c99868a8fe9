"""Measures whether packets are lost while the other of two controllers takes over, with numbered packets.

The paper has one controller. The bars are our own goals.
"""

from __future__ import annotations

import argparse

from experiments.experiment import Options, Outcome
from experiments.grid import Execution, Offered, offered
from experiments.results.stored_files import each_file
from experiments.takeover.report import TakeoverOptions, exhibits_of_run
from kuijia_base.option_values import positive_count

HANDOVERS, QUICK_HANDOVERS = 100, 5
FAILURES, QUICK_FAILURES = 5, 1


def configure(options: Options) -> None:
    for name, usual, quick, what in (
        ("handovers", HANDOVERS, QUICK_HANDOVERS, "planned handovers in a row"),
        ("failures", FAILURES, QUICK_FAILURES, "failures of each kind of the active controller"),
    ):
        help_text = f"{what} (default: {usual}, with --quick {quick})"
        options.add_argument(f"--{name}", type=positive_count, metavar="N", help=help_text)


def options_from(args: argparse.Namespace, *, quick: bool) -> TakeoverOptions:
    """Return the options given on the command line."""
    handovers = args.handovers or (QUICK_HANDOVERS if quick else HANDOVERS)
    return TakeoverOptions(handovers, args.failures or (QUICK_FAILURES if quick else FAILURES))


def takeover(run: Execution) -> Outcome:
    from experiments.takeover.run import run_takeover  # noqa: PLC0415  # only on Linux

    return run_takeover(run, options_from(run.args, quick=run.settings.quick))


EXPERIMENTS = offered(
    {
        "takeover": Offered(
            takeover,
            without=("repetitions", "full"),
            has_capacity=True,
            sweeps=False,
            configure=configure,
            reader=each_file(exhibits_of_run, having="manifest"),  # others are summaries of them
        )
    }
)
