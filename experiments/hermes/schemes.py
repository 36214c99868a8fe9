"""The load balancers that the paper compares, with their parameters and transports."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.hermes.networks import Fabric
from simulator.packet.load_balancing import LOAD_BALANCERS, Flowlets, LoadBalancer
from simulator.packet.transports import Congestion, Tcp

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

FLOWLET = 150e-6

TRANSPORT = Tcp(Congestion.DCTCP, initial_window=10, first_timeout=TIMEOUT, min_timeout=TIMEOUT)


@dataclass(frozen=True)
class Scheme:
    """A load balancer and the transport of all flows."""

    balancer: LoadBalancer
    transport: Tcp = TRANSPORT

    @classmethod
    def of(cls, name: str, fabric: Fabric) -> Scheme:
        """Return the scheme of this name with the paper's parameters."""
        if name == "letflow":
            return cls(LoadBalancer("LetFlow", Flowlets(FLOWLET)))
        if name == "presto":
            return cls(LOAD_BALANCERS["round-robin"])
        return cls(LOAD_BALANCERS["ecmp"])
