"""Grids and lines of experiments in packets: cases by key run as one sweep, our numbers beside the published ones."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from experiments.experiment import Configure, Experiment, Outcome, Settings, no_options
from experiments.reporting.exhibit_output import write_exhibits, write_tables
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.stored_files import Reader
from kuijia_base.manifest import describe_computation, describe_program, package_versions
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, no_preparation, swept, swept_by_key
from kuijia_base.sweep.workers import workers_from

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Key = TypeVar("Key", bound=Hashable)
Column = TypeVar("Column", bound=Hashable)
Case = TypeVar("Case")
Size = TypeVar("Size")
Shared = TypeVar("Shared")


@dataclass(frozen=True)
class Execution:
    """One execution of an experiment: its name, its settings, and where its files and its progress go.

    Attributes:
        args: options of the command line.
        began: time since the epoch.
    """

    name: str
    settings: Settings
    args: argparse.Namespace
    output: OutputFolder
    progress: Progress
    began: float = field(default_factory=time.time)

    @property
    def backend(self) -> str:
        return self.settings.backend

    @property
    def seed(self) -> int:
        return self.settings.seed

    @property
    def seeds(self) -> range:
        return self.settings.seeds

    def sized(self, quick: Size, default: Size, full: Size | None = None) -> Size:
        """Return what --quick, or --full, takes in place of the default."""
        if full is not None and self.args.full:
            return full
        return quick if self.settings.quick else default

    def swept(
        self, work: Callable[[Case], Any], keyed: Mapping[Key, Sequence[Case]], suffix: str = ""
    ) -> AbstractContextManager[dict[Key, list[Any]]]:
        """Run `work` on the cases of each key; finished ones are kept until the block has written its files.

        Where one experiment has several sweeps, each has a `suffix` of its own.
        """
        return swept_by_key(f"{self.name}{suffix}", keyed, work, workers_from(self.args), self.output, self.progress)

    def swept_cases(
        self,
        work: Callable[[Shared, Case], Any],
        shared: Shared,
        cases: Sequence[Case],
        told: Mapping[str, Any],
        suffix: str = "",
    ) -> AbstractContextManager[list[Any]]:
        """Run `work` on each case, with what is the same for all; `told` decides which finished ones can be kept."""
        sweep = Sweep(f"{self.name}{suffix}", told, shared, no_preparation, work, cases=cases)
        return swept(sweep, workers_from(self.args), self.output, self.progress)

    def computed(self) -> dict[str, Any]:
        """Return the manifest of what was computed until now."""
        return describe_computation(self.began, time.time() - self.began)

    def said(self, manifest: Mapping[str, Any], options: DataclassInstance) -> dict[str, Any]:
        """Return a manifest with the settings, and the options of the experiment."""
        return {**manifest, "settings": asdict(self.settings), "options": asdict(options)}

    def timeless(self) -> dict[str, Any]:
        """Return a manifest without times, for files that depend neither on who made them nor on interruptions."""
        return {**describe_program(), "packages": package_versions(), "settings": asdict(self.settings)}

    def written(self, *exhibits: Exhibit, failures: Iterable[str] = ()) -> Outcome:
        """Write the exhibits and return the outcome; `failures` are measurements that failed, in words."""
        return replace(write_exhibits(self.name, exhibits, self.settings, self.output, failures), seeds=self.seeds)

    def studied(self, data: Mapping[str, object], exhibits: Sequence[Exhibit]) -> Outcome:
        """Write the data of a study with the exhibits that are made of them and return the outcome."""
        outcome = write_tables(self.name, data, exhibits, self.output)
        self.output.write_json(f"{self.name}.json", outcome.summary)
        return replace(outcome, seeds=self.seeds)

    def in_phases(
        self,
        data: Mapping[str, object],
        phases: Sequence[Mapping[str, Any]],
        exhibits: Sequence[Exhibit],
        unbelievable: Iterable[str],
        manifest: Mapping[str, object],
        remarks: Sequence[str] = (),
    ) -> Outcome:
        """Write the data with phases and manifest, the same without manifest as summary, and the tables.

        `unbelievable` are the reasons why phases must not be used.
        """
        failures = tuple(unbelievable)
        passed = not failures and all(exhibit.passed for exhibit in exhibits)
        below = {"remarks": list(remarks)} if remarks else {}
        summary = {**data, "passed": passed, "phases": phases, **below}
        self.output.write_json(f"{self.name}.json", {**summary, "manifest": dict(manifest)})
        self.output.write_json(f"{self.name}-summary.json", summary)
        return write_tables(self.name, summary, exhibits, self.output, failures)

    def show(self, text: str) -> None:
        """Show the present state of the execution."""
        self.progress.show(f"{self.name}: {text}")


@dataclass(frozen=True)
class Offered:
    """An experiment as its module offers it.

    Attributes:
        seeds: number of seeds by default, with --quick and with --full; empty if it is that of all experiments.
        without: options of `kuijia run` that mean nothing in it, without `capacity`.
        has_capacity: True if links have the rate of --capacity.
        capacity: help of --capacity, where links have it in another way than usual.
        repetitions: help of --repetitions, where these are no seeds.
        sweeps: True if it runs cases in several processes.
        reader: makes exhibits of the files that runs leave; None if all of them are exhibits.
    """

    run: Callable[[Execution], Outcome]
    seeds: tuple[int, ...] = ()
    without: tuple[str, ...] = ()
    has_capacity: bool = False
    capacity: str = ""
    full: str = ""
    repetitions: str = ""
    sweeps: bool = True
    configure: Configure = no_options
    reader: Reader | None = None

    def experiment(self, name: str) -> Experiment:
        """Return it as the catalog finds it under this name."""
        repetitions = self.repetitions
        if self.seeds and "repetitions" not in self.without:
            repetitions = self._seeds_in_words()
        said = {"full": self.full, "repetitions": repetitions, "capacity": self.capacity}
        own_help = {name: text for name, text in said.items() if text}

        def run(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
            if self.seeds:
                given = None if "repetitions" in self.without else args.repetitions
                settings = replace(settings, repetitions=given or self._seeds_of(args, quick_run=settings.quick))
            return self.run(Execution(name, settings, args, output, progress))

        without = self.without if self.has_capacity or self.capacity else ("capacity", *self.without)
        return Experiment(run, self.configure, self.sweeps, without, own_help, self.reader)

    def _seeds_of(self, args: argparse.Namespace, *, quick_run: bool) -> int:
        default, quick, full = (*self.seeds, *self.seeds[:1] * 2)[:3]
        return quick if quick_run else full if args.full else default

    def _seeds_in_words(self) -> str:
        default, *others = self.seeds
        said = [f", with --{size} {of}" for size, of in zip(("quick", "full"), others, strict=False) if of != default]
        return f"N seeds (default: {default}{''.join(said)})"


def offered(experiments: Mapping[str, Offered]) -> dict[str, Experiment]:
    """Return the experiments of a module as the catalog finds them."""
    return {name: each.experiment(name) for name, each in experiments.items()}


def lines_of(
    labels: Mapping[Key, str],
    columns: Mapping[Column, float | str] | Sequence[Column],
    ours: Callable[[Key, Column], Iterable[float | None]],
    theirs: Callable[[Key, Column], float | None] | None = None,
) -> tuple[Line, ...]:
    """Return a line for each label, with our runs and the published number at each column.

    Args:
        labels: of the lines, by key.
        columns: numbers or names below which points stand, or these by key.
        ours: returns the numbers of the runs.
        theirs: returns the published number, None if there is none.
    """
    shown = columns.items() if isinstance(columns, Mapping) else [(each, each) for each in columns]
    return tuple(
        Line(
            label,
            tuple(
                Point.of(_place(x), ours(key, column), theirs(key, column) if theirs else None) for column, x in shown
            ),
        )
        for key, label in labels.items()
    )


def _place(x: object) -> float | str:
    assert isinstance(x, float | int | str)
    return x
