"""Why TCP under rescaling strays from max-min fairness on Gscale (docs/gscale.md): full links delay acknowledgements.

The part of the network that shows it when 7-9 fails at a demand of 1.2: six flows from 2 to 12 and two from 5 to 7
share the full link 5-4; two more share 4-8 with the six. The acknowledgements of the six come back over 10-8, which
the traffic from 9 to 7 fills.
"""

from __future__ import annotations

from statistics import fmean

from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, TokenBucket
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.transports import Tcp

CAPACITY, FAIR = 20.0, 2.5
"""Mbit/s of a link, and of each flow on 5-4 under max-min fairness."""

LONG = ((2.74, 0, 2), (3.91, 0, 2), (2.74, 0, 2), (3.91, 0, 2), (4.75, 0, 2), (4.75, 0, 2))
SHORT = ((5.13, 0, 1), (3.42, 0, 1), (2.85, 1, 2), (2.85, 1, 2))
REVERSE = ((6.79, 2, 1),) * 6
"""Offered Mbit/s, and the ends among three switches in a row."""


def goodput(seed: int, flows: tuple[tuple[float, int, int], ...]) -> list[float]:
    """Return the Mbit/s of each flow on the wire, in 15 seconds after 5."""
    network = Network()
    switches = [network.add_switch() for _ in range(3)]
    for a, b in ((0, 1), (1, 0), (1, 2), (2, 1)):
        queue = Fifo(limit=50 * 1518, random_drop=True)
        network.connect((switches[a], switches[b]), CAPACITY, 0.0002, queueing=queue)
    groups = []
    for number, (offered, a, b) in enumerate(flows):
        source, target = network.add_host(), network.add_host()
        limit = Fifo(limit=100 * 1518, shaping=TokenBucket(offered, round(offered * 1e6 / 8 * 0.1)))
        network.connect((source, switches[a]), 1000, 1e-5, queueing=limit)
        network.connect((switches[b], target), 1000, 1e-5)
        network.connect((target, switches[b]), 1000, 1e-5)
        network.connect((switches[a], source), 1000, 1e-5)
        tcp = Tcp(payload=1448, header=70, ack_every=2)
        groups.append(Flows.of(source, target, tcp, start=0.01 * number))
    simulation = Simulation(network, groups, Setting(seed=seed))
    simulation.run(5.0)
    before = simulation.flow_results().goodput.copy()
    simulation.run(20.0)
    payload = simulation.flow_results().goodput - before
    return [float(each) * 8 / 1e6 / 15 * 1518 / 1448 for each in payload]


def means(flows: tuple[tuple[float, int, int], ...]) -> tuple[float, float]:
    """Return the means of the long flows and of the short ones on the first link, over several seeds."""
    runs = [goodput(seed, flows) for seed in range(1, 5)]
    return fmean(each for run in runs for each in run[:6]), fmean(each for run in runs for each in run[6:8])


def test_a_full_link_on_the_way_of_acknowledgements_costs_tcp_its_fair_share() -> None:
    long, short = means(LONG + SHORT)
    assert abs(long - FAIR) < 0.25  # two full links alone cost little
    assert short < 1.3 * long
    delayed, favoured = means(LONG + SHORT + REVERSE)
    assert delayed < FAIR - 0.3  # measured on switches: 2.1
    assert favoured > 1.6 * delayed  # measured on switches: 3.6
