"""Ways to divide packets among paths: forwarding at the switches, or path selection at the senders; their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kuijia_base.errors import UnsoundError
from simulator.packet.path_selection import (
    HERMES_NS3,
    CloveEcn,
    FixedPath,
    FlowBender,
    FlowCells,
    Hermes,
    PathChoice,
    PathsInTurn,
    RandomPaths,
)


@dataclass(frozen=True)
class SourceRouted:
    """Packets follow the path that their sender chose."""


@dataclass(frozen=True)
class SwitchEcmp:
    """Each switch hashes the flow's number to one of the shortest paths, as `Ecmp` does before the run."""


@dataclass(frozen=True)
class Flowlets:
    """After a pause of its flow a packet takes any shortest path, at random (Vanini et al., LetFlow, NSDI 2017).

    Attributes:
        gap: seconds of the pause, seen at each switch.
    """

    gap: float = 1e-4


@dataclass(frozen=True)
class Conga:
    """The first switch sends each flowlet by the uplink whose path is least congested (Alizadeh et al., SIGCOMM 2014).

    Every link between switches measures its load by a discounting rate estimator (DRE): the bytes sent, less a part
    every period. Packets collect the largest load of their links, and the last switch returns it to the first one on
    packets that go the other way. Switches further on choose by hash, as `SwitchEcmp`.

    Attributes:
        gap: seconds of a pause between two flowlets.
        period: seconds between two discounts of a DRE.
        discount: part by which each discount reduces it.
        bits: of a load in packets and tables.
        aging: seconds after which a load without news counts as zero.
    """

    gap: float = 1.5e-4
    period: float = 3e-5
    discount: float = 0.2
    bits: int = 3
    aging: float = 0.01


@dataclass(frozen=True)
class LabelSwitched:
    """Each switch looks the label of a packet, the number of its path, up in a table of its own (as in RFC 3031).

    Tables have the paths of all flows; `Simulation.set_label_table` replaces them. A packet ends where its label is
    unknown, and after 255 switches, as tables may have loops.
    """


@dataclass(frozen=True)
class TableSwitched:
    """Each switch follows flow tables and groups, which `Simulation.set_tables` gives it, in the terms of OpenFlow 1.3.

    A switch without tables forwards by shortest paths. A packet that the tables do not forward ends there, and so does
    one after 255 switches.

    Attributes:
        addresses: IPv4 address of each node, as destination of its packets; 0 for those that are missing.
        out_ports: port of each link at the switch that sends; links that are missing have none.
        in_ports: port of each link at the switch that receives; 0 for those that are missing.
        code_points: DSCP values of packets when they leave their host, by their level; higher levels have the last.
        queues: numbers of the queues of a port, in the order of the levels that serve them.
        other_queue: level for packets with no queue, or an unknown one.
    """

    addresses: Sequence[int] = ()
    out_ports: Sequence[int] = ()
    in_ports: Sequence[int] = ()
    code_points: Sequence[int] = ()
    queues: Sequence[int] = ()
    other_queue: int = 0


Forwarding = SourceRouted | SwitchEcmp | Flowlets | Conga | LabelSwitched | TableSwitched


@dataclass(frozen=True)
class LoadBalancer:
    """The forwarding of all switches and the path selection of all senders.

    Attributes:
        forwarding: choice by switches; those that choose the way themselves ignore the paths of flows.
        choice: choice by senders.
    """

    what: str = "every flow keeps one path, by hash"
    forwarding: Forwarding = field(default_factory=SourceRouted)
    choice: PathChoice = field(default_factory=FixedPath)

    @property
    def several_paths(self) -> bool:
        """True if senders need all shortest paths."""
        return not isinstance(self.choice, FixedPath)

    @property
    def at_switches(self) -> bool:
        """True if switches choose the way of packets."""
        return not isinstance(self.forwarding, SourceRouted | LabelSwitched)

    @property
    def has_flowlets(self) -> bool:
        """True if flows change paths after pauses of a certain length."""
        return isinstance(self.forwarding, Flowlets | Conga)

    def with_gap(self, gap: float) -> LoadBalancer:
        """Return the load balancer with another pause between flowlets, in seconds.

        Raises:
            UnsoundError: it has no flowlets.
        """
        if not isinstance(self.forwarding, Flowlets | Conga):
            raise UnsoundError(("load_balancer",), "has no flowlets", "Flowlets or Conga")
        return replace(self, forwarding=replace(self.forwarding, gap=gap))


LOAD_BALANCERS: Mapping[str, LoadBalancer] = {
    "fixed": LoadBalancer(),
    "ecmp": LoadBalancer("each switch hashes flows by itself", SwitchEcmp()),
    "labels": LoadBalancer("as fixed, by the label tables of the switches", LabelSwitched()),
    "flowlets": LoadBalancer("switches choose at random after a pause of 100 us", Flowlets()),
    "letflow": LoadBalancer("as flowlets, after a pause of 150 us", Flowlets(1.5e-4)),
    "conga": LoadBalancer("the first switch chooses the least congested path after a pause of 150 us", Conga()),
    "round-robin": LoadBalancer("senders take the next path with each packet", choice=FlowCells()),
    "cells": LoadBalancer("senders take the next path every 64 KB", choice=FlowCells(65_536)),
    "random": LoadBalancer("senders take a random path with each packet", choice=RandomPaths()),
    "rps": LoadBalancer("the same as random", choice=RandomPaths()),
    "drb": LoadBalancer("packets between two hosts take paths in turn", choice=PathsInTurn(per_target=True)),
    "presto": LoadBalancer("packets of a flow take paths in turn, by capacity", choice=PathsInTurn(weighted=True)),
    "flowbender": LoadBalancer("marks and timeouts send a flow to a random path", choice=FlowBender()),
    "clove-ecn": LoadBalancer("flowlets take a random path, by weights that marks shrink", choice=CloveEcn()),
    "hermes": LoadBalancer("hosts sense and probe paths, flows move when it is worth it", choice=Hermes()),
    "hermes-ns3": LoadBalancer("as hermes, with the constants of its public simulation", choice=HERMES_NS3),
}
