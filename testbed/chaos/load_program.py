"""Sends full UDP packets, each flow at its own pace, or counts those that come; runs in a host, needs only Python.

Arguments: `send FLOW...` with NUMBER,SOURCE_ADDRESS,SOURCE_PORT,TOS,ADDRESS,PORT,SECONDS for each flow, the seconds
between two packets last; or `receive ADDRESS PORT`. Prints `sending` or `listening` when it is ready. When terminated
it prints one line of JSON: the packets of each flow. On failure it prints the error instead.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import signal
import socket
import struct
import sys
import time
from collections import Counter
from types import FrameType

PAYLOAD = 1472
"""Bytes of a packet: what fits into 1500 with the headers of IP and UDP."""

NUMBER = struct.Struct("!I")

_BACKLOG = 8
"""Packets of a flow that follow at once after a delay; others are left out, as a burst could fill an empty queue."""

_RECEIVE_BUFFER = 1 << 24

Row = tuple[int, tuple[str, int], int, tuple[str, int], float]


class _Terminated(BaseException):
    """Raised on SIGTERM."""


def send(rows: list[Row]) -> None:
    """Send packets of every flow until the program is terminated."""
    counts: Counter[int] = Counter()
    with contextlib.ExitStack() as stack:
        outlets = {}
        for number, source, type_of_service, target, _ in rows:
            outlet = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            outlet.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, type_of_service)
            outlet.bind(source)
            outlet.connect(target)
            outlets[number] = outlet.send, NUMBER.pack(number).ljust(PAYLOAD, b"\0")
        _say("sending")
        began = time.monotonic()
        # Flows of the same pace take turns, so that they do not meet in a queue.
        due = [(began + step * place / len(rows), number, step) for place, (number, *_, step) in enumerate(rows)]
        heapq.heapify(due)
        try:
            while True:
                at, number, step = due[0]
                now = time.monotonic()
                if now < at:
                    time.sleep(at - now)
                    continue
                send_packet, packet = outlets[number]
                # A host without a listener reports that, and the next call raises it.
                with contextlib.suppress(ConnectionRefusedError):
                    send_packet(packet)
                    counts[number] += 1
                heapq.heapreplace(due, (max(at + step, now - _BACKLOG * step), number, step))
        except _Terminated:
            pass
    _say(json.dumps({number: counts[number] for number, *_ in rows}))


def receive(target: tuple[str, int]) -> None:
    """Count the packets of each flow until the program is terminated."""
    counts: Counter[int] = Counter()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as inlet:
        with contextlib.suppress(PermissionError):
            inlet.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_RCVBUFFORCE", 33), _RECEIVE_BUFFER)
        inlet.bind(target)
        _say("listening")
        try:
            while True:
                counts[NUMBER.unpack(inlet.recv(NUMBER.size))[0]] += 1
        except _Terminated:
            pass
    _say(json.dumps(counts))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Terminated


def main() -> None:
    role, *arguments = sys.argv[1:]
    signal.signal(signal.SIGTERM, _terminate)
    try:
        if role == "send":
            fields = [flow.split(",") for flow in arguments]
            send([(int(n), (a, int(p)), int(tos), (b, int(q)), float(step)) for n, a, p, tos, b, q, step in fields])
        else:
            address, port = arguments
            receive((address, int(port)))
    except OSError as error:
        _say(str(error.strerror))
        sys.exit(1)


if __name__ == "__main__":
    main()
