"""`kuijia run`: measures one of the paper's tables or figures."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from experiments.catalog import ExperimentEntry, all_entries, find_entry
from experiments.experiment import (
    DEFAULT_CAPACITY,
    LOWER_CAPACITY,
    SIMULATED_CAPACITY,
    Experiment,
    Outcome,
    Settings,
)
from kuijia.cli.parsers import actions_of
from kuijia.cli.printing import print_json, print_notes, show
from kuijia_app.tables.slots import DEFAULT_SLOT_COUNT, SLOT_COUNTS
from kuijia_base.additions import command_for, is_installed
from kuijia_base.errors import InputError, InterruptedWorkError, KuijiaError
from kuijia_base.manifest import describe_machine, describe_program, describe_time, package_versions
from kuijia_base.option_values import folder_name, positive_count, positive_rate, whole_number
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import progress_line
from kuijia_base.sweep.workers import add_workers

FRAMEWORKS = ("os-ken", "ryu")

_OF_SWITCHES: Mapping[str, tuple[object, tuple[str, ...]]] = {
    "framework": (FRAMEWORKS[0], ("emulation", "boxes")),
    "slots": (DEFAULT_SLOT_COUNT, ("emulation", "packet", "boxes")),
    "inventory": (None, ("boxes",)),
}
"""Options of experiments about switches: default, and the backends that use it."""

_OF_MOST: Mapping[str, Mapping[str, object]] = {
    "capacity": {
        "type": positive_rate,
        "metavar": "RATE",
        "help": "capacity of a link, in Mbit/s or as in 10M; published rates are scaled to it (default: {capacities})",
    },
    "repetitions": {"type": positive_count, "metavar": "N", "help": "measure everything N times (default: 1)"},
    "quick": {"action": "store_true", "help": "measure less and for a shorter time, less precisely"},
    "full": {"action": "store_true", "help": "measure everything published (default: a part of it)"},
}
"""Options of most experiments. Where one changes nothing it may be given all the same, and a note says so."""

_FLAGS = frozenset({"-h", "--help", "-v", "--verbose", "--json", "--quick", "--full"})
"""Options that take no value."""

_ASIDE = dict.fromkeys(("-o", "--output", "--workers", "--cluster"), 1) | dict.fromkeys(
    ("--json", "-v", "--verbose"), 0
)
"""Options that change no result, and the number of their values."""

_NAMED_FILES = 12
"""More are only counted."""


class BrokenBarError(KuijiaError):
    """Raised when an experiment ran but an order, limit or promise does not hold; the command exits with status 1."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of all experiments, for what is made of them: completion, man pages, the reference."""
    RunVerb(None).configure(parser)
    for add_options in dict.fromkeys((add_workers, *(entry.load().configure for entry in all_entries()))):
        own = argparse.ArgumentParser(add_help=False)
        add_options(own)
        for action in actions_of(own):
            if not {*action.option_strings} & {*parser._option_string_actions}:  # noqa: SLF001  # has no public name
                parser._add_action(action)  # noqa: SLF001


def verb_for(words: Sequence[str]) -> RunVerb:
    """Return the verb with the options of the experiment that a command line names."""
    bare = [word for before, word in pairwise(words) if word[:1] != "-" and (before[:1] != "-" or before in _FLAGS)]
    names = {each.name for each in all_entries()}
    name = next(iter(bare), next((word for word in words[1:] if word in names), None))
    return RunVerb(None if name is None else find_entry(name))


