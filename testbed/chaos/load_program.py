"""Sends full UDP packets, each flow at its own pace, or counts those that come; runs in a host, needs only Python.

Arguments: `send FLOW...` with NUMBER,SOURCE_ADDRESS,SOURCE_PORT,TOS,ADDRESS,PORT,SECONDS for each flow, the seconds
between two packets last; or `receive ADDRESS PORT`. Prints `ready` when it is. When terminated it
prints one line of JSON: the packets of each flow. On failure it prints the error instead.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import select
import signal
import socket
import struct
import sys
import time
from collections import Counter

PAYLOAD = 1472
"""Bytes of a packet: what fits into 1500 with the headers of IP and UDP."""

NUMBER = struct.Struct("!I")

_BACKLOG = 8
"""Packets of a flow that follow at once after a delay; others are left out, as a burst could fill an empty queue."""

_RECEIVE_BUFFER = 1 << 24

Row = tuple[int, tuple[str, int], int, tuple[str, int], float]


def send(rows: list[Row], termination: socket.socket) -> None:
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
        _say("ready")
        began = time.monotonic()
        # Flows of the same pace take turns, so that they do not meet in a queue.
        due = [(began + step * place / len(rows), number, step) for place, (number, *_, step) in enumerate(rows)]
        heapq.heapify(due)
        while not _readable([termination], max(0.0, due[0][0] - time.monotonic())):
            at, number, step = due[0]
            now = time.monotonic()
            if now < at:
                continue
            send_packet, packet = outlets[number]
            # A host without a listener reports that, and the next call raises it.
            with contextlib.suppress(ConnectionRefusedError):
                send_packet(packet)
                counts[number] += 1
            heapq.heapreplace(due, (max(at + step, now - _BACKLOG * step), number, step))
    _say(json.dumps({number: counts[number] for number, *_ in rows}))


def receive(target: tuple[str, int], termination: socket.socket) -> None:
    """Count the packets of each flow until the program is terminated, those included that have come by then."""
    counts: Counter[int] = Counter()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as inlet:
        with contextlib.suppress(PermissionError):
            inlet.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_RCVBUFFORCE", 33), _RECEIVE_BUFFER)
        inlet.bind(target)
        inlet.setblocking(False)
        _say("ready")
        is_terminated = False
        while not is_terminated:
            is_terminated = termination in _readable([inlet, termination])
            with contextlib.suppress(BlockingIOError):
                while True:
                    counts[NUMBER.unpack(inlet.recv(NUMBER.size))[0]] += 1
    _say(json.dumps(counts))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _readable(sockets: list[socket.socket], seconds: float | None = None) -> list[socket.socket]:
    return select.select(sockets, [], [], seconds)[0]


def _termination() -> tuple[socket.socket, socket.socket]:
    """Return a socket that is readable from SIGTERM on, and its other end.

    An exception raised by the signal could part the sending or coming of a packet from its count.
    """
    told, tells = socket.socketpair()
    tells.setblocking(False)
    signal.signal(signal.SIGTERM, lambda *_: None)  # the loops end the program
    signal.set_wakeup_fd(tells.fileno())
    return told, tells


def main() -> None:
    role, *arguments = sys.argv[1:]
    termination, _other_end = _termination()
    try:
        if role == "send":
            fields = [flow.split(",") for flow in arguments]
            rows = [(int(n), (a, int(p)), int(tos), (b, int(q)), float(step)) for n, a, p, tos, b, q, step in fields]
            send(rows, termination)
        else:
            address, port = arguments
            receive((address, int(port)), termination)
    except OSError as error:
        _say(str(error.strerror))
        sys.exit(1)


if __name__ == "__main__":
    main()
