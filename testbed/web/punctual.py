"""HTTP connections that must ask: one that only stays open would take the place of a browser."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 20.0
"""Time in which the head of a request must have come."""


class PunctualProtocol(H11Protocol):
    """Closes a connection on which no request has begun for a while, also one whose head comes in small pieces."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self.loop.call_later(SECONDS, self._look, None)

    def _look(self, request: object) -> None:
        """Close the connection if its last request, None if it had none, is still this one and has been answered."""
        if self.transport.is_closing():
            return
        is_answered = request is None or self.cycle.response_complete
        if self.cycle is request and is_answered:
            self.transport.close()
        else:
            self.loop.call_later(SECONDS, self._look, self.cycle)
