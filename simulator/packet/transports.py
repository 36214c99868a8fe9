"""Transports of flows: TCP and its settings, credits, packets at a constant rate, packets at given times."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from simulator.packet.credited import ExpressPass, FlashPass


class Congestion(Enum):
    """Congestion control.

    NewReno (RFC 5681, 6582), Cubic (RFC 9438), DCTCP (RFC 8257), Vegas (Brakmo and Peterson, IEEE JSAC 1995), Copa
    (Arun and Balakrishnan, NSDI 2018), BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00).
    """

    NEW_RENO = "newreno"
    CUBIC = "cubic"
    DCTCP = "dctcp"
    VEGAS = "vegas"
    COPA = "copa"
    BBR = "bbr"


@dataclass(frozen=True)
class Tcp:
    """TCP in one direction.

    Attributes:
        congestion: congestion control.
        sack: selective acknowledgements and recovery by them (RFC 2018, 6675); else NewReno's recovery (RFC 6582).
            BBR needs them.
        ecn: True if data is ECN-capable; None for True with DCTCP only.
        handshake: SYN and SYN-ACK precede the data.
        payload: bytes of a full segment.
        header: bytes of all headers on the wire; an acknowledgement without SACK blocks has no more.
        initial_window: segments (RFC 6928).
        receive_window: segments.
        counting_limit: most segments by which an acknowledgement grows the window in slow start (L of RFC 3465).
        grows_from: part of the window that must be in use for it to grow. With 1, only windows that limit the sender
            grow; then a slow start on a long fat path gains little more than `nic_packets` in a round trip, since a
            full card, or a pace, keeps the window from being full. With 0.5 half of it suffices, as in RFC 7661.
        cubic_keeps: share of the window that Cubic keeps after a loss (beta of RFC 9438 section 4.6); 0.8 in the paper
            that introduced it, and in the first versions of Linux.
        cubic_fast_convergence: True if a flow of Cubic that did not regain its old maximum releases more bandwidth;
            RFC 9438 section 4.7 wants it off where a single flow has the network for itself.
        dctcp_gain: weight g of the newest window in the estimate of marked segments (RFC 8257 section 4.2).
        dctcp_least_window: smallest window in segments after a mark: two in Linux, unspecified in RFC 8257. With a
            window below one, a segment is sent when the retransmission timer expires (RFC 3168 section 6.1.2).
        vegas_alpha: Vegas grows while fewer segments of the flow wait in the network.
        vegas_beta: Vegas shrinks while more of them wait.
        vegas_gamma: slow start of Vegas ends when more of them wait.
        vegas_keeps: share of the window that Vegas keeps after a loss; it loses one segment at least.
        vegas_alternates: True if slow start of Vegas grows in every other round trip only.
        copa_delta: delta of Copa's default mode; 1 / delta packets of a flow wait on average.
        copa_competes: True if Copa competes with flows that fill the buffer; it notices these by the delay.
        copa_nearly_empty: share of the swing of the delay up to which the queue counts as nearly empty.
        copa_cautious: True if the velocity doubles in every fourth round trip only, and is halved, not reset, when the
            direction changes.
        copa_paced: True if Copa's segments are spread over half a round trip.
        bbr_window_gain: bandwidth-delay products that BBR has in flight at most (cwnd_gain).
        bbr_round_trip_window: seconds after which BBR measures the least round-trip time again.
        bbr_probe: seconds that this takes at least.
        bbr_probing_gain: share by which BBR sends more for a round trip, then less, when it probes for bandwidth.
        bbr_pacing_margin: share by which BBR paces below its rate, as Linux does.
        bbr_heeds_loss: True if a loss ends BBR's start-up, as in version 2.
        paced: True to spread the segments of other congestion controls over the round trip too, at 1.2 windows per
            smoothed round trip, in slow start 2, as Linux does.
        first_timeout: seconds of the retransmission timeout before the first round-trip sample (RFC 6298).
        min_timeout: smallest retransmission timeout in seconds.
        max_timeout: largest retransmission timeout in seconds, backoff included.
        nic_packets: most packets of the flow in its host's card, as with Linux's TCP small queues; 0 for no limit.
        ack_every: full in-order segments per acknowledgement; 2 with delayed acknowledgements (RFC 5681).
        ack_delay: longest delay of an acknowledgement in seconds.
        prior_acks: True if acknowledgements have level 0, which is served first, not that of their flow.
        resequencing: longest time in seconds that the receiver holds back segments behind a gap, so that reordering
            causes no duplicate acknowledgements; 0 for not at all. What is still missing then is left to TCP.
        resequencing_stays: True if the receiver goes on to wait for what was missing then, as the buffer of Hermes'
            public simulation does: when it comes, for the segment after it, so that all later ones are held back too.
        in_order_hold: with `resequencing`, seconds that it holds back segments in order, to take several at once.
        in_order_packets: so many segments in order are taken at once in any case.
    """

    congestion: Congestion = Congestion.CUBIC
    sack: bool = True
    ecn: bool | None = None
    handshake: bool = False
    payload: int = 1460
    header: int = 40
    initial_window: float = 10
    receive_window: int = 2**31
    counting_limit: float = 2
    grows_from: float = 1.0
    cubic_keeps: float = 0.7
    cubic_fast_convergence: bool = True
    dctcp_gain: float = 1 / 16
    dctcp_least_window: float = 2
    vegas_alpha: float = 2
    vegas_beta: float = 4
    vegas_gamma: float = 1
    vegas_keeps: float = 0.75
    vegas_alternates: bool = True
    copa_delta: float = 0.5
    copa_competes: bool = True
    copa_nearly_empty: float = 0.1
    copa_cautious: bool = False
    copa_paced: bool = True
    bbr_window_gain: float = 2
    bbr_round_trip_window: float = 10.0
    bbr_probe: float = 0.2
    bbr_probing_gain: float = 0.25
    bbr_pacing_margin: float = 0.01
    bbr_heeds_loss: bool = False
    paced: bool = False
    first_timeout: float = 1.0
    min_timeout: float = 0.2
    max_timeout: float = 60.0
    nic_packets: int = 8
    ack_every: int = 1
    ack_delay: float = 0.04
    prior_acks: bool = False
    resequencing: float = 0.0
    resequencing_stays: bool = False
    in_order_hold: float = 0.0
    in_order_packets: int = 100

    @property
    def largest_packet(self) -> int:
        """Bytes on the wire of the largest packet, as of every transport."""
        return self.payload + self.header


@dataclass(frozen=True)
class ConstantRate:
    """UDP at a constant rate, without acknowledgements.

    Attributes:
        rate: Mbit/s on the wire.
        packet: bytes of a packet, headers included.
    """

    rate: float
    packet: int = 1500

    @property
    def largest_packet(self) -> int:
        return self.packet


@dataclass(frozen=True, eq=False)
class Packets:
    """Single packets at given times, without acknowledgements.

    Attributes:
        times: seconds, in order, shape (P,).
        sizes: bytes on the wire, shape (P,).
        ecn: True if the packets are ECN-capable.
    """

    times: NDArray[np.float64]
    sizes: NDArray[np.int64]
    ecn: bool = False

    @property
    def largest_packet(self) -> int:
        return int(self.sizes.max(initial=0))


Transport = Tcp | ConstantRate | Packets | FlashPass | ExpressPass
