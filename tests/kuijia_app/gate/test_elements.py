"""The checks pass all that the frameworks write, and nothing that their parsers would not get through."""

from __future__ import annotations

import struct
import time
import tracemalloc
from importlib import import_module
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_app.gate import elements
from kuijia_app.gate.answers import Answers
from kuijia_app.gate.frames import HEADER, REPLY_MORE, Frame, Kind, MalformedError, RefusedError, Splitter
from kuijia_app.gate.limits import Limits
from tests.kuijia_app.gate.messages import DATAPATH, REPLIES, flow_statistics, port_descriptions

XID = 77
PARSERS = [import_module(f"{package}.ofproto.ofproto_v1_3_parser").msg_parser for package in ("os_ken", "ryu")]
SLOWEST = 0.5
"""Seconds that a framework's parser may take for one short part."""

ATTEMPTS = 3
"""Times that a part is parsed until once is fast: the collector of garbage may run within any of them."""


def frame_of(data: bytes) -> Frame:
    splitter = Splitter()
    splitter.feed(data)
    frame = splitter.take()
    assert frame is not None
    return frame


def asked(kind: int, limits: Limits | None = None) -> Answers:
    answers = Answers(limits or Limits())
    answers.asked(HEADER.pack(4, Kind.MULTIPART_REQUEST, 16, XID) + struct.pack("!HH4x", kind, 0))
    return answers


def parts_of(data: bytes) -> list[Frame]:
    frame = frame_of(data)
    return list(asked(elements.multipart_type(frame)[0]).parts(frame))


def parsed(frame: Frame, parser: Any = PARSERS[0]) -> Any:  # noqa: ANN401  # the framework's own types
    return parser(DATAPATH, frame.version, frame.kind, len(frame.data), frame.xid, frame.data)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from(REPLIES))
def test_what_the_frameworks_write_passes_and_means_the_same_in_parts(seed: int, reply: Any) -> None:  # noqa: ANN401
    data = reply(Random(seed), XID)
    parts = parts_of(data)
    assert [parsed(part).flags & REPLY_MORE for part in parts] == [REPLY_MORE] * (len(parts) - 1) + [0]
    entries = [entry for part in parts for entry in parsed(part).body]
    whole = parsed(frame_of(data)).body
    assert len(entries) == len(whole)
    if b"\x00\x00\x23\x20" not in data and b"\x00\x00\x12\x34" not in data:
        assert list(map(str, entries)) == list(map(str, whole))
    assert all(len(part.data) <= 2048 + 16 or len(parsed(part).body) == 1 for part in parts)


def seconds_to_parse(part: Frame, parser: Any) -> float:  # noqa: ANN401  # the framework's own types
    began = time.thread_time()
    try:
        parsed(part, parser)
    except Exception as error:  # noqa: BLE001  # it may refuse what it does not know, which ends one connection
        assert not isinstance(error, MemoryError | RecursionError)  # noqa: PT017
    return time.thread_time() - began


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(st.integers(0, 2**32), st.sampled_from(REPLIES), st.integers(1, 6), st.integers(0, 1))
def test_whatever_passes_is_parsed_in_time_and_little_memory(
    seed: int,
    reply: Any,  # noqa: ANN401
    changes: int,
    parser: int,
) -> None:
    random = Random(seed)
    data = bytearray(reply(random, XID))
    for _ in range(changes):
        place = random.randrange(HEADER.size, len(data))
        if random.random() < 0.5 and place + 2 <= len(data):
            data[place : place + 2] = struct.pack("!H", random.choice((0, 1, 4, 8, 16, 24, 0xFFFF)))
        else:
            data[place] = random.choice((0, 1, 4, 8, 255, random.getrandbits(8)))
    tracemalloc.start()
    try:
        for part in parts_of(bytes(data)):
            assert any(seconds_to_parse(part, PARSERS[parser]) < SLOWEST for _ in range(ATTEMPTS))
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    except MalformedError:
        pass
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (1, bytes(56)),
        (1, struct.pack("!H46xHH", 56, 1, 0)),
        (1, struct.pack("!H46xHH", 56, 1, 200)),
        (1, struct.pack("!H46xHH4xHH4x", 64, 1, 4, 4, 0)),
        (1, struct.pack("!H46xHH4xHH4x", 64, 1, 4, 4, 16)),
        (1, struct.pack("!H46xHH4xHH4xHH4x", 72, 1, 4, 4, 16, 22, 0)),
        (1, struct.pack("!H46xHH4xHH4xHH4x", 72, 1, 4, 4, 16, 0, 8)),
        (1, struct.pack("!H46xHHHBB", 56, 1, 8, 0x8000, 0, 4)),
        (1, struct.pack("!H46xHHHBB8x", 64, 1, 12, 0x8000, 2 << 1 | 1, 4)),
        (7, bytes(8)),
        (7, struct.pack("!HBxI", 12, 0, 0) + bytes(4)),
        (7, struct.pack("!HBxI", 24, 0, 0) + bytes(16)),
        (7, struct.pack("!HBxI", 16, 0, 0)),
        (7, struct.pack("!HBxIH14x", 32, 0, 0, 24) + struct.pack("!HH4x", 22, 4)),
        (13, bytes(63)),
    ],
)
def test_a_length_that_cannot_be_is_refused(kind: int, body: bytes) -> None:
    data = HEADER.pack(4, Kind.MULTIPART_REPLY, 16 + len(body), XID) + struct.pack("!HH4x", kind, 0) + body
    with pytest.raises(MalformedError):
        parts_of(data)


