"""The runs of a campaign over the authors' matrices, kept in a file from the first run, to resume after a break."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from experiments.hedera.testbed_cases import MatrixOptions
from experiments.hedera.testbed_report import Measured, Results
from kuijia_base.errors import InputError
from kuijia_base.json_document import read_json
from kuijia_base.output_folder import OutputFolder

FILE_NAME = "hedera-testbed-runs.json"


class Record:
    """Results of the campaign so far; every run is written at once.

    Raises:
        InputError: the folder holds another file of this name, or runs measured with other settings.
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
        """Circumstances of the last run of each scheme."""
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
        """Return True if there is a valid run."""
        runs = self._runs.get(pattern, {}).get(scheme, [])
        return repetition < len(runs) and not runs[repetition].disturbed

    def add(self, pattern: str, scheme: str, repetition: int, measured: Measured) -> None:
        """Keep a run, replacing an invalid one."""
        runs = self._runs.setdefault(pattern, {}).setdefault(scheme, [])
        runs[repetition : repetition + 1] = [measured]
        patterns = {
            name: {scheme: [asdict(run) for run in runs] for scheme, runs in by_scheme.items()}
            for name, by_scheme in self._runs.items()
        }
        data = {"settings": self._settings, "manifest": self.manifest, "patterns": patterns}
        self._output.write_json(FILE_NAME, data)

    def results(self, options: MatrixOptions, repetitions: int) -> Results:
        """Return the recorded runs that were asked for."""
        return {
            name: {scheme: self._runs[name][scheme][:repetitions] for scheme in options.schemes}
            for name in options.patterns
        }


def _measured(run: Mapping[str, Any]) -> Measured:
    """Return a run from JSON data; raises a built-in exception when it is none."""
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
