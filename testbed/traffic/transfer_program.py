"""Sends given amounts of data to other hosts by TCP, or receives them; runs inside a host, needs only Python.

Arguments: `receive ADDRESS PORT`, or `send PORT BYTES AT_ONCE CONGESTION_CONTROL ADDRESS:SOURCE_PORT...`, which sends
to the addresses in this order, several at a time. Prints `listening` or `ready`. The sender begins when it receives a
line, and finally prints one line of JSON: for each transfer its address, start and end, in seconds of the monotonic
clock. A transfer ends when its receiver has received everything and closed the connection.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from queue import Empty, SimpleQueue

_CHUNK = 1 << 16
_CONGESTION = 13
"""TCP_CONGESTION of tcp(7)."""


def receive(address: str, port: int) -> None:
    """Receive data until the program is ended."""
    with socket.create_server((address, port), backlog=128) as server:
        _say("listening")
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_drain, args=(connection,), daemon=True).start()


def send(port: int, size: int, at_once: int, congestion_control: str, targets: list[tuple[str, int]]) -> None:
    """Send `size` bytes to each target, given with its source port."""
    waiting: SimpleQueue[tuple[str, int]] = SimpleQueue()
    for target in targets:
        waiting.put(target)
    done: list[tuple[str, float, float]] = []
    failed: list[str] = []

    def work() -> None:
        while True:
            try:
                address, source_port = waiting.get_nowait()
            except Empty:
                return
            began = time.monotonic()
            try:
                _transfer((address, port), source_port, size, congestion_control)
            except OSError as error:
                failed.append(f"{address}: {error}")
                return
            done.append((address, began, time.monotonic()))

    _say("ready")
    sys.stdin.readline()
    workers = [threading.Thread(target=work) for _ in range(at_once)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        sys.exit(failed[0])
    _say(json.dumps(done))


def _transfer(target: tuple[str, int], source_port: int, size: int, congestion_control: str) -> None:
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.setsockopt(socket.IPPROTO_TCP, _CONGESTION, congestion_control.encode())
        connection.bind(("", source_port))
        connection.connect(target)
        data = bytes(_CHUNK)
        for start in range(0, size, _CHUNK):
            connection.sendall(data[: size - start])
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def _drain(connection: socket.socket) -> None:
    with connection:
        while connection.recv(_CHUNK):
            pass


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    role, *arguments = sys.argv[1:]
    if role == "receive":
        address, port = arguments
        receive(address, int(port))
    else:
        port, size, at_once, congestion_control, *targets = arguments
        ends = [target.rsplit(":", 1) for target in targets]
        send(int(port), int(size), int(at_once), congestion_control, [(host, int(source)) for host, source in ends])


if __name__ == "__main__":
    main()
