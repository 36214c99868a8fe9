"""Controllers cut off in one direction: one says nothing to the other on any connection, and hears it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from testbed.chaos.controllers import one_way, peer
from testbed.chaos.relay import Relay

Ends = dict[int, socket.socket]
"""Ends of a connection, by the number of the controller that has it."""


@pytest.fixture
def peers() -> Iterator[tuple[Relay, list[Ends]]]:
    """Two controllers, each connected to the other by a connection of its own."""
    with ExitStack() as stack:
        servers = {number: stack.enter_context(socket.create_server(("127.0.0.1", 0))) for number in (1, 2)}
        channels = {(peer(a), b): servers[b].getsockname()[1] for a, b in ((1, 2), (2, 1))}
        relay = stack.enter_context(Relay(channels))
        connections = []
        for a, b in ((1, 2), (2, 1)):
            servers[b].settimeout(10)
            near = stack.enter_context(socket.create_connection(("127.0.0.1", relay.ports[peer(a), b]), timeout=10))
            far = stack.enter_context(servers[b].accept()[0])
            far.settimeout(10)
            connections.append({a: near, b: far})
        yield relay, connections


def test_who_is_not_heard_hears_the_other_on_every_connection(peers: tuple[Relay, list[Ends]]) -> None:
    relay, connections = peers
    rules = one_way([1], [2])
    assert set(rules) == {(peer(1), 2), (peer(2), 1)}
    for channel, rule in rules.items():
        relay.rule(channel, rule)
    for ends in connections:
        ends[1].sendall(b"silent")
        ends[2].sendall(b"heard")
    for ends in connections:
        assert ends[1].recv(5) == b"heard"
        ends[2].settimeout(0.1)
        with pytest.raises(TimeoutError):
            ends[2].recv(1)
