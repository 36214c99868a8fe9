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

from kuijia_app.control.roles import instance_of, is_later

FORGOTTEN = 10.0
"""Seconds after which the last sign of life of a peer is forgotten."""

MOST_PEERS = 16
"""Peers that are known at the same time: whoever can speak as a peer can invent others without end."""

BEAT = 0.1
"""Seconds between two messages to a peer, and between two renewals or questions to a switch."""

LEASE = 0.8
"""Seconds without a sign of life after which another controller takes over."""

UNHEARD_LEASE = 3 * LEASE
"""Seconds likewise for one that has heard no peer for `FORGOTTEN`, though somebody has acted: others go first."""

CHALLENGE = 3 * LEASE
"""Seconds for which a controller has to reach more switches than the one that acts before it takes over.

A switch that connects again does not come to all controllers at the same time."""

LONGEST_STEP = LEASE / 4
"""Most seconds that count between two looks: if more have passed, it was this process that stood still."""

LONGEST_WAIT = 64 * LEASE
"""Greatest seconds for which a controller that has lost its part leaves switches to one that it does not hear.

For so long at least, a switch for which a controller has taken over is no reason for the next takeover."""

_LONGEST_UNSTEADY = 3600.0
"""Greatest seconds likewise for a switch that is such a reason again and again."""


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
        hears: the processes that it hears; None if it does not say.
        address: where it listens for peers.
    """

    instance: int
    is_acting: bool
    generation: int
    reach: frozenset[str]
    hands_over: bool = False
    process: str = ""
    hears: frozenset[str] | None = None
    address: str = ""


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
class _Peer:
    """Last sign of life of a peer.

    Attributes:
        at: when it came, by the clock that `_watched` keeps.
        heard_at, since: when it came, and when the first one came, by the clock that nobody sets.
        has_heard_us: it hears this controller, or did once, so it is listed here.
    """

    beat: Beat
    at: float
    heard_at: float
    since: float
    has_heard_us: bool


@dataclass
class _Unsteady:
    """A switch for which a controller has taken over: until when it is no reason for another takeover."""

    wait: float
    until: float


@dataclass
class Pair:
    """This controller's part among its peers.

    Attributes:
        instance: number of this process.
        is_acting: it programs the switches.
        hands_over: it goes on acting until a peer takes over.
        process: as in `Beat`.
    """

    instance: int
    began_at: float
    is_acting: bool = False
    hands_over: bool = False
    process: str = ""
    _peers: dict[int, _Peer] = field(default_factory=dict)
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _unsteady: dict[str, _Unsteady] = field(default_factory=dict)
    _reach: frozenset[str] = frozenset()
    _has_known_peer: bool = False
    _is_others: bool = False
    _reaches_more_since: float | None = None
    _clock: float = 0.0
    _last: float | None = None
    _displaced_at: float = -math.inf
    _waits_until: float = -math.inf
    _wait: float = LEASE

    def heard(self, beat: Beat, now: float) -> None:
        """Take in a peer's sign of life, unless it is a new one and too many are known."""
        at = self._watched(now)
        self._peers = {number: each for number, each in self._peers.items() if now - each.heard_at < FORGOTTEN}
        before = self._peers.get(beat.instance)
        if before is None and len(self._peers) >= MOST_PEERS:
            return
        if before is not None and before.beat.process != beat.process:
            before = None
        has_heard_us = beat.hears is None or self.process in beat.hears or (before is not None and before.has_heard_us)
        if before is not None and beat.is_acting and not before.beat.is_acting:
            self._note_moved(beat.reach - self._reach)
        self._peers[beat.instance] = _Peer(beat, at, now, now if before is None else before.since, has_heard_us)
        self._has_known_peer = self._has_known_peer or has_heard_us

    def seen(self, switch: str, generation: int | None, now: float) -> None:
        """Take in the greatest generation id that a switch has seen; None if it has seen none."""
        at, before = self._watched(now), self._seen.get(switch)
        if generation is None:
            self._seen.pop(switch, None)
        elif before is None or before.generation != generation:
            self._seen[switch] = _Seen(generation, at)
            if before is not None:
                self._is_others = not self.is_acting

    def look(self, generation: int, reach: Collection[str], now: float) -> Decision | None:
        """Return the change of part that is due.

        Args:
            generation: the generation id by which this controller claims switches.
            reach: the switches that it is connected to.
            now: seconds of a clock that nobody sets.
        """
        lease = UNHEARD_LEASE if self.is_unheard(now) else LEASE
        strange, now = self._outsiders(now), self._watched(now)
        self._reach = frozenset(reach)
        fresh = [each.beat for n, each in self._peers.items() if now - each.at < LEASE and n not in strange]
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
            return self._challenge(acting, self._reach, now)
        self._reaches_more_since = None
        # A peer that we do not hear may hold a part of them: two that took it from each other at once would never end.
        is_left = self._renewed(LEASE, strange, now) > 0 and now < self._waits_until
        is_held = bool(acting) or 2 * self._renewed(lease, strange, now) > len(reach) or is_left
        return None if is_held or is_later_in_turn else self._changed(Decision.TAKE_OVER)

    def obstacle(self, reach: Collection[str], now: float) -> str | None:
        """Return why no peer could go on in place of this controller, None if one could.

        Args:
            reach: the switches that it is connected to.
            now: as in `look`.
        """
        strange = self._outsiders(now)
        fresh = [each.beat for n, each in self._peers.items() if now - each.heard_at < LEASE and n not in strange]
        if not fresh:
            return f"no peer has shown a sign of life for {LEASE:g} s"
        most = max(fresh, key=lambda beat: len(beat.reach & frozenset(reach)))
        missing = sorted(frozenset(reach) - most.reach)
        return f"no peer is connected to switch {', '.join(missing)}" if missing else None

    @property
    def hears(self) -> frozenset[str]:
        """The processes of the peers that are known."""
        return frozenset(peer.beat.process for peer in self._peers.values())

    def unlisted(self, now: float) -> list[Beat]:
        """Return the latest words of controllers that are heard but do not hear this one, as it does not list them."""
        return [each.beat for each in self._unproven(now).values() if now - each.heard_at < LEASE]

    def is_unheard(self, now: float) -> bool:
        """Return True if somebody acts or has acted, but no peer was heard for long: they may not list this one."""
        return self._is_others and all(now - peer.heard_at >= FORGOTTEN for peer in self._peers.values())

    def may_lead(self, beat: Beat, now: float) -> bool:
        """Return True if the plans of a peer that acts are to be followed: it lists this one, and is listed."""
        peer = self._peers.get(beat.instance)
        if peer is None or peer.has_heard_us:
            return True
        return not self._has_known_peer and now - peer.since >= UNHEARD_LEASE

    @property
    def generations(self) -> list[int]:
        """The generation ids of peers that act, or did when they were heard last."""
        return [peer.beat.generation for peer in self._peers.values() if peer.beat.is_acting]

    def hand_over(self) -> None:
        """Ask peers to take over, if this controller acts."""
        self.hands_over = self.is_acting

    def displaced(self, now: float) -> None:
        """Note that a switch has another master: watch for a lease before the next attempt.

        Wait twice as long each time while switches are claimed by a peer that is not heard.
        """
        self.is_acting = self.hands_over = False
        self._displaced_at = now = self._watched(now)
        self._waits_until = now + self._wait
        self._wait = min(2 * self._wait, LONGEST_WAIT)

    def _watched(self, now: float) -> float:
        """Return the time of this controller's own clock, which leaves out what it has not watched.

        What it knows of others is old after that, and not their fault. But however often it stands still, its clock
        goes on: otherwise one that is always late would never take over.
        """
        step = now - self.began_at if self._last is None else min(now - self._last, LONGEST_STEP)
        self._clock = self.began_at + step if self._last is None else self._clock + max(step, 0.0)
        self._last = now
        return self._clock

    def _unproven(self, now: float) -> dict[int, _Peer]:
        """Return those that are heard for a while, and hear this one not at all."""
        peers = self._peers.items()
        return {n: peer for n, peer in peers if not peer.has_heard_us and now - peer.since >= UNHEARD_LEASE}

    def _outsiders(self, now: float) -> Collection[int]:
        """Return the numbers of controllers that do not count, as this one has peers and does not list them."""
        return self._unproven(now) if self._has_known_peer else ()

    def _renewed(self, lease: float, strange: Collection[int], now: float) -> int:
        """Return how many switches that are reached were claimed within a time by somebody who counts."""
        ids = (self._seen[switch] for switch in self._reach if switch in self._seen)
        return sum(now - each.at < lease and instance_of(each.generation) not in strange for each in ids)

    def _challenge(self, acting: Collection[Beat], reach: frozenset[str], now: float) -> Decision | None:
        """Take over from a peer that asks for it, or that has reached fewer switches for a while.

        A switch that has been the reason for that does not count for a while: it may connect to whoever stands by.
        """
        if all(beat.hands_over and beat.reach <= reach for beat in acting):
            return self._changed(Decision.TAKE_OVER)
        unsteady = {switch for switch, each in self._unsteady.items() if now < each.until}
        if all(len(beat.reach - unsteady) < len(reach - unsteady) for beat in acting):
            if self._reaches_more_since is None:
                self._reaches_more_since = now
            if now - self._reaches_more_since >= CHALLENGE:
                self._note_moved(reach.difference(*(beat.reach for beat in acting)))
                return self._changed(Decision.TAKE_OVER)
        else:
            self._reaches_more_since = None
        return None

    def _note_moved(self, switches: Collection[str]) -> None:
        """Note the switches that the controller which acts from now on reaches, unlike the one before."""
        for switch in switches:
            before = self._unsteady.get(switch)
            is_again = before is not None and self._clock < before.until + before.wait
            wait = min(2 * before.wait, _LONGEST_UNSTEADY) if before is not None and is_again else LONGEST_WAIT
            self._unsteady[switch] = _Unsteady(wait, self._clock + wait)

    def _goes_first(self, beat: Beat, reach: Collection[str]) -> bool:
        """Return True if a peer that stands by as well is to act: it reaches more, or has the smaller number."""
        return (-len(beat.reach), beat.instance) < (-len(reach), self.instance)

    def _changed(self, decision: Decision) -> Decision:
        self.is_acting = decision is Decision.TAKE_OVER
        self.hands_over = False
        self._reaches_more_since = None
        return decision
