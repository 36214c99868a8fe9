"""Nodes and the directed links between them, each with the queues in front of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.packet.queues import Fifo, Queueing
from te_solver.errors import UnsoundError


@dataclass(frozen=True)
class Link:
    """The way from one node to another: an output port and the wire behind it.

    Attributes:
        source: number of the node that sends.
        target: number of the node that receives.
        rate: Mbit/s, of everything on the wire.
        delay: seconds.
        queueing: what waits for it, and how.
        loss: probability with which it loses a packet that has reached it.
        input: which of the target's inputs it is.
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
    """Nodes are numbered in the order in which they are added, links likewise."""

    links: list[Link] = field(default_factory=list)
    outputs: list[list[int]] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    hosts: list[int] = field(default_factory=list)

    def add_host(self) -> int:
        """The number of a new node at which flows begin and end."""
        self.hosts.append(self.add_switch())
        return self.hosts[-1]

    def add_switch(self) -> int:
        """The number of a new node."""
        self.outputs.append([])
        self.inputs.append(0)
        return len(self.outputs) - 1

    @property
    def nodes(self) -> int:
        return len(self.outputs)

    def connect(
        self, ends: tuple[int, int], rate: float, delay: float, *, queueing: Queueing | None = None, loss: float = 0.0
    ) -> int:
        """A link from one node to another; its number.

        Args:
            ends: the node that sends and the one that receives.
            rate: Mbit/s.
            delay: seconds.
            queueing: what waits for it, and how; without it a queue that nothing overflows.
            loss: probability with which it loses a packet.
        """
        for node in ends:
            if not 0 <= node < self.nodes:
                raise UnsoundError(("links", len(self.links)), f"there is no node {node}", f"0 to {self.nodes - 1}")
        source, target = ends
        self.outputs[source].append(len(self.links))
        self.links.append(Link(source, target, rate, delay, queueing or Fifo(), loss, self.inputs[target]))
        self.inputs[target] += 1
        return len(self.links) - 1
