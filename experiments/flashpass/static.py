"""Figures 10 and 4 with Tables III and IV: long flows to one receiver, and two flows whose data meets or does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Outcome
from experiments.flashpass.schemes import (
    BURSTS,
    HEADER,
    LABELS,
    NAMES,
    PACED,
    PACED_BY_US,
    PUBLISHED,
    TransportScheme,
    packet_exhibit,
    published_name,
)
from experiments.grid import Execution, Offered, lines_of, offered
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.results.score import SizeBar, limit, order
from kuijia_base.picture_file import legend_below, look, new_figure, write_picture
from simulator.packet.credited import CONTROL, DATA, SHARE, ExpressPass, Finishing, FlashPass
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.portable_random import Draws

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
class StaticRun:
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


def measured(case: StaticRun) -> list[float]:
    """Return the Gbit/s of data on the receiver's link, the % of data packets lost, and the longest queue in KB.

    The first is measured after the start, the others from the first moment.
    """
    count = SENDERS[case.which]
    equal = case.which == "c"
    delays = [RECEIVER_DELAY] * count if equal else (MOST_DELAY * Draws(case.seed, _DELAYS).uniform(count)).tolist()
    scheme = TransportScheme.of(case.scheme)
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
        (scheme, which): [StaticRun(scheme, which, seconds, seed) for seed in execution.seeds]
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


Vector = NDArray[np.float64]


def timeline_figure(curves: Mapping[str, tuple[Vector, Vector]]) -> Figure:
    """Return the packets that wait over milliseconds, a curve for each transport."""
    figure = new_figure(5, 3.4)
    axes = figure.subplots()
    for position, (label, (times, queued)) in enumerate(curves.items()):
        how = look(position)
        axes.plot(1e3 * times, queued, color=how.colour, linestyle=how.dashes, label=label)
    axes.set_xlabel("time (ms)")
    axes.set_ylabel("queue (packets)")
    axes.grid(alpha=0.3)
    legend_below(figure, axes)
    return figure


DURATION = 0.02
"""Seconds that each flow lasts at the rate that data may have."""

LATER = 0.03
"""Seconds from the start of flow 1 to that of flow 2."""

FAR, NEAR = 0.01, 0.0
"""Seconds from a sender to the switch for a round trip of 40 and of 20 ms; the receiver is 10 ms behind it."""

CONTROL_LATER = (0.0, 0.01, 0.02, 0.03)
"""The same for the control with equal round trips."""

STEP, END = 2.5e-4, 0.14
"""Seconds between two readings of the counters, and at the end."""

PHASES = ("credits from", "to", "sends from", "to ", "arrives from", "to  ")

MOST_QUEUED = 6.0
"""Bar: packets that wait at most where round trips are equal."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """Two flows over time.

    Attributes:
        phases: milliseconds of each flow in the order of `PHASES`, shape (2, 6).
        times: seconds of the readings, shape (T,).
        queued: packets that wait for the receiver's link, shape (T,).
        peak: the most that ever waited.
    """

    phases: NDArray[np.float64]
    times: NDArray[np.float64]
    queued: NDArray[np.float64]
    peak: float


def scheme_of(name: str) -> TransportScheme:
    """Return ExpressPass or FlashPass, both at the full rate at once and without credits beyond the demand."""
    if name == "expresspass":
        express = ExpressPass(initial_rate=1.0, counted=True, jitter=0.0, timeout=1.0)
        return TransportScheme(replace(express, smallest_credit=CONTROL, largest_credit=CONTROL), None)
    flash = FlashPass(pace=1.0, jitter=0.0, finishing=Finishing.PASSIVE, least_loss=0.0, most_loss=0.0, timeout=1.0)
    return TransportScheme(flash, None)


def simulate(name: str, seed: int, delays: Sequence[float] = (FAR, NEAR), later: float = LATER) -> Timeline:
    """Return the timeline of two flows to one receiver."""
    scheme = scheme_of(name)
    plain = network_of(delays)
    network = scheme.on(plain)
    size = round(DURATION * RATE * 1e6 / 8 * (1 - SHARE) / DATA) * (DATA - HEADER)
    flows = Flows.of([0, 1], 2, scheme.transport, size=size, start=[0.0, later])
    to_receiver = len(network.links) - 1
    setting = Setting(seed=seed, probed=[to_receiver], probe_every=STEP)
    simulation = Simulation(network, [flows], setting)
    readings = []
    times = np.arange(0, END, STEP)
    for time in times:
        simulation.complete(time)
        arrived = simulation.flow_results().arrived
        credited = simulation.port_counters()["sent_packets"][[1, 3]]
        sent = simulation.flow_results().sent
        readings.append([*credited.tolist(), *sent.tolist(), *arrived.tolist()])
    table = np.array(readings, np.int64).reshape(times.size, 3, 2)
    phases = np.zeros((2, len(PHASES)))
    for flow in (0, 1):
        for kind in range(3):
            first, last = _span(table[:, kind, flow], times)
            # Credits are counted where they leave the switch, a link behind the receiver.
            before = network.links[to_receiver].delay if kind == 0 else 0.0
            phases[flow, 2 * kind : 2 * kind + 2] = 1e3 * (first - before), 1e3 * (last - before)
    at, queued = simulation.probes()
    peak = float(simulation.link_results().queued_peak[to_receiver]) / DATA
    return Timeline(phases, at, queued[:, 0] / DATA, peak)


def _span(counted: NDArray[np.int64], times: NDArray[np.float64]) -> tuple[float, float]:
    """Return when the counter passes 1 % and 99 % of its final value: stragglers do not count."""
    if counted[-1] == 0:
        return float("nan"), float("nan")
    begun = np.flatnonzero(counted > 0.01 * counted[-1])[0]
    ended = np.flatnonzero(counted >= 0.99 * counted[-1])[0]
    return float(times[begun]), float(times[ended])


def run_scheduling(execution: Execution) -> Outcome:
    """Run both transports with different round trips, and ExpressPass with equal ones."""
    found = {name: simulate(name, execution.settings.seed) for name in ("expresspass", "flashpass")}
    control = [simulate("expresspass", execution.settings.seed, (FAR, FAR), later) for later in CONTROL_LATER]
    exhibits = [_times(name, found[name], table) for name, table in (("expresspass", "III"), ("flashpass", "IV"))]
    exhibits.append(_queues(found["expresspass"], found["flashpass"], control))
    lines = {NAMES[name]: (each.times, each.queued) for name, each in found.items()}
    write_picture(execution.output, "flashpass-fig4-queue-over-time.svg", lambda: timeline_figure(lines))
    return execution.written(*exhibits)


def _times(name: str, found: Timeline, table: str) -> Exhibit:
    theirs = PUBLISHED["scheduling"][name]
    lines = []
    for flow, row in enumerate(found.phases.tolist()):
        label = f"flow {flow + 1}"
        points = [Point.of(x, [value], their) for x, value, their in zip(PHASES, row, theirs[label], strict=True)]
        lines.append(Line(label, tuple(points)))
    return packet_exhibit(
        name=f"flashpass-fig4-{name}",
        title=f"{NAMES[name]}: two flows of 20 ms at 10 Gbit/s, round trips of 40 and 20 ms, the second 30 ms later",
        reproduces=f"FlashPass Table {table}",
        axis="phase",
        quantity="milliseconds from the start of flow 1",
        lines=tuple(lines),
        remarks=(
            f"Read every {1e3 * STEP:g} ms; from 1 % to 99 % of a flow's packets.",
            "A flow has what data may send in 20 ms: 94.82 % of 25 MB.",
            "The published times are a model's, without the queue in which data that collides waits.",
        ),
    )


def _queues(express: Timeline, flash: Timeline, control: Sequence[Timeline]) -> Exhibit:
    theirs = PUBLISHED["scheduling"]["queue"]
    equal = max(each.peak for each in control)
    rows = (
        ("ExpressPass, 40 and 20 ms", express.peak, theirs["expresspass"]),
        ("ExpressPass, equal round trips", equal, theirs["same-rtt"]),
        ("FlashPass, 40 and 20 ms", flash.peak, None),
    )
    most = 0.02 * RATE * 1e6 / 8 / DATA  # equation 1 of the paper
    return packet_exhibit(
        name="flashpass-fig4-queue",
        title="longest queue where two flows meet",
        reproduces="FlashPass Figure 4",
        axis="packets",
        quantity="packets of 1538 bytes",
        lines=tuple(Line(label, (Point.of("longest queue", [value], their),)) for label, value, their in rows),
        checks=(
            limit("ExpressPass with equal round trips", equal, high=MOST_QUEUED),
            limit("ExpressPass, 40 and 20 ms: difference of round trips x rate", express.peak, high=most),
            limit("FlashPass", flash.peak, high=MOST_QUEUED),
        ),
        remarks=(
            "Both flows' data comes to the switch from 60 to 80 ms: (2 x 0.9482 - 1) x 25 MB wait in the end.",
            "The paper reports 12.5 MB: half of its own equation 1, and half of the packets of one flow.",
        ),
    )


EXPERIMENTS = offered(
    {
        "flashpass-fig10": Offered(run_static, without=("full",)),
        "flashpass-fig4": Offered(run_scheduling, without=("repetitions", "quick", "full"), sweeps=False),
    }
)
