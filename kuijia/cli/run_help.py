"""Help of `kuijia run`, and the options it suggests: with an experiment only those that it has."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable
from copy import copy
from functools import partial

from experiments.registry import Experiment, default_capacity, defaults_of, find_experiment
from experiments.sweep.workers import add_workers
from kuijia_base.errors import InputError

_OF_ALL = frozenset(
    {"experiment", "backend", "output", "capacity", "repetitions", "quick", "full", "json", "verbose", "seed"}
)
"""Options that most experiments have, by their places in the parsed arguments."""

CAPACITY_HELP = "capacity of a link, in Mbit/s or as in 10M; published rates are scaled to it"

_OF_SWITCHES = frozenset({"framework", "slots", "inventory"})
_GENERAL_SECTIONS = frozenset({"positional arguments", "options", "optional arguments"})


def shorten_help(parser: argparse.ArgumentParser) -> None:
    """Let `--help` show the options that most experiments have, until `Chosen` has seen which one is meant."""
    parser.formatter_class = partial(_Selected, shown=_OF_ALL)
    parser.epilog = (
        f"`{parser.prog} EXPERIMENT --help` shows the options of an experiment, `kuijia list` what each reproduces."
    )


def options_of(experiment: Experiment) -> frozenset[str]:
    """Return the places in the parsed arguments of the options that an experiment has."""
    found = set(_OF_ALL) - {"experiment"} | defaults_of(experiment.configure).keys() | set(experiment.heeds)
    if {"emulation", "boxes"} & set(experiment.backends):
        found |= _OF_SWITCHES if "boxes" in experiment.backends else _OF_SWITCHES - {"inventory"}
    if experiment.sweeps:
        found |= defaults_of(add_workers).keys()
    if len(experiment.backends) == 1:
        found.discard("backend")
    return frozenset(found - set(experiment.ignores) - set(experiment.unused))


def offered(args: argparse.Namespace) -> frozenset[str]:
    """Return the options of the experiment asked for; those that most have if there is none of its name."""
    try:
        return options_of(find_experiment(args.experiment))
    except InputError:
        return _OF_ALL


def help_of(experiment: Experiment, option: str) -> str | None:
    """Return the help of an option common to all experiments in this one; None where it is as in all."""
    texts = {
        "backend": f"backend to measure on (default: {experiment.backends[0]})",
        "output": f"folder for results (default: results/{experiment.name}-TIME)",
        "capacity": f"{CAPACITY_HELP} (default: {_capacities(experiment)})",
        "repetitions": "measure everything N times (default: 1)",
        "full": "the published extent (default: a part of it)",
    }
    return experiment.own_help.get(option, texts.get(option))


def _capacities(experiment: Experiment) -> str:
    usual = default_capacity(experiment, experiment.backends[0])
    others = {each: default_capacity(experiment, each) for each in experiment.backends}
    different = [f"with --backend {each} {rate:g}" for each, rate in others.items() if rate != usual]
    return ", ".join([f"{usual:g}", *different])


class Chosen(argparse.Action):
    """Stores the name of the experiment, and lets a `--help` after it show the options of that one only."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del option_string
        setattr(namespace, self.dest, values)

        def formatter(prog: str) -> argparse.HelpFormatter:
            chosen = find_experiment(str(values))
            about = f"{chosen.title} ({chosen.reproduces}). Backends: {', '.join(chosen.backends)}."
            return _Selected(f"{prog} {chosen.name}", options_of(chosen), about, chosen)

        parser.formatter_class = formatter


class _Selected(argparse.HelpFormatter):
    """Help with some of the arguments; sections of the others vanish. `about` replaces descriptions.

    Of an experiment, the help names only its own backends, folder and defaults.
    """

    def __init__(
        self, prog: str, shown: Collection[str], about: str | None = None, experiment: Experiment | None = None
    ) -> None:
        super().__init__(prog)
        self._shown = shown
        self._about = about
        self._experiment = experiment
        self._has_own_section = False

    def add_text(self, text: str | None) -> None:
        if self._about is None:
            super().add_text(text)
        elif self._about:
            super().add_text(self._about)
            self._about = ""

    def start_section(self, heading: str | None) -> None:
        own = None if self._has_own_section else "options of this experiment"
        super().start_section(heading if heading in _GENERAL_SECTIONS else own)

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: object,
        prefix: str | None = None,
    ) -> None:
        del groups
        super().add_usage(usage, [self._own(action) for action in actions if self._has(action)], [], prefix)

    def add_argument(self, action: argparse.Action) -> None:
        if self._has(action):
            super().add_argument(self._own(action))
            self._has_own_section |= action.dest not in _OF_ALL | _OF_SWITCHES | {"help", "workers", "cluster"}

    def _own(self, action: argparse.Action) -> argparse.Action:
        """Return an argument as the experiment has it."""
        text = None if self._experiment is None else help_of(self._experiment, action.dest)
        if self._experiment is None or text is None:
            return action
        own = copy(action)
        own.help = text
        if action.dest == "backend":
            own.choices = self._experiment.backends
        return own

    def _has(self, action: argparse.Action) -> bool:
        return action.dest == "help" or action.dest in self._shown
