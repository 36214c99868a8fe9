"""The socket on which the web server listens: it accepts a limited number of connections, in all and of each client."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

from kuijia_base.errors import InputError

MOST_CONNECTIONS = 512
MOST_OF_A_CLIENT = 64
"""Connections of one address; those of this machine share one, so that only the total limits them."""

_UNREAD_BYTES = 256 * 1024
"""Bytes that the kernel keeps for a reader who does not read."""


class PageListener(socket.socket):
    """Closes connections beyond the limits as soon as they are accepted, so that those that exist go on.

    They are counted before TLS and HTTP begin: a peer without a token, or without a handshake, takes a place, too. On
    Windows, whose event loop does not call `accept`, there are no limits.

    Attributes:
        accepted: number of connections so far.
    """

    def __init__(self, family: socket.AddressFamily) -> None:
        super().__init__(family)
        self.accepted = 0
        self._open: list[tuple[str, socket.socket]] = []

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection and its peer; raises ConnectionAbortedError, which event loops expect."""
        connection, peer = super().accept()
        self.accepted += 1
        client = str(peer[0])
        self._open = [each for each in self._open if each[1].fileno() != -1]
        if len(self._open) >= MOST_CONNECTIONS or self._has_all(client):
            connection.close()
            raise ConnectionAbortedError("too many connections")
        self._open.append((client, connection))
        return connection, peer

    def _has_all(self, client: str) -> bool:
        return not _is_this_machine(client) and sum(each == client for each, _ in self._open) >= MOST_OF_A_CLIENT


def _is_this_machine(client: str) -> bool:
    address = ipaddress.ip_address(client.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def listen(address: str, port: int) -> PageListener:
    """Return a socket that listens; what it accepts is closed when a peer leaves data unread for long.

    Raises:
        InputError: the address is none of this machine, or the port is not free.
    """
    place = f"{address}:{port}"
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    except ValueError as error:
        raise InputError("--bind", "", f"found {address!r}", "an IP address of this machine") from error
    listener = PageListener(family)
    try:
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_BYTES)
        listener.bind((address, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        expected = "an address of this machine and a port that is free (--port 0 takes any)"
        raise InputError("--port", "", f"cannot listen on {place} ({error.strerror})", expected) from error
    return listener
