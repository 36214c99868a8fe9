"""Hermes, section 2: four examples of flowlets, spraying and stale tables; Table 6: what probes see and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count, product
from statistics import fmean

import numpy as np

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hermes.networks import (
    PACKET,
    PUBLISHED,
    SIMULATED_HERMES,
    BalancingScheme,
    LeafSpineFabric,
    packet_exhibit,
)
from experiments.hermes.runs import label_of
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.results.score import order
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import PathsInTurn
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.transports import ConstantRate, Tcp
from simulator.portable_random import Draws

RACKS, SPINES, RACK_HOSTS = 100, 100, 100
RATE = 10_000.0

ROUNDS = 20
SIMULATED_RACKS = 5
"""Racks of the simulation; each of them probes all others alike, so that probes grow in proportion to these."""

_KEEPS_SENDING = ConstantRate(5.0, 128)
"""A packet every 205 us: agents probe as long as hosts send."""


@dataclass(frozen=True)
class Way:
    """A way of probing.

    Attributes:
        paths: probed at random in each round, besides the best one known.
        per_host: True if every host probes every host of other racks, False if agents of racks do.
    """

    paths: int
    per_host: bool


WAYS = {
    "brute force": Way(SPINES - 1, per_host=True),
    "two choices": Way(2, per_host=True),
    "hermes": Way(2, per_host=False),
}
LABELS = {"brute force": "brute force", "two choices": "power of two choices", "hermes": "Hermes"}


def probed(paths: int, seed: int) -> tuple[float, float]:
    """Return the probes from one rack to another in a round, and their bytes, without answers.

    All racks have one host and send to each other. The first rounds, in which no best path is known, do not count.
    Nothing is lost, so every probe has an answer of its size; the simulation counts both.
    """
    fabric = LeafSpineFabric("racks of one host", SIMULATED_RACKS, SPINES, 1, RATE, 1, 10e-6, 65 * PACKET)
    choice = replace(SIMULATED_HERMES, probe_paths=paths)
    scheme = BalancingScheme.hermes(choice, fabric)
    pairs = [(one, other) for one in range(fabric.hosts) for other in range(fabric.hosts) if one != other]
    flows = Flows.of([one for one, _ in pairs], [other for _, other in pairs], _KEEPS_SENDING)
    simulation = Simulation(fabric.network(seed), [flows], Setting(seed=seed, load_balancer=scheme.balancer))
    begins = 2.5 * choice.probe_every
    simulation.complete(begins)
    before = simulation.totals()
    simulation.complete(begins + ROUNDS * choice.probe_every)
    after = simulation.totals()
    rounds = 2 * ROUNDS * len(pairs)
    return (after.probes - before.probes) / rounds, (after.probe_bytes - before.probe_bytes) / rounds


def run_probing(execution: Execution) -> Outcome:
    """Count the probes of all ways, and compute the part of an agent's link that they take."""
    theirs = PUBLISHED["table6"]
    visible, overhead = [], []
    show = execution.progress.patiently()
    for number, (name, way) in enumerate(WAYS.items()):
        show(f"hermes-table6: {LABELS[name]}", number, len(WAYS))
        paths, size = probed(way.paths, execution.settings.seed)
        asked = RACK_HOSTS * (RACKS - 1) if way.per_host else RACKS - 1
        part = 100 * asked * size * 8e-6 / SIMULATED_HERMES.probe_every / RATE
        visible.append(Point.of(LABELS[name], [paths], theirs[name]["visible"]))
        overhead.append(Point.of(LABELS[name], [part], theirs[name]["overhead"]))
    exhibit = packet_exhibit(
        name="hermes-table6",
        title=f"probes among {RACKS * RACK_HOSTS:,} hosts in {RACKS} racks under {SPINES} spines",
        reproduces="Hermes Table 6",
        axis="way of probing",
        quantity="paths, and % of a link of 10 Gbit/s",
        lines=(
            Line("paths probed in a round", tuple(visible)),
            Line("overhead at the host that probes (%)", tuple(overhead)),
        ),
        remarks=(
            f"Probes and their bytes are counted in a simulation of {SIMULATED_RACKS} racks under {SPINES} spines.",
            "They are multiplied by the number of racks, or hosts, that a host probes.",
            "Answers, as many and as large, are left out: with them the overhead is twice as large.",
            "The paper names 100,000 hosts, but its numbers are those of 10,000, 100 in each rack.",
            "Brute force and two choices: every host probes every host of other racks.",
            "Hermes: one host of a rack probes one of every other.",
            "It publishes 'more than 3' paths for two choices and Hermes.",
        ),
        logarithmic=True,
    )
    return execution.written(exhibit)


