"""`kuijia run`: measures one of the paper's tables or figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from experiments.registry import (
    DEFAULT_CAPACITY,
    LOWER_CAPACITY,
    SIMULATED_CAPACITY,
    Experiment,
    Settings,
    all_experiments,
    default_capacity,
    find_experiment,
    refuse_unheeded,
    simulates_switches,
)
from experiments.sweep.workers import add_workers, refuse_workers
from kuijia.cli.notes import print_notes
from kuijia.cli.printing import print_json, show
from kuijia.cli.run_help import CAPACITY_HELP, Chosen, offered, shorten_help
from kuijia_app.tables.slots import DEFAULT_SLOT_COUNT, SLOT_COUNTS
from kuijia_base.errors import InputError, InterruptedWorkError, KuijiaError
from kuijia_base.extras import command_for, is_installed
from kuijia_base.option_values import folder_name, positive_count, positive_rate, whole_number
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import Progress

FRAMEWORKS = ("os-ken", "ryu")

_SWITCH_OPTIONS: tuple[tuple[str, object, tuple[str, ...]], ...] = (
    ("framework", FRAMEWORKS[0], ("emulation", "boxes")),
    ("slots", DEFAULT_SLOT_COUNT, ("emulation", "packet", "boxes")),
    ("inventory", None, ("boxes",)),
)
"""Options for all experiments about switches: name, default, the backends that use it."""

_IGNORABLE: Mapping[str, object] = {
    "capacity": None,
    "framework": FRAMEWORKS[0],
    "slots": DEFAULT_SLOT_COUNT,
    "repetitions": None,
}
"""Options for all experiments, with their defaults; some experiments ignore them."""

_NAMED_FILES = 12
"""More are only counted."""


class BrokenBarError(KuijiaError):
    """Raised when an experiment ran but an order, limit or promise does not hold; the command exits with status 1."""


def configure(parser: argparse.ArgumentParser) -> None:
    experiments = all_experiments()
    names = ", ".join(each.name for each in experiments)
    backends = sorted({backend for each in experiments for backend in each.backends})
    parser.add_argument("experiment", action=Chosen, metavar="EXPERIMENT", help=f"one of {names}")
    parser.add_argument("--backend", choices=backends, help="backend to measure on (default: the experiment's first)")
    parser.add_argument(
        "--inventory", metavar="FILE", help="the boxes to measure on, for --backend boxes (docs/boxes.md)"
    )
    parser.add_argument(
        "-o", "--output", type=folder_name, metavar="DIR", help="folder for results (default: results/EXPERIMENT-TIME)"
    )
    parser.add_argument(
        "--capacity",
        type=positive_rate,
        metavar="RATE",
        help=f"{CAPACITY_HELP} (default: {DEFAULT_CAPACITY:g}, where the paper's switches are simulated"
        f" {SIMULATED_CAPACITY:g})",
    )
    parser.add_argument(
        "--framework", choices=FRAMEWORKS, default=FRAMEWORKS[0], help="framework of the controller (default: os-ken)"
    )
    parser.add_argument(
        "--slots",
        type=whole_number(0, expected="a number of slots"),
        choices=SLOT_COUNTS,
        default=DEFAULT_SLOT_COUNT,
        help=f"hash slots per pair of sites (default: {DEFAULT_SLOT_COUNT})",
    )
    parser.add_argument(
        "--repetitions",
        type=positive_count,
        metavar="N",
        help="measure everything N times (default: 1, or the experiment's own)",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="measure less and for a shorter time, with less precision")
    length.add_argument(
        "--full",
        action="store_true",
        help="the published extent, where the default is a part of it",
    )
    add_workers(parser)
    for configure_family in dict.fromkeys(each.configure for each in experiments):
        configure_family(parser)
    shorten_help(parser)
    parser.set_defaults(offered=offered)


def run(args: argparse.Namespace) -> int:
    experiment = find_experiment(args.experiment)
    backend = args.backend or experiment.backends[0]
    if backend not in experiment.backends:
        raise InputError(
            "option",
            "--backend",
            f"{experiment.name} cannot run on {backend}",
            f"one of {', '.join(experiment.backends)}",
        )
    if not experiment.sweeps:
        refuse_workers(
            args, f"{experiment.name} is not a sweep", [each.name for each in all_experiments() if each.sweeps]
        )
    refuse_unheeded(experiment, args)
    _refuse_unmeasured(args, experiment, backend)
    _note_unused(args, experiment)
    settings = Settings(
        backend=backend,
        capacity=args.capacity or default_capacity(experiment, backend),
        framework=args.framework,
        slots=args.slots,
        repetitions=args.repetitions or 1,
        quick=args.quick,
        seed=args.seed,
        inventory=args.inventory,
        lower_capacity=LOWER_CAPACITY if args.capacity is None else None,
    )
    started = datetime.now().astimezone()
    output = OutputFolder(args.output or Path("results") / f"{experiment.name}-{started:%Y%m%d-%H%M%S}")
    progress = Progress(sys.stderr)
    try:
        outcome = experiment.run(settings, args, output, progress)
    except InterruptedWorkError:
        raise  # the message says what is kept
    except KeyboardInterrupt:
        progress.say(f"stopped; {_what_is_done(output)}")
        raise
    finally:
        progress.close()
        output.remove_if_empty()
    if args.json:
        print_json("run", outcome.summary)
    else:
        show(outcome.text)
    progress.say(f"wrote {_named(output.written)} in {output.path}")
    if not is_installed(LIBRARY):
        print_notes(str(output.path), [f"no pictures without {LIBRARY}: {command_for(LIBRARY)}"])
    if outcome.broken:
        raise BrokenBarError("; ".join(outcome.broken))
    return 0


def _refuse_unmeasured(args: argparse.Namespace, experiment: Experiment, backend: str) -> None:
    """Raise InputError if an option for all experiments has a value that would change nothing."""
    for name in experiment.ignores:
        if getattr(args, name) != _IGNORABLE[name]:
            problem = f"changes nothing in {experiment.name}"
            raise InputError("option", f"--{name}", problem, f"{experiment.name} without it")
    for name, default, heeding in _SWITCH_OPTIONS:
        is_heeded = backend in heeding and (backend != "packet" or simulates_switches(experiment, backend))
        if is_heeded or getattr(args, name) == default:
            continue
        others = " or ".join(each for each in heeding if each in experiment.backends)
        expected = f"--backend {others}" if others else f"{experiment.name} without it"
        raise InputError("option", f"--{name}", f"changes nothing on {backend}", expected)


def _note_unused(args: argparse.Namespace, experiment: Experiment) -> None:
    given = [f"--{name}" for name in experiment.unused if getattr(args, name)]
    print_notes(experiment.name, [f"{option} changes nothing in it" for option in given])


def _what_is_done(output: OutputFolder) -> str:
    if not output.written:
        return "no run was complete, nothing was written"
    return f"complete and kept in {output.path}: {_named(output.written)}"


def _named(files: Sequence[str]) -> str:
    return ", ".join(files) if len(files) <= _NAMED_FILES else f"{len(files)} files"
