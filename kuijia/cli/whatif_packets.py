"""`kuijia whatif --backend packet`: its options, and the study of a plan's first seconds after each failure."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kuijia.api.whatif_packets import (
    BACKENDS,
    DEFAULT_SIZES,
    FILE,
    FLOW,
    PARSERS,
    Asked,
    options_of,
    simulated,
    write_report,
)
from kuijia.cli.notes import print_notes
from kuijia.cli.printing import show
from kuijia_base.extras import command_for, is_installed, require_installed
from kuijia_base.option_values import is_page
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import workers_from

if TYPE_CHECKING:
    from te_solver.failure_schemes.failure_scheme import FailureScheme
    from te_solver.failures import Failure
    from te_solver.plan import Plan

_WORST = 5
"""Worst failures in the summary of each scheme, unless -v asks for all."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        default=FLOW,
        help="flow: the rates after each failure by the fluid model; packet: its first seconds, packet by packet, with "
        "flows that come and go (default: %(default)s)",
    )
    group = parser.add_argument_group("--backend packet")
    group.add_argument(
        "--sizes",
        metavar="WHICH",
        help="sizes of flows: a published distribution by name, a file of sizes and probabilities, or bytes (default: "
        f"{DEFAULT_SIZES})",
    )
    group.add_argument(
        "--load",
        type=PARSERS["load"],
        metavar="NUMBER",
        help="share of the planned rates that flows offer on the mean (default: 0.7)",
    )
    group.add_argument(
        "--seconds",
        type=PARSERS["seconds"],
        metavar="S",
        help="seconds after each cut for which losses are counted, and new flows come (default: 1)",
    )
    group.add_argument("--transport", metavar="NAME", help="congestion control of TCP (default: cubic)")
    group.add_argument(
        "--buffer",
        type=PARSERS["buffer"],
        metavar="BYTES",
        help="room in each queue of a port, not scaled by --rate-scale (default: 1500000)",
    )
    group.add_argument(
        "--detection",
        type=PARSERS["detection"],
        metavar="S",
        help="seconds from a cut until the switches beside it notice (default: 0.01)",
    )
    group.add_argument(
        "--controller-at",
        metavar="NODE",
        help="site of the controller, which other switches hear from after the delays of the links on the way "
        "(default: the node whose farthest node is nearest)",
    )
    group.add_argument(
        "--link-delay",
        type=PARSERS["link_delay"],
        metavar="S",
        help="delay of each link that has none in the network's file (default: 0.005)",
    )
    group.add_argument(
        "--rate-scale",
        type=PARSERS["rate_scale"],
        metavar="F",
        help="factor of all rates, so that large networks need less work (default: 1, or less for half a million data "
        "packets in a run)",
    )


def asked_from(args: argparse.Namespace) -> Asked:
    """Return the conditions that the options ask for; raises InputError."""
    return Asked.of({name: getattr(args, name) for name in PARSERS}, args.seed)


def output_of(args: argparse.Namespace) -> OutputFolder | None:
    """Return where the results go, None without --output; a page alone needs the library that draws."""
    if args.output is None:
        return None
    if is_page(args.output):
        require_installed(LIBRARY, "the report")
    return OutputFolder(args.output)


def study(
    args: argparse.Namespace,
    asked: Asked,
    plans: Sequence[tuple[Plan, FailureScheme]],
    failures: Sequence[Failure],
    progress: Progress,
    assumptions: Sequence[str],
) -> int:
    """Simulate all failures under all schemes, print what they cost and write it; raises InputError."""
    from kuijia.cli.whatif_provenance import command_of  # noqa: PLC0415  # slow to import: NumPy

    source = str(args.plan or args.topology)
    assumed = list(assumptions)

    def say(words: str) -> None:
        print_notes(source, [words])
        assumed.append(words)

    folder = output_of(args)
    workers = None if args.workers is None and args.cluster is None else workers_from(args)
    try:
        with simulated(asked, plans, failures, workers, folder, progress, say) as result:
            found = replace(result, assumptions=tuple(assumed))
            vars(args).update(options_of(found), schemes=found.schemes)
            if folder is not None:
                folder.write_json(FILE, found.as_json())
                if is_installed(LIBRARY):
                    write_report(folder, found, command_of(args))
                else:
                    without = f"no report and no pictures without {LIBRARY}: {command_for(LIBRARY)}"
                    print_notes(str(folder.path), [without])
    finally:
        progress.close()
        if folder is not None:
            folder.remove_if_empty()
    if args.json:
        print(json.dumps(found.as_json(), indent=1, allow_nan=False))
        return 0
    show([*found.heading(), "", *found.found.lines(None if args.verbose else _WORST)])
    if folder is not None:
        print(f"wrote {', '.join(str(folder.path / name) for name in folder.written)}")
    return 0
