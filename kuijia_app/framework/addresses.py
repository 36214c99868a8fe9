"""Addresses of controllers as users write them."""

from __future__ import annotations

from collections.abc import Iterable

from kuijia_base.errors import InputError, quoted

_LAST_PORT = 0xFFFF


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of an address such as 10.0.0.1:6654 or [::1]:6654; raises InputError for another text."""
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdecimal() and len(port) <= len(str(_LAST_PORT))):
        raise InputError("address of a controller", "", quoted(text), "HOST:PORT")
    if not 0 < int(port) <= _LAST_PORT:
        raise InputError("address of a controller", "", quoted(text), f"a port from 1 to {_LAST_PORT}")
    host = host.removeprefix("[").removesuffix("]")
    if not _may_be_host(host):
        raise InputError("address of a controller", "", quoted(text), "a name or an address before the port")
    return host, int(port)


def _may_be_host(host: str) -> bool:
    """Return True if a name can be looked up at all: sockets raise no OSError for others."""
    try:
        return bool(host.encode("idna")) and host.isprintable()
    except UnicodeError:
        return False


def peer_addresses(listen: str, peers: Iterable[str]) -> tuple[tuple[str, int], list[tuple[str, int]]]:
    """Return our address and those of peers; raises InputError for other texts, and if a peer has our address."""
    ours, theirs = parse_address(listen), list(map(parse_address, peers))
    if ours in theirs:
        raise InputError("address of a controller", "", f"{quoted(listen)} is our own", "that of another controller")
    return ours, theirs
