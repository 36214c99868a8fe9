"""Run as a program: attacks a controller on the loopback with connections of hostile peers, from orders in JSON.

Reads an order, an object with the members of `Order`, from standard input; prints a line of JSON with the counts when
all connections have ended.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import sys
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from tests.fuzz.openflow_peers import wire
from tests.fuzz.openflow_peers.acts import (
    Act,
    Deny,
    Drip,
    Handshake,
    Lie,
    Refuse,
    Secure,
    Send,
    Serve,
    Shut,
    Stay,
)
from tests.fuzz.openflow_peers.peers import World, kind_of, script_of

_CONNECT_SECONDS = 10.0
_SEND_SECONDS = 10.0
_ANSWER_SECONDS = 2.0
_DESCRIPTION_SECONDS = 0.1
_CHUNK = 1 << 16
_ADDRESSES = 100
"""Of the loopback, from which connections come; switches come from 127.0.0.1."""


@dataclass(frozen=True)
class Order:
    """An attack.

    Attributes:
        port: where the controller listens, on 127.0.0.1.
        seed: of all that is random.
        kinds: of peers that take part.
        first: number of the first connection.
        connections: how many there are.
        seconds: over which their beginnings are spread.
        at_once: most that there are at a time.
        messages: that each sends.
        ports: of the switches in use, by datapath id.
        free: datapath ids, among these, of switches that the application waits for.
    """

    port: int
    seed: int
    kinds: tuple[str, ...]
    first: int
    connections: int
    seconds: float
    at_once: int
    messages: int
    ports: dict[str, list[int]]
    free: list[int]

    @property
    def world(self) -> World:
        return World({int(datapath_id): ports for datapath_id, ports in self.ports.items()}, self.free, self.messages)


_REMEMBERED = 60
"""Ids of messages of the victim that a peer keeps."""

_SIMPLE_ANSWERS = {wire.ECHO_REQUEST: wire.ECHO_REPLY, wire.BARRIER_REQUEST: wire.BARRIER_REPLY}


class _Liar:
    """The lies of one switch about its roles."""

    def __init__(self, lie: Lie, random: Random) -> None:
        self._lie = lie
        self._random = random

    def answer(self, kind: int, xid: int, body: bytes) -> bytes | None:
        """Return the answer to a message; None for an honest one."""
        random = self._random
        if kind == wire.ROLE_REQUEST:
            role, generation = struct.unpack("!I4xQ", body)
            match self._lie:
                case Lie.STALE if role == wire.MASTER:
                    return wire.error(xid, *wire.STALE)
                case Lie.LATER_IDS:
                    generation += random.choice((1, 1 << 48, 1 << 62, (1 << 63) - 1))
                case Lie.ANY_IDS:
                    generation = random.getrandbits(64)
            return wire.role_reply(role, generation, xid)
        if kind in (wire.FLOW_MOD, wire.GROUP_MOD) and self._lie is Lie.SLAVE:
            return wire.error(xid, *wire.IS_SLAVE)
        if self._lie is Lie.ANY_ERRORS and kind not in _SIMPLE_ANSWERS and random.random() < 0.5:
            reason = random.choice((wire.IS_SLAVE, wire.STALE, (random.randrange(14), random.randrange(16))))
            return wire.error(xid, *reason)
        return None


class _Peer:
    """One connection, and what it has sent."""

    def __init__(self, connection: socket.socket, counts: Counter[str]) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._counts = counts
        self._heard = b""
        self._ids: deque[int] = deque([1], _REMEMBERED)

    async def do(self, act: Act) -> None:
        match act:
            case Send(data, messages):
                await self._send(data, messages)
            case Handshake(datapath_id, ports):
                await self._shake_hands(datapath_id, ports)
            case Drip(data, pause):
                await self._drip(data, pause)
            case Stay(seconds, reading, answering):
                await self._stay(seconds, reading=reading, answering=answering)
            case Serve(seconds, more):
                await self._serve(seconds, more)
            case Deny(seconds, lie, seed):
                await self._serve(seconds, 0, _Liar(lie, Random(seed)))
            case Secure(flights):
                await self._secure(flights)
            case Refuse(errors, kind):
                await self._refuse(errors, kind)
            case _:
                self._end(act)

    def _end(self, act: Act) -> None:
        if act == Shut():
            self._connection.shutdown(socket.SHUT_WR)
        else:
            self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def _send(self, data: bytes, messages: int) -> None:
        await asyncio.wait_for(self._loop.sock_sendall(self._connection, data), _SEND_SECONDS)
        self._counts["messages"] += messages
        self._counts["bytes"] += len(data)

    async def _shake_hands(self, datapath_id: int, ports: tuple[int, ...]) -> None:
        await self._send(wire.hello(), 1)
        kind, xid, body = wire.HELLO, 0, b""
        while kind != wire.FEATURES_REQUEST:
            kind, xid, body = await asyncio.wait_for(self._frame(), _ANSWER_SECONDS)
        await self._send(wire.features_reply(datapath_id, xid), 1)
        self._counts["handshakes"] += 1
        # Strangers are asked nothing more.
        with suppress(asyncio.TimeoutError):
            while kind != wire.MULTIPART_REQUEST or struct.unpack_from("!H", body)[0] != wire.PORT_DESC:
                kind, xid, body = await asyncio.wait_for(self._frame(), _DESCRIPTION_SECONDS)
            await self._send(wire.port_description(ports, xid), 1)
            self._counts["admitted"] += 1

    async def _stay(self, seconds: float, *, reading: bool, answering: bool) -> None:
        deadline = time.monotonic() + seconds
        if not reading:
            await asyncio.sleep(seconds)
        while (left := deadline - time.monotonic()) > 0:
            with suppress(asyncio.TimeoutError):
                kind, xid, body = await asyncio.wait_for(self._frame(), left)
                if answering and kind == wire.ECHO_REQUEST:
                    await self._send(wire.message(wire.ECHO_REPLY, body, xid), 1)
                elif answering and kind == wire.BARRIER_REQUEST:
                    await self._send(wire.message(wire.BARRIER_REPLY, b"", xid), 1)

    async def _serve(self, seconds: float, more: int, liar: _Liar | None = None) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            with suppress(asyncio.TimeoutError):
                kind, xid, body = await asyncio.wait_for(self._frame(), left)
                lie = None if liar is None else liar.answer(kind, xid, body)
                if lie is not None:
                    await self._send(lie, 1)
                elif kind in _SIMPLE_ANSWERS:
                    await self._send(wire.message(_SIMPLE_ANSWERS[kind], body, xid), 1)
                elif kind == wire.MULTIPART_REQUEST:
                    (asked,) = struct.unpack_from("!H", body)
                    part = wire.multipart_reply(asked, b"", xid, wire.REPLY_MORE)
                    await self._send(part * more + wire.multipart_reply(asked, b"", xid), more + 1)

    async def _drip(self, data: bytes, pause: float) -> None:
        for at in range(len(data)):
            await self._send(data[at : at + 1], 0)
            await asyncio.sleep(pause)

    async def _refuse(self, errors: int, kind: int) -> None:
        for number in range(errors):
            await self._send(wire.error(self._ids[-1 - number % len(self._ids)], kind, number % 16), 1)

    async def _secure(self, flights: int) -> None:
        """Go on with a handshake for a number of flights; a victim without TLS gets them as garbage."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = _CLIENT.wrap_bio(incoming, outgoing)
        for _ in range(flights):
            with suppress(ssl.SSLError):
                session.do_handshake()
            await self._send(outgoing.read(), 1)
            with suppress(asyncio.TimeoutError):
                chunk = self._loop.sock_recv(self._connection, _CHUNK)
                incoming.write(await asyncio.wait_for(chunk, _DESCRIPTION_SECONDS))

    async def _frame(self) -> tuple[int, int, bytes]:
        """Return kind, xid and body of the next message; raises ConnectionError at the end."""
        while True:
            if len(self._heard) >= wire.HEADER:
                _, kind, length, xid = struct.unpack_from("!BBHI", self._heard)
                if len(self._heard) >= length >= wire.HEADER:
                    self._ids.append(xid)
                    body, self._heard = self._heard[wire.HEADER : length], self._heard[length:]
                    return kind, xid, body
            chunk = await self._loop.sock_recv(self._connection, _CHUNK)
            if not chunk:
                raise ConnectionResetError
            self._heard += chunk


