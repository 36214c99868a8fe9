"""Runs arriving flows packet by packet under every scheme, beside the flow model."""

from __future__ import annotations

import time
from dataclasses import asdict

from experiments.experiment import Outcome, Settings
from experiments.hedera.packet.arrivals import SCHEMES, ArrivalCase, run_arrivals
from experiments.hedera.packet.arrivals_report import NAME, exhibits
from experiments.reporting.exhibit_output import write_study
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, no_preparation, swept
from kuijia_base.sweep.workers import Workers


def run_packet_arrivals(
    settings: Settings, usual: ArrivalCase, workers: Workers, output: OutputFolder, progress: Progress
) -> Outcome:
    """Run every scheme with the options of `usual`; write figures as text, JSON and picture."""
    cases = [ArrivalCase(**{**vars(usual), "scheme": scheme}) for scheme in SCHEMES]
    began = time.time()
    asked = {"cases": [asdict(case) for case in cases]}
    sweep = Sweep(f"{NAME}-packet", asked, None, no_preparation, run_arrivals, cases)
    with swept(sweep, workers, output, progress) as runs:
        data = {
            "experiment": NAME,
            "backend": settings.backend,
            "hosts": usual.ports**3 // 4,
            "load": usual.load,
            "flow_sizes": usual.flow_sizes,
            "seconds": usual.end,
            "period": usual.period,
            "seed": usual.seed,
            "packet": asdict(usual.options),
            "schemes": {case.scheme: run for case, run in zip(cases, runs, strict=True)},
            "manifest": describe_computation(began, time.time() - began),
        }
        return write_study(NAME, data, exhibits(data), output)
