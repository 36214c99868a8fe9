"""Decides which of several controllers acts; pure, with messages and the time passed in.

The switches are the witnesses. The one that acts renews its claim of each switch ten times a second, by a generation id
that is greater by one. The others ask the switches for that id: as long as it grows, somebody acts, even if no word
comes from the peer itself.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum

from kuijia_app.control.roles import is_later

FORGOTTEN = 10.0
"""Seconds after which the last sign of life of a peer is forgotten."""

MOST_PEERS = 16
"""Peers that are known at the same time: whoever can speak as a peer can invent others without end."""

BEAT = 0.1
"""Seconds between two messages to a peer, and between two renewals or questions to a switch."""

LEASE = 0.8
"""Seconds without a sign of life after which another controller takes over."""

LONGEST_WAIT = 64 * LEASE
"""Greatest seconds for which a controller that has lost its part leaves switches to one that it does not hear."""


@dataclass(frozen=True)
class Beat:
    """Sign of life of a controller.

    Attributes:
        instance: number of its process.
        is_acting: it programs the switches.
        generation: the generation id that it claims switches by.
        reach: the switches that it is connected to.
        hands_over: it asks a peer to take over.
        process: tells it from all other processes, also from those with the same number.
    """

    instance: int
    is_acting: bool
    generation: int
    reach: frozenset[str]
    hands_over: bool = False
    process: str = ""


class Decision(Enum):
    """Change of a controller's part."""

    TAKE_OVER = "take over"
    STAND_BY = "stand by"


@dataclass
class _Seen:
    """Greatest generation id of a switch and the time when it grew last."""

    generation: int
    at: float


@dataclass
class Pair:
    """This controller's part among its peers.

    Attributes:
        instance: number of this process.
        is_acting: it programs the switches.
        hands_over: it goes on acting until a peer takes over.
    """

    instance: int
    began_at: float
    is_acting: bool = False
    hands_over: bool = False
    _beats: dict[int, tuple[Beat, float]] = field(default_factory=dict)
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _reaches_more_since: float | None = None
    _looked_at: float | None = None
    _displaced_at: float = -math.inf
    _waits_until: float = -math.inf
    _wait: float = LEASE

    def heard(self, beat: Beat, now: float) -> None:
        """Take in a peer's sign of life, unless it is a new one and too many are known."""
        self._beats = {number: each for number, each in self._beats.items() if now - each[1] < FORGOTTEN}
        if beat.instance in self._beats or len(self._beats) < MOST_PEERS:
            self._beats[beat.instance] = beat, now

    def seen(self, switch: str, generation: int | None, now: float) -> None:
        """Take in the greatest generation id that a switch has seen; None if it has seen none."""
        before = self._seen.get(switch)
        if generation is None:
            self._seen.pop(switch, None)
        elif before is None or before.generation != generation:
            self._seen[switch] = _Seen(generation, now)

    def look(self, generation: int, reach: Collection[str], now: float) -> Decision | None:
        """Return the change of part that is due.

        Args:
            generation: the generation id by which this controller claims switches.
            reach: the switches that it is connected to.
            now: seconds of a clock that nobody sets.
        """
        if self._looked_at is not None and now - self._looked_at > LEASE / 2:
            self.began_at = now  # this process stood still: what it knows of others is old, and not their fault
        self._looked_at = now
        fresh = [beat for beat, at in self._beats.values() if now - at < LEASE]
        acting = [beat for beat in fresh if beat.is_acting]
        if fresh:
            self._wait = LEASE
        if self.is_acting:
            is_past = any(is_later(beat.generation, generation) for beat in acting)
            return self._changed(Decision.STAND_BY) if is_past else None
        since = self.began_at
        if not any(beat.hands_over for beat in acting):
            since = max(since, self._displaced_at)
        if now - since < LEASE or not reach:
            self._reaches_more_since = None
            return None
        is_later_in_turn = any(self._goes_first(beat, reach) for beat in fresh if not beat.is_acting)
        if acting and not is_later_in_turn:
            return self._challenge(acting, frozenset(reach), now)
        self._reaches_more_since = None
        renewed = sum(switch in self._seen and now - self._seen[switch].at < LEASE for switch in reach)
        # A peer that we do not hear may hold a part of them: two that took it from each other at once would never end.
        is_held = bool(acting) or 2 * renewed > len(reach) or (renewed > 0 and now < self._waits_until)
        return None if is_held or is_later_in_turn else self._changed(Decision.TAKE_OVER)

    def obstacle(self, reach: Collection[str], now: float) -> str | None:
        """Return why no peer could go on in place of this controller, None if one could.

        Args:
            reach: the switches that it is connected to.
            now: as in `look`.
        """
        fresh = [beat for beat, at in self._beats.values() if now - at < LEASE]
        if not fresh:
            return f"no peer has shown a sign of life for {LEASE:g} s"
        most = max(fresh, key=lambda beat: len(beat.reach & frozenset(reach)))
        missing = sorted(frozenset(reach) - most.reach)
        return f"no peer is connected to switch {', '.join(missing)}" if missing else None

    @property
    def generations(self) -> list[int]:
        """The generation ids of peers that act, or did when they were heard last."""
        return [beat.generation for beat, _ in self._beats.values() if beat.is_acting]

    def hand_over(self) -> None:
        """Ask peers to take over, if this controller acts."""
        self.hands_over = self.is_acting

    def displaced(self, now: float) -> None:
        """Note that a switch has another master: watch for a lease before the next attempt.

        Wait twice as long each time while switches are claimed by a peer that is not heard.
        """
        self.is_acting = self.hands_over = False
        self._displaced_at = now
        self._waits_until = now + self._wait
        self._wait = min(2 * self._wait, LONGEST_WAIT)

    def _challenge(self, acting: Collection[Beat], reach: frozenset[str], now: float) -> Decision | None:
        """Take over from a peer that asks for it, or that has reached fewer switches for a lease."""
        if all(beat.hands_over and beat.reach <= reach for beat in acting):
            return self._changed(Decision.TAKE_OVER)
        if all(len(beat.reach) < len(reach) for beat in acting):
            if self._reaches_more_since is None:
                self._reaches_more_since = now
            if now - self._reaches_more_since >= LEASE:
                return self._changed(Decision.TAKE_OVER)
        else:
            self._reaches_more_since = None
        return None

    def _goes_first(self, beat: Beat, reach: Collection[str]) -> bool:
        """Return True if a peer that stands by as well is to act: it reaches more, or has the smaller number."""
        return (-len(beat.reach), beat.instance) < (-len(reach), self.instance)

    def _changed(self, decision: Decision) -> Decision:
        self.is_acting = decision is Decision.TAKE_OVER
        self.hands_over = False
        self._reaches_more_since = None
        return decision
