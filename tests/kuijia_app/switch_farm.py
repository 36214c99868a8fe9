"""Switches made of sockets that keep the tables they are given, as a real controller's peers; nothing is forwarded."""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kuijia_app.tables.identifiers import LINK_PROBE_COOKIE, NEIGHBOUR_COOKIE

_HEADER: Final = struct.Struct("!BBHI")
_VERSION: Final = 4
_HELLO, _ERROR, _ECHO_REQUEST, _ECHO_REPLY, _EXPERIMENTER, _FEATURES_REQUEST, _FEATURES_REPLY = range(7)
_PACKET_IN, _PORT_STATUS, _PACKET_OUT, _FLOW_MOD, _GROUP_MOD = 10, 12, 13, 14, 15
_MULTIPART_REQUEST, _MULTIPART_REPLY, _BARRIER_REQUEST, _BARRIER_REPLY = 18, 19, 20, 21
_ROLE_REQUEST, _ROLE_REPLY, _METER_MOD = 24, 25, 29
"""Types of messages (OpenFlow 1.3.5, 7.1)."""

_FLOWS, _PORTS, _GROUP_COUNTERS, _GROUPS, _METERS, _PORT_DESCRIPTIONS = 1, 4, 6, 7, 10, 13
"""Types of multipart messages (7.3.5)."""

_ADD, _MODIFY, _DELETE, _DELETE_STRICT = 0, 1, 3, 4
_FLOW_FIXED, _LONGEST_BODY = 48, 60_000
_MOST_UNSENT: Final = 100 * 128
"""Bytes for a controller that does not read: a hundred small packets, which Open vSwitch keeps, too
(`do_send_packet_ins` in its `ofproto/connmgr.c`)."""

_MORE: Final = 1
_LOWER_TTL: Final = struct.pack("!HH", 24, 8)
"""The action that entries of hosts alone have (7.2.5)."""

_DESTINATIONS: Final = (12, 27)
"""Numbers of the fields with the destination in IPv4 and IPv6."""


