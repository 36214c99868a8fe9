"""Lengths inside messages of OpenFlow 1.3, checked in one pass before a parser trusts them; pure.

Every element is at least as long as its fixed part, ends inside the element that contains it, and is a multiple of 8
bytes where the specification says so. So a parser that steps by these lengths always makes progress.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kuijia_app.gate.frames import HEADER, MULTIPART_HEADER, Frame, Kind, MalformedError, Multipart

_TYPE_AND_LENGTH: Final = struct.Struct("!HH")
_LENGTH: Final = struct.Struct("!H")
_OXM: Final = struct.Struct("!HBB")

_IN_PORT: Final = _OXM.pack(0x8000, 0, 4)
"""Header of the port where a packet arrived, without a mask."""

_EXPERIMENTER: Final = 0xFFFF
"""Experimenter type of an error, an action or an instruction, and experimenter class of a match field."""

_FIXED_LENGTHS: Final[dict[int, int]] = {
    Kind.FEATURES_REPLY: 32,
    Kind.PORT_STATUS: 80,
    Kind.BARRIER_REPLY: 8,
    Kind.ROLE_REPLY: 24,
}
"""OpenFlow 1.3.5, 7.3.1, 7.4.3, 7.3.8, 7.3.9."""

_ERROR_LENGTH: Final = 12
_ERROR_OF_EXPERIMENTER_LENGTH: Final = 16
_BITMAP_ELEMENT: Final = 1

_BODY: Final = HEADER.size + MULTIPART_HEADER.size
_PORT_LENGTH: Final = 64
_FLOW_LENGTH: Final = 56
_FLOW_MATCH: Final = 48
_GROUP_LENGTH: Final = 8
_PACKET_COOKIE: Final = 16
_PACKET_MATCH: Final = 24
_REMOVED_LENGTH: Final = 56
PACKET_PADDING: Final = 2
_BUCKET_LENGTH: Final = 16

_APPLY_AND_LIKE: Final = frozenset({3, 4, 5})
_INSTRUCTION_LENGTHS: Final = {1: 8, 2: 24, 6: 8}
"""Goto-table, write-metadata and meter (OpenFlow 1.3.5, 7.2.4)."""

_SET_FIELD: Final = 25
_ACTION_LENGTHS: Final = {0: 16, **dict.fromkeys((11, 12, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 27), 8)}
"""Actions of fixed length (OpenFlow 1.3.5, 7.2.5)."""

_FOUNDATION: Final = 0x4F4E4600
"""The Open Networking Foundation as an experimenter."""

_OPENFLOW_BASIC: Final = 0x8000
_FIELD_LENGTHS: Final = (
    *(4, 4, 8, 6, 6, 2, 2, 1, 1, 1, 1, 4, 4, 2, 2, 2, 2, 2, 2, 1),
    *(1, 2, 4, 4, 6, 6, 16, 16, 4, 1, 1, 16, 6, 6, 4, 1, 1, 3, 8, 2),
)
"""Bytes of the value of each match field, by its number (OpenFlow 1.3.5, 7.2.3.7, table 12)."""


def check(frame: Frame) -> None:
    """Check the lengths of a message other than a multipart reply; raises MalformedError."""
    length = len(frame.data)
    fixed = _FIXED_LENGTHS.get(frame.kind)
    if fixed is not None and length != fixed:
        raise MalformedError(f"a message of type {frame.kind} of another length than {fixed}", frame.data)
    if frame.kind == Kind.ERROR:
        if length < _ERROR_LENGTH:
            raise MalformedError("an error without its type", frame.data)
        if _LENGTH.unpack_from(frame.data, HEADER.size)[0] == _EXPERIMENTER and length < _ERROR_OF_EXPERIMENTER_LENGTH:
            raise MalformedError("an experimenter's error without the experimenter", frame.data)


def removed_cookie(frame: Frame) -> int:
    """Return the cookie in the report of a removed entry (OpenFlow 1.3.5, 7.4.2); raises MalformedError."""
    if len(frame.data) < _REMOVED_LENGTH:
        raise MalformedError("a report of a removed entry without its match", frame.data)
    return int.from_bytes(frame.data[HEADER.size : HEADER.size + 8], "big")


@dataclass(frozen=True, slots=True)
class PacketIn:
    """A packet for the controller and the port where it arrived, None if its match does not name exactly one.

    `cookie` is that of the entry that sent it.
    """

    in_port: int | None
    data: bytes
    cookie: int = 0


def packet_cookie(frame: Frame) -> int:
    """Return the cookie of the entry that has sent a packet to the controller; raises MalformedError."""
    if len(frame.data) < _PACKET_MATCH + 8:
        raise MalformedError("a packet-in without its match", frame.data)
    return int.from_bytes(frame.data[_PACKET_COOKIE : _PACKET_COOKIE + 8], "big")


def packet_source(frame: Frame) -> slice:
    """Return where a packet-in says which entry has sent it, and from which port: its cookie and its match."""
    length = int.from_bytes(frame.data[_PACKET_MATCH + 2 : _PACKET_MATCH + _TYPE_AND_LENGTH.size], "big")
    return slice(_PACKET_COOKIE, _PACKET_MATCH + length + -length % 8)


def packet_in(frame: Frame) -> PacketIn:
    """Return the content of a packet-in (OpenFlow 1.3.5, 7.4.1); raises MalformedError.

    Its match ends two bytes before the packet. Only its port is read: nothing else in it matters here.
    """
    data, length = frame.data, len(frame.data)
    kind, match_length = _head(frame, _PACKET_MATCH, length, _TYPE_AND_LENGTH.size, "match")
    end = _PACKET_MATCH + match_length
    packet = packet_source(frame).stop + PACKET_PADDING
    if kind != 1 or packet > length:
        raise MalformedError("a packet-in whose match is no OXM, or extends beyond it", data)
    in_port, position = None, _PACKET_MATCH + _TYPE_AND_LENGTH.size
    while position < end:
        field = _field_length(frame, position, end)
        if data[position : position + _OXM.size] == _IN_PORT:
            in_port = int.from_bytes(data[position + _OXM.size : position + field], "big")
        position += field
    return PacketIn(in_port, data[packet:], packet_cookie(frame))


def hello_versions(frame: Frame) -> int | None:
    """Return the first 32 bits of a hello's bitmap of versions, bit n for version n; None when it has no bitmap.

    Raises:
        MalformedError: an element of the hello is not as OpenFlow 1.3.5, 7.5.1, says.
    """
    data, position, versions = frame.data, HEADER.size, None
    while position < len(data):
        kind, length = _head(frame, position, len(data), _TYPE_AND_LENGTH.size, "hello element")
        if kind == _BITMAP_ELEMENT and versions is None:
            if length < 8 or length % 4:
                raise MalformedError("a hello with a bitmap of no whole words", data)
            (versions,) = struct.unpack_from("!I", data, position + 4)
        # The length leaves out the padding to a multiple of 8 bytes; some leave the last padding out altogether.
        position += length + -length % 8
    return versions


def multipart_type(frame: Frame) -> tuple[int, int]:
    """Return the type and the flags of a multipart message; raises MalformedError when it has none."""
    if len(frame.data) < _BODY:
        raise MalformedError("a multipart message without its type", frame.data)
    kind, flags = MULTIPART_HEADER.unpack_from(frame.data, HEADER.size)
    return int(kind), int(flags)


def entries(frame: Frame) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Check the entries of a multipart reply one after the other, of one of the types in `Multipart`.

    Yields:
        Start and end of each in the message, and the positions of the experimenter's name in each experimenter's
        action.

    Raises:
        MalformedError: a length is wrong.
    """
    kind, _ = multipart_type(frame)
    position, end = _BODY, len(frame.data)
    while position < end:
        named: list[int] = []
        if kind == Multipart.PORT_DESC:
            length = _PORT_LENGTH
            if position + length > end:
                raise MalformedError("a port that extends beyond its message", frame.data[position:])
        elif kind == Multipart.GROUP_DESC:
            length = _length(frame, position, end, _GROUP_LENGTH, "group")
            _check_buckets(frame, position + _GROUP_LENGTH, position + length, named)
        else:
            length = _length(frame, position, end, _FLOW_LENGTH, "flow entry")
            _check_flow(frame, position, position + length, named)
        yield position, position + length, tuple(named)
        position += length


