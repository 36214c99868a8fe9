"""Several controllers of the same switches as processes: one acts, the others stand by."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kuijia_app.framework import event_log
from kuijia_base.errors import TestbedError
from te_solver.model.plan import Plan
from testbed.controllers.application_process import START_TIMEOUT, SWITCH_STATES, Event, EventHistory, Framework
from testbed.controllers.controller_process import ControllerLog, ControllerProcess

_POLL_INTERVAL = 0.005
_TAKEOVER_TIMEOUT = 10.0
"""Seconds that a request waits for a controller that acts; a takeover takes one second (docs/pair.md)."""


@dataclass(frozen=True)
class Handover:
    """A planned handover: the numbers of both controllers, and the seconds from the request until the other acted."""

    before: int
    after: int
    seconds: float


class ControllerSet(ControllerLog):
    """Controllers that are peers of each other, used like one of them.

    The one that acts is the one that took its role last, as its event log says. Several threads may use this.
    """

    def __init__(self, members: Sequence[ControllerProcess]) -> None:
        """Make a set of controllers that have been given their peers and do not run yet."""
        self.members = tuple(members)
        self._reading = threading.Lock()
        self._history = EventHistory()
        self._read = [0] * len(self.members)
        self._acting_since: dict[int, float] = {}
        self._acted_last = 0
        self._unread = set(range(len(self.members)))
        """Places of those whose logs do not exist yet, or are about to begin again."""

    @property
    def framework(self) -> Framework:
        return self.members[0].framework

    @property
    def is_alive(self) -> bool:
        """True if one of them is."""
        return any(member.is_alive for member in self.members)

    @property
    def acting(self) -> ControllerProcess:
        """The one that acts; the one that acted last while none does."""
        self.events()
        return self.members[self._acted_last]

    @property
    def has_acting(self) -> bool:
        """True if one of them acts."""
        self.events()
        return self._acted_last in self._acting_since and self.members[self._acted_last].is_alive

    @property
    def pid(self) -> int | None:
        """Process id of the one that acts."""
        return self.acting.pid

    @property
    def dead(self) -> list[int]:
        """Numbers, from 1, of those that are dead."""
        return [number for number, member in enumerate(self.members, 1) if not member.is_alive]

    def describe(self) -> list[dict[str, Any]]:
        """Return number, process and role of each as JSON data, and since when the active one has been active."""
        acting = self.acting if self.has_acting else None
        return [
            {
                "number": place + 1,
                "pid": member.pid,
                "acts": member is acting,
                "since": self._acting_since.get(place) if member is acting else None,
            }
            for place, member in enumerate(self.members)
        ]

    def start(self) -> None:
        """Start those that do not run; return when they listen. Raises TestbedError if one does not."""
        for place, member in enumerate(self.members):
            if not member.is_alive:
                self.events()
                with self._reading:
                    self._unread.add(place)
                    self._read[place] = 0
                    self._acting_since.pop(place, None)
                member.start()
                with self._reading:
                    self._unread.discard(place)

    def wait_until_ready(self, switches: Iterable[str], timeout: float = START_TIMEOUT) -> None:
        """Wait until one acts and every switch has acknowledged all of its tables to it.

        Raises:
            TestbedError: all controllers died, a switch refused a message, or it takes longer than `timeout` seconds.
        """
        wanted, known = set(switches), len(self._history.events)

        def all_ready(events: list[Event]) -> bool:
            for event in events[known:]:
                if event["event"] == event_log.SWITCH_ERROR:
                    raise TestbedError(
                        f"switch {event['switch']} refused a message of the controller: {event['error']}"
                    )
                if event["event"] == event_log.SWITCH_UNFIT:
                    raise TestbedError(f"switch {event['switch']} {event['problem']}")
            return self.has_acting and wanted.issubset(self.acting.programmed_switches())

        if not self.wait_for(all_ready, timeout):
            missing = sorted(wanted.difference(self.programmed_switches()))
            raise TestbedError(f"no controller has programmed {', '.join(missing)} within {timeout:g} s")

    def wait_for_successor(self, timeout: float = START_TIMEOUT) -> bool:
        """Return True once another controller could take over from the one that acts, False after `timeout` seconds.

        Raises:
            TestbedError: all controllers died first.
        """
        return self.wait_for(_has_successor, timeout)

    def wait_for(
        self, condition: Callable[[list[Event]], bool], timeout: float, interval: float = _POLL_INTERVAL
    ) -> bool:
        """Return True if `condition` holds for the events within `timeout` seconds, looking at them every `interval`.

        Raises:
            TestbedError: all controllers died first.
        """
        deadline = time.monotonic() + timeout
        while not condition(self.events()):
            if not self.is_alive:
                raise TestbedError("all controllers have died")
            if time.monotonic() > deadline:
                return False
            time.sleep(interval)
        return True

    def events(self) -> list[Event]:
        """Return the events of all, each with the number of its controller, in the order in which they were read.

        What one that stands by knows of its connections is left out. An event keeps its place when a controller is
        started again.
        """
        with self._reading:
            new = [each for place in range(len(self.members)) for each in self._new_events(place)]
            self._history.extend(sorted(new, key=_happened))
            if self._acting_since:
                alive = [place for place in self._acting_since if self.members[place].is_alive]
                self._acted_last = max(alive or self._acting_since, key=self._acting_since.__getitem__)
            return list(self._history.events)

    def _new_events(self, place: int) -> Iterator[Event]:
        events = [] if place in self._unread else self.members[place].events()
        new, self._read[place] = events[self._read[place] :], len(events)
        for event in new:
            if event["event"] == event_log.ROLE_TAKEN:
                self._acting_since[place] = _happened(event)
            elif event["event"] == event_log.ROLE_YIELDED:
                self._acting_since.pop(place, None)
            if event["event"] not in SWITCH_STATES or place in self._acting_since:
                yield {**event, "controller": place + 1}

    def programmed_switches(self) -> list[str]:
        """Return the switches that have acknowledged their tables to the one that acts."""
        return self.acting.programmed_switches() if self.has_acting else []

    def update(self, plan: Plan) -> Plan:
        """Have the active one follow a plan, as `ControllerProcess.update`; after a takeover, the new active one."""
        while True:
            asked = self._require_acting()
            try:
                return asked.update(plan)
            except TestbedError:
                if asked.is_alive and asked is self.acting:
                    raise

    def hand_over(self) -> Handover:
        """Have the active one hand over; return when another is active and has read all its switches.

        Raises:
            TestbedError: there is no handover (the message says why), none acts, or it takes too long.
        """
        before = self._require_acting()
        switches, known, asked_at = before.programmed_switches(), len(self._history.events), time.monotonic()
        before.hand_over()
        found: list[Event] = []

        def is_decided(events: list[Event]) -> bool:
            kinds = (event_log.ROLE_TAKEN, event_log.HANDOVER_REFUSED)
            found[:] = [event for event in events[known:] if event["event"] in kinds]
            return bool(found)

        if not self.wait_for(is_decided, _TAKEOVER_TIMEOUT):
            raise TestbedError(f"no other controller acts after {_TAKEOVER_TIMEOUT:g} s")
        decision = found[0]
        if decision["event"] == event_log.HANDOVER_REFUSED:
            raise TestbedError(f"there is no handover: {decision['reason']}")
        self.wait_for(lambda _: set(self.acting.programmed_switches()).issuperset(switches), _TAKEOVER_TIMEOUT)
        return Handover(self.members.index(before) + 1, decision["controller"], _happened(decision) - asked_at)

    def withdraw_update(self) -> None:
        """Ask for the end of the update under way; has no effect if none acts."""
        self.acting.withdraw_update()

    def _require_acting(self) -> ControllerProcess:
        if not self.wait_for(lambda _: self.has_acting, _TAKEOVER_TIMEOUT):
            raise TestbedError(f"no controller acts after {_TAKEOVER_TIMEOUT:g} s")
        return self.acting

    def kill(self) -> None:
        """End all of them at once."""
        for member in self.members:
            member.kill()

    def stop(self) -> None:
        """Terminate all of them, by force if necessary."""
        for member in self.members:
            member.stop()


def _has_successor(events: Sequence[Event]) -> bool:
    """Return True if what was said last is that another controller could take over."""
    kinds = (event_log.ROLE_TAKEN, event_log.SUCCESSOR_GONE, event_log.SUCCESSOR_READY)
    return next((each["event"] for each in reversed(events) if each["event"] in kinds), "") == kinds[-1]


def _happened(event: Event) -> float:
    """Return the time of an event on the clock that the controllers share, even if the wall clock of one was set."""
    return float(event["monotonic"])


LabController = ControllerProcess | ControllerSet
"""What a lab has: one controller, or several."""