@dataclass
class MeterBudget:
    """Packets that a meter lets pass: `rate` a second, and `burst` at once."""

    rate: float
    burst: float
    left: float = 0.0
    at: float = 0.0

    def passes(self, now: float) -> bool:
        self.left = min(self.burst, self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(eq=False)
class FarmSwitch:
    """One switch.

    Attributes:
        ends: port to a neighbour, to the neighbour's datapath id and port.
        host_port: port to its hosts.
        has_meters: False if it refuses meters.
        entries: its flow entries, each with its cookie and what follows the fixed part, by table, priority and match.
        groups: type and buckets by id.
        hosts: addresses of the hosts to which an entry delivers.
        dropped: frames of hosts that a meter, or a full connection, has kept from the controller.
        meters: what is left of each.
        answers: to questions about its entries, kept until these change: all switches share a thread, and a switch
            that describes its entries must not keep the others from answering.
    """

    datapath_id: int
    ends: Mapping[int, tuple[int, int]]
    host_port: int
    has_meters: bool = True
    entries: dict[tuple[int, int, bytes], tuple[bytes, bytes]] = field(default_factory=dict)
    groups: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    down: set[int] = field(default_factory=set)
    meters: dict[int, tuple[bytes, MeterBudget]] = field(default_factory=dict)
    hosts: set[bytes] = field(default_factory=set)
    dropped: int = 0
    answers: dict[bytes, list[bytes]] = field(default_factory=dict)
    unsent: bytearray = field(default_factory=bytearray)
    unread: bytearray = field(default_factory=bytearray)
    wire: socket.socket = field(default_factory=socket.socket)


class SwitchFarm:
    """All switches of a network, which one thread serves while `run` runs."""

    def __init__(
        self, controller_port: int, switches: Sequence[FarmSwitch], group_emptied: Callable[[int, int], None]
    ) -> None:
        """Connect the switches; `group_emptied` takes the datapath id and the id of a group without buckets."""
        self._selector = selectors.DefaultSelector()
        self._switches = {switch.datapath_id: switch for switch in switches}
        self._group_emptied = group_emptied
        for switch in switches:
            switch.wire = socket.create_connection(("127.0.0.1", controller_port))
            switch.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            switch.wire.setblocking(False)
            self._selector.register(switch.wire, selectors.EVENT_READ, switch)
            self._send(switch, _HELLO)

    def close(self) -> None:
        for switch in self._switches.values():
            switch.wire.close()
        self._selector.close()

    def run(self, seconds: float, step: Callable[[float], bool] = lambda _: False, period: float = 0.002) -> None:
        """Serve the switches for so long, or until `step`, which is called every `period` with the time, is True."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end and not step(now):
            self._flush()
            for key, _ in self._selector.select(period):
                self._read(key.data)
            self._flush()

    def frame_from_host(self, switch: FarmSwitch, frame: bytes, now: float, *, is_metered: bool = True) -> None:
        """Have a switch send a host's frame to the controller, if its meter has room, and its connection too.

        No meter limits packets whose TTL ends: the entry that lowers it delivers others.
        """
        meter = switch.meters.get(switch.host_port) if is_metered else None
        if (meter is not None and not meter[1].passes(now)) or len(switch.unsent) > _MOST_UNSENT:
            switch.dropped += 1
            return
        self._packet_in(switch, switch.host_port, NEIGHBOUR_COOKIE, frame)

    def set_port(self, switch: FarmSwitch, port: int, *, live: bool) -> None:
        """Have a switch report that a port is up or down."""
        (switch.down.discard if live else switch.down.add)(port)
        self._send(switch, _PORT_STATUS, struct.pack("!B7x", 2) + _port(switch, port))

    def _flush(self) -> None:
        for switch in self._switches.values():
            if switch.unsent:
                with contextlib.suppress(BlockingIOError):
                    del switch.unsent[: switch.wire.send(switch.unsent)]

    def _packet_in(self, switch: FarmSwitch, port: int, cookie: int, frame: bytes) -> None:
        match = struct.pack("!HHHBBI4x", 1, 12, 0x8000, 0, 4, port)
        head = struct.pack("!IHBBQ", 0xFFFFFFFF, len(frame), 1, 0, cookie)
        self._send(switch, _PACKET_IN, head + match + bytes(2) + frame)

    @staticmethod
    def _send(switch: FarmSwitch, kind: int, body: bytes = b"", xid: int = 0) -> None:
        switch.unsent += _HEADER.pack(_VERSION, kind, _HEADER.size + len(body), xid) + body

    def _read(self, switch: FarmSwitch) -> None:
        try:
            data = switch.wire.recv(1 << 18)
        except BlockingIOError:
            return
        if not data:
            raise ConnectionError(f"the controller has closed the connection of switch {switch.datapath_id}")
        switch.unread += data
        start, buffer = 0, bytes(switch.unread)
        while start + _HEADER.size <= len(buffer):
            _, kind, length, xid = _HEADER.unpack_from(buffer, start)
            if start + length > len(buffer):
                break
            self._take(switch, kind, buffer[start : start + length], xid)
            start += length
        del switch.unread[:start]

    def _take(self, switch: FarmSwitch, kind: int, data: bytes, xid: int) -> None:
        body = data[_HEADER.size :]
        replies = {_ECHO_REQUEST: _ECHO_REPLY, _BARRIER_REQUEST: _BARRIER_REPLY, _ROLE_REQUEST: _ROLE_REPLY}
        if kind in replies:
            self._send(switch, replies[kind], body, xid)
        elif kind == _FEATURES_REQUEST:
            self._send(switch, _FEATURES_REPLY, struct.pack("!QIBB2xII", switch.datapath_id, 0, 254, 0, 0, 0), xid)
        elif kind == _MULTIPART_REQUEST:
            self._answer(switch, body, xid)
        elif kind == _FLOW_MOD:
            _put_entry(switch, body)
        elif kind == _GROUP_MOD:
            self._put_group(switch, body)
        elif kind == _METER_MOD:
            self._put_meter(switch, data, xid)
        elif kind == _PACKET_OUT:
            self._deliver(switch, body)
        elif kind == _EXPERIMENTER:  # it has no bundles
            self._send(switch, _ERROR, struct.pack("!HH", 1, 3) + data[:64], xid)

    def _put_group(self, switch: FarmSwitch, body: bytes) -> None:
        command, kind, group_id = struct.unpack_from("!HBxI", body)
        buckets = body[8:]
        if command in (_ADD, _MODIFY):
            switch.groups[group_id] = kind, buckets
            if not buckets:
                self._group_emptied(switch.datapath_id, group_id)
        else:
            switch.groups.pop(group_id, None)

    def _put_meter(self, switch: FarmSwitch, data: bytes, xid: int) -> None:
        command, _, number = struct.unpack_from("!HHI", data, _HEADER.size)
        is_known = number in switch.meters
        if not switch.has_meters:
            self._send(switch, _ERROR, struct.pack("!HH", 1, 1) + data[:64], xid)  # OFPBRC_BAD_TYPE
        elif (command == _ADD) is is_known:
            code = 1 if is_known else 3  # OFPMMFC_METER_EXISTS, OFPMMFC_UNKNOWN_METER
            self._send(switch, _ERROR, struct.pack("!HH", 12, code) + data[:64], xid)
        else:
            rate, burst = struct.unpack_from("!II", data, _HEADER.size + 12)
            switch.meters[number] = data[_HEADER.size + 2 :], MeterBudget(rate, burst, burst, time.monotonic())

    def _deliver(self, switch: FarmSwitch, body: bytes) -> None:
        """Carry a frame of the controller to the next switch, whose entry sends probes of links back."""
        length = struct.unpack_from("!H", body, 8)[0]
        output = struct.pack("!HH", 0, 16)
        place = body.rfind(output, 16, 16 + length)
        port = struct.unpack_from("!I", body, place + 4)[0]
        if port in switch.ends and port not in switch.down:
            neighbour, its_port = switch.ends[port]
            self._packet_in(self._switches[neighbour], its_port, LINK_PROBE_COOKIE, body[16 + length :])

    def _answer(self, switch: FarmSwitch, body: bytes, xid: int) -> None:
        (kind,) = struct.unpack_from("!H", body)
        chunks = switch.answers.get(body)
        if chunks is None:
            chunks = _chunks(_items(switch, kind, body[8:]))
            if kind == _FLOWS:
                switch.answers[body] = chunks
        for number, each in enumerate(chunks, start=1):
            flags = 0 if number == len(chunks) else _MORE
            self._send(switch, _MULTIPART_REPLY, struct.pack("!HH4x", kind, flags) + each, xid)


def _chunks(items: Iterator[bytes]) -> list[bytes]:
    """Return the items in parts of at most `_LONGEST_BODY` bytes, at least one."""
    chunk, chunks = bytearray(), list[bytes]()
    for item in items:
        if len(chunk) + len(item) > _LONGEST_BODY:
            chunks.append(bytes(chunk))
            chunk.clear()
        chunk += item
    return [*chunks, bytes(chunk)]


def _put_entry(switch: FarmSwitch, body: bytes) -> None:
    switch.answers.clear()
    cookie, table, command, idle, hard, priority = struct.unpack_from("!8s8xBBHHH", body)
    match_length = struct.unpack_from("!H", body, 42)[0]
    end = 40 + match_length + -match_length % 8
    key = table, priority, body[40:end]
    if command == _ADD:
        timeouts = struct.pack("!HH", idle, hard)
        switch.entries[key] = cookie, timeouts + body[end:]
        if int.from_bytes(cookie, "big") == NEIGHBOUR_COOKIE and _LOWER_TTL in body[end:]:
            switch.hosts.add(_address(body[40:end]))
    elif command == _DELETE_STRICT:
        switch.entries.pop(key, None)
        switch.hosts.discard(_address(body[40:end]))
    elif command == _DELETE:
        switch.entries.clear()


def _address(match: bytes) -> bytes:
    """Return the address to which packets with a match go, b"" if it names none (OpenFlow 1.3.5, 7.2.3.7)."""
    position = 4
    while position + 4 <= len(match):
        _, field_and_mask, length = struct.unpack_from("!HBB", match, position)
        if field_and_mask >> 1 in _DESTINATIONS:
            return match[position + 4 : position + 4 + (length >> (field_and_mask & 1))]
        position += 4 + length
    return b""


def _items(switch: FarmSwitch, kind: int, asked: bytes) -> Iterator[bytes]:
    """Yield the items of the answer to a question; none to one about what such a switch does not have."""
    ports = (*switch.ends, switch.host_port)
    if kind == _PORT_DESCRIPTIONS:
        yield from (_port(switch, port) for port in ports)
    elif kind == _PORTS:
        yield from (struct.pack("!I4x12QII", port, *[0] * 12, 9, 9) for port in ports)
    elif kind == _FLOWS:
        yield from _flows(switch, *struct.unpack_from("!QQ", asked, 16))
    elif kind == _METERS:
        yield from (struct.pack("!H", 2 + len(stated)) + stated for stated, _ in switch.meters.values())
    elif kind in (_GROUPS, _GROUP_COUNTERS):
        for group_id, (its_kind, buckets) in switch.groups.items():
            if kind == _GROUPS:
                yield struct.pack("!HBxI", 8 + len(buckets), its_kind, group_id) + buckets
            else:
                count = 16 * _bucket_count(buckets)
                yield struct.pack("!H2xII4xQQII", 40 + count, group_id, 1, 5, 500, 9, 9) + bytes(count)


def _flows(switch: FarmSwitch, cookie: int, mask: int) -> Iterator[bytes]:
    for (table, priority, match), (held, rest) in switch.entries.items():
        if (int.from_bytes(held, "big") ^ cookie) & mask == 0:
            length = _FLOW_FIXED + len(match) + len(rest) - 4
            head = struct.pack("!HBxIIH4sH4x8sQQ", length, table, 9, 9, priority, rest[:4], 0, held, 5, 500)
            yield head + match + rest[4:]


def _bucket_count(buckets: bytes) -> int:
    count = start = 0
    while start < len(buckets):
        start += struct.unpack_from("!H", buckets, start)[0]
        count += 1
    return count


def _port(switch: FarmSwitch, port: int) -> bytes:
    state = 1 if port in switch.down else 0
    return struct.pack("!I4x6s2x16s8I", port, b"\2\0\0\0\0\1", f"p{port}".encode(), 0, state, *[0] * 6)
