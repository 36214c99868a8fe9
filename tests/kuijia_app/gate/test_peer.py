"""A connection begins with hellos and the switch's features, as OpenFlow 1.3.5, 6.3.1, has it, or ends."""

from __future__ import annotations

import struct

import pytest

from kuijia_app.gate.frames import Frame, RefusedError
from kuijia_app.gate.limits import Limits
from kuijia_app.gate.peer import HELLO, Greeting
from tests.kuijia_app.gate.imitated_switch import HEADER, features, message


def frame(data: bytes) -> Frame:
    version, kind, _, xid = HEADER.unpack_from(data)
    return Frame(version, kind, xid, data)


def bitmap(*versions: int) -> bytes:
    return struct.pack("!HHI", 1, 8, sum(1 << version for version in versions))


def test_it_says_hello_first() -> None:
    assert bytes(Greeting().reply) == HELLO == message(0, xid=1)


@pytest.mark.parametrize(
    "hello",
    [
        message(0),
        message(0, version=5),
        message(0, version=6),
        message(0, bitmap(1, 4, 6), version=6),
        message(0, bitmap(4), version=1),
        message(0, bitmap(4, 9), version=9),
    ],
)
def test_openflow_1_3_is_agreed_on_where_the_switch_speaks_it(hello: bytes) -> None:
    greeting = Greeting()
    greeting.reply.clear()
    greeting.take(frame(hello))
    assert HEADER.unpack_from(greeting.reply)[:2] == (4, 5)
    greeting.take(frame(features(0xFEDCBA9876543210)))
    assert greeting.datapath_id == 0xFEDCBA9876543210


@pytest.mark.parametrize(
    "hello", [message(0, version=1), message(0, version=3), message(0, bitmap(1, 5, 6), version=6)]
)
def test_a_switch_that_does_not_speak_it_is_told_so(hello: bytes) -> None:
    greeting = Greeting()
    greeting.reply.clear()
    with pytest.raises(RefusedError, match=r"OpenFlow 1\.3"):
        greeting.take(frame(hello))
    assert HEADER.unpack_from(greeting.reply)[:2] == (4, 1)
    assert struct.unpack_from("!HH", greeting.reply, 8) == (0, 0)


def test_echo_requests_are_answered_meanwhile() -> None:
    greeting = Greeting()
    greeting.take(frame(message(0)))
    greeting.reply.clear()
    greeting.take(frame(message(2, b"abc", xid=9)))
    assert bytes(greeting.reply) == message(3, b"abc", xid=9)


def test_who_says_much_and_not_its_features_is_refused() -> None:
    greeting = Greeting(Limits(greeting_frames=3))
    greeting.take(frame(message(0)))
    for _ in range(2):
        greeting.take(frame(message(3)))
    with pytest.raises(RefusedError, match="too many messages"):
        greeting.take(frame(message(3)))
