"""Transports by credits, FlashPass and ExpressPass with Aeolus, and the queues that they need at every port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

from simulator.packet.network import Network
from simulator.packet.queues import UNLIMITED, Fifo, StrictPriority, Threshold, TokenBucket

CONTROL, DATA = 84, 1538
"""Bytes on the wire of the smallest and the largest Ethernet frame, with preamble and gap."""

SHARE = CONTROL / (CONTROL + DATA)
"""Share of a link for emulation packets or credits: 5.18 %, so that the data of all of them fits into the rest."""

CONTROL_LEVEL, CREDIT_LEVEL, DATA_LEVEL = range(3)
"""Levels that these transports give their packets, whatever the level of the flow."""

_BURST = 2
"""Packets of full token buckets."""


class Finishing(Enum):
    """Emulation when the credits that are expected suffice for all that is left to send.

    `SELECTIVE` goes on with packets that queues drop first, `AGGRESSIVE` with ordinary ones, `PASSIVE` waits.
    """

    SELECTIVE = "selective"
    AGGRESSIVE = "aggressive"
    PASSIVE = "passive"


@dataclass(frozen=True)
class Credited:
    """Parameters of all transports by credits.

    Attributes:
        payload: bytes of a full segment.
        header: bytes that a data packet has besides on the wire.
        control: bytes on the wire of every other packet.
        share: part of a link's rate that emulation packets or credits may take.
        early: data leaves without credits until the first one comes (Hu et al., Aeolus, SIGCOMM 2020); queues drop it
            first.
        early_limit: most segments without credits; 0 for no limit.
        timeout: seconds of silence, or two round trips if this is more, after which the sender probes.
        go_back: after a loss the sender repeats all that it has sent with credits since, as the public code of
            ExpressPass does; otherwise only what is lost.
    """

    payload: int = DATA - 78
    header: int = 78
    control: int = CONTROL
    share: float = SHARE
    early: bool = False
    early_limit: int = 0
    timeout: float = 0.2
    go_back: bool = False

    symmetric: ClassVar[bool] = False
    """True if packets there and back must cross the same switches."""

    @property
    def ports(self) -> Ports:
        """Queues that the transport needs at every port."""
        return Ports(share=self.share)

    @property
    def largest_packet(self) -> int:
        return self.payload + self.header

    @property
    def largest_by_level(self) -> Mapping[int, int]:
        """Bytes of the largest packet of each level."""
        return {CONTROL_LEVEL: self.control, CREDIT_LEVEL: self.control, DATA_LEVEL: self.largest_packet}


@dataclass(frozen=True)
class FlashPass(Credited):
    """FlashPass (Zeng et al., ICNP 2021); with `early` it is the paper's FlashPass*.

    Attributes:
        wait: seconds from an emulation packet to its data, the same for all flows: at least the largest round trip of
            all; None for this with full emulation queues on the way.
        least_loss, most_loss: target loss of emulation packets; outside of it their rate changes, once per round trip.
        pace: the most that a sender emulates, as a part of what queues let through. With all of it one flow keeps a
            queue full, and a flow that crosses several such queues starves.
        jitter: most by which an emulation packet is late, as a part of the mean distance.
        finishing: what follows when the credits that are expected suffice.
        send_buffer: segments that the sender knows of; 0 if it knows the whole flow.
        batch: most credits in a packet; more than one wait at most half of the time that their data has to spare.
        stamp: bytes of each credit in a packet beyond the first.
    """

    wait: float | None = None
    least_loss: float = 0.01
    most_loss: float = 0.1
    pace: float = 0.95
    jitter: float = 1.0
    finishing: Finishing = Finishing.SELECTIVE
    send_buffer: int = 0
    batch: int = 1
    stamp: int = 8

    @property
    def largest_by_level(self) -> Mapping[int, int]:
        return {**super().largest_by_level, CONTROL_LEVEL: self.control + self.stamp * (self.batch - 1)}


@dataclass(frozen=True)
class ExpressPass(Credited):
    """ExpressPass as printed (Cho, Jang and Han, SIGCOMM 2017); with `early` it has Aeolus.

    Attributes:
        smallest_credit, largest_credit: bytes between which the sizes of credits are drawn.
        initial_rate: of credits, as a part of the most that `share` allows (alpha).
        initial_weight, least_weight, most_weight: of the highest rate in a new one (w).
        target_loss: of credits; with `as_code` the largest, at rate 0.
        jitter: largest deviation of the distance between credits, as a part of it.
        as_code: rates as in the authors' code for ns-2 (github.com/kaist-ina/ns2-xpass) instead of Algorithm 1.
        floor: the rate never falls below a credit per round trip, on which the paper is silent; the code has it anyway.
            Without it many flows share a link unfairly, which contradicts the paper's Figure 15.
        scaled_start: segments below which a flow begins with less, in proportion; 0 for none.
        early_stop: the sender ends credits when as many as in the last round trip suffice.
        counted: the receiver sends no more credits than the sender has asked for.
    """

    smallest_credit: int = 76
    largest_credit: int = 92
    initial_rate: float = 1 / 16
    initial_weight: float = 1 / 16
    least_weight: float = 0.01
    most_weight: float = 0.5
    target_loss: float = 0.1
    jitter: float = 0.05
    as_code: bool = False
    floor: bool = True
    scaled_start: int = 0
    early_stop: bool = False
    counted: bool = False

    symmetric: ClassVar[bool] = True

    @property
    def ports(self) -> Ports:
        """Queues of which only those of credits are shaped.

        Those of the paper drop any credit: its fairness "relies on the uniform random dropping of credit packets"
        (section 3.1). Those of the public code drop the credit that comes.
        """
        return replace(EXPRESSPASS_PORTS, share=self.share, uniform=not self.as_code)

    @classmethod
    def of_public_code(cls) -> ExpressPass:
        """Return the defaults of the authors' code."""
        return cls(
            smallest_credit=CONTROL,
            largest_credit=CONTROL,
            initial_rate=0.5,
            initial_weight=0.5,
            target_loss=0.125,
            jitter=0.1,
            timeout=0.1,
            go_back=True,
            as_code=True,
            scaled_start=40,
            early_stop=True,
        )

    @property
    def largest_by_level(self) -> Mapping[int, int]:
        return {**super().largest_by_level, CREDIT_LEVEL: self.largest_credit}


