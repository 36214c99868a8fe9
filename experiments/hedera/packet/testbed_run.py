"""Runs the authors' matrices packet by packet, beside the flow model and, if given, an emulation."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.experiment import Outcome, Settings
from experiments.hedera.packet.matrices import MatrixCase, run_case
from experiments.hedera.packet.options import PacketOptions
from experiments.hedera.testbed_cases import NON_BLOCKING, MatrixOptions
from experiments.hedera.testbed_report import NAME, Measured, Results, exhibits, summary
from experiments.reporting.exhibit_output import write_study
from kuijia_base.errors import InputError
from kuijia_base.json_document import read_json
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.reading import reading
from kuijia_base.sweep.sweep import Sweep, no_preparation, swept
from kuijia_base.sweep.workers import Workers

_EXPECTED = "hedera-testbed.json of an emulation of these matrices and schemes"

Parts = dict[str, dict[str, float]]


def run_packets(
    settings: Settings,
    options: MatrixOptions,
    how: tuple[PacketOptions, Path | None],
    workers: Workers,
    output: OutputFolder,
    progress: Progress,
) -> Outcome:
    """Run every matrix under every scheme; `how` has the packet model's options and the file of an emulation."""
    packet, emulation = how
    emulated = None if emulation is None else emulated_parts(emulation, options)
    cases = [
        MatrixCase(pattern, scheme, seed, options.nic_rate, options.period, options.span, packet)
        for pattern in options.patterns
        for scheme in options.schemes
        for seed in settings.seeds
    ]
    began = time.time()
    asked = {"cases": [asdict(case) for case in cases]}
    sweep = Sweep(f"{NAME}-packet", asked, None, no_preparation, run_case, cases)
    with swept(sweep, workers, output, progress) as runs:
        found = list(zip(cases, runs, strict=True))
        beside = {"flow": flow_parts(found), **({} if emulated is None else {"emulation": emulated})}
        data = {
            **summary(results_of(found), options, settings.seed, "packet"),
            "packet": asdict(packet),
            "beside": beside,
            "counts": {
                name: {
                    scheme: sum(run[name] for case, run in found if case.scheme == scheme) for scheme in options.schemes
                }
                for name in ("sent", "dropped", "timeouts", "rounds")
            },
            "manifest": describe_computation(began, time.time() - began),
        }
        return write_study(NAME, data, exhibits(data), output)


def results_of(found: Iterable[tuple[MatrixCase, Mapping[str, Any]]]) -> Results:
    """Return the runs by pattern and scheme, in the order of their seeds."""
    results: Results = {}
    for case, run in found:
        measured = Measured(tuple(run["goodput"]), run["moved"], None, ())
        results.setdefault(case.pattern, {}).setdefault(case.scheme, []).append(measured)
    return results


def flow_parts(found: Iterable[tuple[MatrixCase, Mapping[str, Any]]]) -> Parts:
    """Return the parts that the same runs reach in the flow model, by pattern and scheme."""
    goodput: dict[str, dict[str, list[float]]] = {}
    for case, run in found:
        goodput.setdefault(case.pattern, {}).setdefault(case.scheme, []).append(run["flow"])
    return {
        pattern: {scheme: fmean(each) / fmean(by_scheme[NON_BLOCKING]) for scheme, each in by_scheme.items()}
        for pattern, by_scheme in goodput.items()
    }


def emulated_parts(path: Path, options: MatrixOptions) -> Parts:
    """Return the parts of an emulation by pattern and scheme.

    Raises:
        InputError: the file cannot be read, is none of an emulation, or lacks a matrix or scheme.
    """
    data: Any = read_json(path, "a result file", _EXPECTED)
    with reading(path, _EXPECTED):
        if data["backend"] != "emulation":
            raise InputError(path, "backend", "is not emulation", _EXPECTED)
        parts = {pattern: data["patterns"][pattern]["part"] for pattern in options.patterns}
        return {name: {scheme: float(row[scheme]) for scheme in options.schemes} for name, row in parts.items()}