TWO_LEAVES = LeafSpineFabric("2 leaves", 2, 2, 4, 10_000.0, 1, 10e-6, 65 * PACKET)
THREE_LEAVES = replace(TWO_LEAVES, name="3 leaves", leaves=3, leaf_hosts=2)

LONG = 50_000_000
"""Bytes of the flows of the first example."""

BACK = 5e-3
"""Seconds after which their second path is there."""

UDP = 9_000.0
SECONDS = 0.2
"""Simulated time of the second and third example."""

CELL = 44
"""Segments of a flowcell of Presto: 64 KB."""

PAUSE, PERIOD, BURSTS = 3e-3, 10e-3, 15
"""Seconds of a pause and from one burst to the next where the path is free, and their number."""

_STEP = 50e-6
"""Seconds between two looks whether a burst is over."""

WINDOW = 80
"""Segments of a window that fills the path: with the 80 us of the empty network, 67 do."""

_STARTS = 104


def waiting(name: str, seed: int) -> float:
    """Return the milliseconds until two long flows have ended that begin on one of two paths.

    The other path is down when they begin. It comes back after 5 ms and is as free as the one that the paper's short
    flows leave.
    """
    scheme = BalancingScheme.of(name, TWO_LEAVES)
    starts = 1e-4 * Draws(seed, _STARTS).uniform(2)
    flows = Flows.of(range(2), range(4, 6), scheme.transport, size=LONG, start=starts)
    network = TWO_LEAVES.network(seed)
    ends = {TWO_LEAVES.leaf(0), TWO_LEAVES.spine(1)}
    cable = [number for number, link in enumerate(network.links) if {link.source, link.target} == ends]
    outages = [Outage(link, 0.0, heals=BACK) for link in cable]
    setting = Setting(seed=seed, load_balancer=scheme.balancer, outages=outages)
    simulation = Simulation(network, [flows], setting)
    simulation.complete(2.0)
    return 1e3 * float(simulation.flow_results().finished.max())


def ideal() -> float:
    """Return the milliseconds that both flows would take if one of them moved as soon as the path is back."""
    alone = 8e3 * LONG * PACKET / (Tcp().payload * 1e6 * TWO_LEAVES.rate)
    return alone + 1e3 * BACK / 2


def with_udp(name: str, seed: int) -> float:
    """Return the Gbit/s of a flow from the second leaf to the third.

    The first leaf sends 9 Gbit/s of UDP to the third by its only spine.
    """
    scheme = _by_cells(name, THREE_LEAVES, 1)
    network = replace(THREE_LEAVES, cut=((0, 1),)).network(seed)
    flows = [Flows.of(0, 4, ConstantRate(UDP)), Flows.of(2, 5, scheme.transport)]
    return _goodput(network, flows, scheme, seed)


def mixed_rates(name: str, seed: int) -> float:
    """Return the Gbit/s of a flow that has a path of 1 and one of 10 Gbit/s.

    Presto sends ten cells by the fast path for each by the slow one.
    """
    scheme = _by_cells(name, TWO_LEAVES, 10)
    network = TWO_LEAVES.network(seed)
    slow = {TWO_LEAVES.spine(0)}
    queueing = Fifo(TWO_LEAVES.buffer, Threshold(32_000))
    links = [
        replace(link, rate=1_000.0, queueing=queueing) if slow & {link.source, link.target} else link
        for link in network.links
    ]
    return _goodput(replace(network, links=links), [Flows.of(0, 4, scheme.transport)], scheme, seed)


def stale(name: str, seed: int) -> float:
    """Return the KB that wait at most before the last leaf while one flow pauses again and again.

    The flow that pauses is a chain of flows that begin with a full window, as after a pause that keeps it, each a pause
    after the last one's end. The other one has as large a window and does not pause.
    """
    scheme = BalancingScheme.of(name, THREE_LEAVES)
    network = THREE_LEAVES.network(seed)
    size = int((PERIOD - PAUSE) * 1e6 / 8 * THREE_LEAVES.rate * scheme.transport.payload / PACKET)
    full = replace(scheme.transport, handshake=False, initial_window=WINDOW, receive_window=WINDOW)
    last_leaf = THREE_LEAVES.leaf(2)
    spines = {THREE_LEAVES.spine(place) for place in range(2)}
    probed = [place for place, link in enumerate(network.links) if link.source in spines and link.target == last_leaf]
    setting = Setting(seed=seed, load_balancer=scheme.balancer, probed=probed, probe_every=5e-6)
    simulation = Simulation(network, [Flows.of(2, 5, full)], setting)
    begins = start = 2 * PERIOD
    for _ in range(BURSTS):
        simulation.complete(start - _STEP)
        simulation.add_flows(Flows.of(0, 4, full, size=size, start=start))
        while not np.isfinite(simulation.flow_results().finished[-1]):
            simulation.complete(simulation.now + _STEP)
        start = float(simulation.flow_results().finished[-1]) + PAUSE
    times, queued = simulation.probes()
    return float(queued[times > begins].max()) / 1000


