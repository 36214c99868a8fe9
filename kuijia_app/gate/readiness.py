"""Waits for sockets under either framework: by epoll, or by epoll while other green threads run."""

from __future__ import annotations

import os

from kuijia_app.framework.seam import FRAMEWORK, hub, unpatched, wait_readable
from kuijia_app.gate.wire import READABLE, Poller


class Readiness:
    """Watches descriptors. Any thread may call `wake`, only one thread the rest."""

    def __init__(self) -> None:
        self._epoll = unpatched("select").epoll()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._wake, READABLE)

    @property
    def poller(self) -> Poller:
        poller: Poller = self._epoll
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
        woken = [each for each in ready if each[0] == self._wake]
        if woken:
            os.eventfd_read(self._wake)
            ready.remove(woken[0])
        return ready