@pytest.mark.parametrize(
    ("kind", "length"), [(Kind.FEATURES_REPLY, 24), (Kind.PORT_STATUS, 72), (Kind.BARRIER_REPLY, 16), (Kind.ERROR, 11)]
)
def test_a_message_of_fixed_length_has_that_length(kind: Kind, length: int) -> None:
    with pytest.raises(MalformedError):
        elements.check(frame_of(HEADER.pack(4, kind, length, 0) + bytes(length - HEADER.size)))


@pytest.mark.parametrize(
    ("body", "versions"),
    [
        (b"", None),
        (struct.pack("!HHI", 1, 8, 0x10), 0x10),
        (struct.pack("!HHII4x", 1, 12, 0x72, 0), 0x72),
        (struct.pack("!HH", 9, 4), None),
        (struct.pack("!HH4xHHI", 9, 4, 1, 8, 0x10), 0x10),
    ],
)
def test_a_hello_says_its_versions(body: bytes, versions: int | None) -> None:
    assert elements.hello_versions(frame_of(HEADER.pack(4, 0, 8 + len(body), 0) + body)) == versions


@pytest.mark.parametrize(
    "body",
    [bytes(8), struct.pack("!HH", 1, 4), struct.pack("!HHI", 1, 9, 0), struct.pack("!HHI", 2, 3, 0), b"\x00\x01\x00"],
)
def test_a_hello_with_an_impossible_element_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedError):
        elements.hello_versions(frame_of(HEADER.pack(4, 0, 8 + len(body), 0) + body))


def test_the_check_takes_time_in_proportion_to_the_length() -> None:
    def seconds(repeated: int) -> float:
        entry = struct.pack("!H46xHH4x", 56, 1, 4)
        frame = Frame(4, Kind.MULTIPART_REPLY, XID, bytes(8) + struct.pack("!HH4x", 1, 0) + entry * repeated)
        return min(_timed(frame) for _ in range(5))

    def _timed(frame: Frame) -> float:
        began = time.thread_time()
        assert sum(1 for _ in elements.entries(frame))
        return time.thread_time() - began

    assert seconds(16_000) < 40 * seconds(1_000)


def test_only_what_was_asked_is_passed_on_and_once() -> None:
    data = port_descriptions(Random(3), XID)
    assert list(Answers().parts(frame_of(data))) == []
    answers = asked(13)
    assert list(answers.parts(frame_of(data)))
    assert list(answers.parts(frame_of(data))) == []


def test_an_answer_that_does_not_end_is_refused() -> None:
    answers = asked(1, Limits(answer_entries=100_000))
    data = flow_statistics(Random(5), XID, REPLY_MORE)
    frames = [frame_of(data)] * 100
    with pytest.raises(RefusedError, match="an answer of more than 100000 bytes"):
        [list(answers.parts(frame)) for frame in frames]


