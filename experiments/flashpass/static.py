"""Figure 10: long flows of many senders to one receiver, with different and with equal round trips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.experiment import Outcome, Settings
from experiments.flashpass.published import published
from experiments.flashpass.schemes import LABELS, PACED, Scheme, published_name
from experiments.reporting.exhibit_output import write_exhibits
from experiments.results.bars import limit, order
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.keyed import swept_by_key
from kuijia_base.sweep.workers import Workers
from simulator.packet.credited import DATA
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.portable_random import Draws

RATE = 10_000.0
MOST_DELAY, RECEIVER_DELAY = 0.02, 0.01
LATEST_START = 0.2
START = 0.2
"""Part of the time before throughput is measured: with it, the published 9.5 Gbit/s is more than credits allow."""

SCHEMES = ("cubic", PACED, "expresspass", "flashpass")
CASES = {"a": "20 senders, different delays", "b": "200 senders, different delays", "c": "20 senders, equal delays"}
SENDERS = {"a": 20, "b": 200, "c": 20}

SOME_LOSS = 1e-6
"""Per cent of packets: more than none."""

_DELAYS, _STARTS = range(2)


@dataclass(frozen=True)
class Case:
    """A run: a scheme by name, a case of the figure, simulated seconds."""

    scheme: str
    which: str
    seconds: float
    seed: int


def network_of(delays: Sequence[float]) -> Network:
    """Return senders with these delays to a switch, and a receiver behind it, the last host."""
    network = Network()
    hosts = [network.add_host() for _ in range(len(delays) + 1)]
    switch = network.add_switch()
    for host, delay in zip(hosts, [*delays, RECEIVER_DELAY], strict=True):
        network.connect((host, switch), RATE, delay)
        network.connect((switch, host), RATE, delay)
    return network


def measured(ready: None, case: Case) -> list[float]:
    """Return the Gbit/s of data on the receiver's link, the % of data packets lost, and the longest queue in KB.

    The first is measured after the start, the others from the first moment.
    """
    del ready
    count = SENDERS[case.which]
    equal = case.which == "c"
    delays = [RECEIVER_DELAY] * count if equal else (MOST_DELAY * Draws(case.seed, _DELAYS).uniform(count)).tolist()
    scheme = Scheme.of(case.scheme)
    network = scheme.on(network_of(delays))
    start = LATEST_START * Draws(case.seed, _STARTS).uniform(count)
    flows = Flows.of(range(count), count, scheme.transport, start=start)
    simulation = Simulation(network, [flows], Setting(seed=case.seed))
    from_then_on = START * case.seconds
    simulation.complete(from_then_on)
    before = int(simulation.flow_results().arrived.sum())
    simulation.complete(case.seconds)
    results = simulation.flow_results()
    arrived, dropped = int(results.arrived.sum()), int(results.dropped.sum())
    peak = float(simulation.link_results().queued_peak[-1])
    return [
        8e-9 * DATA * (arrived - before) / (case.seconds - from_then_on),
        100 * dropped / max(arrived + dropped, 1),
        peak / 1000,
    ]


def run_static(
    seconds: float, settings: Settings, workers: Workers, output: OutputFolder, progress: Progress
) -> Outcome:
    """Run Cubic, plain and paced, ExpressPass and FlashPass in all cases; repetitions have other delays and starts."""
    keyed = {
        (scheme, which): [Case(scheme, which, seconds, seed) for seed in settings.seeds]
        for scheme in SCHEMES
        for which in CASES
    }
    with swept_by_key("flashpass-fig10", keyed, measured, workers, output, progress) as runs:
        exhibits = [
            _exhibit(runs, 0, "throughput", "throughput of data on the wire (Gbit/s)", seconds),
            _exhibit(runs, 1, "loss", "loss of data packets (%)", seconds),
            _exhibit(runs, 2, "queue", "longest queue before the receiver's link (KB)", seconds),
        ]
        return write_exhibits("flashpass-fig10", exhibits, settings, output)


def _exhibit(
    runs: Mapping[tuple[str, str], list[list[float]]],
    place: int,
    name: str,
    quantity: str,
    seconds: float,
) -> Exhibit:
    theirs = published()["static"].get(name, {})
    lines = []
    for scheme in SCHEMES:
        of_theirs = theirs.get(published_name(scheme))
        points = [
            Point.of(
                f"({which})",
                [run[place] for run in runs[scheme, which]],
                of_theirs[number] if of_theirs else None,
            )
            for number, which in enumerate(CASES)
        ]
        lines.append(Line(LABELS[scheme], tuple(points)))
    return Exhibit(
        name=f"flashpass-fig10-{name}",
        title="long flows to one receiver at 10 Gbit/s with 200 KB of buffer",
        reproduces="FlashPass Figure 10",
        backend="packet",
        axis="case",
        quantity=quantity,
        lines=tuple(lines),
        published=published()["source"] if theirs else None,
        checks=tuple(checks_of(lines, name)),
        remarks=(
            *(f"({which}): {words}." for which, words in CASES.items()),
            f"{seconds:g} simulated seconds; flows start within the first {LATEST_START:g} s.",
            f"Throughput is that after the first {START * seconds:g} s; losses are those of the whole time.",
        ),
    )


def checks_of(lines: Sequence[Line], name: str) -> list[Check]:
    points = {line.label: line.points for line in lines}
    checks: list[Check] = []
    for place, ours_flash in enumerate(points[LABELS["flashpass"]]):
        where = ours_flash.x
        cubics = {label: points[label][place] for label in (LABELS["cubic"], LABELS[PACED]) if label in points}
        if name == "throughput":
            for label, ours in cubics.items():
                checks.append(order(f"FlashPass / {label} in {where}", _known(ours_flash) / _known(ours), low=1.0))
        if name == "loss":
            ours_express = points[LABELS["expresspass"]][place]
            checks.append(limit(f"FlashPass in {where}", _known(ours_flash), high=0.0))
            for label, ours in cubics.items():
                checks.append(order(f"{label} in {where}", _known(ours), low=SOME_LOSS))
            if where == "(c)":
                checks.append(limit(f"ExpressPass in {where}", _known(ours_express), high=0.0))
            else:
                checks.append(order(f"ExpressPass in {where}", _known(ours_express), low=SOME_LOSS))
    return checks


def _known(point: Point) -> float:
    assert point.value is not None
    return point.value
