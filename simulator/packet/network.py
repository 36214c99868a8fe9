"""Networks of nodes and directed links; each link has queues at its output port."""

from __future__ import annotations

from dataclasses import dataclass, field

from kuijia_base.errors import UnsoundError
from simulator.packet.queues import Fifo, Queueing


@dataclass(frozen=True)
class PacketLink:
    """A directed link: an output port and the wire behind it.

    Attributes:
        source: number of the node that sends.
        target: number of the node that receives.
        rate: Mbit/s, counting everything on the wire.
        delay: seconds.
        queueing: the queues at the output port.
        loss: probability that the link loses a packet.
        input: number of the target's input that the link leads to.
    """

    source: int
    target: int
    rate: float
    delay: float
    queueing: Queueing
    loss: float
    input: int


@dataclass
class Network:
    """Nodes and links, each numbered in the order in which they are added."""

    links: list[PacketLink] = field(default_factory=list)
    outputs: list[list[int]] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    hosts: list[int] = field(default_factory=list)

    def add_host(self) -> int:
        """Add a node at which flows begin and end; return its number."""
        self.hosts.append(self.add_switch())
        return self.hosts[-1]

    def add_switch(self) -> int:
        """Add a switch; return its number."""
        self.outputs.append([])
        self.inputs.append(0)
        return len(self.outputs) - 1

    @property
    def nodes(self) -> int:
        return len(self.outputs)

    def connect(
        self, ends: tuple[int, int], rate: float, delay: float, *, queueing: Queueing | None = None, loss: float = 0.0
    ) -> int:
        """Add a link from one node to another; return its number.

        Args:
            ends: the node that sends and the one that receives.
            rate: Mbit/s.
            delay: seconds.
            queueing: the queues at the output port; by default a queue that never overflows.
            loss: probability that the link loses a packet.
        """
        for node in ends:
            if not 0 <= node < self.nodes:
                raise UnsoundError(("links", len(self.links)), f"there is no node {node}", f"0 to {self.nodes - 1}")
        source, target = ends
        self.outputs[source].append(len(self.links))
        self.links.append(PacketLink(source, target, rate, delay, queueing or Fifo(), loss, self.inputs[target]))
        self.inputs[target] += 1
        return len(self.links) - 1