def test_questions_that_nobody_answers_are_forgotten_one_by_one() -> None:
    answers = Answers(Limits(asked=2))
    for xid in range(3):
        answers.asked(HEADER.pack(4, Kind.MULTIPART_REQUEST, 16, xid) + struct.pack("!HH4x", 13, 0))
    assert [len(list(answers.parts(frame_of(port_descriptions(Random(1), xid))))) > 0 for xid in range(3)] == [
        False,
        True,
        True,
    ]


@given(st.binary(max_size=200), st.integers(1, 40))
def test_a_stream_is_cut_alike_however_it_comes(noise: bytes, step: int) -> None:
    stream = b"".join(
        HEADER.pack(4, 2, 8 + len(piece), number) + piece
        for number, piece in enumerate(noise[place : place + step] for place in range(0, len(noise), step))
    )
    whole, slow = Splitter(), Splitter()
    whole.feed(stream)
    at_once = list(iter(whole.take, None))
    bit_by_bit = []
    for byte in stream:
        slow.feed(bytes([byte]))
        bit_by_bit += list(iter(slow.take, None))
    assert at_once == bit_by_bit
    assert b"".join(frame.data for frame in at_once) == stream


@pytest.mark.parametrize("length", [0, 7])
def test_a_header_that_says_less_than_its_own_length_is_refused(length: int) -> None:
    splitter = Splitter()
    splitter.feed(HEADER.pack(4, 0, length, 0))
    assert splitter.has_frame
    with pytest.raises(MalformedError, match="shorter than its header"):
        splitter.take()


def test_a_message_above_the_limit_is_refused_before_it_has_come() -> None:
    splitter = Splitter(longest=100)
    splitter.feed(HEADER.pack(4, 0, 101, 0))
    with pytest.raises(MalformedError, match="more than 100 bytes"):
        splitter.take()


def packet_in(data: bytes) -> bytes:
    field = struct.pack("!HBBI", 0x8000, 0, 4, 7)
    match = struct.pack("!HH", 1, 4 + len(field)) + field
    body = struct.pack("!IHBBQ", 0xFFFFFFFF, len(data), 0, 0, 0) + match + bytes(-len(match) % 8) + b"\0\0" + data
    return HEADER.pack(4, Kind.PACKET_IN, HEADER.size + len(body), XID) + body


def test_a_packet_for_the_controller_is_read_with_its_port_and_cookie() -> None:
    frame = frame_of(packet_in(b"any packet"))
    assert elements.packet_cookie(frame) == 0
    assert elements.packet_in(frame) == elements.PacketIn(7, b"any packet")


def test_a_packet_for_the_controller_from_a_masked_port_came_from_no_port() -> None:
    field = struct.pack("!HBBII", 0x8000, 1, 8, 7, 0xFFFFFFFF)
    match = struct.pack("!HH", 1, 4 + len(field)) + field
    body = struct.pack("!IHBBQ", 0xFFFFFFFF, 0, 0, 0, 0) + match + bytes(-len(match) % 8) + b"\0\0packet"
    frame = frame_of(HEADER.pack(4, Kind.PACKET_IN, HEADER.size + len(body), XID) + body)
    assert elements.packet_in(frame) == elements.PacketIn(None, b"packet")


def read_packet(frame: Frame) -> None:
    elements.packet_cookie(frame)
    elements.packet_in(frame)


def test_a_packet_for_the_controller_with_wrong_lengths_is_refused() -> None:
    good = packet_in(b"")
    for length in range(HEADER.size, len(good)):
        with pytest.raises(MalformedError):
            read_packet(frame_of(HEADER.pack(4, Kind.PACKET_IN, length, XID) + good[HEADER.size : length]))
    match = good.index(struct.pack("!HHHB", 1, 12, 0x8000, 0))
    for place in range(match, match + 12):
        changed = bytearray(good)
        changed[place] ^= 0xFF
        try:
            read_packet(frame_of(bytes(changed)))
        except MalformedError:
            continue
        assert place >= match + 4, "type and length of the match are checked"
