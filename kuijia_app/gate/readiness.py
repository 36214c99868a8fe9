"""Waits for sockets under either framework: by epoll, or by epoll while other green threads run."""

from __future__ import annotations

import os
from typing import Final

from kuijia_app.framework.seam import FRAMEWORK, hub, unpatched, wait_readable
from kuijia_app.gate.wire import READABLE, Poller

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
