"""Messages between simulated controllers, with what their connections keep and lose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations

from kuijia_app.control.identity import are_identical
from kuijia_app.control.pair import Beat
from kuijia_app.control.rollout import Stages
from tests.rehearsal.connections import Pipe
from tests.rehearsal.controller import RehearsedController
from tests.rehearsal.timeline import SimulatedTime

Way = tuple[int, int]
"""Numbers of a controller that speaks and of one that hears it."""

_IDLE = 10.0
"""Seconds without a message after which the receiver ends a connection."""

_DELAY = 0.01


class PeerLines:
    """Connections between all controllers, and their cuts."""

    def __init__(self, time: SimulatedTime, controllers: int) -> None:
        self._time = time
        self._ends_of_cuts: dict[Way, float] = {}
        self._lines = {way: _Line(time, partial(self._is_cut, way)) for way in permutations(range(controllers), 2)}

    def send(self, number: int, controllers: Sequence[RehearsedController], beat: Beat, stages: Stages | None) -> None:
        """Send a message of one controller to all others."""
        for other, controller in enumerate(controllers):
            if other != number:
                self._lines[number, other].send(controllers[number].name, controller, beat, stages)

    def cut(self, way: Way, seconds: float) -> None:
        """Let one controller not hear another for some time."""
        self._ends_of_cuts[way] = max(self._ends_of_cuts.get(way, 0.0), self._time.now + seconds)
        self._time.after(seconds, self._lines[way].pump)
        self._time.after(_IDLE, partial(self._end, way))

    def end_faults(self) -> None:
        self._ends_of_cuts.clear()
        for line in self._lines.values():
            line.pump()

    def _end(self, way: Way) -> None:
        if self._is_cut(way):
            self._lines[way].end()

    @property
    def is_cut(self) -> bool:
        """True while one controller does not hear another."""
        return any(map(self._is_cut, self._lines))

    def _is_cut(self, way: Way) -> bool:
        return self._ends_of_cuts.get(way, 0.0) > self._time.now


class _Line:
    """Connections from one controller to another, one after the other.

    On each, plans are told once, and again when they have changed. Messages to a frozen controller wait for it; so do
    those on a line that is cut, until the connection ends.
    """

    def __init__(self, time: SimulatedTime, is_cut: Callable[[], bool]) -> None:
        self._time = time
        self._is_cut = is_cut
        self._ends: tuple[str, str] | None = None
        self._pipes: list[Pipe] = []
        self._told: Sequence[object] | None = None
        self._sent_at = 0.0

    def send(self, sender: str, receiver: RehearsedController, beat: Beat, stages: Stages | None) -> None:
        """Send a message; it is lost while there is no connection and none can be made."""
        if self._ends != (sender, receiver.name) or self._time.now - self._sent_at > _IDLE:
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

    def _connect(self, sender: str, receiver: RehearsedController) -> None:
        pipe = Pipe(
            self._time, lambda message: receiver.hear(*message), lambda: receiver.is_running and not self._is_cut()
        )
        pipe.delay = _DELAY
        receiver.hears_by.append(pipe)
        self._ends, self._told = (sender, receiver.name), None
        self._pipes.append(pipe)
