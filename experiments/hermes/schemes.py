"""The load balancers that the paper compares, with their parameters and transports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from experiments.hermes.networks import LeafSpineFabric
from experiments.results.exhibit import Exhibit
from experiments.results.published import published_numbers
from simulator.packet.load_balancing import LOAD_BALANCERS, Conga, Flowlets, LoadBalancer
from simulator.packet.path_selection import HERMES_NS3, CloveEcn, Hermes, PathsInTurn
from simulator.packet.transports import Congestion, Tcp

PUBLISHED = published_numbers("hermes")
"""All published numbers; None stands for a value off the figure's scale or missing."""

packet_exhibit = partial(Exhibit, backend="packet", published=PUBLISHED["source"])
"""Returns an exhibit of simulated packets next to published numbers."""

NAMES = {
    "ecmp": "ECMP",
    "presto": "Presto*",
    "letflow": "LetFlow",
    "clove-ecn": "CLOVE-ECN",
    "conga": "CONGA",
    "hermes": "Hermes",
}

TIMEOUT = 0.01
"""Seconds of the first and the smallest retransmission timeout."""

FLOWLET, TESTBED_FLOWLET = 150e-6, 800e-6
"""Seconds of a pause between flowlets, in the simulation and on the testbed."""

TESTBED_CLOVE_PAUSE = 50e-6
"""Seconds between two reductions of a weight of CLOVE-ECN on the testbed: half a round trip."""

RESEQUENCING, PUBLIC_RESEQUENCING = 500e-6, 100e-6
"""Seconds that receivers with a resequencing buffer hold back segments behind a gap, and those of the public code."""

ALL_RESEQUENCING = 200e-6
"""Seconds of the public code's buffer where all receivers have it: those that fit Figure 16 (docs/hermes.md)."""

PUBLIC_TURN = 10
"""Packets that Presto* sends by one path before it takes the next, in the public code."""

ONE_WAY = 40
"""Microseconds of the way from host to host in the empty simulated network, which the paper's thresholds contain."""

SIMULATED_HERMES = Hermes()
TESTBED_HERMES = Hermes(high=200e-6, better_round_trip=120e-6)
"""T_RTT_high is 300 us, 200 above the round trip of an empty network, in which acknowledgements do not wait."""


def is_slow(fabric: LeafSpineFabric) -> bool:
    """Return True for the testbed, whose thresholds are longer."""
    return fabric.rate < 10_000


def hermes_of(fabric: LeafSpineFabric, profile: str) -> Hermes:
    """Return the parameters of Hermes: with the profile `ns3` those of the authors' public simulation."""
    of_paper = TESTBED_HERMES if is_slow(fabric) else SIMULATED_HERMES
    return HERMES_NS3 if profile == "ns3" else of_paper


@dataclass(frozen=True)
class BalancingScheme:
    """A load balancer and the transport of all flows."""

    balancer: LoadBalancer
    transport: Tcp

    @classmethod
    def of(cls, name: str, fabric: LeafSpineFabric, profile: str = "paper") -> BalancingScheme:
        """Return the scheme of this name with the paper's parameters for this network.

        With the profile `ns3`, Hermes has the constants of the authors' public simulation, and Presto* its turns of ten
        packets, its resequencing buffer, and its mistaken weights where it always has the same slow cables. With the
        profile `buffer`, the receivers of all schemes have this buffer, and nothing else is changed.
        """
        slow = is_slow(fabric)
        gap = TESTBED_FLOWLET if slow else FLOWLET
        balancer, transport = LOAD_BALANCERS[name], transport_of(fabric)
        if name == "presto":
            transport = replace(transport, resequencing=RESEQUENCING)
            if profile == "ns3":
                rates = fabric.mistaken_rates() if fabric.slow else ()
                turns = PathsInTurn(weighted=True, rates=rates, in_a_row=PUBLIC_TURN)
                balancer = replace(balancer, choice=turns)
                transport = replace(transport, resequencing=PUBLIC_RESEQUENCING, resequencing_stays=True)
        elif name == "letflow":
            balancer = replace(balancer, forwarding=Flowlets(gap))
        elif name == "conga":
            balancer = _conga(gap)
        elif name == "clove-ecn":
            pause = TESTBED_CLOVE_PAUSE if slow else CloveEcn.pause
            balancer = replace(balancer, choice=CloveEcn(gap, pause=pause))
        elif name == "hermes":
            balancer = replace(balancer, choice=hermes_of(fabric, profile))
        if profile == "buffer":
            transport = replace(transport, resequencing=ALL_RESEQUENCING, resequencing_stays=True)
        return cls(balancer, transport)

    @classmethod
    def conga(cls, gap: float, fabric: LeafSpineFabric, resequencing: float = 0.0) -> BalancingScheme:
        """Return CONGA with this flowlet gap, and receivers that hold back segments for so long, both in seconds."""
        return cls(_conga(gap), replace(transport_of(fabric), resequencing=resequencing))

    @classmethod
    def hermes(cls, choice: Hermes, fabric: LeafSpineFabric) -> BalancingScheme:
        """Return Hermes with these parameters."""
        return cls(replace(LOAD_BALANCERS["hermes"], choice=choice), transport_of(fabric))


def _conga(gap: float) -> LoadBalancer:
    return replace(LOAD_BALANCERS["conga"], forwarding=Conga(gap))


def transport_of(fabric: LeafSpineFabric) -> Tcp:
    """Return the transport of all flows; those of the testbed have connections that are there already."""
    return Tcp(
        Congestion.DCTCP,
        handshake=not is_slow(fabric),
        initial_window=10,
        first_timeout=TIMEOUT,
        min_timeout=TIMEOUT,
    )
