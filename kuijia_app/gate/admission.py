"""Decides which connections may stay: half-open, of known and unknown switches; pure, with the time passed in."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

from kuijia_app.gate.limits import LIMITS, Limits
from kuijia_app.gate.rates import Allowance

Key = TypeVar("Key", bound=Hashable)


class Verdict(Enum):
    """Decision about a connection whose switch has named its datapath id."""

    KNOWN = auto()
    UNKNOWN = auto()
    DUPLICATE = auto()
    TOO_MANY_UNKNOWN = auto()
    TOO_OFTEN = auto()


@dataclass(frozen=True, slots=True)
class _HalfOpen:
    address: str
    deadline: float


class Admission(Generic[Key]):
    """Counts connections, each identified by a key.

    Switches that the application knows (`is_known`) do not count towards a limit, as each id has only one connection.
    The rate at which each may connect is limited.
    """

    def __init__(self, is_known: Callable[[int], bool], now: float, limits: Limits = LIMITS) -> None:
        self._is_known = is_known
        self._limits = limits
        self._half_open: OrderedDict[Key, _HalfOpen] = OrderedDict()
        self._half_open_at: Counter[str] = Counter()
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

    def arrived(self, key: Key, address: str, deadline: float) -> Key | None:
        """Add a new half-open connection; if there are too many, return the one to drop."""
        self._half_open[key] = _HalfOpen(address, deadline)
        self._half_open_at[address] += 1
        if self._half_open_at[address] > self._limits.half_open_of_address:
            return self._oldest_of(address)
        if len(self._half_open) > self._limits.half_open:
            return self._oldest_of(max(self._half_open_at, key=self._half_open_at.__getitem__))
        return None

    def prolonged(self, key: Key, deadline: float) -> None:
        """Give a half-open connection another deadline."""
        if key in self._half_open:
            self._half_open[key] = _HalfOpen(self._half_open[key].address, deadline)

    def oldest(self, count: int) -> list[Key]:
        """Return the oldest half-open connections, at most so many."""
        return [key for key, _ in zip(self._half_open, range(count), strict=False)]

    def overdue(self, now: float) -> list[Key]:
        """Return the half-open connections whose deadline has passed."""
        return [key for key, connection in self._half_open.items() if connection.deadline <= now]

    def named(self, key: Key, datapath_id: int, now: float) -> Verdict:
        """Decide about a half-open connection that names its datapath id; if it may stay, it is no longer half-open."""
        if datapath_id in self._holders:
            return Verdict.DUPLICATE
        address = self._half_open[key].address
        known = self._is_known(datapath_id)
        if known and not self._may_return(datapath_id, address, now):
            return Verdict.TOO_OFTEN
        if not known:
            limits = self._limits
            full = self._unknown.total() >= limits.unknown
            if full or self._unknown[address] >= limits.unknown_of_address or not self._announcements.take(now):
                return Verdict.TOO_MANY_UNKNOWN
            self._unknown[address] += 1
        self._forget_half_open(key)
        self._holders[datapath_id] = key
        self._named[key] = (datapath_id, "" if known else address)
        return Verdict.KNOWN if known else Verdict.UNKNOWN

    def left(self, key: Key) -> None:
        """Forget a connection that has ended; has no effect a second time."""
        self._forget_half_open(key)
        if key in self._named:
            datapath_id, address = self._named.pop(key)
            del self._holders[datapath_id]
            if address:
                self._less(self._unknown, address)

    def _may_return(self, datapath_id: int, address: str, now: float) -> bool:
        """Count for each address separately, or one that connects too often would block the switch whose id it uses."""
        limits = self._limits
        allowance = self._returns.pop((datapath_id, address), None)
        if allowance is None:
            allowance = Allowance(limits.returns_rate, limits.returns_burst, now)
            if len(self._returns) >= limits.returns_remembered:
                del self._returns[next(iter(self._returns))]
        self._returns[datapath_id, address] = allowance
        return allowance.take(now)

    def _oldest_of(self, address: str) -> Key:
        return next(key for key, connection in self._half_open.items() if connection.address == address)

    def _forget_half_open(self, key: Key) -> None:
        connection = self._half_open.pop(key, None)
        if connection is not None:
            self._less(self._half_open_at, connection.address)

    @staticmethod
    def _less(counts: Counter[str], address: str) -> None:
        counts[address] -= 1
        if not counts[address]:
            del counts[address]
