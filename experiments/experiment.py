"""Experiment: how `kuijia run` runs a table or figure of a paper, and what it takes and returns."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from experiments.results.stored_files import Reader
from kuijia_base.errors import InputError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

Framework = Literal["os-ken", "ryu"]

DEFAULT_CAPACITY, LOWER_CAPACITY, SIMULATED_CAPACITY = 20.0, 5.0, 1000.0
"""Mbit/s of a link by default, on a machine too slow for that, and, as in the paper, where switches are simulated."""


@dataclass(frozen=True)
class Settings:
    """Settings common to all experiments.

    Attributes:
        capacity: of a link, in Mbit/s; published rates are scaled to it.
        slots: hash slots per pair of sites.
        repetitions: number of times the whole experiment is measured.
        quick: True for shorter measurements.
        seed: determines every random choice.
        inventory: file that lists the boxes, for the backend `boxes`.
        lower_capacity: of all links, in Mbit/s, if the machine is too busy for `capacity`; None to allow only that.
    """

    backend: str
    capacity: float
    framework: Framework
    slots: int
    repetitions: int
    quick: bool
    seed: int
    inventory: str | None = None
    lower_capacity: float | None = None

    @property
    def seeds(self) -> range:
        """Seeds of all repetitions."""
        return range(self.seed, self.seed + self.repetitions)

    @property
    def capacities(self) -> tuple[float, ...]:
        """Capacities to try, in that order."""
        return (self.capacity,) if self.lower_capacity is None else (self.capacity, self.lower_capacity)


@dataclass(frozen=True)
class Outcome:
    """Result of an experiment.

    Attributes:
        summary: the same as `text`, as JSON data.
        broken: by what it has failed, in words; see `Check`.
        seeds: of its runs; empty for those of the settings.
    """

    text: str
    summary: dict[str, object]
    broken: tuple[str, ...]
    seeds: Sequence[int] = ()


Runner = Callable[[Settings, argparse.Namespace, OutputFolder, Progress], Outcome]
Options = argparse.ArgumentParser | argparse._ArgumentGroup  # noqa: SLF001  # has no public name
Configure = Callable[[Options], None]


def no_options(options: Options) -> None:
    """Add nothing: for experiments without options of their own."""


def given(args: argparse.Namespace, configure: Configure) -> list[str]:
    """Return the places in the parsed arguments of options that `configure` adds and whose value is not the default."""
    parser = argparse.ArgumentParser()
    configure(parser)
    return [name for name, default in vars(parser.parse_args([])).items() if getattr(args, name) != default]


def refuse_given(args: argparse.Namespace, configure: Configure, problem: str, backend: str) -> None:
    """Raise InputError if an option was given that `configure` adds and only `backend` uses."""
    for name in given(args, configure):
        raise InputError("option", f"--{name.replace('_', '-')}", problem, f"--backend {backend}")


@dataclass(frozen=True)
class Experiment:
    """Code behind a row of the catalog.

    Attributes:
        run: measures, writes its files and reports; raises KuijiaError on failure.
        sweeps: True if it is a sweep, whose workers `kuijia_base.sweep.workers.workers_from` selects.
        without: options of `kuijia run` that mean nothing in it.
        own_help: help of options of `kuijia run`, where theirs is another in it.
        reader: makes exhibits of the files that runs leave; None if all of them are exhibits or belong to another.
    """

    run: Runner
    configure: Configure = no_options
    sweeps: bool = False
    without: tuple[str, ...] = ()
    own_help: Mapping[str, str] = field(default_factory=dict)
    reader: Reader | None = None
