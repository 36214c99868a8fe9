"""Sends one packet for each of many flows; runs as a program inside a host and needs nothing but Python.

Arguments: protocol (`tcp` or `udp`), address, seconds, and `SOURCE_ADDRESS:SOURCE_PORT:SERVER_PORT:CODE_POINT` for
every flow. TCP attempts a connection and gives up when it is answered (by a reset, as nothing listens there) or the
time is over. Prints the source addresses and ports that are in use as `ADDRESS:PORT`, one a line.
"""

from __future__ import annotations

import select
import socket
import sys
import time
from collections.abc import Iterable

Source = tuple[str, int]
Flow = tuple[Source, int, int]
"""Source address and port of a flow, its server port and its code point (RFC 2474)."""


def send_probes(protocol: str, address: str, seconds: float, flows: Iterable[Flow]) -> list[Source]:
    """Send the probes; return the sources that are in use."""
    taken: list[Source] = []
    waiting: dict[int, socket.socket] = {}
    poll = select.poll()
    try:
        for source, server_port, code_point in flows:
            probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM)
            waiting[probe.fileno()] = probe
            probe.setblocking(False)
            try:
                probe.bind(source)
            except OSError:
                taken.append(source)
                waiting.pop(probe.fileno()).close()
                continue
            probe.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, code_point << 2)
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
    taken = send_probes(protocol, address, float(seconds), map(_flow, flows))
    sys.stdout.write("".join(f"{source_address}:{source_port}\n" for source_address, source_port in taken))


def _flow(argument: str) -> Flow:
    source_address, source_port, server_port, code_point = argument.split(":")
    return (source_address, int(source_port)), int(server_port), int(code_point)


if __name__ == "__main__":
    main()