@dataclass(frozen=True)
class RunVerb:
    """The verb for an experiment; for None, its help and what completion offers."""

    entry: ExperimentEntry | None

    @cached_property
    def experiment(self) -> Experiment:
        """Code of the experiment, imported when its options are asked for."""
        return Experiment(_no_run) if self.entry is None else self.entry.load()

    def configure(self, parser: argparse.ArgumentParser) -> None:
        entry, experiment = self.entry, self.experiment
        about = "a name that `kuijia list` shows" if entry is None else argparse.SUPPRESS
        parser.add_argument("experiment", metavar="EXPERIMENT", help=about)
        if entry is None:
            parser.epilog = f"`{parser.prog} EXPERIMENT --help` shows the options of one, `kuijia list` all of them."
            backends = tuple(sorted({backend for each in all_entries() for backend in each.backends}))
        else:
            parser.description = f"{entry.title} ({entry.reproduces}). Backends: {', '.join(entry.backends)}."
            parser.prog = f"{parser.prog} {entry.name}"
            backends = entry.backends
        choice = f"backend to measure on (default: {'the first of the experiment' if entry is None else backends[0]})"
        parser.add_argument("--backend", choices=backends, help=choice if len(backends) > 1 else argparse.SUPPRESS)
        folder = "EXPERIMENT" if entry is None else entry.name
        parser.add_argument(
            "-o",
            "--output",
            type=folder_name,
            metavar="DIR",
            help=f"folder for results (default: results/{folder}-TIME)",
        )
        self._add_options_of_most(parser)
        if {"emulation", "boxes"} & set(backends) and entry is not None:
            self._add_options_of_switches(parser)
        if experiment.sweeps:
            add_workers(parser)
        experiment.configure(parser.add_argument_group("options of this experiment"))
        parser.set_defaults(
            **{name: default for name, (default, _) in _OF_SWITCHES.items()}, workers=None, cluster=None
        )

    def _add_options_of_most(self, parser: argparse.ArgumentParser) -> None:
        lengths: argparse._ActionsContainer = parser
        if not {"quick", "full"} <= set(self.experiment.without):  # argparse cannot show a group that is all hidden
            lengths = parser.add_mutually_exclusive_group()
        for name, usual in _OF_MOST.items():
            text = self.experiment.own_help.get(name, str(usual["help"]).format(capacities=self._capacities()))
            declared = {**usual, "help": argparse.SUPPRESS if name in self.experiment.without else text}
            (lengths if name in ("quick", "full") else parser).add_argument(f"--{name}", **declared)  # type: ignore[arg-type]  # a table of keywords

    def _capacities(self) -> str:
        if self.entry is None:
            return f"{DEFAULT_CAPACITY:g}, where the paper's switches are simulated {SIMULATED_CAPACITY:g}"
        usual, *others = [(each, self.default_capacity(each)) for each in self.entry.backends]
        different = [f"with --backend {each} {rate:g}" for each, rate in others if rate != usual[1]]
        return ", ".join([f"{usual[1]:g}", *different])

    def default_capacity(self, backend: str) -> float:
        """Return the paper's capacity if the packet simulator replaces switches whose capacity matters."""
        simulated = self.entry is not None and self.entry.simulates_switches(backend)
        return SIMULATED_CAPACITY if simulated and "capacity" not in self.experiment.without else DEFAULT_CAPACITY

    def _add_options_of_switches(self, parser: argparse.ArgumentParser) -> None:
        if "framework" not in self.experiment.without:
            parser.add_argument(
                "--framework", choices=FRAMEWORKS, help=f"framework of the controller (default: {FRAMEWORKS[0]})"
            )
        if "slots" not in self.experiment.without:
            parser.add_argument(
                "--slots",
                type=whole_number(0, expected="a number of slots"),
                choices=SLOT_COUNTS,
                help=f"hash slots per pair of sites (default: {DEFAULT_SLOT_COUNT})",
            )
        if self.entry is not None and "boxes" in self.entry.backends:
            parser.add_argument(
                "--inventory", metavar="FILE", help="the boxes to measure on, for --backend boxes (docs/boxes.md)"
            )

    def run(self, args: argparse.Namespace) -> int:
        entry = find_entry(args.experiment) if self.entry is None else self.entry
        backend = args.backend or entry.backends[0]
        _refuse_unused(args, entry, backend)
        unheeded = [f"--{name}" for name in _OF_MOST if name in self.experiment.without and getattr(args, name)]
        print_notes(entry.name, [f"{option} changes nothing in it" for option in unheeded])
        settings = Settings(
            backend=backend,
            capacity=args.capacity or self.default_capacity(backend),
            framework=args.framework,
            slots=args.slots,
            repetitions=args.repetitions or 1,
            quick=args.quick,
            seed=args.seed,
            inventory=args.inventory,
            lower_capacity=LOWER_CAPACITY if args.capacity is None else None,
        )
        return _run(entry, self.experiment, settings, args)


def _run(entry: ExperimentEntry, experiment: Experiment, settings: Settings, args: argparse.Namespace) -> int:
    started, began = datetime.now().astimezone(), time.time()
    folder = args.output or Path("results") / f"{entry.name}-{started:%Y%m%d-%H%M%S}"
    with OutputFolder(folder) as output, progress_line() as progress:
        program = describe_program()  # before the files of a clone can change
        try:
            outcome = experiment.run(settings, args, output, progress)
        except InterruptedWorkError:
            raise  # the message says what is kept
        except KeyboardInterrupt:
            progress.say(f"stopped; {_what_is_done(output)}")
            raise
        told = {**program, "packages": package_versions(), **describe_time(began, time.time() - began)}
        output.stamp("manifest", _manifest_of(args, outcome.seeds or settings.seeds, told))
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


def _manifest_of(args: argparse.Namespace, seeds: Sequence[int], told: Mapping[str, object]) -> dict[str, object]:
    """Return what makes the same files again: command, its options with their values, seeds, program and machine."""
    aside = {name.lstrip("-") for name in _ASIDE} | {"words", "run", "experiment"}
    options = {
        name: value if value is None or isinstance(value, bool | int | float) else str(value)
        for name, value in sorted(vars(args).items())
        if name not in aside
    }
    return {
        "command": command_of(args.words),
        "options": options,
        "seeds": list(seeds),
        "machine": describe_machine(),
        **told,
    }


def command_of(words: Sequence[str]) -> str:
    """Return the command without the options that change no result."""
    kept: list[str] = []
    left = iter(words)
    for word in left:
        name, given, _ = word.partition("=")
        if name not in _ASIDE:
            kept.append(word)
        elif not given:
            for _ in range(_ASIDE[name]):
                next(left, None)
    return f"kuijia {shlex.join(kept)}"


def _no_run(*_: object) -> Outcome:
    raise InputError("experiment", "", "is not named", "a name that `kuijia list` shows")


def _refuse_unused(args: argparse.Namespace, entry: ExperimentEntry, backend: str) -> None:
    """Raise InputError if an option about switches has a value that would change nothing on a backend."""
    for name, (default, heeding) in _OF_SWITCHES.items():
        is_heeded = backend in heeding and (backend != "packet" or entry.simulates_switches(backend))
        if is_heeded or getattr(args, name) == default:
            continue
        others = " or ".join(each for each in heeding if each in entry.backends)
        raise InputError("option", f"--{name}", f"changes nothing on {backend}", f"--backend {others}")


def _what_is_done(output: OutputFolder) -> str:
    if not output.written:
        return "no run was complete, nothing was written"
    return f"complete and kept in {output.path}: {_named(output.written)}"


def _named(files: Sequence[str]) -> str:
    return ", ".join(files) if len(files) <= _NAMED_FILES else f"{len(files)} files"
