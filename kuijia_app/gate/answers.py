"""Matches a switch's descriptions of ports, groups and flow entries with requests, and cuts them into parts; pure.

Parsing a message of 64 KB takes tens of milliseconds, and other switches would have to wait. So a long part of an
answer is passed on as several short ones, which OpenFlow allows (OpenFlow 1.3.5, 7.3.5).
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from kuijia_app.gate import elements
from kuijia_app.gate.frames import (
    FIRST_POLL_XID,
    HEADER,
    LAST_POLL_XID,
    MULTIPART_HEADER,
    REPLY_MORE,
    VERSION,
    Frame,
    Kind,
    Multipart,
    RefusedError,
)
from kuijia_app.gate.limits import LIMITS, Limits

_PART_ENTRIES: Final = 16
_PART_BYTES: Final = 2048

_PASSED_ON: Final = frozenset(Multipart)

_UNNAMED: Final = struct.pack("!I", 0xFFFFFFFF)
"""An experimenter unknown to all parsers."""

_BODY: Final = HEADER.size + MULTIPART_HEADER.size


@dataclass(frozen=True, slots=True)
class PollAnswer:
    """The whole answer to a question of a poll: the bodies of its messages, unchecked."""

    xid: int
    bodies: tuple[bytes, ...]


class Answers:
    """The requests sent to one switch, and the size of its answers so far.

    Two different threads may send requests and take answers.
    """

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._taken: dict[tuple[int, int], int] = {}
        self._polled: dict[tuple[int, int], list[bytes]] = {}

    def asked(self, message: bytes | bytearray) -> None:
        """Note a message that is sent to the switch, in case it is a request."""
        if message[1] == Kind.MULTIPART_REQUEST and len(message) >= _BODY:
            (xid,) = struct.unpack_from("!I", message, 4)
            (kind,) = struct.unpack_from("!H", message, HEADER.size)
            with self._lock:
                self._taken.pop((kind, xid), None)
                self._taken[kind, xid] = 0
                if len(self._taken) > self._limits.asked:
                    oldest = next(iter(self._taken))
                    del self._taken[oldest]
                    self._polled.pop(oldest, None)

    @staticmethod
    def is_of_poll(frame: Frame) -> bool:
        """Return True if a multipart reply has the transaction id of a poll."""
        return FIRST_POLL_XID <= frame.xid <= LAST_POLL_XID

    def polled(self, frame: Frame) -> PollAnswer | None:
        """Take a message of an answer to a poll; return the answer once it is whole, None if it was not requested.

        Raises:
            MalformedError: it has no type.
            RefusedError: the answer is too long.
        """
        kind, flags = elements.multipart_type(frame)
        name = kind, frame.xid
        with self._lock:
            if name not in self._taken:
                return None
            taken = self._taken.pop(name) + len(frame.data)
            bodies = self._polled.pop(name, [])
            if taken > self._limits.answer_entries:
                raise RefusedError(f"an answer of more than {self._limits.answer_entries} bytes")
            bodies.append(frame.data[_BODY:])
            if not flags & REPLY_MORE:
                return PollAnswer(frame.xid, tuple(bodies))
            self._taken[name], self._polled[name] = taken, bodies
        return None

    def parts(self, frame: Frame) -> Iterator[Frame]:
        """Check a multipart reply and yield it in short parts, in order; yield nothing if it was not requested.

        Actions of experimenters lose the experimenter's name, so that no parser for them runs: no application here
        uses any.

        Raises:
            MalformedError: a length in it is wrong.
            RefusedError: the answer is too long.
        """
        kind, flags = elements.multipart_type(frame)
        limit = self._limits.answer_ports if kind == Multipart.PORT_DESC else self._limits.answer_entries
        with self._lock:
            taken = self._taken.pop((kind, frame.xid), None)
            if taken is not None and flags & REPLY_MORE:
                self._taken[kind, frame.xid] = taken + len(frame.data)
        if taken is None or kind not in _PASSED_ON:
            return
        if taken + len(frame.data) > limit:
            raise RefusedError(f"an answer of more than {limit} bytes")
        yield from _cut(frame, kind, flags, self._limits.entry)


def checked_entry(kind: Multipart, entry: bytes) -> bytes:
    """Return a group or flow entry for a parser, checked, and without the names of experimenters in its actions.

    Raises:
        MalformedError: a length in it is wrong.
        RefusedError: it is too long.
    """
    body = MULTIPART_HEADER.pack(kind, 0) + entry
    frame = Frame(VERSION, Kind.MULTIPART_REPLY, 0, bytes(HEADER.size) + body)
    (part,) = _cut(frame, kind, 0, LIMITS.entry)
    return part.data[_BODY:]


def _cut(frame: Frame, kind: int, flags: int, longest: int) -> Iterator[Frame]:
    data = bytearray(frame.data)
    start = end = _BODY
    count = 0
    for begins, ends, named in elements.entries(frame):
        if ends - begins > longest:
            raise RefusedError(f"a group or flow entry of more than {longest} bytes")
        for place in named:
            data[place : place + len(_UNNAMED)] = _UNNAMED
        if count == _PART_ENTRIES or (count and ends - start > _PART_BYTES):
            yield _part(frame, kind, flags | REPLY_MORE, data[start:begins])
            start, count = begins, 0
        end = ends
        count += 1
    yield _part(frame, kind, flags, data[start:end])


def _part(frame: Frame, kind: int, flags: int, entries: bytearray) -> Frame:
    header = HEADER.pack(frame.version, frame.kind, _BODY + len(entries), frame.xid)
    return replace(frame, data=header + MULTIPART_HEADER.pack(kind, flags) + bytes(entries))
