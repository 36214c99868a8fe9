"""Sends numbered UDP packets of many flows at one pace, or finds the gaps in them; runs in a host, needs only Python.

Arguments: `send SECONDS FLOW...` with the time between two packets of a flow and, for each flow, NUMBER,SOURCE_ADDRESS,
SOURCE_PORT,TOS,ADDRESS,PORT; or `receive ADDRESS PORT`. Prints `sending` or `listening` when it is ready. When
terminated it prints one line of JSON: the sender the packets sent by flow; the receiver by flow the first and last
number, the time at which the last was sent, how many came, came twice and came late, and the gaps: numbers of the first
and last packet missing, and when their neighbours were sent, in nanoseconds of the monotonic clock. On failure it
prints the error instead.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import struct
import sys
import time
from types import FrameType

PACKET = struct.Struct("!IQQ")
"""Number of the flow, number of the packet, time of sending in nanoseconds."""

_REAL_TIME_PRIORITY = 1
_RECEIVE_BUFFER = 1 << 24


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


def send(interval: float, flows: list[tuple[int, tuple[str, int], int, tuple[str, int]]]) -> None:
    """Send a packet of every flow at each multiple of `interval` seconds; what a delay has held up follows at once."""
    step = round(interval * 1e9)
    with contextlib.ExitStack() as stack:
        outlets = []
        for flow, source, type_of_service, target in flows:
            outlet = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            outlet.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, type_of_service)
            outlet.bind(source)
            outlet.connect(target)
            outlets.append((flow, outlet.send))
        _say("sending")
        # All senders of a machine send at the same times: switches that share a process then handle packets together.
        number, due = 0, (time.monotonic_ns() // step + 1) * step
        try:
            while True:
                now = time.monotonic_ns()
                if now < due:
                    time.sleep((due - now) / 1e9)
                    continue
                for flow, send_packet in outlets:
                    # A host without a listener reports that, and the next call raises it.
                    with contextlib.suppress(ConnectionRefusedError):
                        send_packet(PACKET.pack(flow, number, time.monotonic_ns()))
                number += 1
                due += step
        except _Terminated:
            pass
    _say(json.dumps({flow: number for flow, *_ in flows}))


def receive(target: tuple[str, int]) -> None:
    """Find the gaps in the packets that come."""
    records: dict[int, FlowRecord] = {}
    unpack = PACKET.unpack_from
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as inlet:
        with contextlib.suppress(PermissionError):
            inlet.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_RCVBUFFORCE", 33), _RECEIVE_BUFFER)
        inlet.bind(target)
        _say("listening")
        try:
            while True:
                flow, number, sent_at = unpack(inlet.recv(64))
                record = records.get(flow)
                if record is None:
                    records[flow] = FlowRecord(number, sent_at)
                else:
                    record.add(number, sent_at)
        except _Terminated:
            pass
    _say(json.dumps({flow: record.as_json() for flow, record in records.items()}))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Terminated


def main() -> None:
    role, *arguments = sys.argv[1:]
    signal.signal(signal.SIGTERM, _terminate)
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_REAL_TIME_PRIORITY))
    gc.disable()
    try:
        if role == "send":
            interval, *flows = arguments
            rows = [flow.split(",") for flow in flows]
            send(float(interval), [(int(n), (a, int(p)), int(tos), (b, int(q))) for n, a, p, tos, b, q in rows])
        else:
            address, port = arguments
            receive((address, int(port)))
    except OSError as error:
        _say(str(error.strerror))
        sys.exit(1)


if __name__ == "__main__":
    main()
