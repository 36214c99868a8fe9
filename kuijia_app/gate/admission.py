"""Decides which connections may stay: half-open, of known and unknown switches; pure, with the time passed in."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Generic, TypeVar

from kuijia_app.gate.limits import LIMITS, Allowance, Limits
from kuijia_base.fair_places import FairPlaces, origin_of

_PAUSE: Final = 1.0
"""Seconds after which an origin that comes again counts as one that has just come."""


class Doorway:
    """Takes in connections of all origins while they are few; otherwise those of three kinds, each up to a rate.

    These are any connections, those of origins that have not come for a moment, and those of origins from which a
    switch has been admitted. So neither a few origins that connect all the time nor many that connect once keep a
    switch out that comes back.
    """

    def __init__(self, now: float, limits: Limits = LIMITS) -> None:
        rate, burst = limits.accepted_rate, limits.accepted_burst
        self._any, self._new, self._old = (Allowance(rate, burst, now) for _ in range(3))
        self._most = limits.origins_remembered
        self._came_at: OrderedDict[str, float] = OrderedDict()
        self._familiar: OrderedDict[str, None] = OrderedDict()

    def admits(self, origin: str, now: float) -> bool:
        """Return True if a new connection from there is taken in."""
        came_at = self._came_at.pop(origin, None)
        self._came_at[origin] = now
        if len(self._came_at) > self._most:
            self._came_at.popitem(last=False)
        if origin in self._familiar and self._old.take(now):
            return True
        is_new = came_at is None or now - came_at >= _PAUSE
        return self._any.take(now) or (is_new and self._new.take(now))

    def is_familiar(self, origin: str) -> bool:
        """Return True if a switch of the application has been admitted from there."""
        return origin in self._familiar

    def admitted(self, origin: str) -> None:
        """Note that a switch of the application has been admitted from there."""
        self._familiar[origin] = None
        self._familiar.move_to_end(origin)
        if len(self._familiar) > self._most:
            self._familiar.popitem(last=False)


Key = TypeVar("Key", bound=Hashable)


class AdmissionVerdict(Enum):
    """Decision about a connection whose switch has named its datapath id."""

    KNOWN = auto()
    UNKNOWN = auto()
    DUPLICATE = auto()
    TOO_MANY_UNKNOWN = auto()
    TOO_OFTEN = auto()


@dataclass(slots=True)
class _HalfOpen(Generic[Key]):
    origin: str
    deadline: float
    places: FairPlaces[Key]


class Admission(Generic[Key]):
    """Counts connections, each identified by a key.

    Half-open connections of three groups have places of their own, so that none can take those of another group:
    connections that have shown a certificate, those from where a known switch has come before, and all others.

    Switches that the application knows (`is_known`) do not count towards a limit, as each id has only one connection.
    The rate at which each may connect is limited.
    """

    def __init__(self, is_known: Callable[[int], bool], now: float, limits: Limits = LIMITS) -> None:
        self._is_known = is_known
        self._limits = limits
        self._doorway = Doorway(now, limits)
        self._half_open: dict[Key, _HalfOpen[Key]] = {}
        groups = (FairPlaces[Key](limits.half_open, limits.half_open_of_address) for _ in range(3))
        self._certified, self._familiar, self._others = groups
        self._holders: dict[int, Key] = {}
        self._named: dict[Key, tuple[int, str]] = {}
        self._unknown: Counter[str] = Counter()
        self._returns: dict[tuple[int, str], Allowance] = {}
        self._announcements = Allowance(limits.unknown_rate, limits.unknown_rate, now)

    @property
    def half_open(self) -> int:
        return len(self._half_open)

    def holder(self, datapath_id: int) -> Key | None:
        """Return the connection that has this datapath id."""
        return self._holders.get(datapath_id)

    def admits(self, address: str, now: float) -> bool:
        """Return True if a new connection is taken in, False if too many come."""
        return self._doorway.admits(origin_of(address), now)

    def arrived(self, key: Key, address: str, deadline: float) -> Key | None:
        """Add a new half-open connection; if there are too many, return the one to drop."""
        origin = origin_of(address)
        places = self._familiar if self._doorway.is_familiar(origin) else self._others
        self._half_open[key] = _HalfOpen(origin, deadline, places)
        return places.take(key, origin)

    def certified(self, key: Key) -> Key | None:
        """Note that a half-open connection has shown a certificate; if too many have, return the one to drop."""
        connection = self._half_open.get(key)
        if connection is None:
            return None
        connection.places.leave(key)
        connection.places = self._certified
        return connection.places.take(key, connection.origin)

    def is_preferred(self, key: Key) -> bool:
        """Return True for a half-open connection that is served before others: it is more likely that of a switch."""
        connection = self._half_open.get(key)
        return connection is not None and connection.places is not self._others

    def prolonged(self, key: Key, deadline: float) -> None:
        """Give a half-open connection another deadline."""
        if key in self._half_open:
            self._half_open[key].deadline = deadline

    def oldest(self, count: int) -> list[Key]:
        """Return the half-open connections to drop first, at most so many."""
        groups = (self._others, self._familiar, self._certified)
        return [key for places in groups for key in places.oldest(count)][:count]

    def overdue(self, now: float) -> list[Key]:
        """Return the half-open connections whose deadline has passed."""
        return [key for key, connection in self._half_open.items() if connection.deadline <= now]

    def named(self, key: Key, datapath_id: int, now: float) -> AdmissionVerdict:
        """Decide about a half-open connection that names its datapath id; if it may stay, it is no longer half-open."""
        if datapath_id in self._holders:
            return AdmissionVerdict.DUPLICATE
        origin = self._half_open[key].origin
        known = self._is_known(datapath_id)
        if known and not self._may_return(datapath_id, origin, now):
            return AdmissionVerdict.TOO_OFTEN
        if not known:
            limits = self._limits
            full = self._unknown.total() >= limits.unknown
            if full or self._unknown[origin] >= limits.unknown_of_address or not self._announcements.take(now):
                return AdmissionVerdict.TOO_MANY_UNKNOWN
            self._unknown[origin] += 1
        else:
            self._doorway.admitted(origin)
        self._forget_half_open(key)
        self._holders[datapath_id] = key
        self._named[key] = (datapath_id, "" if known else origin)
        return AdmissionVerdict.KNOWN if known else AdmissionVerdict.UNKNOWN

    def left(self, key: Key) -> None:
        """Forget a connection that has ended; has no effect a second time."""
        self._forget_half_open(key)
        if key in self._named:
            datapath_id, origin = self._named.pop(key)
            del self._holders[datapath_id]
            if origin:
                self._unknown[origin] -= 1
                if not self._unknown[origin]:
                    del self._unknown[origin]

    def _may_return(self, datapath_id: int, origin: str, now: float) -> bool:
        """Count for each origin separately, or one that connects too often would block the switch whose id it uses."""
        limits = self._limits
        allowance = self._returns.pop((datapath_id, origin), None)
        if allowance is None:
            allowance = Allowance(limits.returns_rate, limits.returns_burst, now)
            if len(self._returns) >= limits.returns_remembered:
                del self._returns[next(iter(self._returns))]
        self._returns[datapath_id, origin] = allowance
        return allowance.take(now)

    def _forget_half_open(self, key: Key) -> None:
        connection = self._half_open.pop(key, None)
        if connection is not None:
            connection.places.leave(key)
