"""Plays the shuffle packet by packet under every reading."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from experiments.hedera.packet.reading_cases import READINGS, SCHEMES
from experiments.hedera.packet.readings_report import compared, exhibits, published
from experiments.hedera.packet.shuffle import ShuffleCase, run_shuffle_case, transfers_from
from experiments.hedera.shuffle_cases import AUTHORS_BYTES, AUTHORS_RATE
from experiments.hedera.shuffle_report import figures, published_shuffle
from experiments.hedera.testbed_cases import AUTHORS_PERIOD, NON_BLOCKING
from experiments.registry import Outcome, Settings
from experiments.reporting.exhibit_output import write_study
from experiments.sweep.sweep import Sweep, no_preparation, swept
from experiments.sweep.workers import Workers
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

NAME = "hedera-shuffle-readings"


def run_packet_readings(
    settings: Settings, scale: float, workers: Workers, output: OutputFolder, progress: Progress
) -> Outcome:
    """Run the readings with `scale` of the authors' data and rounds in proportion; write text and JSON."""
    size, period = round(AUTHORS_BYTES * scale), AUTHORS_PERIOD * scale
    keys = [(name, scheme) for name in READINGS for scheme in SCHEMES]
    cases = []
    for name, scheme in keys:
        reading = READINGS[name]
        of_reading = (reading.at_once, reading.order, AUTHORS_RATE, period, reading.options)
        cases.append(ShuffleCase(scheme, settings.seed, size, *of_reading))
    began = time.time()
    asked = {"cases": [asdict(case) for case in cases]}
    sweep = Sweep(f"{NAME}-packet", asked, None, no_preparation, run_shuffle_case, cases)
    with swept(sweep, workers, output, progress) as runs:
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for (name, scheme), run in zip(keys, runs, strict=True):
            counts = {key: each for key, each in run.items() if key != "transfers"}
            found.setdefault(name, {})[scheme] = {**figures(transfers_from(run), size), **counts}
        data = {
            "experiment": NAME,
            "backend": "packet",
            "seed": settings.seed,
            "size": size,
            "period": period,
            "readings": {
                name: {**compared(by_scheme, AUTHORS_RATE), "lost": _lost(by_scheme[NON_BLOCKING])}
                for name, by_scheme in found.items()
            },
            "measured": found,
            "published": published(),
            "source": published_shuffle()["source"],
            "manifest": describe_computation(began, time.time() - began),
        }
        return write_study(NAME, data, exhibits(data), output)


def _lost(counts: dict[str, Any]) -> float:
    return float(counts["dropped"] / counts["sent"])
