"""Waiting for sockets under either framework: epoll itself, or epoll while other green threads run."""

from __future__ import annotations

import os

from kuijia_app.framework.seam import FRAMEWORK, hub, unpatched, wait_readable
from kuijia_app.gate.wire import READABLE, Poller


class Readiness:
    """Descriptors that can be read or written. `wake` is for any thread, the rest for one."""

    def __init__(self) -> None:
        self._epoll = unpatched("select").epoll()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._wake, READABLE)

    @property
    def poller(self) -> Poller:
        poller: Poller = self._epoll
        return poller

    def wake(self) -> None:
        """Have `wait` return soon."""
        os.eventfd_write(self._wake, 1)

    def wait(self, timeout: float) -> list[tuple[int, int]]:
        """Return the descriptors that are ready, each with what for, as soon as one is, or `timeout` seconds later."""
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
