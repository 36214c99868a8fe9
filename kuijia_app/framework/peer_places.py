"""Places for connections of peers: those who connect and say nothing leave room for a peer that comes back."""

from __future__ import annotations

from collections import Counter
from typing import Final

from kuijia_app.framework.seam import native_threading

MOST: Final = 32
"""Connections at the same time."""

MOST_UNPROVEN: Final = 4
"""Connections of one origin at the same time that have not brought a message yet."""


class Places:
    """Gives a place to each connection if there is one; for threads of the operating system."""

    def __init__(self) -> None:
        self._lock = native_threading.Lock()
        self._taken = 0
        self._unproven: Counter[str] = Counter()

    def take(self, origin: str) -> PeerPlace | None:
        """Return a place for a connection from there, None if too many are taken."""
        with self._lock:
            if self._taken >= MOST or self._unproven[origin] >= MOST_UNPROVEN:
                return None
            self._taken += 1
            self._unproven[origin] += 1
        return PeerPlace(self, origin)

    def proven(self, origin: str) -> None:
        """Note that one more connection from there is that of a peer, or has ended."""
        with self._lock:
            self._unproven[origin] -= 1
            if not self._unproven[origin]:
                del self._unproven[origin]

    def left(self) -> None:
        """Note that one more place is free."""
        with self._lock:
            self._taken -= 1


class PeerPlace:
    """Place of one connection."""

    def __init__(self, places: Places, origin: str) -> None:
        """Take in that a place is taken."""
        self._places = places
        self._origin = origin
        self._is_proven = False

    def prove(self) -> None:
        """Note that the connection has brought a message."""
        if not self._is_proven:
            self._is_proven = True
            self._places.proven(self._origin)

    def leave(self) -> None:
        """Give the place back, once."""
        self.prove()
        self._places.left()
