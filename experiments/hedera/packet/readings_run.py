"""Plays the shuffle packet by packet under every reading."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from experiments.experiment import Outcome, Settings
from experiments.hedera.packet.options import PacketOptions
from experiments.hedera.packet.readings_report import compared, exhibits, published
from experiments.hedera.packet.shuffle import ShuffleCase, run_shuffle_case, transfers_from
from experiments.hedera.shuffle_cases import AUTHORS_BYTES, AUTHORS_RATE, Order
from experiments.hedera.shuffle_report import figures, published_shuffle
from experiments.hedera.testbed_cases import ANNEALING, AUTHORS_PERIOD, ECMP, NON_BLOCKING, ONE_TREE
from experiments.reporting.exhibit_output import write_study
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, no_preparation, swept
from kuijia_base.sweep.workers import Workers

SCHEMES = (NON_BLOCKING, ONE_TREE, ECMP, ANNEALING)


@dataclass(frozen=True)
class PacketReading:
    """Choices that the authors leave open, the same for every scheme.

    Attributes:
        at_once: simultaneous transfers of a host.
        order: of a host's receivers.
        options: buffers, delays and TCP.
    """

    at_once: int = 2
    order: Order = "random"
    options: PacketOptions = field(default_factory=PacketOptions)


_SMALL, _LARGE = PacketOptions(buffer=16), PacketOptions(buffer=1000)

READINGS: Mapping[str, PacketReading] = {
    "as in hedera-shuffle": PacketReading(),
    "one transfer at a time": PacketReading(at_once=1),
    "four at a time": PacketReading(at_once=4),
    "all fifteen at a time": PacketReading(at_once=15),
    "one at a time, in turn": PacketReading(at_once=1, order="rotated"),
    "one at a time, same order": PacketReading(at_once=1, order="same"),
    "two at a time, same order": PacketReading(at_once=2, order="same"),
    "four at a time, same order": PacketReading(at_once=4, order="same"),
    "five at a time, same order": PacketReading(at_once=5, order="same"),
    "queues of 16 KB": PacketReading(options=_SMALL),
    "queues of 1 MB": PacketReading(options=_LARGE),
    "fifteen at a time, 16 KB": PacketReading(at_once=15, options=_SMALL),
    "four, same order, 16 KB": PacketReading(at_once=4, order="same", options=_SMALL),
    "round trips of 60 us": PacketReading(options=PacketOptions(delay=5)),
    "round trips of 2.4 ms": PacketReading(options=PacketOptions(delay=200)),
    "one at a time, 2.4 ms, 16 KB": PacketReading(at_once=1, options=PacketOptions(buffer=16, delay=200)),
    "hosts at .6 of their cables": PacketReading(options=PacketOptions(host_part=0.6)),
    "hosts at .4 of their cables": PacketReading(options=PacketOptions(host_part=0.4)),
    "one, same order, hosts at .7": PacketReading(at_once=1, order="same", options=PacketOptions(host_part=0.7)),
    "NewReno": PacketReading(options=PacketOptions(tcp="newreno")),
}
"""Readings by their names in tables."""


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
