"""The paper's faults of one spine: silent random drops, and a black hole for some pairs of hosts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from simulator.packet.faults import BlackHole, RandomDrop, SwitchFault

from experiments.hermes.networks import Fabric
from simulator.packet.scenario import Setting
from simulator.portable_random import Draws

_SPINE, _PAIRS = 102, 103
"""Streams of random numbers, apart from those of the traffic and the network."""


class Fault(ABC):
    """A fault of one spine, which the seed draws."""

    @abstractmethod
    def of(self, fabric: Fabric, seed: int) -> SwitchFault:
        """Return the fault of a switch of this network."""

    def on(self, setting: Setting, fabric: Fabric) -> Setting:
        """Return the setting with the fault."""
        return replace(setting, faults=(self.of(fabric, setting.seed),))


@dataclass(frozen=True)
class Drops(Fault):
    """Silent drops of a part of all packets."""

    probability: float

    def of(self, fabric: Fabric, seed: int) -> RandomDrop:
        return RandomDrop(_spine(fabric, seed), self.probability)


@dataclass(frozen=True)
class Hole(Fault):
    """A black hole for packets from hosts under the first leaf, data and acknowledgements alike.

    Attributes:
        part: of the pairs of sender and receiver, drawn by the seed.
        wide: receivers under all other leaves, not only under the last one.
    """

    part: float = 0.5
    wide: bool = False

    def of(self, fabric: Fabric, seed: int) -> BlackHole:
        first = fabric.leaf_hosts if self.wide else fabric.hosts - fabric.leaf_hosts
        pairs = [(one, other) for one in range(fabric.leaf_hosts) for other in range(first, fabric.hosts)]
        order = Draws(seed, _PAIRS).shuffled(len(pairs)).tolist()
        chosen = [pairs[place] for place in order[: round(self.part * len(pairs))]]
        return BlackHole(_spine(fabric, seed), tuple(chosen))


def _spine(fabric: Fabric, seed: int) -> int:
    return fabric.spine(int(Draws(seed, _SPINE).whole(fabric.spines, 1)[0]))
