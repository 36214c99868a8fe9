"""Measures whether replacing the plan or the controller loses packets, with numbered packets across the network.

The paper has no such figure. The bars are our own goals.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from experiments.motivation import positive_count
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Settings, experiment

NETWORK = "fig1"
PAIRS = {("s1", "s4"): 1.5, ("s2", "s3"): 0.5}
"""Pair to its demand, in capacities of a link."""

LOAD = 0.5
"""Offered load as a share of the plan's allocation: no link is full, wherever the flows are hashed to."""

FLOWS_PER_PAIR = 8
PACKET_BYTES = 1000

PLANS = ((3, True), (2, False))
"""Tunnels per pair, and whether traffic is spread over all of them, of the two plans that replace each other."""

UPDATES, QUICK_UPDATES = 6, 2
RESTARTS, QUICK_RESTARTS = 3, 1


@dataclass(frozen=True)
class UpdateOptions:
    """Number of plan replacements and of controller restarts."""

    updates: int
    restarts: int


def configure(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("update")
    for name, usual, quick, what in (
        ("updates", UPDATES, QUICK_UPDATES, "plans that replace one another"),
        ("restarts", RESTARTS, QUICK_RESTARTS, "controllers that are killed and started anew"),
    ):
        help_text = f"{what} under load (default: {usual}, with --quick {quick})"
        group.add_argument(f"--{name}", type=positive_count, metavar="N", help=help_text)


def options_from(args: argparse.Namespace, *, quick: bool) -> UpdateOptions:
    """Return the options given on the command line."""
    updates = args.updates or (QUICK_UPDATES if quick else UPDATES)
    return UpdateOptions(updates, args.restarts or (QUICK_RESTARTS if quick else RESTARTS))


@experiment(
    "update",
    title="the plan is replaced, then the controller: packets lost at half load",
    reproduces="goals of our own",
    backends=("emulation", "boxes"),
    configure=configure,
)
def update(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    options = options_from(args, quick=settings.quick)
    # Measuring code takes seconds to import; listing the experiments must not need it.
    from experiments.update_run import run_update  # noqa: PLC0415

    return run_update(settings, options, output, progress)
