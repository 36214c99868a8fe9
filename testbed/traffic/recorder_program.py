"""Sends UDP packets at their pace, records their arrival, or notes stalls; runs in a host, needs only Python.

Arguments: one of these roles with its own.

- `send-ticks SOURCE_ADDRESS SOURCE_PORT ADDRESS PORT SECONDS BYTES`: packets of a flow, with the time between two of
  them and the length of their payload.
- `receive-ticks ADDRESS PORT`: the arrival of each.
- `send-probes SECONDS FLOW...`: packets of many flows, each NUMBER,SOURCE_ADDRESS,SOURCE_PORT,TOS,ADDRESS,PORT.
- `receive-probes ADDRESS PORT`: the gaps in them.
- `send-load FLOW...`: full packets of many flows, each with the seconds between two packets behind the same words.
- `receive-load ADDRESS PORT`: how many of each have come.
- `watch-stalls NICENESS`: when a process of this niceness was not run in time.

Prints `ready` when it is. When terminated it prints its record as one line of JSON; times are in nanoseconds of the
monotonic clock. On failure it prints the error instead. Ticks and probes ask for real-time scheduling, so that other
programs delay neither the packets nor the records.
"""

from __future__ import annotations

import array
import contextlib
import gc
import heapq
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType

PACKET = struct.Struct("!IQQ")
"""A probe: number of the flow, number of the packet, time of sending in nanoseconds."""

_NUMBER = struct.Struct("!Q")
_LOAD = struct.Struct("!I")
_LOAD_BYTES = 1472
"""Bytes of a packet of the load: what fits into 1500 with the headers of IP and UDP."""

_BACKLOG = 8
"""Packets of a flow that follow at once after a delay; others are left out, as a burst could fill an empty queue."""

_REAL_TIME_PRIORITY = 1
_RECEIVE_BUFFER = 1 << 24
_STALL_TICK, _LATE = 5_000_000, 10_000_000
"""Nanoseconds between two looks, and of the least delay that is noted."""

Address = tuple[str, int]


class _Terminated(BaseException):
    """Raised on SIGTERM."""


class FlowRecord:
    """The packets of one flow that have come, kept as gaps: memory grows with losses, not with packets."""

    def __init__(self, number: int, sent_at: int) -> None:
        self.first = self.last = number
        self.last_sent_at = sent_at
        self.came = 1
        self.twice = 0
        self.late = 0
        self.gaps: list[list[int]] = []

    def add(self, number: int, sent_at: int) -> None:
        if number == self.last + 1:
            self.came += 1
        elif number > self.last:
            self.came += 1
            self.gaps.append([self.last + 1, number - 1, self.last_sent_at, sent_at])
        else:
            self._fill(number, sent_at)
            return
        self.last, self.last_sent_at = number, sent_at

    def _fill(self, number: int, sent_at: int) -> None:
        """Record a packet that came after a later one: it leaves its gap, or has come before."""
        for place in range(len(self.gaps) - 1, -1, -1):
            low, high, before, after = self.gaps[place]
            if low <= number <= high:
                parts = [[low, number - 1, before, sent_at], [number + 1, high, sent_at, after]]
                self.gaps[place : place + 1] = [part for part in parts if part[0] <= part[1]]
                self.came += 1
                self.late += 1
                return
        self.twice += number >= self.first

    def as_json(self) -> dict[str, object]:
        return vars(self)


def send_ticks(source: Address, target: Address, interval: float, size: int) -> dict[str, object]:
    """Send packets numbered from 0; the record has the time of each. Nothing else is allocated meanwhile."""
    at = array.array("q")
    with _outlet(source, target) as flow, contextlib.suppress(_Terminated):
        _say("ready")

        def send(now: int) -> None:
            # A host without a listener reports that, and the next call raises it.
            with contextlib.suppress(ConnectionRefusedError):
                flow.send(_NUMBER.pack(len(at)).ljust(size, b"\0"))
            at.append(now)

        _at_pace(interval, time.monotonic_ns(), send)
    return {"at": at.tolist()}


def receive_ticks(target: Address) -> dict[str, object]:
    """Record the numbers and the times of the packets that arrive."""
    numbers, at = array.array("q"), array.array("q")
    with _inlet(target) as flow, contextlib.suppress(_Terminated):
        _say("ready")
        while True:
            packet = flow.recv(64)
            now = time.monotonic_ns()
            numbers.append(_NUMBER.unpack_from(packet)[0])
            at.append(now)
    # The last packet may be half recorded when the signal came.
    return {"numbers": numbers.tolist()[: len(at)], "at": at.tolist()}