def _by_cells(name: str, fabric: LeafSpineFabric, of_fastest: int) -> BalancingScheme:
    """Return the scheme; Presto's sends so many cells by the fastest path before it takes the next."""
    scheme = BalancingScheme.of(name, fabric)
    if name != "presto":
        return scheme
    turns = PathsInTurn(weighted=True, in_a_row=of_fastest * CELL)
    return replace(scheme, balancer=replace(scheme.balancer, choice=turns))


def _goodput(network: Network, flows: Sequence[Flows], scheme: BalancingScheme, seed: int) -> float:
    """Return the Gbit/s of the last flow in the second half of the time."""
    simulation = Simulation(network, flows, Setting(seed=seed, load_balancer=scheme.balancer))
    simulation.complete(SECONDS / 2)
    before = int(simulation.flow_results().goodput[-1])
    simulation.complete(SECONDS)
    return 8e-9 * (int(simulation.flow_results().goodput[-1]) - before) / (SECONDS / 2)


FLOWLETS = ("ecmp", "letflow", "conga", "hermes")
SPRAYING = ("ecmp", "presto", "conga", "hermes")
STALE = ("conga", "hermes")

EXAMPLES: tuple[tuple[Sequence[str], Callable[[str, int], float]], ...] = (
    (FLOWLETS, waiting),
    (SPRAYING, with_udp),
    (SPRAYING, mixed_rates),
    (STALE, stale),
)
"""Load balancers of each example, and what is measured of one with a seed."""


def run_motivation(execution: Execution) -> Outcome:
    """Run all examples, and show which one runs."""
    chosen = execution.seeds
    theirs = PUBLISHED["motivation"]

    def exhibit(
        number: int, title: str, quantity: str, runs: dict[str, list[float]], checks: list[Check], known: float | None
    ) -> Exhibit:
        of = "conga" if number == 4 else "presto"
        return Exhibit(
            name=f"hermes-motivation-{number}",
            title=title,
            reproduces=f"Hermes Example {number}",
            backend="packet",
            axis="load balancer",
            quantity=quantity,
            lines=(
                Line(
                    "mean of all seeds",
                    tuple(
                        Point.of(label_of(name), values, known if name == of else None) for name, values in runs.items()
                    ),
                ),
            ),
            published=PUBLISHED["source"] if known is not None else None,
            checks=tuple(checks),
            remarks=(f"{len(chosen)} seeds; the spread is that of single runs.",),
        )

    show, total = execution.progress.patiently(), len(chosen) * sum(len(names) for names, _ in EXAMPLES)
    done = count()

    def measured(number: int) -> dict[str, list[float]]:
        names, measure = EXAMPLES[number - 1]
        found: dict[str, list[float]] = {name: [] for name in names}
        for name, seed in product(names, chosen):
            before = next(done)
            show(f"hermes-motivation: example {number}, {before:,} of {total:,} runs", before, total)
            found[name].append(measure(name, seed))
        return found

    first, second, third, fourth = map(measured, range(1, len(EXAMPLES) + 1))
    mean = {name: fmean(values) for name, values in first.items()}
    exhibits = [
        exhibit(
            1,
            "two flows that share a path when another becomes free",
            "completion time of both (ms)",
            first,
            [order("CONGA / ideal", mean["conga"] / ideal(), low=1.05)],
            None,
        ),
        exhibit(
            2,
            "a flow over two spines, one of which carries 9 Gbit/s of others",
            "goodput (Gbit/s)",
            second,
            [],
            theirs["cut link"],
        ),
        exhibit(
            3,
            "a flow over paths of 1 and 10 Gbit/s",
            "goodput (Gbit/s)",
            third,
            [],
            theirs["mixed rates"],
        ),
        exhibit(
            4,
            "a flow that pauses for 3 ms joins another on its path",
            "longest queue before the last leaf (KB)",
            fourth,
            [],
            theirs["stale queue"],
        ),
    ]
    return execution.written(*exhibits)


EXPERIMENTS = offered(
    {
        "hermes-motivation": Offered(run_motivation, (10, 2, 50), full="50 seeds (default: 10)", sweeps=False),
        "hermes-table6": Offered(run_probing, without=("repetitions", "quick", "full"), sweeps=False),
    }
)