def _check_flow(frame: Frame, start: int, end: int, named: list[int]) -> None:
    position = start + _FLOW_MATCH
    kind, length = _head(frame, position, end, _TYPE_AND_LENGTH.size, "match")
    if kind != 1:
        raise MalformedError("a match of another type than OXM", frame.data[position:])
    _check_fields(frame, position + _TYPE_AND_LENGTH.size, position + length)
    position += length + -length % 8
    while position < end:
        kind, length = _head(frame, position, end, 8, "instruction")
        if kind in _APPLY_AND_LIKE:
            _check_actions(frame, position + 8, position + length, named)
        elif length != _INSTRUCTION_LENGTHS.get(kind):
            raise MalformedError("an instruction of no known type and length", frame.data[position:])
        position += length
    if position != end:
        raise MalformedError("a match whose padding extends beyond its flow entry", frame.data[start:])


def _check_buckets(frame: Frame, position: int, end: int, named: list[int]) -> None:
    while position < end:
        length = _length(frame, position, end, _BUCKET_LENGTH, "bucket")
        _check_actions(frame, position + _BUCKET_LENGTH, position + length, named)
        position += length


def _check_actions(frame: Frame, position: int, end: int, named: list[int]) -> None:
    while position < end:
        kind, length = _head(frame, position, end, 8, "action")
        if length % 8:
            raise MalformedError("an action that is no multiple of 8 bytes", frame.data[position:])
        if kind == _SET_FIELD:
            field = _field_length(frame, position + 4, position + length)
            if 4 + field + -(4 + field) % 8 != length:
                raise MalformedError("an action of another length than its field", frame.data[position:])
        elif kind == _EXPERIMENTER:
            named.append(position + 4)
        elif length != _ACTION_LENGTHS.get(kind):
            raise MalformedError("an action of no known type and length", frame.data[position:])
        position += length


