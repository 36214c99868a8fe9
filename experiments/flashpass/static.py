"""Figure 10: long flows of many senders to one receiver, with different and with equal round trips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.experiment import Outcome
from experiments.flashpass.schemes import BURSTS, LABELS, PACED, PACED_BY_US, PUBLISHED, Scheme, published_name
from experiments.grid import Execution, Offered, lines_of, offered
from experiments.results.bars import limit, order
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.results.score import SizeBar
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

SECONDS, QUICK_SECONDS = 5.0, 1.0
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


def run_static(execution: Execution) -> Outcome:
    """Run Cubic, plain and paced, ExpressPass and FlashPass in all cases; repetitions have other delays and starts."""
    seconds = execution.sized(QUICK_SECONDS, SECONDS)
    keyed = {
        (scheme, which): [Case(scheme, which, seconds, seed) for seed in execution.seeds]
        for scheme in SCHEMES
        for which in CASES
    }

    def table(place: int, name: str, quantity: str) -> Exhibit:
        theirs = PUBLISHED["static"].get(name, {})
        lines = lines_of(
            {scheme: LABELS[scheme] for scheme in SCHEMES},
            {which: f"({which})" for which in CASES},
            lambda scheme, which: [run[place] for run in runs[scheme, which]],
            lambda scheme, which: (
                theirs[published_name(scheme)][list(CASES).index(which)] if published_name(scheme) in theirs else None
            ),
        )
        return Exhibit(
            name=f"flashpass-fig10-{name}",
            title="long flows to one receiver at 10 Gbit/s with 200 KB of buffer",
            reproduces="FlashPass Figure 10",
            backend="packet",
            axis="case",
            quantity=quantity,
            lines=lines,
            published=PUBLISHED["source"] if theirs else None,
            checks=tuple(checks_of(lines, name)),
            remarks=(
                *(f"({which}): {words}." for which, words in CASES.items()),
                f"{seconds:g} simulated seconds; flows start within the first {LATEST_START:g} s.",
                f"Throughput is that after the first {START * seconds:g} s; losses are those of the whole time.",
            ),
        )

    with execution.swept(measured, keyed) as runs:
        return execution.written(
            table(0, "throughput", "throughput of data on the wire (Gbit/s)"),
            table(1, "loss", "loss of data packets (%)"),
            table(2, "queue", "longest queue before the receiver's link (KB)"),
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


_WAVES = "each of 200 flows asks for twice its share at least, and data comes in waves (docs/flashpass.md)"
_CAUSES = {"Cubic": BURSTS, "Cubic, paced": PACED_BY_US, "ExpressPass": _WAVES}
SIZE_BARS = {
    "flashpass-fig10-throughput": SizeBar(causes=_CAUSES),
    "flashpass-fig10-loss": SizeBar(0.2, causes=_CAUSES),  # less is a few packets of a burst
}

EXPERIMENTS = offered({"flashpass-fig10": Offered(run_static, without=("full",))})
