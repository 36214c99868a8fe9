"""Short flows that meet long ones at one output of an eight-port switch: the papers' toy example and their testbed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from experiments.cqrd.runs import PUBLISHED, SWITCHES, Choices, conditions, packet_exhibit, queueing, transport
from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, lines_of, offered
from experiments.results.exhibit import Exhibit, Line
from experiments.results.result import Check
from experiments.results.score import SizeBar, order, size
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import single_switch
from simulator.packet.transports import Congestion, Tcp
from simulator.portable_random import Draws

PORTS = 8
RATE, DELAY, MEMORY = 10_000.0, 4e-6, 36_000
"""Mbit/s and seconds of the toy example's links, bytes in front of an output."""

TARGET = 7
LONG, SHORT = (5, 6), (0, 1, 2, 3, 4)
LONG_BYTES, SHORT_BYTES = 100_000_000, 10_000
SHORT_START = 5e-3
LATER = 20e-6
"""Seconds from the start of the first long flow to that of the second: a flow already there locks the others out."""

SLOWER = 100.0
_PATIENCE = 10.0

TESTBED_RATE, TESTBED_DELAY, TESTBED_MEMORY = 1_000.0, 50e-6, 1_130_000
"""The same of the testbed: round trips of 200 us at 1 Gbit/s, for which the journal sizes crosspoints."""

WINDOW = 44
"""Segments of a flow in flight at most on the testbed: 64 KB; see docs/cqrd.md."""

NO_LIMIT = 2**31
MOST_GAP = 0.5
"""Seconds between two short flows of a host of the testbed at most."""

_SHORT_STARTS = 0.1
TESTED = ("cqrd", "cq", "oq")


@dataclass(frozen=True)
class Outcomes:
    """Seconds that the short flows take, in order; Gbit/s of the long ones."""

    short: list[float]
    long: list[float]


def simulate(scheme: str, seed: int, later: float = LATER) -> Outcomes:
    """Return the outcome of the toy example; the second long flow begins `later` seconds after the first."""
    tcp = transport(Choices())
    common = conditions(Choices())
    network = single_switch(PORTS, RATE, DELAY, queueing(scheme, MEMORY, PORTS, common), common.at_hosts())
    flows = [
        Flows.of(LONG, TARGET, tcp, size=LONG_BYTES, start=[0.0, later]),
        Flows.of(SHORT, TARGET, tcp, size=SHORT_BYTES, start=SHORT_START),
    ]
    completion = _simulated(network, flows, seed, _PATIENCE).flow_results().completion
    long, short = completion[: len(LONG)], completion[len(LONG) :]
    return Outcomes(short.tolist(), (8e-9 * LONG_BYTES / long).tolist())


def simulate_testbed(scheme: str, seed: int, seconds: float, window: int = WINDOW) -> Outcomes:
    """Simulate two permanent long flows, and short ones from seven hosts after gaps of at most half a second."""
    network = single_switch(PORTS, TESTBED_RATE, TESTBED_DELAY, queueing(scheme, TESTBED_MEMORY, PORTS))
    tcp = Tcp(Congestion.NEW_RENO, handshake=True, receive_window=window)
    source, start = [], []
    for host in range(1, PORTS):
        times = _SHORT_STARTS + np.cumsum(MOST_GAP * Draws(seed, host).uniform(int(4 * seconds / MOST_GAP)))
        start += times[times < seconds].tolist()
        source += [host] * int((times < seconds).sum())
    flows = [Flows.of([1, 2], 0, tcp), Flows.of(source, 0, tcp, size=SHORT_BYTES, start=start)]
    results = _simulated(network, flows, seed, seconds).flow_results()
    completion = results.completion[2:]
    done = completion[np.isfinite(completion)]
    return Outcomes(done.tolist(), (8e-9 * results.goodput[:2] / seconds).tolist())


def _simulated(network: Network, flows: Sequence[Flows], seed: int, seconds: float) -> Simulation:
    simulation = Simulation(network, flows, Setting(seed=seed))
    simulation.complete(seconds)
    return simulation