def _check_fields(frame: Frame, position: int, end: int) -> None:
    while position < end:
        position += _field_length(frame, position, end)


def _field_length(frame: Frame, position: int, end: int) -> int:
    """Return the length of the match field that begins there, with its header (OpenFlow 1.3.5, 7.2.3.2)."""
    if position + _OXM.size > end:
        raise MalformedError("a match field that goes beyond its match", frame.data[position:])
    oxm_class, number, length = _OXM.unpack_from(frame.data, position)
    has_mask, named = bool(number & 1), 0
    if position + _OXM.size + length > end:
        raise MalformedError("a match field that goes beyond its match", frame.data[position:])
    if oxm_class == _EXPERIMENTER and length >= 4:
        (experimenter,) = struct.unpack_from("!I", frame.data, position + _OXM.size)
        # A field of the Open Networking Foundation's extension 256 also has its type.
        named = 6 if experimenter == _FOUNDATION and not number >> 1 else 4
    values = (length - named) // 2 if has_mask else length - named
    if values <= 0 or (has_mask and length % 2) or (oxm_class == _EXPERIMENTER and not named):
        raise MalformedError("a match field of no possible length", frame.data[position:])
    number >>= 1
    if oxm_class == _OPENFLOW_BASIC and number < len(_FIELD_LENGTHS) and values != _FIELD_LENGTHS[number]:
        raise MalformedError("a match field of another length than its type", frame.data[position:])
    return int(_OXM.size + length)


def _length(frame: Frame, position: int, end: int, least: int, what: str) -> int:
    """Return the length at the start of an element, a multiple of 8."""
    if position + least > end:
        raise MalformedError(f"a {what} that goes beyond what holds it", frame.data[position:])
    (length,) = _LENGTH.unpack_from(frame.data, position)
    if length < least or length % 8 or position + length > end:
        raise MalformedError(f"a {what} of no possible length", frame.data[position:])
    return int(length)


def _head(frame: Frame, position: int, end: int, least: int, what: str) -> tuple[int, int]:
    """Return type and length at the start of an element."""
    if position + least > end:
        raise MalformedError(f"a {what} that goes beyond what holds it", frame.data[position:])
    kind, length = _TYPE_AND_LENGTH.unpack_from(frame.data, position)
    if length < least or position + length > end:
        raise MalformedError(f"a {what} of no possible length", frame.data[position:])
    return kind, length
