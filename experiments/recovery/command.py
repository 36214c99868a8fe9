"""Measures how long a failure interrupts traffic: a packet a millisecond across a network while links are cut.

The paper has no such figure: its Table 4 is the time TCP takes to settle. The bars are our own goals.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.experiment import Options, Outcome
from experiments.grid import Execution, Offered, offered
from experiments.measuring.packet_options import add_notice, notice_from, refuse_notice
from experiments.recovery.report import DEFAULT_CUTS, MODES, NETWORKS, QUICK_CUTS, RecoveryOptions, exhibits_of_modes
from experiments.results.exhibit import Exhibit
from experiments.results.stored_files import StoredFile, made_of, told_apart
from kuijia_base.option_values import different_ones, positive_count
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network


def configure(options: Options) -> None:
    options.add_argument(
        "--modes",
        type=different_ones(tuple(MODES)),
        default=tuple(MODES),
        metavar="MODE[,MODE]",
        help=f"modes: link that fails and who notices (default: {','.join(MODES)})",
    )
    options.add_argument(
        "--cuts",
        type=positive_count,
        metavar="N",
        help=f"cuts of each mode (default: {DEFAULT_CUTS}, with --quick {QUICK_CUTS})",
    )
    options.add_argument(
        "--network",
        choices=tuple(NETWORKS),
        default="gscale",
        help="network whose links are cut (default: gscale, of 12 switches; fig1 has 4)",
    )
    add_notice(options)


def options_from(args: argparse.Namespace, *, quick: bool, repetitions: int) -> RecoveryOptions:
    """Return the options given on the command line; each repetition adds as many cuts again."""
    cuts = args.cuts or (QUICK_CUTS if quick else DEFAULT_CUTS)
    return RecoveryOptions(args.modes, cuts * repetitions, args.network)


def _read(files: Sequence[StoredFile]) -> Iterator[Exhibit]:
    by_folder: dict[Path, list[StoredFile]] = {}
    for file in files:
        if "mode" in file.data:
            by_folder.setdefault(file.path.parent, []).append(file)
    yield from told_apart(
        (own[0].path, made)
        for own in by_folder.values()
        for made in made_of(own[0].path, exhibits_of_modes, [file.data for file in own])
    )


def recovery(run: Execution) -> Outcome:
    args = run.args
    options = options_from(args, quick=run.settings.quick, repetitions=run.settings.repetitions)
    from experiments.recovery.run import run_recovery, simulate_recovery  # noqa: PLC0415  # only on Linux

    if run.backend == "packet":
        notice = notice_from(args, load_topology(shipped_network(options.network)).nodes)
        return simulate_recovery(run, options, notice)
    refuse_notice(args, run.backend)
    return run_recovery(run, options)


EXPERIMENTS = offered(
    {
        "recovery": Offered(
            recovery,
            without=("full",),
            has_capacity=True,
            repetitions="N times as many cuts (default: 1)",
            sweeps=False,
            configure=configure,
            reader=_read,
        )
    }
)
