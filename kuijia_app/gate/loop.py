"""The one loop that reads and writes all connections: known switches first, all others in short turns."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, Final, NoReturn

from kuijia_app.framework.ending import end_process
from kuijia_app.framework.seam import FRAMEWORK, hub, unpatched, wait_readable
from kuijia_app.framework.switch_limits import BackOff, repeated
from kuijia_app.gate.channels import PlainChannel, TlsChannel
from kuijia_app.gate.frames import RefusedError
from kuijia_app.gate.limits import LIMITS, Limits
from kuijia_app.gate.peer import Peer
from kuijia_app.gate.reception import HeldConnections
from kuijia_app.gate.wire import NO_MORE, READABLE, WRITABLE, ConnectionEndedError, Poller, Wire
from kuijia_base.log_lines import part_logger

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


_AT_ONCE: Final = 32
"""Descriptors of the crowd that one call of `wait` returns: a turn cannot serve many more."""


class Readiness:
    """Watches descriptors. Any thread may call `wake`, only one thread the rest.

    Descriptors in `crowd` come after those in `poller`, and a few at a time, however many are ready.
    """

    def __init__(self) -> None:
        self._epoll = unpatched("select").epoll()
        self._crowd = unpatched("select").epoll()
        self._epoll.register(self._crowd.fileno(), READABLE)
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._wake, READABLE)

    @property
    def poller(self) -> Poller:
        poller: Poller = self._epoll
        return poller

    @property
    def crowd(self) -> Poller:
        poller: Poller = self._crowd
        return poller

    def wake(self) -> None:
        """Make `wait` return soon."""
        os.eventfd_write(self._wake, 1)

    def wait(self, timeout: float) -> list[tuple[int, int]]:
        """Return the ready descriptors with their epoll events, as soon as there is one, or after `timeout` seconds."""
        if FRAMEWORK == "os-ken":
            ready: list[tuple[int, int]] = self._epoll.poll(timeout)
        else:
            ready = self._epoll.poll(0)
            if ready or not timeout:
                hub.sleep(0)
            else:
                wait_readable(self._epoll.fileno(), timeout)
                ready = self._epoll.poll(0)
        events: list[tuple[int, int]] = []
        later: list[tuple[int, int]] = []
        for event in ready:
            if event[0] == self._wake:
                os.eventfd_read(self._wake)
            elif event[0] == self._crowd.fileno():
                later = self._crowd.poll(0, _AT_ONCE)
            else:
                events.append(event)
        return events + later


_TICK: Final = 0.1
"""Seconds between two looks at the clock."""

_BREATH: Final = 0.001
"""Seconds for which the loop leaves a busy application alone."""

_SWITCH_INTERVAL: Final = 0.0005
"""Seconds after which a computing thread lets another one run: Python's default, 0.005, would add to every reaction."""

_READ_SIZE: Final = 64 * 1024
_GREETING_READ_SIZE: Final = 4 * 1024
_LEAST_ACCEPTED: Final = 16
"""Connections accepted in a turn however long that takes, so that those who wait do not become ever more."""

_ROOM: Final = 16
"""Half-open connections dropped when descriptors have run out."""


def _end(error: Exception) -> NoReturn:
    logger = part_logger("gate")
    end_process(lambda: logger.critical("the loop that serves switches has failed", exc_info=error))


