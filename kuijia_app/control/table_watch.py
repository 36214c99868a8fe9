"""Decides when switches are polled, and when tables that somebody else has changed are put right; pure, time passed in.

Tables are put right at once. If they are changed again before they have held, a few times in a row, the switch rests:
it is left as it is for a while that doubles, and tunnels avoid it. Two controllers would otherwise fight for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from math import ceil, inf

from kuijia_app.control.findings import FindingKey, FindingKind, SwitchFinding
from kuijia_app.control.snapshot import Poll

PERIOD = 1.0
"""Seconds between two polls of a switch."""

MOST_POLLED = 20_000
"""Groups and flow entries polled a second; the period of larger networks is longer. A thousand take about 1 ms."""

FOREIGN_EVERY = 3
"""Polls of a switch of which one asks for the entries of others and for hosts, too; those may be thousands."""

FEW_HOSTS = 200
"""Entries for hosts up to which every poll asks for them: what others change there is back as soon as in tables."""

SOONEST = 0.2
"""Seconds between two polls of a switch that reports that entries were removed."""

UNANSWERED = 5.0
"""Seconds after which a poll counts as lost."""

HELD = 2.0
"""Seconds for which tables must be right to count as held."""

TRIES = 5
"""Times in a row that tables may not hold before the switch rests."""

OFTEN = 10
"""Times that tables were put right without a calm of `CALM` seconds: from then on that is a fault, though they hold."""

CALM = 30.0
"""Seconds for which tables must be right to be nobody's trouble any more."""

FIRST_REST = 5.0
LONGEST_REST = 300.0
"""Seconds: the first rest, which doubles, and the longest."""

CHANGED_MEANWHILE = frozenset(
    {
        "OFPET_BAD_ACTION/OFPBAC_BAD_OUT_GROUP",
        "OFPET_GROUP_MOD_FAILED/OFPGMFC_UNKNOWN_GROUP",
        "OFPET_GROUP_MOD_FAILED/OFPGMFC_GROUP_EXISTS",
    }
)
"""Errors that say that somebody has changed the groups of a switch since it was read."""

_ADVICE = "find out what else writes to it, such as another controller or a script with ovs-ofctl"

_SUBJECTS = {
    Poll.OWN_ENTRIES: "flow entries",
    Poll.GROUPS: "groups",
    Poll.GROUP_COUNTERS: "group counters",
    Poll.PORT_COUNTERS: "port counters",
    Poll.QUEUE_COUNTERS: "queue counters",
    Poll.METERS: "meters",
}

_SWEEP = 10
"""Looks at the clock in which all switches can be polled once."""


class TablesVerdict(Enum):
    """What follows from the differences that a poll has found."""

    NOTHING = auto()
    REPAIR = auto()
    REST = auto()


@dataclass
class _Watched:
    """State of one switch."""

    next_poll: float
    polls: int = 0
    size: int = 0
    hosts: int = 0
    polled_at: float = -inf
    asked_at: float | None = None
    repaired_at: float | None = None
    right_since: float | None = None
    unheld: int = 0
    repairs: int = 0
    rest: float = field(default=FIRST_REST)
    rests_until: float | None = None

    @property
    def asks_for_all(self) -> bool:
        return self.polls % FOREIGN_EVERY == 0 or 0 < self.hosts <= FEW_HOSTS


