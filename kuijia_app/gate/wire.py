"""The socket of one switch: the loop reads it, any thread may write to it without waiting."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from kuijia_app.gate.channels import Channel
from kuijia_app.gate.frames import RefusedError
from kuijia_app.gate.limits import LIMITS, Limits

# Those of epoll(7); eventlet takes their names out of the module `select`.
READABLE: Final = 0x001
WRITABLE: Final = 0x004
NO_MORE: Final = 0x2000
"""The other side sends nothing more; known also of a socket that is not read."""

_PIECE: Final = 256 * 1024


class Poller(Protocol):
    """The part of `select.epoll` that is used here."""

    def register(self, fd: int, eventmask: int) -> None: ...
    def modify(self, fd: int, eventmask: int) -> None: ...
    def unregister(self, fd: int) -> None: ...


class ConnectionEndedError(Exception):
    """The other side or the network has ended the connection."""


class Wire:
    """A connected socket that never blocks, its channel and the bytes that wait to be sent.

    `failed` is called once, on the thread that finds out, when the waiting bytes can no longer be sent; the loop must
    then close the wire. `clock` returns the time in seconds.
    """

    def __init__(
        self,
        connected: socket.socket,
        channel: Channel,
        poller: Poller,
        failed: Callable[[], None],
        clock: Callable[[], float],
        limits: Limits = LIMITS,
    ) -> None:
        self._socket = connected
        self._channel = channel
        self._poller = poller
        self._failed = failed
        self._clock = clock
        self._limits = limits
        self._lock = threading.Lock()
        self._unsent = bytearray()
        self._waits_since: float | None = None
        self._reads = True
        self._mask = READABLE | NO_MORE
        self._closed = False
        self._failure: RefusedError | ConnectionEndedError | None = None
        self.fd = connected.fileno()
        poller.register(self.fd, self._mask)

    @property
    def is_open(self) -> bool:
        """True once messages may be sent."""
        return self._channel.is_open

    @property
    def fingerprint(self) -> str | None:
        """See `Channel.fingerprint`."""
        with self._lock:
            return self._channel.fingerprint

    @property
    def uris(self) -> Sequence[str]:
        """See `Channel.uris`."""
        with self._lock:
            return self._channel.uris

    @property
    def unsent(self) -> int:
        """Number of bytes that wait for the other side to read."""
        return len(self._unsent)

    @property
    def failure(self) -> RefusedError | ConnectionEndedError | None:
        """The reason why the loop is to close the wire, never raised: see `RefusedError.unraised`."""
        return self._failure

    def read(self, size: int) -> bytes:
        """Return the messages that have arrived, if any.

        Raises:
            EndedError: the connection has ended.
            RefusedError: the bytes are not TLS.
        """
        try:
            data = self._socket.recv(size)
        except (BlockingIOError, InterruptedError):
            return b""
        except OSError as error:
            raise ConnectionEndedError from error
        if not data:
            raise ConnectionEndedError
        with self._lock:
            try:
                return self._channel.received(data)
            except RefusedError as error:
                self._failure = self._failure or error.unraised()  # so that no other thread uses the channel any more
                raise
            finally:
                self._put(self._channel.sent(b""))

    def send(self, data: bytes) -> bool:
        """Send as much as possible, keep the rest in order; return False if the wire is closed or fails."""
        failed = False
        with self._lock:
            if self._closed or self._failure is not None:
                return False
            try:
                self._put(self._channel.sent(data))
            except RefusedError as error:
                self._failure = error.unraised()
            failed = self._failure is not None
        if failed:
            self._failed()
        return not failed

    def flush(self) -> None:
        """Send as many of the waiting bytes as possible."""
        with self._lock:
            if self._unsent and not self._closed:
                with memoryview(self._unsent) as unsent:
                    sent = self._send(unsent[:_PIECE])
                del self._unsent[:sent]
                self._note_unsent(sent)

    def watch(self, *, reads: bool) -> None:
        """Start or stop waiting for bytes."""
        with self._lock:
            self._reads = reads
            self._watch()

    def move(self, poller: Poller) -> None:
        """Have another poller watch the socket from now on."""
        if poller is not self._poller:
            with self._lock:
                if not self._closed:
                    self._poller.unregister(self.fd)
                    poller.register(self.fd, self._mask)
                    self._poller = poller

    def fail(self, failure: RefusedError | ConnectionEndedError) -> None:
        """Request that the loop closes the wire; any thread may call this."""
        with self._lock:
            self._failure = self._failure or failure
        self._failed()

    def is_stalled(self, now: float) -> bool:
        """Return True if bytes wait and the other side has read nothing for too long."""
        since = self._waits_since
        return since is not None and now - since > self._limits.stalled

    def finish(self) -> None:
        """Inform the other side that nothing more will come."""
        self._shut(socket.SHUT_WR)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._unsent.clear()
                self._waits_since = None
                self._poller.unregister(self.fd)
                self._shut(socket.SHUT_RDWR)  # closing alone would leave it open where another process has it
                self._socket.close()

    def _shut(self, how: int) -> None:
        with suppress(OSError):  # it has gone already
            self._socket.shutdown(how)

    def _put(self, data: bytes) -> None:
        """Send or keep bytes of the channel; called with the lock held."""
        if data and not self._closed:
            sent = 0 if self._unsent else self._send(data)
            self._unsent += data[sent:]
            self._note_unsent(sent)

    def _send(self, data: bytes | memoryview) -> int:
        try:
            return self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            self._failure = self._failure or ConnectionEndedError()
            return 0

    def _note_unsent(self, sent: int) -> None:
        if not self._unsent:
            self._waits_since = None
        elif sent or self._waits_since is None:
            self._waits_since = self._clock()
        if len(self._unsent) > self._limits.unsent:
            self._failure = self._failure or RefusedError("it does not read what it is sent")
        self._watch()

    def _watch(self) -> None:
        mask = NO_MORE | (READABLE if self._reads else 0) | (WRITABLE if self._unsent else 0)
        if mask != self._mask and not self._closed:
            self._mask = mask
            self._poller.modify(self.fd, mask)
