"""Path selection at senders: how each packet gets one of the shortest paths of its flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
