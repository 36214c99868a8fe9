"""Whether replacing the plan, or the controller, loses packets: numbered packets across the network while it happens.

The paper has no figure for it. What is held to the bars are our own goals.
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
"""What is offered, as a share of what the plan allocates: no link is full then, wherever the flows are hashed to."""

FLOWS_PER_PAIR = 8
PACKET_BYTES = 1000

PLANS = ((3, True), (2, False))
"""Of the two plans that replace each other, the tunnels per pair and whether traffic is spread over all of them."""

UPDATES, QUICK_UPDATES = 6, 2
RESTARTS, QUICK_RESTARTS = 3, 1


@dataclass(frozen=True)
class UpdateOptions:
    """How often the plan is replaced, and the controller."""

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
    """The options as given on the command line."""
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
    # What measures takes seconds to import, which listing the experiments should not cost.
    from experiments.update_run import run_update  # noqa: PLC0415

    return run_update(settings, options, output, progress)
