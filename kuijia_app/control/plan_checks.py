"""Compares what switches report with what the plan needs, and decides when the plan may be put on them; pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum

from kuijia_app.control.findings import FindingKey, FindingKind, SwitchFinding
from kuijia_app.control.slow_queues import SlowQueues
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.tables.needs import SwitchNeeds, port_use

JUDGED_WITHIN = 1.5
"""Seconds after a switch has been read for which the plan waits for answers about its links; those about its queues
it needs."""

CONNECTED_WITHIN = 2.0
"""Seconds after the first switch has been read for which the plan waits for the others."""

QUEUE_KINDS = (FindingKind.QUEUE_MISSING, FindingKind.QUEUES_UNKNOWN, FindingKind.QUEUE_SLOW)


class Missing(Enum):
    """What follows when switches lack something that the plan needs."""

    REFUSE = "refuse"
    """The plan is not put on them, and what is on them stays."""

    WARN = "warn"
    """It is put on them, and what it lacks is named."""

    IGNORE = "ignore"
    """Queues are not asked for, and no link is probed."""


class PlanChecks:
    """The queues of all switches, and which switches may have the plan. Times are seconds of any clock.

    A plan that lacks something anywhere is put on no switch (`Missing.REFUSE`). Once it was put on the switches it is
    in force: what is lost afterwards takes it from none of them.
    """

    def __init__(self, missing: Missing, needs: Mapping[str, SwitchNeeds]) -> None:
        self.missing = missing
        self.needs = needs
        self._queues: dict[str, frozenset[tuple[int, int]] | None] = {}
        self._slow = SlowQueues()
        self._waiting: dict[str, float] = {}
        self._has: set[str] = set()
        self._first_at: float | None = None
        self._is_admitted = missing is not Missing.REFUSE

    @property
    def is_admitted(self) -> bool:
        """True once the plan may be put on switches."""
        return self._is_admitted

    @property
    def waiting(self) -> Collection[str]:
        """Switches that have been read, and may not have the plan yet."""
        return self._waiting.keys()

    def queues_counted(self, snapshot: Snapshot) -> None:
        """Take in which queues a switch has, and what they count."""
        queues = snapshot.queues
        self._queues[snapshot.switch] = None if queues is None else frozenset(queues)
        self._slow.counted(snapshot, self.needs[snapshot.switch])

    def knows_queues(self, switch: str) -> bool:
        """Return True if a switch has told since it connected which queues it has, or does not tell them."""
        return switch in self._queues

    def read(self, switch: str, now: float) -> bool:
        """Take in that a switch has been read; return True if it may have the plan at once."""
        if self._is_admitted and (switch in self._has or self.missing is not Missing.REFUSE):
            self._has.add(switch)
            return True
        self._first_at = now if self._first_at is None else self._first_at
        self._waiting[switch] = now
        return False

    def left(self, switch: str) -> None:
        """Take in that a switch has gone."""
        self._queues.pop(switch, None)
        self._slow.left(switch)
        self._waiting.pop(switch, None)

    def begin_anew(self) -> None:
        """Take in that this controller acts from now on, perhaps with another plan: it looks for itself."""
        self._queues.clear()
        self._waiting.clear()
        self._has.clear()
        self._first_at = None
        self._is_admitted = self.missing is not Missing.REFUSE

    def admitted(
        self, now: float, lacks: Collection[SwitchFinding], are_links_judged: Callable[[str], bool]
    ) -> list[str]:
        """Return the switches that may have the plan from now on.

        Args:
            now: the time.
            lacks: all findings that keep a plan from being in force.
            are_links_judged: returns True if all links of a switch that can be probed have been judged.
        """
        if not self._waiting:
            return []
        lacking = {finding.key.switch for finding in lacks}

        def is_checked(switch: str) -> bool:
            is_late = now - self._waiting[switch] >= JUDGED_WITHIN
            return switch in self._queues and (is_late or are_links_judged(switch))

        if not self._is_admitted:
            are_all_here = self._waiting.keys() >= self.needs.keys()
            is_late = self._first_at is not None and now - self._first_at >= CONNECTED_WITHIN
            if lacking or not (are_all_here or is_late) or not all(map(is_checked, self._waiting)):
                return []
            self._is_admitted = True
        ready = [switch for switch in self._waiting if switch not in lacking and is_checked(switch)]
        for switch in ready:
            del self._waiting[switch]
        self._has.update(ready)
        return ready

    def findings(self, switch: str, has_port: Callable[[int], bool]) -> Iterator[SwitchFinding]:
        """Yield what is wrong with the queues of a switch; ports that it lacks are not its queues' fault."""
        needs = self.needs.get(switch)
        if needs is not None and switch in self._queues:
            yield from self.queue_lacks(needs, has_port)
            if self._queues[switch] is not None:
                yield from self._slow.findings(needs)

    def queue_lacks(self, needs: SwitchNeeds, has_port: Callable[[int], bool]) -> Iterator[SwitchFinding]:
        """Yield the queues that a switch lacks for these needs, of the plan or of one that shall replace it."""
        switch = needs.switch
        if switch not in self._queues:
            return
        queues = self._queues[switch]
        if queues is None:
            key = FindingKey(FindingKind.QUEUES_UNKNOWN, switch)
            text = "it does not answer which queues its ports have"
            yield SwitchFinding(key, text, "make sure of them, and use --missing warn or ignore", is_lack=True)
            return
        for port in needs.ports.values():
            missing = [queue for queue in needs.queues if (port.number, queue.queue_id) not in queues]
            if missing and has_port(port.number):
                named = ", ".join(f"{queue.queue_id} ({queue.name})" for queue in missing)
                key = FindingKey(FindingKind.QUEUE_MISSING, switch, port.number)
                text = f"port {port.number} to {port_use(port.leads_to, is_host=port.is_host)} lacks queue {named}"
                yield SwitchFinding(key, text, "make them, as `kuijia switches prepare` does", is_lack=True)


def summary(lacks: Collection[SwitchFinding]) -> str:
    """Return what is lacking in one line: the first in full, and the number of others."""
    first = next(iter(lacks))
    more = f", and {len(lacks) - 1} more" if len(lacks) > 1 else ""
    return f"switch {first.key.switch}: {first.line}{more}"
