"""Verifies with the other switches that a switch has another master, as it says; pure, with the time passed in.

A switch that refuses messages by role errors, or tells a later generation id, may be wrong or lie. So this controller
claims all others again when one says so. It stands down only if more than half of those that answer refuse as well;
otherwise it claims the denying ones again, after pauses that double.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import inf

from kuijia_app.control.pair import LEASE, LONGEST_WAIT

ANSWERED_WITHIN = 2.0
"""Seconds after which switches that have answered neither way are left out of the count."""

ASKED_EVERY = LEASE / 2
"""Least seconds between two rounds of claims that verify a denial."""


@dataclass(frozen=True)
class _Trouble:
    """Denials of one switch.

    Attributes:
        reason: that of the last one, in words.
        wait: seconds from the last one to the next claim; it doubles.
        retried_at: when that claim is due.
        obeys_since: when it was claimed again after that; None while it is not.
    """

    reason: str
    wait: float
    retried_at: float
    obeys_since: float | None = None


class RoleVerification:
    """Statements of switches on the role of a controller that acts, or wants to."""

    def __init__(self) -> None:
        self._troubles: dict[str, _Trouble] = {}
        self._obeyed: dict[str, float] = {}
        self._open_since: float | None = None
        self._asked_at: float | None = None
        self._quiet_wait = LEASE
        self._quiet_since: float | None = None
        self._looks_at = 0.0

    def denied(self, switch: str, reason: str, now: float) -> None:
        """Take in that a switch says that another controller is its master, for a reason in words."""
        if self.is_denying(switch):
            return
        before, wait = self._troubles.get(switch), LEASE
        if before is not None and before.obeys_since is not None and now - before.obeys_since < LONGEST_WAIT:
            wait = min(2 * before.wait, LONGEST_WAIT)
        self._troubles[switch] = _Trouble(reason, wait, now + wait)
        self._obeyed.pop(switch, None)
        if self._open_since is None:
            self._open_since = now

    def obeyed(self, switch: str, claimed_at: float) -> None:
        """Take in that a switch has taken a claim that was sent then, or says that nobody has claimed it since."""
        if not self.is_denying(switch):
            self._obeyed[switch] = max(claimed_at, self._obeyed.get(switch, claimed_at))

    def is_denying(self, switch: str) -> bool:
        """Return True from a switch's denial until it is claimed again."""
        trouble = self._troubles.get(switch)
        return trouble is not None and trouble.obeys_since is None

    def denials(self, connected: Collection[str]) -> dict[str, str]:
        """Return the switches that deny this controller its role, each with its reason."""
        return {each: self._troubles[each].reason for each in connected if self.is_denying(each)}

    def is_to_be_asked(self, now: float) -> bool:
        """Return True if the other switches are to be claimed again now, to verify a denial."""
        if self._open_since is None or (self._asked_at is not None and now - self._asked_at < ASKED_EVERY):
            return False
        self._asked_at = now
        return True

    def is_lost(self, connected: Collection[str], now: float) -> bool:
        """Return True if this controller is to stand down; False while there is no denial, or too few have answered.

        A denial is decided once, for the time being.
        """
        since = self._open_since
        if since is None:
            return False
        denying, obeying = sum(map(self.is_denying, connected)), self._obeying(connected, since)
        is_late = now - since >= ANSWERED_WITHIN
        if 2 * denying > len(connected) or (is_late and denying > obeying):
            self._open_since, self._quiet_since, self._looks_at = None, now, now + self._quiet_wait
            self._quiet_wait = min(2 * self._quiet_wait, LONGEST_WAIT)
            return True
        if denying == 0 or 2 * obeying >= len(connected) or is_late:
            self._open_since = None
        return False

    def due(self, connected: Collection[str], now: float) -> list[str]:
        """Return the denying switches to ask for their ids and claim above these now; each once a pause."""
        if self._open_since is not None:
            return []
        due = [each for each in connected if self.is_denying(each) and now >= self._troubles[each].retried_at]
        for switch in due:
            trouble = self._troubles[switch]
            self._troubles[switch] = replace(trouble, retried_at=now + trouble.wait)
        return due

    def claimed(self, switch: str, now: float) -> None:
        """Take in that a switch is claimed again, whatever it said before."""
        trouble = self._troubles.get(switch)
        if trouble is not None and trouble.obeys_since is None:
            self._troubles[switch] = replace(trouble, obeys_since=now)

    def is_to_look_again(self, now: float) -> bool:
        """Return True if a controller that is quiet is to ask all switches for their ids now."""
        if self._quiet_since is None or now < self._looks_at:
            return False
        self._looks_at = now + self._quiet_wait
        return True

    def vouched(self, switch: str, now: float) -> None:
        """Take in that a switch tells a quiet controller no id that is later than that by which it was claimed."""
        self.claimed(switch, now)
        self.obeyed(switch, now)

    def is_wrong(self, connected: Collection[str], now: float) -> bool:
        """Return True if a controller is quiet wrongly: at most half of the switches have told a later id since."""
        if self._quiet_since is None:
            return False
        obeying = self._obeying(connected, self._quiet_since)
        if obeying == 0 or obeying < sum(map(self.is_denying, connected)):
            return False
        if now - self._quiet_since >= LONGEST_WAIT:
            self._quiet_wait = LEASE
        self._quiet_since = self._open_since = None
        return True

    def left(self, switch: str) -> None:
        """Take in that a switch's connection has ended; its pauses are remembered."""
        self._obeyed.pop(switch, None)

    def _obeying(self, connected: Collection[str], since: float) -> int:
        return sum(self._obeyed.get(switch, -inf) >= since for switch in connected)
