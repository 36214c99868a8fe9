"""One connection to the gate: cuts and counts its messages, and watches its signs of life."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from kuijia_app.gate import elements
from kuijia_app.gate.answers import Answers
from kuijia_app.gate.frames import (
    HEADER,
    LONGEST,
    UNUSED,
    VERSION,
    Frame,
    Kind,
    MalformedError,
    RefusedError,
    Splitter,
    message,
)
from kuijia_app.gate.limits import LIMITS, Allowance, Limits
from kuijia_app.gate.wire import Wire

if TYPE_CHECKING:
    from kuijia_app.gate.application import GatedDatapath

HELLO: Final = message(Kind.HELLO, 1)
"""Our first message; without a bitmap it offers OpenFlow 1.3 alone."""

_FEATURES_REQUEST: Final = message(Kind.FEATURES_REQUEST, 2)

_HELLO_FAILED: Final = struct.pack("!HH", 0, 0)
"""Type and code of the error that versions are incompatible (OpenFlow 1.3.5, 7.5.4.1)."""

_WITHOUT_VERSION: Final = frozenset({Kind.HELLO, Kind.ERROR})
"""Messages that may carry another version, as they are sent before one is agreed on."""


class Greeting:
    """Takes the messages of one connection until it knows the datapath id.

    Attributes:
        reply: bytes for the switch, also when a message is refused; the sender empties it.
        datapath_id: the id in the switch's features reply, None before it.
    """

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.reply = bytearray(HELLO)
        self.datapath_id: int | None = None
        self._left = limits.greeting_frames
        self._agreed = False

    def take(self, frame: Frame) -> None:
        """Handle one message.

        Raises:
            RefusedError: the switch breaks the protocol, does not speak OpenFlow 1.3 or sends too much.
        """
        if not self._left:
            raise RefusedError("too many messages before its features")
        self._left -= 1
        if frame.version != VERSION and frame.kind not in _WITHOUT_VERSION:
            raise MalformedError("a message of another version than OpenFlow 1.3", frame.data)
        if frame.kind == Kind.ERROR:
            elements.check(frame)
            raise RefusedError("it answered with an error before its features")
        if frame.kind == Kind.HELLO and not self._agreed:
            self._agree(frame)
        elif not self._agreed:
            raise MalformedError("another message in place of a hello", frame.data)
        elif frame.kind == Kind.ECHO_REQUEST:
            self.reply += message(Kind.ECHO_REPLY, frame.xid, frame.data[HEADER.size :])
        elif frame.kind == Kind.FEATURES_REPLY:
            elements.check(frame)
            (self.datapath_id,) = struct.unpack_from("!Q", frame.data, HEADER.size)
        elif frame.kind not in (Kind.ECHO_REPLY, Kind.PORT_STATUS):
            raise MalformedError("an unexpected message before its features", frame.data)

    def _agree(self, frame: Frame) -> None:
        versions = elements.hello_versions(frame)
        if frame.version >= VERSION if versions is None else versions >> VERSION & 1:
            self._agreed = True
            self.reply += _FEATURES_REQUEST
        else:
            self.reply += message(Kind.ERROR, frame.xid, _HELLO_FAILED + b"only OpenFlow 1.3 is spoken here")
            offered = [f"1.{number - 1}" for number in _numbers(frame.version, versions)]
            raise RefusedError("it does not speak OpenFlow 1.3", f"it offers {', '.join(offered) or 'no version'}")


def _numbers(highest: int, bitmap: int | None) -> list[int]:
    """Return the numbers of the versions that a hello offers: all up to its own without a bitmap."""
    return [each for each in range(1, 32) if (each <= highest if bitmap is None else bitmap >> each & 1)]


_MOST_PORTS: Final = 1000
"""Ports whose packets for the controller are counted."""

_ALL: Final = -1

_CHECKED: Final = frozenset({Kind.ERROR, Kind.PORT_STATUS, Kind.BARRIER_REPLY, Kind.ROLE_REPLY})
_DROPPED: Final = UNUSED | {Kind.HELLO, Kind.FEATURES_REPLY}


class Peer:
    """The other side of one connection.

    Attributes:
        greeting: handles messages until the datapath id is known.
        datapath: the switch from then on.
        is_unknown: True if the application does not know the switch.
        is_leaving: True if it has been refused, and has a moment to read the reason.
        rival: another connection that claims the same datapath id, and waits.
        claim: the features reply of a rival.
        rivals_refused: number of refused rivals.
        heard_at: time of the last bytes from it, in seconds.
        named_at: time when it named its datapath id.
        is_greeted: True once our hello has been sent.
        is_paused: True while nothing is read: it has sent more than it may, or waits as a rival.
    """

    def __init__(self, wire: Wire, address: tuple[Any, ...], now: float, limits: Limits = LIMITS) -> None:
        self.wire = wire
        self.address = address
        self.host = str(address[0])
        self.greeting: Greeting | None = Greeting(limits)
        self.answers = Answers(limits)
        self.datapath: GatedDatapath | None = None
        self.is_unknown = False
        self.is_leaving = False
        self.rival: Peer | None = None
        self.claim: Frame | None = None
        self.rivals_refused = 0
        self.heard_at = now
        self.named_at = now
        self.is_paused = False
        self.is_greeted = False
        self._limits = limits
        self._splitter = Splitter(limits.greeting_length)
        self._parts: Iterator[Frame] = iter(())
        self._has_parts = False
        self._allowance = Allowance(limits.frames_rate, limits.frames_burst, now)
        self._costs: dict[int, float] = {
            Kind.ERROR: limits.error_cost,
            Kind.PORT_STATUS: limits.port_cost,
        }
        self._packets: dict[int, dict[int | None, Allowance]] = {}
        self._unread_echoes = 0
        self._echo_ids = count(1)
        self._echoes: dict[int, float] = {}
        self._next_echo = now
        self._next_removal = now

    @property
    def is_known(self) -> bool:
        """True if it is a switch that the application knows."""
        return self.datapath is not None and not self.is_unknown

    @property
    def has_frame(self) -> bool:
        """True if a message is already there."""
        return self._has_parts or self._splitter.has_frame

    def fed(self, data: bytes, now: float) -> None:
        """Add bytes that came from it."""
        self.heard_at = now
        self._splitter.feed(data)

    def named(self, datapath: GatedDatapath, now: float, *, is_unknown: bool) -> None:
        """End the greeting, as the datapath id is known."""
        self.datapath = datapath
        self.is_unknown = is_unknown
        self.greeting = None
        self.claim = None
        self.named_at = self._next_echo = now
        self._splitter.longest = LONGEST
        if is_unknown:
            self._costs = {}  # its messages make no work: they are dropped
            rate = self._limits.unknown_frames_rate
            self._allowance = Allowance(rate, 2 * rate, now)

    def may_speak(self, now: float) -> bool:
        return self._allowance.has_any(now)

    def take(self, now: float) -> Frame | None:
        """Return the next message and count it, or None; a long answer comes in short messages."""
        part = next(self._parts, None)
        if part is None:
            self._has_parts = False
            part = self._splitter.take()
        if part is not None:
            self._allowance.take(now, self._cost(part))
        return part

    def _cost(self, frame: Frame) -> float:
        shares = len(frame.data) // self._limits.frame_share
        is_of_poll = frame.kind == Kind.MULTIPART_REPLY and self.answers.is_of_poll(frame)
        if not self.is_unknown and (frame.kind == Kind.PACKET_IN or is_of_poll):
            return self._limits.unparsed_cost + shares * self._limits.unparsed_share_cost
        return self._costs.get(frame.kind, 1.0) + shares

    def packet(self, frame: Frame, cookies: Collection[int], now: float) -> elements.PacketIn | None:
        """Return the packet of a packet-in, if an entry with one of these cookies has sent it, and it is not too many.

        Each cookie has an allowance of its own: hosts cannot keep probes away. So has each port of it, up to a share.

        Raises:
            MalformedError: a length in it is wrong.
        """
        if not cookies or self.is_unknown:
            return None
        cookie = elements.packet_cookie(frame)
        if cookie not in cookies:
            return None
        found = elements.packet_in(frame)
        limits, ports = self._limits, self._packets.setdefault(cookie, {})
        if len(ports) > _MOST_PORTS:  # it may name any number of them, one after the other
            ports.pop(next(port for port in ports if port != _ALL))
        for place, share in ((found.in_port, limits.port_packets), (_ALL, 1.0)):
            if place not in ports:
                ports[place] = Allowance(share * limits.packets_rate, share * limits.packets_burst, now)
        return found if ports[found.in_port].take(now) and ports[_ALL].take(now) else None

    def drop_alike(self, packet: Frame, now: float) -> None:
        """Drop the packets behind one that was dropped that come from the same entry and port: a storm is read fast."""
        if not self.is_unknown:
            source = elements.packet_source(packet)
            dropped = self._splitter.skip_alike(packet, source, source.stop + elements.PACKET_PADDING)
            self._allowance.take(now, dropped * self._limits.dropped_cost)

    def passed(self, frame: Frame) -> Frame | None:
        """Return the message if it is one for applications; answer, drop or refuse others.

        Raises:
            MalformedError: a length is wrong, or a switch may not send such a message.
            RefusedError: an answer is too long.
        """
        if frame.version != VERSION:
            raise MalformedError("a message of another version than OpenFlow 1.3", frame.data)
        if frame.kind in _CHECKED:
            elements.check(frame)
            return None if self.is_unknown else frame
        if frame.kind == Kind.MULTIPART_REPLY:
            if self._has_parts:
                return frame
            if not self.is_unknown:
                self._parts = self.answers.parts(frame)
                self._has_parts = True
        elif frame.kind == Kind.ECHO_REQUEST:
            self._echo(frame)
        elif frame.kind == Kind.ECHO_REPLY:
            self._echoes.pop(frame.xid, None)
        elif frame.kind not in _DROPPED:
            raise MalformedError("a message that switches may not send", frame.data)
        return None

    def reports_removal(self, frame: Frame, cookie: int | None, now: float) -> bool:
        """Return True for a report of a removed entry with this cookie, unless there was one a moment ago.

        Raises:
            MalformedError: it is too short.
        """
        if cookie is None or self.is_unknown:
            return False
        if elements.removed_cookie(frame) != cookie or now < self._next_removal:
            return False
        self._next_removal = now + self._limits.removals
        return True

    def _echo(self, request: Frame) -> None:
        """Answer an echo request; refuse a peer that reads so slowly that answers pile up."""
        if not self.wire.unsent:
            self._unread_echoes = 0
        self._unread_echoes += len(request.data)
        if self._unread_echoes > self._limits.unread_echoes:
            raise RefusedError("it does not read the answers to its echo requests")
        self.wire.send(message(Kind.ECHO_REPLY, request.xid, request.data[HEADER.size :]))

    def probe(self, now: float) -> None:
        """Send an echo request (OpenFlow 1.3.5, 7.5.2)."""
        xid = next(self._echo_ids)
        self._echoes[xid] = now
        self.wire.send(message(Kind.ECHO_REQUEST, xid))

    def tend(self, now: float, interval: float) -> None:
        """Send an echo request each `interval` seconds."""
        if now >= self._next_echo:
            self._next_echo = now + interval
            self.probe(now)

    @property
    def unanswered(self) -> int:
        """Number of echo requests without an answer."""
        return len(self._echoes)

    def silent_for(self, now: float) -> float:
        """Return the seconds without a sign of life since an unanswered echo request."""
        asked_at = next(iter(self._echoes.values()), now)
        return now - max(asked_at, self.heard_at)

    def is_late(self, now: float) -> bool:
        """Return True if the deadline for the description of its ports has passed."""
        late = now - self.named_at > self._limits.description
        return late and self.datapath is not None and self.is_known and not self.datapath.is_described

    @property
    def datapath_id(self) -> int | None:
        """The datapath id that it has or claims."""
        if self.datapath is not None:
            return int(self.datapath.id)
        return None if self.claim is None else int(struct.unpack_from("!Q", self.claim.data, HEADER.size)[0])
