"""Ways to divide packets among paths, by name: forwarding at the switches, or path selection at the senders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kuijia_base.errors import UnsoundError


@dataclass(frozen=True)
class FixedPath:
    """All packets of a flow take its path."""


@dataclass(frozen=True)
class FlowCells:
    """The next shortest path in turn after so many bytes on the wire.

    Attributes:
        size: bytes of a cell: 1 for packet by packet (Cao et al., DRB, CoNEXT 2013), 65,536 as in Presto (He et al.,
            SIGCOMM 2015).
    """

    size: int = 1


@dataclass(frozen=True)
class RandomPaths:
    """Any shortest path, at random, for each packet (Dixit et al., INFOCOM 2013)."""


@dataclass(frozen=True)
class PathsInTurn:
    """The next path with each packet, as often as its weight says (DRB and Presto* in Zhang et al., SIGCOMM 2017).

    Attributes:
        weighted: True for weights in proportion to the capacity of paths, without their links at hosts.
        per_target: True if all packets from one host to another take turns, False if those of each flow do.
        in_a_row: packets that take a path before the next one has its turn; with weights, by the heaviest paths, and by
            others in proportion, at least one. Hermes' public simulation has ten under Presto*.
        rates: Mbit/s of each link that weights follow, to study wrong weights; links beyond the last have their own.
    """

    weighted: bool = False
    per_target: bool = False
    in_a_row: int = 1
    rates: Sequence[float] = ()


@dataclass(frozen=True)
class FlowBender:
    """A flow takes a random path when too many of its packets are marked (Kabbani et al., CoNEXT 2014).

    Attributes:
        marked: share T of marked acknowledgements in a round trip; more are too many.
        round_trips: number N of such round trips, one after the other, that move a flow. A timeout always does.
    """

    marked: float = 0.05
    round_trips: int = 1


@dataclass(frozen=True)
class CloveEcn:
    """Flowlets take paths at random, with weights that shrink with ECN marks (Katta et al., CLOVE, HotNets 2016).

    Attributes:
        gap: seconds of the pause between two flowlets.
        kept: share of its weight that a marked path keeps; the others get the rest in equal parts.
        pause: seconds between two reductions of a path's weight at least; half a round trip.
        hashed_answers: True if acknowledgements keep one path by hash, as in the public simulation of Hermes' authors,
            where switches forward them; False if they are flowlets too.
    """

    gap: float = 150e-6
    kept: float = 0.67
    pause: float = 40e-6
    hashed_answers: bool = False


@dataclass(frozen=True)
class Hermes:
    """Paths that hosts sense and probe; flows move when it pays (Zhang et al., SIGCOMM 2017).

    A path, between two racks, is good with few marks and a low delay, congested with many marks and a high one, gray
    otherwise. Thresholds of delays are seconds above the base delay, that of an empty network.

    Attributes:
        marked: T_ECN, share of marked packets of a congested path.
        low: below this (T_RTT_low) the delay is that of a good path.
        high: above this (T_RTT_high) it is that of a congested path.
        one_way: True if the delay is that of the data, which receivers return as in the public simulation, whose
            thresholds these are; False if it is the round-trip time, in which acknowledgements may wait too. An
            acknowledgement with three SACK blocks has no room for it.
        base: seconds of the base delay; 0 for that of the fastest path between the racks, computed from the delays and
            rates of its links.
        better_round_trip: Delta_RTT, seconds by which the delay of another path must be less for a flow to move.
        better_marked: Delta_ECN, the same for the share of marked packets.
        rate: R, share of the rate of its host's card above which a flow does not move.
        sent: S, bytes that a flow has sent on its path before it leaves it, as the public code counts them.
        uses_ecn: False to judge paths by the delay only.
        round_trip_gain: weight of the newest sample in the mean delay of a path.
        marked_gain: weight of the newest share in the mean share of marked packets.
        marked_sample: acknowledgements that make up such a share; an answered probe is one alone.
        rate_period: T_dre, seconds after which rates of flows and paths are discounted (DRE, Alizadeh et al., 2014).
        rate_gain: alpha, the part by which they are.
        rerouting: True if flows move away from congested paths.
        reroute_share: probability that a flow moves when it might.
        reroute_pause: seconds between two such decisions of a flow at least.
        probing: True if one host of each rack sends probes, and shares the answers with the rack.
        shares_data: True if the hosts of a rack share also the delays and marks of their data, and the rates of their
            flows; False if they share only the answers to probes, and losses.
        probe_every: seconds between two rounds of probes.
        probe_paths: paths to each rack that are probed in a round, at random; besides, the best one known is.
        probe_size: bytes of a probe and of its answer.
        probe_level: level of probes; their answers have level 0, which is served first.
        detects_failures: True if paths that lose packets are found, and avoided.
        failure_every: tau, seconds over which retransmissions are counted.
        failure_share: share of retransmitted packets above which a path that is not congested has failed.
        failure_sample: packets in which they are counted at least.
        failure_timeouts: timeouts without an acknowledgement after which a path has failed between two hosts.
        failure_lasts: seconds after which a failed path gets another chance.
        answer_pause: seconds after which acknowledgements of a flow that had paused take another path.
        hashed_answers: True if acknowledgements keep one path by hash, even a failed one, as in the public simulation.
    """

    marked: float = 0.4
    low: float = 20e-6
    high: float = 140e-6
    one_way: bool = True
    base: float = 0.0
    better_round_trip: float = 80e-6
    better_marked: float = 0.05
    rate: float = 0.3
    sent: int = 600_000
    uses_ecn: bool = True
    round_trip_gain: float = 0.5
    marked_gain: float = 0.5
    marked_sample: int = 10
    rate_period: float = 30e-6
    rate_gain: float = 0.2
    rerouting: bool = True
    reroute_share: float = 1.0
    reroute_pause: float = 0.0
    probing: bool = True
    shares_data: bool = False
    probe_every: float = 500e-6
    probe_paths: int = 2
    probe_size: int = 64
    probe_level: int = 1
    detects_failures: bool = True
    failure_every: float = 10e-3
    failure_share: float = 0.01
    failure_sample: int = 100
    failure_timeouts: int = 3
    failure_lasts: float = 100.0
    answer_pause: float = 1e-3
    hashed_answers: bool = False


HERMES_NS3 = Hermes(
    uses_ecn=False,
    better_round_trip=100e-6,
    sent=640_000,
    reroute_share=0.5,
    reroute_pause=100e-6,
    failure_timeouts=1,
    hashed_answers=True,
)
"""Constants of the authors' public ns-3 code."""

PathChoice = FixedPath | FlowCells | RandomPaths | PathsInTurn | FlowBender | CloveEcn | Hermes


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