def _without_certificate() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


_CLIENT = _without_certificate()


async def attack(order: Order) -> Counter[str]:
    """Carry an attack out; return what was sent and how connections ended."""
    counts: Counter[str] = Counter()
    places = asyncio.Semaphore(order.at_once)
    began = time.monotonic()
    peers = []
    for number in range(order.connections):
        await places.acquire()
        due = began + order.seconds * number / order.connections
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        peer = asyncio.create_task(_come(order, order.first + number, counts))
        peer.add_done_callback(lambda _: places.release())
        peers.append(peer)
    await asyncio.gather(*peers)
    return counts


async def _come(order: Order, index: int, counts: Counter[str]) -> None:
    kind = kind_of(order.kinds, order.seed, index)
    script = script_of(kind, order.seed, index, order.world)
    with socket.socket() as connection:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.bind((f"127.0.1.{1 + index % _ADDRESSES}", 0))
        try:
            loop = asyncio.get_running_loop()
            await asyncio.wait_for(loop.sock_connect(connection, ("127.0.0.1", order.port)), _CONNECT_SECONDS)
            counts["connections"] += 1
            peer = _Peer(connection, counts)
            for act in script:
                await peer.do(act)
        except asyncio.TimeoutError:
            counts["unanswered"] += 1
        except OSError:
            counts["dropped"] += 1


def main() -> None:
    order = json.loads(sys.stdin.read())
    counts = asyncio.run(attack(Order(**{**order, "kinds": tuple(order["kinds"])})))
    sys.stdout.write(json.dumps(counts) + "\n")


if __name__ == "__main__":
    main()
