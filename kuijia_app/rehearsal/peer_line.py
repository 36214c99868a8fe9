"""The way of messages from one simulated controller to another, with what connections of peers keep and lose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kuijia_app.control.identity import are_identical
from kuijia_app.control.pair import Beat
from kuijia_app.control.rollout import Stages
from kuijia_app.rehearsal.connections import Pipe
from kuijia_app.rehearsal.controller import SimulatedController
from kuijia_app.rehearsal.timeline import Timeline

IDLE = 10.0
"""Seconds without a message after which the receiver ends a connection."""

_DELAY = 0.01


class PeerLine:
    """Connections from one controller to another, one after the other.

    On each, plans are told once, and again when they have changed. Messages to a frozen controller wait for it; so do
    those on a line that is cut, until the connection ends.
    """

    def __init__(self, time: Timeline, is_cut: Callable[[], bool]) -> None:
        self._time = time
        self._is_cut = is_cut
        self._ends: tuple[str, str] | None = None
        self._pipes: list[Pipe] = []
        self._told: Sequence[object] | None = None
        self._sent_at = 0.0

    def send(self, sender: str, receiver: SimulatedController, beat: Beat, stages: Stages | None) -> None:
        """Send a message; it is lost while there is no connection and none can be made."""
        if self._ends != (sender, receiver.name) or self._time.now - self._sent_at > IDLE:
            self._ends = None
            if self._is_cut() or not receiver.is_alive:
                return
            self._connect(sender, receiver)
        self._sent_at = self._time.now
        versions = None if stages is None else stages.versions
        is_known = self._told is not None and versions is not None and are_identical(self._told, versions)
        self._told = versions
        self._pipes[-1].send((beat, None if is_known else stages))

    def end(self) -> None:
        """End the connection, with all messages on their way."""
        self._ends = None
        for pipe in self._pipes:
            pipe.lose(0)
        self._pipes.clear()

    def pump(self) -> None:
        """Deliver what has waited."""
        for pipe in self._pipes:
            pipe.pump()

    def _connect(self, sender: str, receiver: SimulatedController) -> None:
        pipe = Pipe(
            self._time, lambda message: receiver.hear(*message), lambda: receiver.is_running and not self._is_cut()
        )
        pipe.delay = _DELAY
        receiver.hears_by.append(pipe)
        self._ends, self._told = (sender, receiver.name), None
        self._pipes.append(pipe)
