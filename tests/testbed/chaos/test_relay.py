"""The relay passes bytes both ways, holds a direction without losing any, delays, and resets."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from testbed.chaos.relay import Relay, Rule

S1, S2 = ("s1", 1), ("s1", 2)
"""One switch connects to two controllers: each connection is treated by itself."""


@dataclass
class Ends:
    relay: Relay
    switch: socket.socket
    controller: socket.socket


@pytest.fixture
def ends() -> Iterator[Ends]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        with (
            Relay(dict.fromkeys([S1, S2], server.getsockname()[1])) as relay,
            socket.create_connection(("127.0.0.1", relay.ports[S1]), timeout=10) as switch,
            server.accept()[0] as controller,
        ):
            controller.settimeout(10)
            yield Ends(relay, switch, controller)


def received(end: socket.socket, count: int) -> bytes:
    with end.makefile("rb") as stream:
        return stream.read(count)


def test_bytes_pass_both_ways_in_order(ends: Ends) -> None:
    sent = bytes(range(256)) * 2000
    ends.switch.sendall(sent[:1000])
    ends.controller.sendall(sent)
    assert received(ends.controller, 1000) == sent[:1000]
    assert received(ends.switch, len(sent)) == sent


def test_a_held_direction_passes_nothing_until_it_is_released(ends: Ends) -> None:
    ends.relay.rule(S1, Rule(hold_from_near=True))
    ends.switch.sendall(b"held")
    ends.controller.sendall(b"free")
    assert received(ends.switch, 4) == b"free"
    ends.controller.settimeout(0.2)
    with pytest.raises(TimeoutError):
        ends.controller.recv(1)
    ends.controller.settimeout(10)
    ends.relay.rule(S1, Rule())
    assert received(ends.controller, 4) == b"held"


def test_a_late_connection_is_late_by_its_delay(ends: Ends) -> None:
    ends.relay.rule(S1, Rule(delay=0.2))
    began = time.monotonic()
    ends.switch.sendall(b"late")
    assert received(ends.controller, 4) == b"late"
    assert time.monotonic() - began >= 0.19


def test_a_lossy_connection_loses_nothing_and_is_late_where_tcp_sends_again(ends: Ends) -> None:
    ends.relay.rule(S1, Rule(loss=1.0))
    ends.relay.rule(S2, Rule(hold_from_near=True))
    began = time.monotonic()
    ends.switch.sendall(b"lost")
    assert received(ends.controller, 4) == b"lost"
    assert time.monotonic() - began >= 0.19


def test_a_reset_ends_both_sides(ends: Ends) -> None:
    ends.relay.reset(S1)
    assert ends.switch.recv(1) == b""
    assert ends.controller.recv(1) == b""


def test_an_end_that_closes_closes_the_other(ends: Ends) -> None:
    ends.controller.close()
    assert ends.switch.recv(1) == b""
