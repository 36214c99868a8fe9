"""Measures the authors' matrices on the emulated testbed: a lab for each scheme, one matrix after the other in it."""

from __future__ import annotations

import random
import time
from dataclasses import asdict
from typing import Any, Literal

from experiments.hedera.testbed import MatrixOptions, Span
from experiments.hedera.testbed_lab import HederaLab, hedera_lab
from experiments.hedera.testbed_report import Measured, Results, figure, missed_bars, summary, table_text
from experiments.load import LoadWatch, overload
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Settings
from hedera import events
from hedera.matrices import Matrix, authors_matrix
from testbed.iperf import IperfFlow, IperfRun
from testbed.manifest import describe_run
from testbed.network import NetworkOptions
from testbed.ovs import Datapath

PORTS_OF_SWITCH = 4
BUFFER_PACKETS = 50
"""Of every queue, as in the authors' own reproduction on Mininet."""

_FIRST_SERVER_PORT = 5001
_SOURCE_PORTS = range(20000, 30000)
_INTERVAL = 0.5
_CUBIC: tuple[Literal["tcp"], None, str] = ("tcp", None, "cubic")


def run_testbed(settings: Settings, options: MatrixOptions, output: OutputFolder, progress: Progress) -> Outcome:
    """Measure every matrix under every scheme; write the table as text, JSON and picture."""
    results: Results = {pattern: {} for pattern in options.patterns}
    circumstances: dict[str, Any] = {}
    for scheme in options.schemes:
        began = time.time()
        network = NetworkOptions(buffer_packets=BUFFER_PACKETS)
        with hedera_lab(PORTS_OF_SWITCH, options.nic_rate, scheme, options.period, network, progress.say) as lab:
            for pattern in options.patterns:
                results[pattern][scheme] = [
                    _measure(lab, authors_matrix(pattern), options.span, (settings.seed, repetition))
                    for repetition in range(settings.repetitions)
                ]
                # The whole takes hours: what there is of it is kept if the rest fails.
                output.write_json("hedera-testbed-runs.json", _plain(results))
                last = results[pattern][scheme][-1]
                disturbed = f" ({'; '.join(last.disturbed)})" if last.disturbed else ""
                progress.say(f"{scheme}, {pattern}: {sum(last.goodput):.1f} Mbit/s{disturbed}")
            circumstances[scheme] = describe_run(lab.machine, lab.network, (), began, time.time() - began)
    data = {**summary(results, options, settings.seed), "manifest": circumstances}
    text = table_text(data)
    output.write_json("hedera-testbed.json", data)
    output.write_text("hedera-testbed.txt", f"{text}\n")
    output.write_with("hedera-testbed.png", figure(data).savefig)
    return Outcome(text, data, tuple(missed_bars(data)))


def _plain(results: Results) -> dict[str, Any]:
    return {name: {s: [asdict(each) for each in runs] for s, runs in row.items()} for name, row in results.items()}


def _measure(lab: HederaLab, matrix: Matrix, span: Span, seeds: tuple[int, int]) -> Measured:
    """Send, and once more if the machine was too busy; source ports, by which ECMP hashes, go by the seeds."""
    measured = _send(lab, matrix, span, random.Random(f"{matrix.name} {seeds}"))
    return measured if not measured.disturbed else _send(lab, matrix, span, random.Random(f"{matrix.name} {seeds} 2"))


def _send(lab: HederaLab, matrix: Matrix, span: Span, drawn: random.Random) -> Measured:
    sites = lab.centre.wiring.sites
    pairs = list(zip(matrix.source.tolist(), matrix.target.tolist(), strict=True))
    source_ports = drawn.sample(_SOURCE_PORTS, len(pairs))
    flows = [
        IperfFlow(f"{number}", sites[source].name, sites[target].name, port, _FIRST_SERVER_PORT + number, *_CUBIC)
        for number, ((source, target), port) in enumerate(zip(pairs, source_ports, strict=True))
    ]
    known = len(lab.scheduler.events())
    ovs = lab.network.ovs
    watch = LoadWatch(ovs.switch_pid() if ovs.datapath is Datapath.USERSPACE else None)
    with IperfRun(lab.network, flows, span.seconds, _INTERVAL) as run:
        goodput = run.finish()
        connected = run.connected_at
    means = tuple(goodput[flow.name].mean(connected + span.begin, connected + span.end) for flow in flows)
    moved = sum(event["moved"] for event in lab.scheduler.events()[known:] if event["event"] == events.ROUND)
    return Measured(means, moved, overload(watch.load()))
