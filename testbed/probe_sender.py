"""Sends one packet for each of many flows; run as a program inside a host, it needs nothing but Python.

Arguments: protocol (`tcp` or `udp`), address, seconds, and `SOURCE_PORT:SERVER_PORT` for every flow. TCP attempts a
connection and gives it up when it is answered (with a reset, as nothing listens there) or the seconds are over. The
source ports that are not free are printed, one a line.
"""

from __future__ import annotations

import select
import socket
import sys
import time
from collections.abc import Iterable

Ports = tuple[int, int]
"""Source port and server port of a flow."""


def send_probes(protocol: str, address: str, seconds: float, flows: Iterable[Ports]) -> list[int]:
    """Send the probes; returns the source ports that are not free."""
    taken: list[int] = []
    waiting: dict[int, socket.socket] = {}
    poll = select.poll()
    try:
        for source_port, server_port in flows:
            probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM)
            waiting[probe.fileno()] = probe
            probe.setblocking(False)
            try:
                probe.bind(("", source_port))
            except OSError:
                taken.append(source_port)
                waiting.pop(probe.fileno()).close()
                continue
            probe.connect_ex((address, server_port))
            if protocol == "udp":
                probe.send(b"probe")
            poll.register(probe, select.POLLOUT if protocol == "tcp" else select.POLLERR)
        deadline = time.monotonic() + seconds
        while waiting and (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in poll.poll(left * 1000):
                poll.unregister(descriptor)
                waiting.pop(descriptor).close()
    finally:
        for probe in waiting.values():
            probe.close()
    return taken


def main() -> None:
    protocol, address, seconds, *flows = sys.argv[1:]
    ports = [(int(source), int(server)) for source, _, server in (flow.partition(":") for flow in flows)]
    taken = send_probes(protocol, address, float(seconds), ports)
    sys.stdout.write("".join(f"{source_port}\n" for source_port in taken))


if __name__ == "__main__":
    main()