class Loop:
    """Serves the connections of `listening` sockets until the process ends; with `tls`, by TLS only.

    `tls` returns the settings for a new connection. The loop calls `turned` before each turn, at least ten times a
    second, and `failed` to end the process.
    """

    def __init__(
        self,
        listening: Iterable[socket.socket],
        reception: HeldConnections,
        tls: Callable[[], ssl.SSLContext] | None = None,
        limits: Limits = LIMITS,
        turned: Callable[[], None] = lambda: None,
        failed: Callable[[Exception], NoReturn] = _end,
    ) -> None:
        self._turned = turned
        self._failed = failed
        self._reception = reception
        self._tls = tls
        self._limits = limits
        self._readiness = Readiness()
        self._listeners = {each.fd: each for each in (GateListener(one, self._readiness.poller) for one in listening)}
        self._unfinished: dict[Peer, None] = {}
        self._next_tick = 0.0
        self._logger = part_logger("gate")
        self._lines = BackOff()

    def __call__(self) -> None:
        """Run; if the loop itself fails, the process ends, as no switch would be served any more."""
        sys.setswitchinterval(_SWITCH_INTERVAL)
        try:
            while True:
                self._turned()  # before the first turn, too, which may hang
                self.turn()
        except Exception as error:  # noqa: BLE001  # whatever it is, the process cannot do its work
            self._failed(error)

    def turn(self) -> None:
        """Wait for work, and do some of it."""
        is_busy = bool(self._unfinished)
        events = self._readiness.wait(0.0 if is_busy else max(self._next_tick - time.monotonic(), 0.0))
        now = time.monotonic()
        known, others, listeners = self._sorted(events)
        for peer, mask in known.items():
            self._serve(peer, mask, now)
        if others or listeners:
            hub.sleep(_BREATH)  # otherwise the application would have to compete for its turn
        until = time.monotonic() + self._limits.turn_time
        for peer, mask in others.items():
            if time.monotonic() >= until:
                break
            self._serve(peer, mask, now)
        for listener in listeners:
            self._accept(listener, now)
        if now >= self._next_tick:
            self._tick(now)
        if self._reception.is_congested():
            hub.sleep(_BREATH)

    def _sorted(self, events: list[tuple[int, int]]) -> tuple[dict[Peer, int], dict[Peer, int], list[GateListener]]:
        """Return the descriptors to serve: known switches, others in order, and sockets with new connections."""
        ready = dict.fromkeys(self._unfinished, 0)
        listeners = []
        for fd, mask in events:
            peer = self._reception.peer_at(fd)
            if peer is not None:
                ready[peer] = mask
            elif fd in self._listeners:
                listeners.append(self._listeners[fd])
        known = {peer: mask for peer, mask in ready.items() if peer.is_known}
        return known, {peer: mask for peer, mask in ready.items() if not peer.is_known}, listeners

    def _serve(self, peer: Peer, mask: int, now: float) -> None:
        reception = self._reception
        self._unfinished.pop(peer, None)
        try:
            if mask & WRITABLE:
                peer.wire.flush()
            if mask & ~WRITABLE and self._may_read(peer, mask):
                data = peer.wire.read(_GREETING_READ_SIZE if peer.datapath is None else _READ_SIZE)
                if not peer.is_leaving:
                    reception.received(peer, data, now)
        except (ConnectionEndedError, RefusedError) as error:
            reception.drop(peer, error, now)
        else:
            if peer.wire.failure is not None:
                reception.drop(peer, peer.wire.failure, now)
        if reception.is_here(peer):
            reception.serve(peer, now)
        if reception.is_here(peer):
            self._place(peer)
            if peer.has_frame and not peer.is_paused:
                self._unfinished[peer] = None

    def _place(self, peer: Peer) -> None:
        """Serve a connection before the crowd if it is one of a switch, or more likely so than others."""
        if peer.is_known or self._reception.is_preferred(peer):
            peer.wire.move(self._readiness.poller)

    def _may_read(self, peer: Peer, mask: int) -> bool:
        if mask & ~(READABLE | WRITABLE | NO_MORE):
            return True  # the connection has ended or failed
        if mask & NO_MORE and peer.is_paused:
            raise ConnectionEndedError  # its messages would keep its place, perhaps for minutes
        return not peer.has_frame and not (peer.datapath is not None and self._reception.is_congested())

    def _accept(self, listener: GateListener, now: float) -> None:
        until = time.monotonic() + self._limits.turn_accepting
        is_crowded = False
        for number in count():
            if number >= _LEAST_ACCEPTED and time.monotonic() >= until:
                break
            try:
                accepted = listener.accept()
            except NoRoomError:
                self._make_room(listener, now)
                return
            if accepted is None:
                break
            if self._reception.admits(str(accepted[1][0]), now):
                self._take_in(*accepted, now)
            else:
                accepted[0].close()
                is_crowded = True
        if is_crowded:
            self._complain("connections are closed at once", "too many connections come", now)
            hub.sleep(_BREATH)

    def _make_room(self, listener: GateListener, now: float) -> None:
        listener.watch(reads=False)  # until the next tick
        self._complain("half-open connections are dropped for new ones", "too few descriptors", now)
        self._reception.make_room(_ROOM, now)

    def _complain(self, what: str, why: str, now: float) -> None:
        times = self._lines.occurred(why, now)
        if times is not None:
            self._logger.error("%s%s: %s", why, repeated(times), what)

    def _take_in(self, connected: socket.socket, address: tuple[Any, ...], now: float) -> None:
        channel = PlainChannel() if self._tls is None else TlsChannel(self._tls())
        wire = Wire(connected, channel, self._readiness.crowd, self._hurry, time.monotonic, self._limits)
        peer = Peer(wire, address, now, self._limits)
        self._reception.arrived(peer, now)
        self._place(peer)

    def _hurry(self) -> None:
        """Make the loop check its connections now, as a wire has failed; any thread may call this."""
        self._next_tick = 0.0
        self._readiness.wake()

    def _tick(self, now: float) -> None:
        self._next_tick = now + _TICK
        self._reception.tend(now)
        if self._tls is not None:
            self._tls()  # so that faults of changed files are logged before the next connection
        for listener in self._listeners.values():
            listener.watch(reads=True)
        self._unfinished = {
            peer: None
            for peer in (*self._unfinished, *self._reception.named)
            if self._reception.is_here(peer) and peer.has_frame and not peer.is_paused and not peer.is_leaving
        }
