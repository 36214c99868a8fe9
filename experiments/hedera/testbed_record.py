"""The runs of a campaign over the authors' matrices, kept in a file from the first one on, to go on after a break."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from experiments.hedera.testbed import MatrixOptions
from experiments.hedera.testbed_report import Measured, Results
from experiments.output import OutputFolder
from te_solver.errors import InputError
from te_solver.formats.json_document import read_json

FILE_NAME = "hedera-testbed-runs.json"


class Record:
    """What has been measured; every run is written as soon as it is had.

    Raises:
        InputError: the folder holds a file of this name that is none of ours, or runs measured in another way.
    """

    def __init__(self, output: OutputFolder, options: MatrixOptions, seed: int) -> None:
        self._output = output
        self._settings = {
            "seed": seed,
            "nic_rate": options.nic_rate,
            "period": options.period,
            "span": asdict(options.span),
        }
        self._runs: dict[str, dict[str, list[Measured]]] = {}
        self.manifest: dict[str, Any] = {}
        """Of each scheme, the circumstances of the last run."""
        path = output.path / FILE_NAME
        if not path.exists():
            return
        expected = "one that `kuijia run hedera-testbed` wrote"
        try:
            kept: Any = read_json(path, "runs of hedera-testbed", expected)
            settings, self.manifest = dict(kept["settings"]), dict(kept["manifest"])
            for name, by_scheme in kept["patterns"].items():
                self._runs[name] = {scheme: [_measured(run) for run in runs] for scheme, runs in by_scheme.items()}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(path, "", "is no record of such runs", expected) from error
        for key, value in self._settings.items():
            if settings.get(key) != value:
                problem = f"its runs were measured with {settings.get(key)}"
                raise InputError(path, key, problem, f"{value}, as asked for now, or another folder")

    def has(self, pattern: str, scheme: str, repetition: int) -> bool:
        """Whether there is a run, and one that can be believed."""
        runs = self._runs.get(pattern, {}).get(scheme, [])
        return repetition < len(runs) and not runs[repetition].disturbed

    def add(self, pattern: str, scheme: str, repetition: int, measured: Measured) -> None:
        """Keep a run, in place of one that cannot be believed."""
        runs = self._runs.setdefault(pattern, {}).setdefault(scheme, [])
        runs[repetition : repetition + 1] = [measured]
        patterns = {
            name: {scheme: [asdict(run) for run in runs] for scheme, runs in by_scheme.items()}
            for name, by_scheme in self._runs.items()
        }
        data = {"settings": self._settings, "manifest": self.manifest, "patterns": patterns}
        self._output.write_json(FILE_NAME, data)

    def results(self, options: MatrixOptions, repetitions: int) -> Results:
        """What was asked for of what there is."""
        return {
            name: {scheme: self._runs[name][scheme][:repetitions] for scheme in options.schemes}
            for name in options.patterns
        }


def _measured(run: Mapping[str, Any]) -> Measured:
    """Raises an error of Python's own when it is no run."""
    switch = run["switch"]
    return Measured(
        tuple(map(_positive_or_zero, run["goodput"])),
        int(run["moved"]),
        None if switch is None else _positive_or_zero(switch),
        tuple(map(str, run["disturbed"])),
    )


def _positive_or_zero(value: float) -> float:
    if not 0 <= value < math.inf:
        raise ValueError(value)
    return float(value)
