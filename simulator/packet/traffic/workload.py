"""Flows of a pattern, with sizes of a distribution, that arrive at a load or all at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kuijia_base.errors import UnsoundError
from simulator.flow_sizes.published import FlowSizes
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.traffic.arrivals import Arrivals, Poisson, arrival_times
from simulator.packet.traffic.load import Load, capacity
from simulator.packet.traffic.patterns import Pairs, Pattern, Random
from simulator.packet.transports import Transport
from simulator.packet.units import LONGEST
from simulator.portable_random import Draws

_PAIRS, _SIZES, _GAPS = range(3)
"""Independent streams of random numbers."""

MOST_FLOWS = 10_000_000


@dataclass(frozen=True)
class Workload:
    """Flows that arrive one after the other, or in groups of the pattern's `together`.

    A seed gives the same flows, in the same order, on any machine, with any transport and queues; another load or other
    arrivals change only their starts.

    Attributes:
        arrivals: the gaps between flows, or between groups of them.
        pattern: the pattern of senders and receivers.
    """

    sizes: FlowSizes
    load: Load
    flows: int
    arrivals: Arrivals = field(default_factory=Poisson)
    pattern: Pattern = field(default_factory=Random)

    def __post_init__(self) -> None:
        if not 1 <= self.flows <= MOST_FLOWS:
            raise UnsoundError(("flows",), f"are {self.flows}", f"1 to {MOST_FLOWS}")

    def rate(self, network: Network, seed: int) -> float:
        """Return the mean flows per second: load times capacity divided by the mean size.

        Raises:
            UnsoundError: the pattern is not possible among these hosts.
            NoPathError: `capacity` finds no path.
        """
        self.pattern.require_hosts(len(network.hosts))
        most = capacity(network, self.pattern, self.load.of, Draws(seed, _PAIRS))
        return self.load.part * most * 1e6 / (8 * self.sizes.mean)

    @property
    def _groups(self) -> int:
        return -(-self.flows // self.pattern.together)

    def pairs(self, network: Network, seed: int) -> Pairs:
        """Draw the pairs of hosts of a seed's flows, in order of their starts."""
        return self.pattern.drawn(len(network.hosts), Draws(seed, _PAIRS), self._groups)[: self.flows]

    def drawn(self, network: Network, transport: Transport, seed: int) -> Flows:
        """Draw the flows of a seed, in order of their starts.

        Raises:
            UnsoundError: the pattern is not possible among these hosts, or the load is so small that flows would begin
                after the longest time.
            NoPathError: `capacity` finds no path.
        """
        together = self.pattern.together
        rate = self.rate(network, seed) / together
        start = arrival_times(self.arrivals, rate, Draws(seed, _GAPS), self._groups)
        if not start[-1] <= LONGEST:
            problem = f"at {self.load.part:g} the last of {self.flows:,} flows begins after {start[-1]:.3g} s"
            raise UnsoundError(("load",), problem, f"{LONGEST:.0f} s or less")
        source, target = np.asarray(network.hosts)[self.pairs(network, seed)].T
        size = self.sizes.sample(Draws(seed, _SIZES), self.flows)
        return Flows.of(source, target, transport, size=size, start=np.repeat(start, together)[: self.flows])


def pairs_at_once(pattern: Pattern, network: Network, seed: int) -> Pairs:
    """Return the pairs of hosts of `flows_at_once`."""
    return pattern.at_once(len(network.hosts), Draws(seed, _PAIRS))


def flows_at_once(pattern: Pattern, sizes: FlowSizes, network: Network, transport: Transport, seed: int) -> Flows:
    """Return one flow for every pair of the pattern, all starting at 0 seconds.

    Raises:
        UnsoundError: the pattern is not possible among these hosts.
    """
    pattern.require_hosts(len(network.hosts))
    pairs = pairs_at_once(pattern, network, seed)
    source, target = np.asarray(network.hosts)[pairs].T
    return Flows.of(source, target, transport, size=sizes.sample(Draws(seed, _SIZES), len(pairs)))
