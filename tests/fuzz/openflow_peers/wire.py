"""OpenFlow 1.3 messages of a switch, right and wrong, as bytes; no framework takes part in it.

The numbers of clauses are those of the OpenFlow Switch Specification 1.3.5.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from random import Random

from kuijia_app.tables.identifiers import LINK_PROBE_COOKIE

VERSION = 4
HEADER = 8

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, EXPERIMENTER = 0, 1, 2, 3, 4
FEATURES_REQUEST, FEATURES_REPLY, CONFIG_REPLY, PACKET_IN, FLOW_REMOVED, PORT_STATUS = 5, 6, 8, 10, 11, 12
FLOW_MOD, GROUP_MOD = 14, 15
MULTIPART_REQUEST, MULTIPART_REPLY, BARRIER_REQUEST, BARRIER_REPLY = 18, 19, 20, 21
ROLE_REQUEST, ROLE_REPLY, ASYNC_REPLY = 24, 25, 27
FROM_SWITCH = (
    *(HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, EXPERIMENTER, FEATURES_REPLY, CONFIG_REPLY, PACKET_IN),
    *(FLOW_REMOVED, PORT_STATUS, MULTIPART_REPLY, BARRIER_REPLY, ROLE_REPLY, ASYNC_REPLY),
)

DESC, FLOW, AGGREGATE, TABLE, PORT_STATS, QUEUE, GROUP, GROUP_DESC = 0, 1, 2, 3, 4, 5, 6, 7
GROUP_FEATURES, METER, METER_CONFIG, METER_FEATURES, TABLE_FEATURES, PORT_DESC = 8, 9, 10, 11, 12, 13
MULTIPARTS = tuple(range(14))
REPLY_MORE = 1

IS_SLAVE, STALE = (1, 10), (11, 0)
"""Types and codes of errors about roles (7.5.4.2 and 7.5.4.12)."""

MASTER = 2


def message(kind: int, body: bytes = b"", xid: int = 0, *, version: int = VERSION, length: int | None = None) -> bytes:
    """Return a message (7.1.1); `length` is what its header says, by default the truth."""
    said = HEADER + len(body) if length is None else length
    return struct.pack("!BBHI", version, kind, said & 0xFFFF, xid & 0xFFFFFFFF) + body


def hello(xid: int = 0) -> bytes:
    """Return a hello that offers version 1.3 (7.5.1)."""
    return message(HELLO, struct.pack("!HHI", 1, 8, 1 << VERSION), xid)


def hello_with_empty_elements(count: int = 1) -> bytes:
    """Return a hello whose elements have length 0, which a reader that adds lengths never leaves."""
    return message(HELLO, struct.pack("!HHI", 1, 0, 0) * count)


def features_reply(datapath_id: int, xid: int = 0) -> bytes:
    """Return a reply to the question for features (7.3.1)."""
    return message(FEATURES_REPLY, struct.pack("!QIBB2xII", datapath_id, 0, 254, 0, 0x4F, 0), xid)


def port(number: int, *, live: bool = True, name: bytes = b"x") -> bytes:
    """Return the description of a port (7.2.1)."""
    state = 4 if live else 1
    return struct.pack("!I4x6s2x16sIIIIIIII", number, b"\2\0\0\0\0\1", name[:16], 0, state, 0, 0, 0, 0, 0, 0)


def port_status(number: int, *, live: bool, reason: int = 2) -> bytes:
    """Return the report of a port's change (7.4.3)."""
    return message(PORT_STATUS, struct.pack("!B7x", reason) + port(number, live=live))


def multipart_reply(kind: int, body: bytes, xid: int = 0, flags: int = 0) -> bytes:
    """Return a part of an answer (7.3.5)."""
    return message(MULTIPART_REPLY, struct.pack("!HH4x", kind, flags) + body, xid)


def port_description(numbers: Iterable[int], xid: int = 0, flags: int = 0) -> bytes:
    return multipart_reply(PORT_DESC, b"".join(map(port, numbers)), xid, flags)


def flow_stats(fields: bytes, *, length: int | None = None, instructions: bytes = b"") -> bytes:
    """Return a flow entry in an answer (7.3.5.2), matching on OXM `fields` (7.2.3.3)."""
    match = struct.pack("!HH", 1, 4 + len(fields)) + fields
    match += bytes(-len(match) % 8)
    whole = 48 + len(match) + len(instructions)
    fixed = struct.pack("!HBxIIHHHH4xQQQ", whole if length is None else length, 0, 1, 0, 7, 0, 0, 0, 1, 1, 1)
    return fixed + match + instructions


