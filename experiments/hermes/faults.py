"""The paper's faults of one spine: silent random drops, and a black hole for some pairs of hosts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from experiments.hermes.networks import Fabric
from simulator.packet.faults import BlackHole, RandomDrop, SwitchFault
from simulator.packet.flows import Flows
from simulator.packet.scenario import Setting
from simulator.portable_random import Draws

Item = TypeVar("Item")

_SPINE, _PAIRS = 102, 103
"""Streams of random numbers, apart from those of the traffic and the network."""


class Fault(ABC):
    """A fault of one spine, which the seed draws."""

    @abstractmethod
    def of(self, fabric: Fabric, seed: int) -> SwitchFault:
        """Return the fault of a switch of this network."""

    def loses_data(self, fabric: Fabric, seed: int, flows: Flows) -> NDArray[np.bool_]:
        """Return True for each flow whose data the spine may lose, not only its acknowledgements."""
        del fabric, seed
        return np.ones(flows.count, dtype=np.bool_)

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
        part: of these packets' pairs of sender and receiver, drawn by the seed.
        wide: packets from this part of the senders to all hosts under other leaves, not of the pairs with hosts under
            the last leaf.
    """

    part: float = 0.5
    wide: bool = False

    def of(self, fabric: Fabric, seed: int) -> BlackHole:
        senders, last = range(fabric.leaf_hosts), range(fabric.hosts - fabric.leaf_hosts, fabric.hosts)
        if self.wide:
            others = range(fabric.leaf_hosts, fabric.hosts)
            pairs = [(one, other) for one in self._chosen(list(senders), seed) for other in others]
        else:
            pairs = self._chosen([(one, other) for one in senders for other in last], seed)
        return BlackHole(_spine(fabric, seed), pairs)

    def loses_data(self, fabric: Fabric, seed: int, flows: Flows) -> NDArray[np.bool_]:
        pairs = set(self.of(fabric, seed).pairs)
        return np.array([pair in pairs for pair in zip(flows.source.tolist(), flows.target.tolist(), strict=True)])

    def _chosen(self, of: list[Item], seed: int) -> list[Item]:
        order = Draws(seed, _PAIRS).shuffled(len(of)).tolist()
        return [of[place] for place in sorted(order[: round(self.part * len(of))])]


def _spine(fabric: Fabric, seed: int) -> int:
    return fabric.spine(int(Draws(seed, _SPINE).whole(fabric.spines, 1)[0]))
