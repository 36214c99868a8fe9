"""Registry of the experiments: each registers its name, the figure it reproduces and its function."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Literal

from experiments.results.stored_files import Reader
from kuijia_base.additions import EXPERIMENTS, Addition, additions, leave_out
from kuijia_base.errors import InputError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

Framework = Literal["os-ken", "ryu"]

_MODULES = (
    "experiments.motivation.command",
    "experiments.fig4.command",
    "experiments.recovery.command",
    "experiments.update.command",
    "experiments.takeover.command",
    "experiments.victim_transports.command",
    "experiments.hedera.matrices",
    "experiments.hedera.first_fit",
    "experiments.hedera.iterations",
    "experiments.hedera.testbed",
    "experiments.hedera.shuffle",
    "experiments.hedera.shuffle_readings",
    "experiments.gscale.command",
    "experiments.gscale.factors_command",
    "experiments.gscale.readings.command",
    "experiments.ffc_vacancy.command",
    "experiments.memory.command",
    "experiments.hedera.large",
    "experiments.hedera.growth",
    "experiments.hedera.timing",
    "experiments.cqrd.command",
    "experiments.flashpass.fig2",
    "experiments.flashpass.credit_commands",
    "experiments.hermes.command",
    "experiments.hermes.detail_commands",
)
"""Modules with experiments; importing one registers its experiments."""

DEFAULT_CAPACITY, LOWER_CAPACITY, SIMULATED_CAPACITY = 20.0, 5.0, 1000.0
"""Mbit/s of a link by default, on a machine too slow for that, and, as in the paper, where switches are simulated."""

_MOST_SUGGESTED = 10
"""Names that are shown at most when another one is not known."""


@dataclass(frozen=True)
class Settings:
    """Settings common to all experiments.

    Attributes:
        capacity: of a link, in Mbit/s; published rates are scaled to it.
        framework: of the controller.
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
    """Result of an experiment: a text, the same as JSON data, and by what it has failed, in words; see `Check`."""

    text: str
    summary: dict[str, object]
    broken: tuple[str, ...]


Runner = Callable[[Settings, argparse.Namespace, OutputFolder, Progress], Outcome]
Configure = Callable[[argparse.ArgumentParser], None]


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper.

    Attributes:
        reproduces: place in the paper.
        backends: supported backends, the default first.
        configure: adds its own options to `kuijia run`; experiments of a family share one.
        run: measures, writes its files and reports; raises KuijiaError on failure.
        sweeps: True if it is a sweep, whose workers `experiments.sweep.workers.workers_from` selects.
        heeds: options of other families that it also uses.
        ignores: options common to all experiments that have no effect in it, and are refused.
        unused: likewise, but earlier versions accepted them in silence: a note says that they change nothing.
        own_help: help of options common to all experiments, where theirs is another in it.
        order: place among all experiments in lists and reports, the lowest first.
        reader: makes exhibits of the files that runs leave; None if all of them are exhibits or belong to another.
        caveat: sentence that a reader of deviations from the published numbers should know; empty for none.
    """

    name: str
    title: str
    reproduces: str
    backends: tuple[str, ...]
    configure: Configure
    run: Runner
    sweeps: bool = False
    heeds: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    order: int = 0
    reader: Reader | None = None
    caveat: str = ""
    unused: tuple[str, ...] = ()
    own_help: Mapping[str, str] = field(default_factory=dict)


def simulates_switches(experiment: Experiment, backend: str) -> bool:
    """Return True if the packet simulator stands for switches that the experiment can also measure."""
    return backend == "packet" and "emulation" in experiment.backends


def default_capacity(experiment: Experiment, backend: str) -> float:
    """Return the paper's capacity if the packet simulator stands for switches whose capacity matters."""
    simulated = simulates_switches(experiment, backend) and "capacity" not in experiment.ignores
    return SIMULATED_CAPACITY if simulated else DEFAULT_CAPACITY


def no_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing: for experiments without options of their own."""


_registered: dict[str, Experiment] = {}


def experiment(  # noqa: PLR0913  # all by name, and most experiments leave the last ones out
    name: str,
    *,
    title: str,
    reproduces: str,
    backends: tuple[str, ...],
    configure: Configure,
    sweeps: bool = False,
    heeds: tuple[str, ...] = (),
    ignores: tuple[str, ...] = (),
    order: int = 1000,
    reader: Reader | None = None,
    caveat: str = "",
    unused: tuple[str, ...] = (),
    own_help: Mapping[str, str] | None = None,
) -> Callable[[Runner], Runner]:
    """Register the decorated function as the experiment `name`.

    Raises:
        ValueError: the name is taken.
    """

    def register(run: Runner) -> Runner:
        if name in _registered:
            raise ValueError(f"two experiments are called {name}")
        _registered[name] = Experiment(
            name=name,
            title=title,
            reproduces=reproduces,
            backends=backends,
            configure=configure,
            run=run,
            sweeps=sweeps,
            heeds=heeds,
            ignores=ignores,
            order=order,
            reader=reader,
            caveat=caveat,
            unused=unused,
            own_help=own_help or {},
        )
        return run

    return register


def all_experiments() -> tuple[Experiment, ...]:
    """Return every experiment by its order, then by name."""
    for each in _additions().values():
        try:
            _register(each)
        except InputError as error:
            leave_out(error)
    return tuple(sorted(_registered.values(), key=lambda each: (each.order, each.name)))


def _additions() -> dict[str, Addition]:
    """Return the experiments of installed packages."""
    return additions(EXPERIMENTS, _ours())


def _ours() -> set[str]:
    for module in _MODULES:
        import_module(module)
    return {each.name for each in _registered.values() if each.run.__module__ in _MODULES}


def _register(addition: Addition) -> None:
    """Import the module of an installed package that registers an experiment."""
    addition.load(ModuleType)
    if addition.name not in _registered:
        raise addition.fault("is not registered by its module", "a function with the decorator @experiment")


def find_experiment(name: str) -> Experiment:
    """Return the experiment of this name; raises InputError if there is none, or its package is broken."""
    known = {each.name: each for each in all_experiments()}
    if name not in known and name in _additions():
        _register(_additions()[name])
    if name not in known:
        alike = get_close_matches(name, known, n=len(known))
        named = ", ".join(each for each in known if each in alike[:_MOST_SUGGESTED])
        raise InputError("experiment", name, "is unknown", f"one of {named or 'those'} (see `kuijia list`)")
    return known[name]


def refuse_unheeded(chosen: Experiment, args: argparse.Namespace) -> None:
    """Raise InputError when an option of another experiment was given, as it would have no effect."""
    for configure in dict.fromkeys(each.configure for each in all_experiments()):
        for name, default in defaults_of(configure).items():
            if getattr(args, name) == default:
                continue
            heeding = [each.name for each in all_experiments() if each.configure is configure or name in each.heeds]
            if chosen.name not in heeding:
                option = f"--{name.replace('_', '-')}"
                raise InputError("option", option, f"changes nothing in {chosen.name}", f"one of {', '.join(heeding)}")


def defaults_of(configure: Configure) -> dict[str, object]:
    """Return the options of a family of experiments with their defaults."""
    parser = argparse.ArgumentParser()
    configure(parser)
    return vars(parser.parse_args([]))
