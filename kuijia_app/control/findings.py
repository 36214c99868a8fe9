"""What is wrong with switches, ports, links and tunnels at the moment, and when to report it; pure.

Whoever asks, probes or counts states what it finds; the event log, the log, metrics and `status` read one collection.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

MOST_OF_ONE_KIND = 64
"""Findings of one kind at one switch that are remembered; a switch may describe any number of wrong things."""

FREE_REPORTS = 4
"""Reports of one finding, that it is there or gone, that are made at once; later ones wait."""

FIRST_PAUSE = 2.0
LONGEST_PAUSE = 600.0
"""Seconds between two later reports of a finding that comes and goes: the first pause, which doubles, and the last."""

CALM = 120.0
"""Seconds without a change after which a finding counts as new."""


class FindingKind(Enum):
    """Kinds of findings; the values are labels of metrics and words of events."""

    PORT_MISSING = "port-missing"
    PORT_NOT_LIVE = "port-not-live"
    PORT_DISABLED = "port-disabled"
    PORT_UNPROBED = "port-unprobed"
    SWITCH_UNPROBED = "switch-unprobed"
    SWITCH_UNWATCHED = "switch-unwatched"
    HOSTS_UNANSWERED = "hosts-unanswered"
    SESSION_PORT_MISSING = "session-port-missing"
    QUEUE_MISSING = "queue-missing"
    QUEUES_UNKNOWN = "queues-unknown"
    QUEUE_SLOW = "queue-slow"
    FRAMES_TOO_LARGE = "frames-too-large"
    LINK_LOST = "link-lost"
    LINK_MISWIRED = "link-miswired"
    TABLES_CHANGED = "tables-changed"
    FOREIGN_ENTRY = "foreign-entry"
    PACKETS_VANISH = "packets-vanish"
    PAIR_CUT_OFF = "pair-cut-off"


@dataclass(frozen=True, slots=True)
class FindingKey:
    """Kind and place of a finding: two findings with equal keys are the same, however they are worded.

    Attributes:
        kind: what is wrong.
        switch: name of the switch.
        port: OpenFlow number of its port, if it is about one.
        detail: tells several of one kind at one place apart, such as a path id.
    """

    kind: FindingKind
    switch: str
    port: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SwitchFinding:
    """Something that is wrong at a switch.

    Attributes:
        key: what and where.
        text: what was seen, with the names of port and neighbour, without the switch.
        what_to_do: how a person mends it; empty if only time can.
        is_lack: True if a plan cannot keep its promises for lack of it, so that the plan is not in force.
    """

    key: FindingKey
    text: str
    what_to_do: str = ""
    is_lack: bool = False

    @property
    def line(self) -> str:
        """Everything but the switch in one line."""
        return f"{self.text}: {self.what_to_do}" if self.what_to_do else self.text


@dataclass(frozen=True, slots=True)
class FindingReport:
    """News of a finding.

    Attributes:
        finding: as it was stated last.
        is_open: True if it is there, False if it is gone.
        since: time at which that began.
        changes: how often it came or went since the last report, at least once.
    """

    finding: SwitchFinding
    is_open: bool
    since: float
    changes: int


@dataclass(slots=True)
class _Record:
    """A finding, and what was reported of it."""

    finding: SwitchFinding
    is_open: bool
    since: float
    reported: tuple[bool, str] = (False, "")
    reports: int = 0
    changes: int = 0
    due_at: float = 0.0

    @property
    def is_news(self) -> bool:
        said_open, text = self.reported
        return said_open != self.is_open or (self.is_open and text != self.finding.line)


class Findings:
    """The findings of one controller. Times are seconds of any clock.

    A finding that comes and goes is reported ever less often, but what is reported last is true in the end.
    """

    def __init__(self) -> None:
        self._records: dict[FindingKey, _Record] = {}
        self._news: dict[FindingKey, None] = {}
        self._has_changed = False

    def __iter__(self) -> Iterator[SwitchFinding]:
        """Iterate over what is wrong now."""
        return (record.finding for record in self._records.values() if record.is_open)

    def __contains__(self, key: object) -> bool:
        record = self._records.get(key) if isinstance(key, FindingKey) else None
        return record is not None and record.is_open

    def take_changed(self) -> bool:
        """Return True if anything has come or gone since the last call, whether it may be reported yet or not."""
        has_changed, self._has_changed = self._has_changed, False
        return has_changed

    @property
    def lacks(self) -> tuple[SwitchFinding, ...]:
        """The findings that keep a plan from being in force."""
        return tuple(finding for finding in self if finding.is_lack)

    def found(self, finding: SwitchFinding, now: float) -> None:
        """State that something is wrong; its words may have changed."""
        record = self._records.get(finding.key)
        if record is None:
            if len(self._of(finding.key.kind, finding.key.switch)) >= MOST_OF_ONE_KIND:
                return
            record = self._records[finding.key] = _Record(finding, is_open=False, since=now)
        record.finding = finding
        self._turned(record, now, is_open=True)

    def gone(self, key: FindingKey, now: float) -> None:
        """State that something is not, or no longer, wrong."""
        record = self._records.get(key)
        if record is not None:
            self._turned(record, now, is_open=False)

    def exactly(
        self, kinds: FindingKind | Collection[FindingKind], switch: str, findings: Iterable[SwitchFinding], now: float
    ) -> None:
        """State all that is wrong of some kinds at one switch; whatever else was is gone."""
        stated = (kinds,) if isinstance(kinds, FindingKind) else kinds
        present = {finding.key: finding for finding in findings}
        for key in list(self._records):
            if key.switch == switch and key.kind in stated and key not in present:
                self.gone(key, now)
        for finding in present.values():
            self.found(finding, now)

    def clear(self, now: float) -> None:
        """State that nothing is known to be wrong."""
        for key in list(self._records):
            self.gone(key, now)

    def reports(self, now: float) -> list[FindingReport]:
        """Return the news that may be reported now; call this after statements, and at regular intervals."""
        if not self._news:
            return []
        due = [key for key in self._news if now >= self._records[key].due_at]
        return [report for key in due if (report := self._reported(key, now)) is not None]

    def _of(self, kind: FindingKind, switch: str) -> list[FindingKey]:
        return [key for key in self._records if key.switch == switch and key.kind is kind]

    def _turned(self, record: _Record, now: float, *, is_open: bool) -> None:
        if record.is_open != is_open:
            if now - record.since > CALM:
                record.reports, record.due_at = 0, now
            record.is_open, record.since = is_open, now
            record.changes += 1
            self._has_changed = True
        if record.is_news:
            self._news[record.finding.key] = None

    def _reported(self, key: FindingKey, now: float) -> FindingReport | None:
        record = self._records[key]
        if not record.is_news:
            if record.is_open or now - record.since > CALM:
                del self._news[key]
            if not record.is_open and now - record.since > CALM:
                del self._records[key]
            return None
        record.reported = record.is_open, record.finding.line
        record.reports += 1
        over = record.reports - FREE_REPORTS
        record.due_at = now + (min(FIRST_PAUSE * 2.0**over, LONGEST_PAUSE) if over >= 0 else 0.0)
        changes, record.changes = max(record.changes, 1), 0
        return FindingReport(record.finding, record.is_open, record.since, changes)
