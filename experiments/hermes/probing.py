"""Table 6: paths that probes see and the part of an agent's link that they take, counted where they are sent."""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hermes.networks import PACKET, LeafSpineFabric
from experiments.hermes.schemes import PUBLISHED, SIMULATED_HERMES, BalancingScheme, packet_exhibit
from experiments.results.exhibit import Line, Point
from simulator.packet.flows import Flows
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.transports import ConstantRate

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


EXPERIMENTS = offered(
    {
        "hermes-table6": Offered(run_probing, without=("repetitions", "quick", "full"), sweeps=False),
    }
)