@dataclass(frozen=True)
class Ports:
    """Queues of a port: one that is served first, one for emulation packets or credits, one for data.

    Attributes:
        buffer: bytes of data per Mbit/s of the link; 20 KB per Gbit/s in the paper.
        credits: packets that the second queue holds.
        droppable: packets in a queue above which emulation packets of little use, and data without credits, are lost.
        share: part of the link's rate for the second queue.
        shapes_data: the rest of the rate is the most for data.
        uniform: the second queue, when full, drops any of its packets instead of the one that comes. That one is more
            often a slow sender's: regular packets of a fast one take the places as they become free.
    """

    buffer: float = 20.0
    credits: int = 8
    droppable: int = 2
    share: float = SHARE
    shapes_data: bool = True
    uniform: bool = False

    @property
    def smallest_part(self) -> float:
        """The smallest part of a link's rate that one of its queues is shaped to."""
        return min(self.share, 1 - self.share) if self._shapes_data else self.share

    @property
    def _shapes_data(self) -> bool:
        return self.shapes_data and self.share < 1

    def of(self, rate: float, buffer: int | None = None) -> StrictPriority:
        """Return the queues of a link of this rate, Mbit/s; with `buffer` bytes of data instead of the usual."""
        limit = max(DATA, round(self.buffer * rate)) if buffer is None else buffer
        limited = Fifo(
            self.credits * CONTROL,
            Threshold(self.droppable * CONTROL, drops=True),
            random_drop=self.uniform,
            shaping=TokenBucket(rate * self.share, _BURST * CONTROL),
        )
        shaping = TokenBucket(rate * (1 - self.share), _BURST * DATA) if self._shapes_data else None
        data = Fifo(limit, Threshold(self.droppable * DATA, drops=True), shaping=shaping)
        return StrictPriority([Fifo(UNLIMITED), limited, data])

    def on(self, network: Network, buffer: int | None = None) -> Network:
        """Return the network with these queues at all ports, those of hosts too."""
        kinds = {rate: self.of(rate, buffer) for rate in {link.rate for link in network.links}}
        return replace(network, links=[replace(link, queueing=kinds[link.rate]) for link in network.links])


EXPRESSPASS_PORTS = Ports(shapes_data=False)
"""Ports for ExpressPass by its public code: only credits are shaped, and a full queue drops the one that comes."""
