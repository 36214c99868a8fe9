"""Runs the shuffle packet by packet under every scheme."""

from __future__ import annotations

import time
from dataclasses import asdict

from experiments.hedera.packet.options import PacketOptions
from experiments.hedera.packet.shuffle import ShuffleCase, run_shuffle_case, transfers_from
from experiments.hedera.shuffle_cases import ShuffleOptions
from experiments.hedera.shuffle_report import NAME, exhibits, figures, summary
from experiments.registry import Outcome, Settings
from experiments.reporting.exhibit_output import write_study
from experiments.sweep.sweep import Sweep, no_preparation, swept
from experiments.sweep.workers import Workers
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

COUNTS = ("sent", "dropped", "timeouts", "moved", "rounds")


def run_packet_shuffle(
    settings: Settings,
    options: ShuffleOptions,
    packet: PacketOptions,
    workers: Workers,
    output: OutputFolder,
    progress: Progress,
) -> Outcome:
    """Shuffle under every scheme; write figures and all transfers."""
    cases = [
        ShuffleCase(
            scheme, settings.seed, options.size, options.at_once, "random", options.nic_rate, options.period, packet
        )
        for scheme in options.schemes
    ]
    began = time.time()
    asked = {"cases": [asdict(case) for case in cases]}
    sweep = Sweep(f"{NAME}-packet", asked, None, no_preparation, run_shuffle_case, cases)
    with swept(sweep, workers, output, progress) as runs:
        manifest = describe_computation(began, time.time() - began)
        done = {case.scheme: transfers_from(run) for case, run in zip(cases, runs, strict=True)}
        found = {
            case.scheme: {
                **figures(done[case.scheme], options.size),
                **{name: run[name] for name in COUNTS},
                "disturbed": (),
                "manifest": manifest,
            }
            for case, run in zip(cases, runs, strict=True)
        }
        data = {**summary(found, options, settings.seed, settings.backend), "packet": asdict(packet)}
        transfers = {scheme: [asdict(each) for each in of_scheme] for scheme, of_scheme in done.items()}
        output.write_json(f"{NAME}-transfers.json", transfers)
        return write_study(NAME, data, exhibits(data), output)