def masked_address(address: bytes, mask: bytes) -> bytes:
    """Return an OXM field that matches on an IPv4 destination with a mask."""
    return struct.pack("!HBB", 0x8000, 12 << 1 | 1, 8) + address + mask


def any_field(random: Random) -> bytes:
    """Return an OXM field of any number, with a mask or without, and mostly with the length that it should have."""
    number, has_mask = random.randrange(42), random.random() < 0.7
    length = random.choice((1, 2, 3, 4, 6, 8, 16)) * (2 if has_mask else 1)
    return struct.pack("!HBB", 0x8000, number << 1 | has_mask, length) + random.randbytes(length)


def error(xid: int, kind: int, code: int, data: bytes = b"") -> bytes:
    """Return an error message (7.5.4)."""
    return message(ERROR, struct.pack("!HH", kind, code) + data, xid)


def role_reply(role: int, generation: int, xid: int = 0) -> bytes:
    return message(ROLE_REPLY, struct.pack("!I4xQ", role & 0xFFFFFFFF, generation & (1 << 64) - 1), xid)


def packet_in(
    data: bytes, port_number: int, total: int | None = None, cookie: int = 0, mask: int | None = None
) -> bytes:
    """Return a packet that an entry with this cookie has handed to the controller (7.4.1), its port perhaps masked."""
    fields = struct.pack("!HBBI", 0x8000, 0, 4, port_number)
    if mask is not None:
        fields = struct.pack("!HBBII", 0x8000, 1, 8, port_number, mask)
    match = struct.pack("!HH", 1, 4 + len(fields)) + fields
    match += bytes(-len(match) % 8)
    said = len(data) if total is None else total
    fixed = struct.pack("!IHBBQ", 0xFFFFFFFF, said & 0xFFFF, 0, 0, cookie)
    return message(PACKET_IN, fixed + match + b"\0\0" + data)


def empty_elements(kind: int, count: int) -> bytes:
    """Return an answer of so many elements that all say length 0."""
    return multipart_reply(kind, bytes(64) * count)


def with_length(data: bytes, length: int) -> bytes:
    """Return a message whose header says another length."""
    return data[:2] + struct.pack("!H", length & 0xFFFF) + data[4:]


def damaged(random: Random, data: bytes) -> bytes:
    """Return a message with some bytes changed, its header's length among them or not."""
    content = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        content[random.randrange(len(content))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return bytes(content)


def any_message(random: Random, ports: Sequence[int]) -> bytes:
    """Return a message that a switch may send, at any time and with any content."""
    xid = random.choice((0, 1, random.randrange(1 << 32)))
    number = random.choice((*ports, 0, 1, 0xFFFFFFFE, 0xFFFFFFFF, random.randrange(1 << 32)))
    return random.choice(_MAKERS)(random, xid, number)


_MAKERS: tuple[Callable[[Random, int, int], bytes], ...] = (
    lambda random, _, number: port_status(number, live=random.random() < 0.5, reason=random.choice((0, 1, 2, 3, 255))),
    lambda random, xid, _: error(
        xid, random.randrange(0x10000), random.randrange(0x10000), random.randbytes(random.randrange(80))
    ),
    lambda random, xid, _: role_reply(random.randrange(-1, 5), random.randrange(1 << 64), xid),
    lambda random, xid, _: message(random.choice((BARRIER_REPLY, ECHO_REPLY, ECHO_REQUEST)), b"", xid),
    lambda random, xid, _: multipart_reply(
        random.choice((*MULTIPARTS, 0xFFFF)),
        random.randbytes(random.randrange(200)),
        xid,
        random.choice((0, 1, 0xFFFF)),
    ),
    lambda random, xid, _: multipart_reply(
        FLOW, flow_stats(masked_address(random.randbytes(4), random.randbytes(4))), xid
    ),
    lambda random, xid, number: port_description([number, 1, 2], xid, random.choice((0, REPLY_MORE))),
    lambda random, _, number: packet_in(random.randbytes(random.randrange(100)), number),
    lambda random, _, number: packet_in(
        random.randbytes(random.randrange(100)),
        number,
        cookie=LINK_PROBE_COOKIE,
        mask=random.choice((0, 1, 0xFFFFFFFF)),
    ),
    lambda random, xid, _: multipart_reply(FLOW, flow_stats(any_field(random)), xid),
    lambda random, _, __: empty_elements(random.choice(MULTIPARTS), random.choice((1, 5))),
    lambda random, xid, _: features_reply(random.randrange(1 << 64), xid),
    lambda random, xid, _: message(
        random.choice((*FROM_SWITCH, 200, 255)), random.randbytes(random.randrange(99)), xid
    ),
    lambda random, xid, _: message(FLOW_REMOVED, random.randbytes(random.choice((40, 48, 56))), xid),
)
