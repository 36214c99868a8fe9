"""Promise to whoever replaces the plan: it comes into force, unless something excuses that."""

from __future__ import annotations

import math

from te_solver.model.plan import Plan
from tests.rehearsal.faults import FaultKind, RehearsedFault
from tests.rehearsal.timeline import SimulatedTime

_REFUSING = frozenset(
    {
        FaultKind.FULL,
        FaultKind.TABLE_FULL,
        FaultKind.WHIM,
        FaultKind.FOREIGN,
        FaultKind.USURPER,
        FaultKind.DISK,
        FaultKind.ROLE_LIES,
        FaultKind.ID_LIES,
        FaultKind.ERROR_LIES,
        FaultKind.WANDERER,
    }
)
"""Kinds after which a switch may refuse an update, or a controller cannot keep it."""

_HIDING = frozenset({FaultKind.KILL, FaultKind.FREEZE, FaultKind.PEERS, FaultKind.HANDOVER, FaultKind.WITHDRAW})
"""Kinds that end an update which only one controller knows."""

_KNOWN = 1.5
"""Seconds after which all controllers know of an update."""

_BACK = 2.5
"""Seconds after a fault that hides updates in which it may still do so: a controller that was killed starts again."""


class Updates:
    """The plan that somebody has asked the controller for that acts, and what excuses that another is in force.

    Attributes:
        due: plan that must be in force after all faults; None if there is no such promise.
    """

    def __init__(self, time: SimulatedTime) -> None:
        self._time = time
        self._asked_at = -math.inf
        self._hidden_until = -math.inf
        self.due: Plan | None = None

    def asked(self, plan: Plan | None) -> None:
        """Note a plan that the controller that acts is asked for; None if one that may not act is asked."""
        self._asked_at = self._time.now
        self.due = None if self._time.now < self._hidden_until else plan

    def taken_over(self) -> None:
        """Take in that another controller acts: one that has not heard of an update refuses it."""
        if self._time.now < self._asked_at + _KNOWN:
            self.due = None

    def disturbed(self, fault: RehearsedFault) -> None:
        """Take in a fault that may excuse an update that does not come into force."""
        if fault.kind in _REFUSING:
            self._hidden_until = math.inf
            self.due = None
        elif fault.kind is FaultKind.WITHDRAW or (fault.kind in _HIDING and self._time.now < self._asked_at + _KNOWN):
            self.due = None
        if fault.kind in _HIDING:
            self._hidden_until = max(self._hidden_until, self._time.now + fault.span + _BACK)
