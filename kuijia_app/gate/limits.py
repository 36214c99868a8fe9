"""Limits on the resources that a switch, real or pretended, may use, and on rates; see also `docs/controller.md`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Limits:
    """Times in seconds, sizes in bytes, rates per second.

    A connection is half-open until its switch has named its datapath id. A switch is *unknown* if the application
    does not know its datapath id: it is left alone, connected.

    Attributes:
        half_open: half-open connections of one of the three groups in `Admission`; above it, the oldest from the
            address with the most is dropped. With `accepted_rate` a switch that has never
            come has half a second for its handshake while others come from as many addresses.
        half_open_of_address: the same for one address.
        returns_rate: connections of one known switch from one address; above it they are refused.
        returns_burst: such connections at once.
        returns_remembered: counted pairs of switch and address; above it the pair seen longest ago is forgotten.
        unknown: unknown switches that stay connected; more are refused.
        unknown_of_address: the same for one address.
        unknown_rate: unknown switches that are announced to the application.
        tls_handshake: time for the handshake of TLS.
        handshake: time from there, or from the connection, until the datapath id is known.
        description: time from there until the ports are described.
        greeting_frames: messages before the datapath id is known.
        greeting_length: the longest message before the datapath id is known.
        frames_rate: messages, or parts of long ones, handled for one switch; above it the switch waits. A long one
            counts one more for each `frame_share` bytes, an error as `error_cost`, a port-status as `port_cost`. A
            packet for the controller and an answer to a poll count as `unparsed_cost`, each share as
            `unparsed_share_cost`: most packets are dropped unread, the application reads answers as time permits, and
            the messages behind them shall not wait.
        frames_burst: messages at once.
        frame_share: bytes, see above.
        error_cost: see above.
        port_cost: see above.
        unparsed_cost: see above; at 20,000 small ones a second of one switch others feel nothing, at 60,000 they do.
        unparsed_share_cost: see above.
        dropped_cost: of a packet like the one before it, which was dropped; it takes a microsecond.
        unknown_frames_rate: the same for an unknown switch.
        packets_rate: packets for the controller that are passed on for one switch and cookie; more are dropped.
        packets_burst: such packets at once; a cut waits while they are handled, so that there may not be many.
        port_packets: share of both for the packets of one port, so that a storm there leaves room for other ports.
        turn_frames: messages or parts handled for one switch in one turn.
        turn_frame_time: time for one switch in one turn.
        turn_time: time for all half-open connections before known switches have their turn again.
        turn_accepting: time for accepting connections before known switches have their turn again.
        accepted_rate: connections taken in of each of the three kinds in `Doorway`; more are closed at once.
        accepted_burst: such connections at once.
        origins_remembered: addresses that have come, and addresses from which known switches have been admitted; above
            it the one that came longest ago is forgotten.
        answer_ports: bytes of all parts of one description of ports.
        answer_entries: bytes of all parts of one description of groups or flow entries.
        entry: bytes of one group or flow entry in such a description.
        asked: requests without an answer; above it the oldest is forgotten.
        removals: time between two reports of removed entries of one switch that are passed on.
        unsent: bytes that wait for a switch to read them.
        unread_echoes: bytes of answers to echo requests among them.
        stalled: time in which a switch reads nothing although bytes wait for it.
        silence: time without a sign of life after which another connection may take a switch's datapath id.
        backlog: events that wait for the application; above it no switch is read.
    """

    half_open: int = 1024
    half_open_of_address: int = 256
    returns_rate: float = 1.0
    returns_burst: float = 10.0
    returns_remembered: int = 10_000
    unknown: int = 64
    unknown_of_address: int = 16
    unknown_rate: float = 10.0
    tls_handshake: float = 5.0
    handshake: float = 5.0
    description: float = 10.0
    greeting_frames: int = 16
    greeting_length: int = 2048
    frames_rate: float = 4000.0
    frames_burst: float = 16000.0
    frame_share: int = 256
    error_cost: float = 20.0
    port_cost: float = 4.0
    unparsed_cost: float = 0.2
    unparsed_share_cost: float = 0.05
    dropped_cost: float = 0.02
    unknown_frames_rate: float = 10.0
    packets_rate: float = 200.0
    packets_burst: float = 200.0
    port_packets: float = 0.5
    turn_frames: int = 16
    turn_frame_time: float = 0.002
    turn_time: float = 0.002
    turn_accepting: float = 0.002
    accepted_rate: float = 1000.0
    accepted_burst: float = 500.0
    origins_remembered: int = 10_000
    answer_ports: int = 4 * 2**20
    answer_entries: int = 64 * 2**20
    entry: int = 32 * 1024
    asked: int = 64
    removals: float = 0.1
    unsent: int = 16 * 2**20
    unread_echoes: int = 256 * 1024
    stalled: float = 5.0
    silence: float = 5.0
    backlog: int = 32


LIMITS: Final = Limits()


class Allowance:
    """Allows `rate` a second and `burst` at once; times are in seconds of one clock."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._at = now

    def take(self, now: float, cost: float = 1.0) -> bool:
        """Use one and return True; return False if none is left. A cost above one is paid off afterwards."""
        if not self.has_any(now):
            return False
        self._left -= cost
        return True

    def has_any(self, now: float) -> bool:
        self._left = min(self._left + (now - self._at) * self._rate, self._burst)
        self._at = now
        return self._left >= 1.0
