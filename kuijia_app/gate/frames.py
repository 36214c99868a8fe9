"""Cuts a stream of bytes into the messages of OpenFlow 1.3; errors that end a connection. Pure."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

_SHOWN_BYTES = 32


class RefusedError(Exception):
    """A connection must end for `reason`, one of a few texts; `detail` describes this case, printable and short."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}" if detail else reason)

    def unraised(self) -> RefusedError:
        """Return an equal error that was never raised, to be kept.

        A raised error refers to the frames that it has passed. Kept by what these frames refer to, it is a cycle that
        would hold the whole connection until somebody searches for cyclic garbage.
        """
        return RefusedError(self.reason, self.detail)


class MalformedError(RefusedError):
    """A message breaks the rules of OpenFlow 1.3; `detail` shows how it begins."""

    def __init__(self, reason: str, frame: bytes = b"") -> None:
        shown = frame[:_SHOWN_BYTES].hex(" ", 4)
        super().__init__(reason, f"begins with {shown}" if shown else "")


VERSION: Final = 4
"""OpenFlow 1.3 (OpenFlow 1.3.5, 7.1.1)."""

HEADER: Final = struct.Struct("!BBHI")
"""Version, type, length, transaction id (OpenFlow 1.3.5, 7.1.1)."""

MULTIPART_HEADER: Final = struct.Struct("!HH4x")
"""Type and flags, after the header (OpenFlow 1.3.5, 7.3.5)."""

REPLY_MORE: Final = 1
"""Flag of a multipart reply that another part follows (OpenFlow 1.3.5, 7.3.5)."""

LONGEST: Final = 0xFFFF


class Kind(IntEnum):
    """Types of messages (OpenFlow 1.3.5, 7.1.1)."""

    HELLO = 0
    ERROR = 1
    ECHO_REQUEST = 2
    ECHO_REPLY = 3
    EXPERIMENTER = 4
    FEATURES_REQUEST = 5
    FEATURES_REPLY = 6
    GET_CONFIG_REPLY = 8
    PACKET_IN = 10
    FLOW_REMOVED = 11
    PORT_STATUS = 12
    MULTIPART_REQUEST = 18
    MULTIPART_REPLY = 19
    BARRIER_REPLY = 21
    QUEUE_GET_CONFIG_REPLY = 23
    ROLE_REPLY = 25
    GET_ASYNC_REPLY = 27


class Multipart(IntEnum):
    """Types of multipart messages whose replies are parsed and passed on (OpenFlow 1.3.5, 7.3.5)."""

    FLOW = 1
    GROUP_DESC = 7
    PORT_DESC = 13


FIRST_POLL_XID: Final = 3 << 29
LAST_POLL_XID: Final = (1 << 31) - 1
"""Transaction ids of polls: multipart replies to them are passed on whole and unparsed."""


UNUSED: Final = frozenset(
    {
        Kind.EXPERIMENTER,
        Kind.GET_CONFIG_REPLY,
        Kind.PACKET_IN,
        Kind.QUEUE_GET_CONFIG_REPLY,
        Kind.GET_ASYNC_REPLY,
    }
)
"""Messages that a switch may send and are dropped unparsed; a few applications read `PACKET_IN`."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One whole message; `data` begins with its header."""

    version: int
    kind: int
    xid: int
    data: bytes


class Splitter:
    """Cuts a stream into messages of at most `longest` bytes."""

    def __init__(self, longest: int = LONGEST) -> None:
        self.longest = longest
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    @property
    def has_frame(self) -> bool:
        """True when the next message is complete, or its header is invalid."""
        if len(self._buffer) < HEADER.size:
            return False
        length = HEADER.unpack_from(self._buffer)[2]
        return not HEADER.size <= length <= self.longest or len(self._buffer) >= length

    def take(self) -> Frame | None:
        """Return the next message, or None while it is incomplete.

        Raises:
            MalformedError: the length in its header is below the header's own or above the longest.
        """
        if len(self._buffer) < HEADER.size:
            return None
        version, kind, length, xid = HEADER.unpack_from(self._buffer)
        if length < HEADER.size:
            raise MalformedError("a message shorter than its header", bytes(self._buffer[:64]))
        if length > self.longest:
            raise MalformedError(f"a message of more than {self.longest} bytes", bytes(self._buffer[:64]))
        if len(self._buffer) < length:
            return None
        with memoryview(self._buffer) as buffer:
            data = bytes(buffer[:length])
        del self._buffer[:length]
        return Frame(version, kind, xid, data)

    def skip_alike(self, like: Frame, place: slice, least: int) -> int:
        """Drop the next messages of at least `least` bytes that are `like` one in kind and `place`; return how many."""
        buffer, begins, skipped, content = self._buffer, 0, 0, like.data[place]
        while begins + least <= len(buffer):
            version, kind, length, _ = HEADER.unpack_from(buffer, begins)
            if (version, kind) != (like.version, like.kind) or length < least or begins + length > len(buffer):
                break
            if buffer[begins + place.start : begins + place.stop] != content:
                break
            begins += length
            skipped += 1
        del buffer[:begins]
        return skipped


def message(kind: Kind, xid: int, body: bytes = b"") -> bytes:
    """Return a message of OpenFlow 1.3."""
    return HEADER.pack(VERSION, kind, HEADER.size + len(body), xid) + body