class TableWatch:
    """The switches that are polled, for their `subject` in words. Times are seconds of any clock."""

    def __init__(self, subject: str = "tables", *, is_lack: bool = True) -> None:
        """Begin; a plan is not in force where the `subject` rests, if that `is_lack`."""
        self._watched: dict[str, _Watched] = {}
        self.subject, self._is_lack = subject, is_lack

    def begun(self, switch: str, now: float) -> None:
        """Watch a switch from now on, which has just connected; forget its polls but not its troubles."""
        watched = self._watched.setdefault(switch, _Watched(now))
        watched.next_poll, watched.asked_at = now, None
        watched.right_since = None

    def due(self, now: float) -> list[tuple[str, bool]]:
        """Return the switches to poll now, each with True if it is to be asked for all entries, not for ours alone."""
        most = ceil(len(self._watched) / _SWEEP)
        due = sorted(
            (watched.next_poll, switch)
            for switch, watched in self._watched.items()
            if now >= watched.next_poll and (watched.asked_at is None or now - watched.asked_at > UNANSWERED)
        )
        return [(switch, self._watched[switch].asks_for_all) for _, switch in due[:most]]

    def asked(self, switch: str, now: float) -> None:
        """Note that a poll has begun."""
        watched = self._watched[switch]
        watched.polled_at = watched.asked_at = now
        watched.polls += 1
        watched.next_poll = now + self.period

    def put_off(self, switch: str, now: float) -> None:
        """Note that a switch cannot be polled now."""
        self._watched[switch].next_poll = now + SOONEST

    def poll_together(self, switches: Collection[str], at: float) -> None:
        """Poll these switches from a time on, one soon after the other."""
        for switch in switches:
            self._watched[switch].next_poll = at

    def ended(self, switch: str) -> None:
        """Note that a switch has gone; its troubles are remembered."""
        if switch in self._watched:
            self._watched[switch].next_poll = inf

    def answered(self, switch: str, size: int, hosts: int | None = None) -> None:
        """Note that a poll is over, with so many groups and entries; `hosts` of them, None if it asked for none."""
        watched = self._watched[switch]
        watched.asked_at, watched.size = None, size
        if hosts:  # with none left, as many as before are to come back
            watched.hosts = hosts

    def read(self, switch: str) -> None:
        """Note that a switch has been read, which has ended a poll under way: no answer to it will come."""
        self._watched[switch].asked_at = None

    def soon(self, switch: str, now: float) -> None:
        """Poll a switch as soon as possible, as its tables may just have changed."""
        watched = self._watched.get(switch)
        if watched is not None:
            watched.next_poll = min(watched.next_poll, max(now, watched.polled_at + SOONEST))

    @property
    def period(self) -> float:
        """Seconds between two polls of a switch."""
        return max(PERIOD, sum(watched.size for watched in self._watched.values()) / MOST_POLLED)

    def right(self, switch: str, now: float) -> None:
        """Note that a poll has found the tables of a switch right."""
        watched = self._watched[switch]
        if watched.right_since is None:
            watched.right_since = now
        if now - watched.right_since >= HELD:
            watched.unheld = 0
        if now - watched.right_since >= CALM:
            watched.repairs, watched.rest, watched.rests_until = 0, FIRST_REST, None

    def wrong(self, switch: str, now: float) -> TablesVerdict:
        """Decide what to do about tables that a poll has found wrong."""
        watched = self._watched[switch]
        if watched.rests_until is not None and now < watched.rests_until:
            return TablesVerdict.NOTHING
        has_held = watched.right_since is not None and now - watched.right_since >= HELD
        watched.unheld = 0 if has_held or watched.repaired_at is None else watched.unheld + 1
        watched.right_since = None
        if watched.unheld >= TRIES:
            watched.unheld = TRIES - 1  # one more try after the rest
            return self._rest(watched, now)
        watched.repaired_at = now
        watched.repairs += 1
        return TablesVerdict.REPAIR

    def ready(self, switch: str, now: float) -> None:
        """Note that a switch has acknowledged its tables."""
        watched = self._watched.get(switch)
        if watched is not None:
            watched.next_poll = min(watched.next_poll, now)

    def ended_rests(self, now: float) -> list[str]:
        """Return the switches whose rest is over, which are to be put right once more; each once."""
        over = [
            switch for switch, each in self._watched.items() if each.rests_until is not None and now >= each.rests_until
        ]
        for switch in over:
            self._watched[switch].rests_until = None
        return over

    def is_resting(self, switch: str) -> bool:
        """Return True while the tables of a switch are left as they are."""
        return switch in self._watched and self._watched[switch].rests_until is not None

    def is_often(self, switch: str) -> bool:
        """Return True if the tables of a switch were put right many times since the last calm."""
        return self._watched[switch].repairs >= OFTEN

    def troubles(self, switch: str) -> Iterator[SwitchFinding]:
        """Yield the finding that somebody keeps changing the tables of a switch, if that is so."""
        watched, is_resting = self._watched[switch], self.is_resting(switch)
        if is_resting or watched.unheld >= TRIES - 1 or self.is_often(switch):
            state = "they are left as they are for now" if is_resting else "they are put right each time"
            key = FindingKey(FindingKind.TABLES_CHANGED, switch, detail="" if self._is_lack else self.subject)
            text = f"somebody keeps changing its {self.subject}, {state}"
            yield SwitchFinding(key, text, _ADVICE, is_lack=is_resting and self._is_lack)

    @staticmethod
    def _rest(watched: _Watched, now: float) -> TablesVerdict:
        watched.rests_until = now + watched.rest
        watched.rest = min(2 * watched.rest, LONGEST_REST)
        return TablesVerdict.REST


def silence(switch: str, unanswered: Collection[Poll]) -> Iterator[SwitchFinding]:
    """Yield the finding that a switch does not answer some questions of polls, if there are any."""
    if unanswered:
        subjects = [words for poll, words in _SUBJECTS.items() if poll in unanswered]
        text = f"it does not answer which {', '.join(subjects)} it has, so its tables and counters are not watched"
        key = FindingKey(FindingKind.SWITCH_UNWATCHED, switch)
        yield SwitchFinding(key, text, "restart it, and look at its log", is_lack=True)