def run_toy(execution: Execution) -> Outcome:
    """Run every switch with some seeds, with the second long flow later than the first and at the same time."""
    runs = {scheme: [simulate(scheme, seed) for seed in execution.seeds] for scheme in SWITCHES}
    together = {scheme: [simulate(scheme, seed, later=0.0) for seed in execution.seeds] for scheme in SWITCHES}
    theirs = PUBLISHED["toy"]
    mean, at_once = _means(runs), _means(together)
    short = _exhibit(
        "cqrd-toy-short",
        "short flows meet two long ones at an output",
        "flow of 10 KB",
        "completion time (ms)",
        lines_of(
            SWITCHES,
            {flow: f"flow {flow + 1}" for flow in SHORT},
            lambda scheme, flow: [1e3 * run.short[flow] for run in runs[scheme]],
            lambda scheme, _: theirs["short_ms"].get(scheme),
        ),
        checks=(
            order("OQ / CQ, means of short flows", mean["oq"] / mean["cq"], low=SLOWER),
            order("OQ / CQRD", mean["oq"] / mean["cqrd"], low=SLOWER),
            order("OQ / HCF", mean["oq"] / mean["hcf"], low=1.0),
            order("HCF / CQRD", mean["hcf"] / mean["cqrd"], low=1.0),
        ),
        remarks=(
            f"The second long flow begins {LATER * 1e6:.0f} us after the first. Where both begin at once, none has a "
            "stream without gaps that keeps the queue full, and short flows take "
            + ", ".join(f"{at_once[key]:.2f} ms under {name}" for key, name in SWITCHES.items())
            + ". Simulators that serve simultaneous packets always in the same order have such a first flow.",
            "Published numbers are read from a logarithmic axis by eye.",
        ),
    )
    long = _exhibit(
        "cqrd-toy-long",
        "goodput of the two long flows",
        "flow of 100 MB",
        "goodput (Gbit/s)",
        lines_of(
            SWITCHES,
            {place: f"flow {host + 1}" for place, host in enumerate(LONG)},
            lambda scheme, place: [run.long[place] for run in runs[scheme]],
            lambda scheme, place: theirs["long_gbits"].get(scheme, (None, None))[1 - place],
        ),
        checks=tuple(
            size(f"CQRD, long flow {place + 1}", fmean(run.long[place] for run in runs["cqrd"]), 5.0)
            for place in range(len(LONG))
        ),
    )
    return execution.written(short, long)


def run_testbed(execution: Execution) -> Outcome:
    """Run all three switches of the testbed; repetitions use different seeds."""
    seconds = execution.sized(4.0, 20.0)
    theirs = PUBLISHED["testbed"]
    runs = {
        (window, scheme): [simulate_testbed(scheme, seed, seconds, window) for seed in execution.seeds]
        for window in (WINDOW, NO_LIMIT)
        for scheme in TESTED
    }
    limited = {scheme: runs[WINDOW, scheme] for scheme in TESTED}
    means = {key: [float(1e3 * np.mean(run.short)) for run in of] for key, of in runs.items()}
    mean = {scheme: fmean(means[WINDOW, scheme]) for scheme in TESTED}
    switches = {scheme: SWITCHES[scheme] for scheme in TESTED}
    short = _exhibit(
        "cqrd-testbed-short",
        "short flows of seven hosts and two long ones",
        "switch",
        "average completion time (ms)",
        lines_of(
            {WINDOW: "windows of 64 KB", NO_LIMIT: "windows without limit"},
            switches,
            lambda window, scheme: means[window, scheme],
            lambda window, scheme: theirs["short_ms"].get(scheme) if window == WINDOW else None,
        ),
        checks=tuple(
            order(f"CQRD / {SWITCHES[other]}, windows of 64 KB", mean["cqrd"] / mean[other], high=1.0)
            for other in ("oq", "cq")
        ),
        remarks=(
            f"Simulated, not measured: links of {TESTBED_DELAY * 1e6:.0f} us, initial windows of 10 segments.",
            f"{len(limited['oq'][0].short)} short flows in {seconds:g} s (published: about 600 in 20 s).",
            "With windows of 64 KB no crosspoint is ever full, so CQ and CQRD behave alike.",
        ),
    )
    long = _exhibit(
        "cqrd-testbed-long",
        "goodput of the two long flows",
        "flow",
        "goodput (Gbit/s)",
        lines_of(
            switches,
            {flow: f"long {flow}" for flow in range(2)},
            lambda scheme, flow: [run.long[flow] for run in limited[scheme]],
            lambda scheme, flow: theirs["long_gbits"][scheme][flow],
        ),
        checks=(size("CQRD, both together", fmean(sum(run.long) for run in limited["cqrd"]), 0.95),),
    )
    return execution.written(short, long)


def _means(runs: Mapping[str, Sequence[Outcomes]]) -> dict[str, float]:
    return {scheme: fmean(1e3 * value for run in of for value in run.short) for scheme, of in runs.items()}


def _exhibit(
    name: str,
    title: str,
    axis: str,
    quantity: str,
    lines: tuple[Line, ...],
    checks: Iterable[Check],
    remarks: Iterable[str] = (),
) -> Exhibit:
    figure = "Figure 2" if name.startswith("cqrd-toy") else "Figure 16"
    return packet_exhibit(
        name=name,
        title=title,
        reproduces=f"CQRD {figure}",
        axis=axis,
        quantity=quantity,
        lines=lines,
        checks=tuple(checks),
        remarks=tuple(remarks),
    )


SIZE_BARS = {
    "cqrd-toy-*": SizeBar(cause="published values are read by eye from a logarithmic axis"),
    "cqrd-testbed-*": SizeBar(cause="the testbed's delays and hosts' queues are not known"),
}

EXPERIMENTS = offered(
    {
        "cqrd-toy": Offered(run_toy, seeds=(5, 2), without=("repetitions", "full"), sweeps=False),
        "cqrd-testbed": Offered(run_testbed, seeds=(1,), without=("full",), sweeps=False),
    }
)