def send_probes(interval: float, flows: list[tuple[int, Address, int, Address]]) -> dict[int, int]:
    """Send a packet of every flow at each multiple of `interval` seconds; the record has the packets by flow."""
    number = 0
    with contextlib.ExitStack() as stack:
        outlets = []
        for flow, source, type_of_service, target in flows:
            outlets.append((flow, stack.enter_context(_outlet(source, target, type_of_service)).send))
        _say("ready")

        def send(_: int) -> None:
            nonlocal number
            for flow, send_packet in outlets:
                with contextlib.suppress(ConnectionRefusedError):
                    send_packet(PACKET.pack(flow, number, time.monotonic_ns()))
            number += 1

        # All senders of a machine send at the same times: switches that share a process then handle packets together.
        step = round(interval * 1e9)
        with contextlib.suppress(_Terminated):
            _at_pace(interval, (time.monotonic_ns() // step + 1) * step, send)
    return {flow: number for flow, *_ in flows}


def receive_probes(target: Address) -> dict[int, dict[str, object]]:
    """Find the gaps in the packets that come; the record has what a `FlowRecord` has, by flow."""
    records: dict[int, FlowRecord] = {}
    unpack = PACKET.unpack_from
    with _inlet(target) as inlet, contextlib.suppress(_Terminated):
        _say("ready")
        while True:
            flow, number, sent_at = unpack(inlet.recv(64))
            record = records.get(flow)
            if record is None:
                records[flow] = FlowRecord(number, sent_at)
            else:
                record.add(number, sent_at)
    return {flow: record.as_json() for flow, record in records.items()}


def send_load(flows: list[tuple[int, Address, int, Address, float]], termination: socket.socket) -> dict[int, int]:
    """Send packets of every flow at its own pace; the record has the packets by flow."""
    counts = dict.fromkeys([number for number, *_ in flows], 0)
    with contextlib.ExitStack() as stack:
        outlets = {}
        for number, source, type_of_service, target, _ in flows:
            outlet = stack.enter_context(_outlet(source, target, type_of_service))
            outlets[number] = outlet.send, _LOAD.pack(number).ljust(_LOAD_BYTES, b"\0")
        _say("ready")
        began = time.monotonic()
        # Flows of the same pace take turns, so that they do not meet in a queue.
        due = [(began + step * place / len(flows), number, step) for place, (number, *_, step) in enumerate(flows)]
        heapq.heapify(due)
        while not _readable([termination], max(0.0, due[0][0] - time.monotonic())):
            at, number, step = due[0]
            now = time.monotonic()
            if now < at:
                continue
            send_packet, packet = outlets[number]
            with contextlib.suppress(ConnectionRefusedError):
                send_packet(packet)
                counts[number] += 1
            heapq.heapreplace(due, (max(at + step, now - _BACKLOG * step), number, step))
    return counts


def receive_load(target: Address, termination: socket.socket) -> dict[int, int]:
    """Count the packets of each flow, those included that have come when the program is terminated."""
    counts: Counter[int] = Counter()
    with _inlet(target) as inlet:
        inlet.setblocking(False)
        _say("ready")
        is_terminated = False
        while not is_terminated:
            is_terminated = termination in _readable([inlet, termination])
            with contextlib.suppress(BlockingIOError):
                while True:
                    counts[_LOAD.unpack(inlet.recv(_LOAD.size))[0]] += 1
    return counts


def watch_stalls(niceness: int) -> dict[str, object]:
    """Record pairs of the time at which this process should have run and at which it did, some time later."""
    os.setpriority(os.PRIO_PROCESS, 0, niceness)
    stalls: list[tuple[int, int]] = []
    with contextlib.suppress(_Terminated):
        _say("ready")
        due = time.monotonic_ns() + _STALL_TICK
        while True:
            time.sleep(max(0.0, (due - time.monotonic_ns()) / 1e9))
            now = time.monotonic_ns()
            if now - due >= _LATE:
                stalls.append((due, now))
            due = now + _STALL_TICK
    return {"stalls": stalls}


def _at_pace(interval: float, due: int, send: Callable[[int], None]) -> None:
    """Call `send` with the time, each `interval` seconds from `due` on; what a delay has held up follows at once."""
    step = round(interval * 1e9)
    while True:
        now = time.monotonic_ns()
        if now < due:
            time.sleep((due - now) / 1e9)
            continue
        send(now)
        due += step


def _outlet(source: Address, target: Address, type_of_service: int = 0) -> socket.socket:
    outlet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    outlet.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, type_of_service)
    outlet.bind(source)
    outlet.connect(target)
    return outlet


def _inlet(target: Address) -> socket.socket:
    inlet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with contextlib.suppress(PermissionError):
        inlet.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_RCVBUFFORCE", 33), _RECEIVE_BUFFER)
    inlet.bind(target)
    return inlet


def _readable(sockets: list[socket.socket], seconds: float | None = None) -> list[socket.socket]:
    return select.select(sockets, [], [], seconds)[0]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Terminated


def _termination() -> tuple[socket.socket, socket.socket]:
    """Return a socket that is readable from SIGTERM on, and its other end.

    An exception raised by the signal could part the sending or coming of a packet from its count.
    """
    told, tells = socket.socketpair()
    tells.setblocking(False)
    signal.signal(signal.SIGTERM, lambda *_: None)  # the loops end the program
    signal.set_wakeup_fd(tells.fileno())
    return told, tells


def _flow(words: str) -> tuple[int, Address, int, Address]:
    number, source, source_port, type_of_service, target, port = words.split(",")
    return int(number), (source, int(source_port)), int(type_of_service), (target, int(port))


def _record(role: str, arguments: list[str]) -> object:
    if role == "send-ticks":
        source, source_port, address, port, interval, size = arguments
        return send_ticks((source, int(source_port)), (address, int(port)), float(interval), int(size))
    if role == "send-probes":
        interval, *flows = arguments
        return send_probes(float(interval), list(map(_flow, flows)))
    if role == "watch-stalls":
        return watch_stalls(int(arguments[0]))
    if role == "send-load":
        termination, _other_end = _termination()
        rows = [words.rpartition(",") for words in arguments]
        return send_load([(*_flow(flow), float(seconds)) for flow, _, seconds in rows], termination)
    address, port = arguments
    target = address, int(port)
    if role == "receive-load":
        termination, _other_end = _termination()
        return receive_load(target, termination)
    return (receive_ticks if role == "receive-ticks" else receive_probes)(target)


def main() -> None:
    role, *arguments = sys.argv[1:]
    signal.signal(signal.SIGTERM, _terminate)
    if role.endswith(("-ticks", "-probes")):
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_REAL_TIME_PRIORITY))
    gc.disable()
    try:
        record = _record(role, arguments)
    except OSError as error:
        _say(str(error.strerror))
        sys.exit(1)
    _say(json.dumps(record))


if __name__ == "__main__":
    main()
