"""The sockets to which switches connect; they keep working when descriptors run out."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any, Final

from kuijia_app.framework.seam import unpatched
from kuijia_app.gate.wire import READABLE, Poller

_BACKLOG: Final = 4096
_NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class NoRoomError(Exception):
    """The process or the machine has no descriptor or memory left for a connection."""


def listen(family: int, address: tuple[Any, ...]) -> socket.socket:
    """Return a socket that listens there and never blocks; raise OSError if it cannot."""
    sockets = unpatched("socket")
    listening: socket.socket = sockets.socket(family, sockets.SOCK_STREAM)
    try:
        listening.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


class GateListener:
    """One listening socket, with a spare descriptor that lets it turn a connection away when no other is left."""

    def __init__(self, listening: socket.socket, poller: Poller) -> None:
        self._listening = listening
        self._poller = poller
        self._reserve: int | None = None
        self._reads = True
        self.fd = listening.fileno()
        poller.register(self.fd, READABLE)
        self._keep_reserve()

    def accept(self) -> tuple[socket.socket, tuple[Any, ...]] | None:
        """Return the next connection and its address, None if there is none.

        Raises:
            NoRoomError: a connection had to be turned away.
        """
        try:
            connected, address = self._listening.accept()
        except OSError as error:
            if error.errno not in _NO_ROOM:
                return None  # nobody waits, or who did has gone
            self._turn_away()
            raise NoRoomError from error
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected, address

    def watch(self, *, reads: bool) -> None:
        """Start or stop waiting for connections."""
        if reads != self._reads:
            self._reads = reads
            self._poller.modify(self.fd, READABLE if reads else 0)
        if reads and self._reserve is None:
            self._keep_reserve()

    def _turn_away(self) -> None:
        if self._reserve is not None:
            os.close(self._reserve)
            self._reserve = None
            try:
                self._listening.accept()[0].close()
            except OSError:
                return  # somebody else has taken the descriptor, or who waited has gone
            finally:
                self._keep_reserve()

    def _keep_reserve(self) -> None:
        try:
            self._reserve = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._reserve = None
