"""Readings of points that the authors of the shuffle leave open, as the packet model can have them; pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from experiments.hedera.packet.options import PacketOptions
from experiments.hedera.shuffle_cases import Order
from experiments.hedera.testbed_cases import ANNEALING, ECMP, NON_BLOCKING, ONE_TREE

SCHEMES = (NON_BLOCKING, ONE_TREE, ECMP, ANNEALING)


@dataclass(frozen=True)
class PacketReading:
    """Choices that the authors leave open, the same for every scheme.

    Attributes:
        at_once: simultaneous transfers of a host.
        order: of a host's receivers.
        options: buffers, delays and TCP.
    """

    at_once: int = 2
    order: Order = "random"
    options: PacketOptions = field(default_factory=PacketOptions)


_SMALL, _LARGE = PacketOptions(buffer=16), PacketOptions(buffer=1000)

READINGS: Mapping[str, PacketReading] = {
    "as in hedera-shuffle": PacketReading(),
    "one transfer at a time": PacketReading(at_once=1),
    "four at a time": PacketReading(at_once=4),
    "all fifteen at a time": PacketReading(at_once=15),
    "one at a time, in turn": PacketReading(at_once=1, order="rotated"),
    "one at a time, same order": PacketReading(at_once=1, order="same"),
    "two at a time, same order": PacketReading(at_once=2, order="same"),
    "four at a time, same order": PacketReading(at_once=4, order="same"),
    "five at a time, same order": PacketReading(at_once=5, order="same"),
    "queues of 16 KB": PacketReading(options=_SMALL),
    "queues of 1 MB": PacketReading(options=_LARGE),
    "fifteen at a time, 16 KB": PacketReading(at_once=15, options=_SMALL),
    "four, same order, 16 KB": PacketReading(at_once=4, order="same", options=_SMALL),
    "round trips of 60 us": PacketReading(options=PacketOptions(delay=5)),
    "round trips of 2.4 ms": PacketReading(options=PacketOptions(delay=200)),
    "one at a time, 2.4 ms, 16 KB": PacketReading(at_once=1, options=PacketOptions(buffer=16, delay=200)),
    "hosts at .6 of their cables": PacketReading(options=PacketOptions(host_part=0.6)),
    "hosts at .4 of their cables": PacketReading(options=PacketOptions(host_part=0.4)),
    "one, same order, hosts at .7": PacketReading(at_once=1, order="same", options=PacketOptions(host_part=0.7)),
    "NewReno": PacketReading(options=PacketOptions(tcp="newreno")),
}
"""Readings by their names in tables."""
