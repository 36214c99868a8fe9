"""Sends small UDP packets at a steady pace, or records their arrival; runs inside a host, needs only Python.

Arguments: `send SOURCE_ADDRESS SOURCE_PORT ADDRESS PORT SECONDS BYTES`, with the time between two packets and the
length of their payload, or `receive ADDRESS PORT`. Prints `sending` or `listening` when it is ready; when terminated,
it prints its record as one line of JSON: `at`, in nanoseconds of the monotonic clock, and for the receiver `numbers`,
the packets' numbers. On failure it prints the error instead.

Both ask for real-time scheduling, so that other programs delay neither the packets nor the records. Nothing but the
records is allocated, and garbage collection is off.
"""

from __future__ import annotations

import array
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

_NUMBER = struct.Struct("!Q")
_REAL_TIME_PRIORITY = 1


class _Terminated(BaseException):
    """Raised on SIGTERM."""


def send(source: tuple[str, int], target: tuple[str, int], interval: float, size: int) -> None:
    """Send packets numbered from 0, one each `interval` seconds; after a delay the missed ones follow at once."""
    at = array.array("q")
    step = round(interval * 1e9)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flow:
        flow.bind(source)
        flow.connect(target)
        _say("sending")
        due = time.monotonic_ns()
        try:
            while True:
                now = time.monotonic_ns()
                if now < due:
                    time.sleep((due - now) / 1e9)
                    continue
                # A host without a listener reports that, and the next call raises it.
                with contextlib.suppress(ConnectionRefusedError):
                    flow.send(_NUMBER.pack(len(at)).ljust(size, b"\0"))
                at.append(now)
                due += step
        except _Terminated:
            pass
    _say(json.dumps({"at": at.tolist()}))


def receive(target: tuple[str, int]) -> None:
    """Record the packets that arrive."""
    numbers, at = array.array("q"), array.array("q")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flow:
        flow.bind(target)
        _say("listening")
        try:
            while True:
                packet = flow.recv(64)
                now = time.monotonic_ns()
                numbers.append(_NUMBER.unpack_from(packet)[0])
                at.append(now)
        except _Terminated:
            pass
    # The last packet may be half recorded when the signal came.
    _say(json.dumps({"numbers": numbers.tolist()[: len(at)], "at": at.tolist()}))


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
            source_address, source_port, address, port, interval, size = arguments
            send((source_address, int(source_port)), (address, int(port)), float(interval), int(size))
        else:
            address, port = arguments
            receive((address, int(port)))
    except OSError as error:
        _say(str(error.strerror))
        sys.exit(1)


if __name__ == "__main__":
    main()
