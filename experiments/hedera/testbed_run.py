"""Measures the authors' matrices on the emulated testbed: a lab for each scheme, one matrix after the other in it."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, Literal

from experiments.experiment import Outcome, Settings
from experiments.hedera.testbed_cases import MatrixOptions, Span
from experiments.hedera.testbed_lab import HederaLab, hedera_lab
from experiments.hedera.testbed_report import NAME, Measured, Results, exhibits, summary
from experiments.reporting.exhibit_output import write_study
from hedera.network.matrices import Matrix, authors_matrix
from hedera.scheduling import events
from kuijia_base.errors import InputError, TestbedError
from kuijia_base.json_document import read_json
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from testbed.lab.manifest import describe_run
from testbed.network.network_options import NetworkOptions
from testbed.traffic.iperf import IperfFlow, IperfRun

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


PORTS_OF_SWITCH = 4
BUFFER_PACKETS = 50
"""Packets of every queue, as in the authors' own reproduction on Mininet."""

_FIRST_SERVER_PORT = 5001
_SOURCE_PORTS = range(20000, 30000)
_INTERVAL = 0.5
_CUBIC: tuple[Literal["tcp"], None, str] = ("tcp", None, "cubic")


def run_testbed(settings: Settings, options: MatrixOptions, output: OutputFolder, progress: Progress) -> Outcome:
    """Measure every matrix under every scheme, except runs already in the folder; write text, JSON and picture."""
    record = Record(output, options, settings.seed)
    for scheme in options.schemes:
        missing = [
            (pattern, repetition)
            for pattern in options.patterns
            for repetition in range(settings.repetitions)
            if not record.has(pattern, scheme, repetition)
        ]
        if missing:
            _measure_scheme(scheme, missing, settings.seed, options, record, progress)
    results = record.results(options, settings.repetitions)
    data = {**summary(results, options, settings.seed), "manifest": record.manifest}
    return write_study(NAME, data, exhibits(data), output)


def _measure_scheme(
    scheme: str,
    missing: Sequence[tuple[str, int]],
    seed: int,
    options: MatrixOptions,
    record: Record,
    progress: Progress,
) -> None:
    """Measure patterns, each with the number of its repetition, in one lab."""
    began = time.time()
    network = NetworkOptions(buffer_packets=BUFFER_PACKETS)
    with hedera_lab(PORTS_OF_SWITCH, options.nic_rate, scheme, options.period, network, progress.say) as lab:
        for pattern, repetition in missing:
            send = partial(_send, lab, authors_matrix(pattern), options.span, (seed, repetition))
            (goodput, moved), load, disturbed = lab.measure(send)
            record.manifest[scheme] = describe_run(lab.machine, lab.network, (), began, time.time() - began)
            record.add(pattern, scheme, repetition, Measured(goodput, moved, load.switch, disturbed))
            told = f" ({'; '.join(disturbed)})" if disturbed else ""
            progress.say(f"{scheme}, {pattern}: {sum(goodput):.1f} Mbit/s{told}")


def _send(
    lab: HederaLab, matrix: Matrix, span: Span, seeds: tuple[int, int], attempt: int
) -> tuple[tuple[float, ...], int]:
    """Return the goodput of each flow, and the number of moves; seeds decide the source ports, which ECMP hashes.

    Raises:
        TestbedError: a flow failed, or connected too late.
    """
    sites = lab.centre.wiring.sites
    pairs = list(zip(matrix.source.tolist(), matrix.target.tolist(), strict=True))
    # The ports of an earlier attempt cannot be bound again at once.
    source_ports = random.Random(f"{matrix.name} {seeds} {attempt}").sample(_SOURCE_PORTS, len(pairs))
    flows = [
        IperfFlow(f"{number}", sites[source].name, sites[target].name, port, _FIRST_SERVER_PORT + number, *_CUBIC)
        for number, ((source, target), port) in enumerate(zip(pairs, source_ports, strict=True))
    ]
    known = len(lab.scheduler.events())
    with IperfRun(lab.network, flows, span.seconds_of(attempt), _INTERVAL) as run:
        goodput = run.finish()
        connected = run.connected_at
    if min(each.intervals[-1].end for each in goodput.values()) < connected + span.end:
        raise TestbedError("the last flow was connected so late that the first one ended too early")
    means = tuple(goodput[flow.name].mean(connected + span.begin, connected + span.end) for flow in flows)
    moved = sum(event["moved"] for event in lab.scheduler.events()[known:] if event["event"] == events.ROUND)
    return means, moved
