"""Polls one switch for its tables and counters; recognises what has not changed by its bytes; pure.

The gate hands over answers to polls unparsed. An entry or group is parsed once, when its bytes first come, counters and
durations left out. So a poll of a table that stays as it is costs about a microsecond an entry, a twentieth of parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from kuijia_app.control.poll_bodies import BucketShape, EntryShape
from kuijia_app.control.reconciliation import FlowKey, KnownTables
from kuijia_app.control.snapshot import MOST_FOREIGN, ForeignEntry, Poll, Snapshot
from kuijia_app.control.switch_messages import SwitchMessages
from kuijia_app.framework.switch_limits import LONGEST_STEP, SwitchFaultError
from kuijia_app.tables.rules import FlowEntry, Group

UNANSWERED_FOR = 3.0
"""Seconds without an answer to a question after which a switch counts as one that does not answer it."""

_STEP = 200
"""Known entries for which a step of a task has time; less than a third of a millisecond."""

_PARSING = 70
"""Known entries that take as long as parsing a new one."""


_TABLES = frozenset({Poll.OWN_ENTRIES, Poll.GROUPS})
"""Questions without which nothing can be said of a switch's tables."""

_SUBJECT = {Poll.ALL_ENTRIES: Poll.OWN_ENTRIES, Poll.OUR_ENTRIES: Poll.OWN_ENTRIES}
"""Questions that another one answers as well."""


_Part = TypeVar("_Part")


@dataclass
class _Round:
    """A poll under way: the questions without an answer, by transaction id, and what the others have told."""

    asked_at: float
    is_asked: bool = False
    open: dict[int, Poll] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Shaped:
    """An answer with our entries, in which only counters have changed since the one before.

    Attributes:
        keys: those of our entries, in the order of the answer.
        entries: our entries in snapshots then.
    """

    shape: EntryShape
    keys: list[FlowKey]
    entries: Mapping[FlowKey, FlowEntry | None]


class TablePolls:
    """The polls of one connection.

    `ask` sends a question and returns its transaction id. `taken` handles an answer as a task in short steps. When all
    answers are in, `done` is called with the snapshot.
    """

    def __init__(
        self,
        switch: str,
        messages: SwitchMessages,
        most_entries: int,
        ask: Callable[[Poll], int],
        done: Callable[[Snapshot], None],
    ) -> None:
        """Begin; an answer of more than `most_entries` groups, entries, ports or queues is the switch's fault."""
        self._switch = switch
        self._messages = messages
        self._most = most_entries
        self._ask = ask
        self._done = done
        self._round: _Round | None = None
        self._own: dict[Hashable, tuple[FlowKey, FlowEntry | None]] = {}
        self._entries: dict[FlowKey, FlowEntry | None] = {}
        self._polled = 0
        self._shaped: _Shaped | None = None
        self._foreign: dict[Hashable, ForeignEntry] = {}
        self._others: tuple[ForeignEntry, ...] = ()
        self._known_groups: dict[Hashable, tuple[int, Group | None]] = {}
        self._groups: dict[int, Group | None] = {}
        self._described: object = None
        self._bucket_shape: BucketShape | None = None
        self._shared: tuple[object, object] = (None, None)
        self._refused: set[Poll] = set()
        self._unanswered_for: dict[Poll, float] = {}
        self._looked_at: float | None = None

    def begin(self, now: float, *, everything: bool, meters: bool = False) -> None:
        """Ask all questions in place of a poll under way, but ask only on demand for meters and for `everything`.

        That is all entries: also those of others, and those for hosts.
        """
        under_way = self._round
        if under_way is None or under_way.is_asked:
            under_way = self.begin_early(now)
        under_way.is_asked = True
        choices = (Poll.ALL_ENTRIES, Poll.OUR_ENTRIES) if everything else ()
        entries = next((poll for poll in choices if poll not in self._refused), Poll.OWN_ENTRIES)
        self._ask_all(under_way, entries, Poll.GROUPS, Poll.GROUP_COUNTERS, *([Poll.METERS] if meters else []))

    def begin_early(self, now: float) -> _Round:
        """Ask for counters that are never out of date, in place of a poll under way; `begin` asks for the rest."""
        under_way = self._round = _Round(now)
        self._ask_all(under_way, Poll.PORT_COUNTERS, Poll.QUEUE_COUNTERS)
        return under_way

    @property
    def is_under_way(self) -> bool:
        """True while all questions are asked and an answer is missing."""
        return self._round is not None and self._round.is_asked

    def end(self) -> None:
        """Forget the poll under way."""
        self._round = None
        self._unanswered_for.clear()

    def unanswered(self, now: float) -> frozenset[Poll]:
        """Return the questions that the switch does not answer; call this at regular intervals.

        An answer counts when it arrives, however long it takes to read, and time in which this process stood still
        does not. Questions that are asked again meanwhile are no younger for that.
        """
        step = 0.0 if self._looked_at is None else min(now - self._looked_at, LONGEST_STEP)
        self._looked_at = now
        for poll in self._unanswered_for:
            self._unanswered_for[poll] += step
        return frozenset(poll for poll, seconds in self._unanswered_for.items() if seconds >= UNANSWERED_FOR)

    def arrived(self, xid: int) -> None:
        """Take in that the answer to a question has arrived, to be read later."""
        if self._round is not None and xid in self._round.open:
            poll = self._round.open[xid]
            self._unanswered_for.pop(_SUBJECT.get(poll, poll), None)

    def refused(self, xid: int) -> None:
        """Take in that the switch refuses a question: this poll ends, and later ones do without it if they can.

        Without its tables a switch would seem to have lost them, so these are asked for again.
        """
        if self._round is not None and xid in self._round.open:
            poll = self._round.open[xid]
            if poll not in _TABLES:
                self._refused.add(poll)
                self._unanswered_for.pop(_SUBJECT.get(poll, poll), None)
            self._round = None

    def taken(self, xid: int, answer: object, now: Callable[[], float]) -> Iterator[None]:
        """Return the task that reads an answer; raises SwitchFaultError if it is malformed."""
        under_way = self._round
        poll = None if under_way is None else under_way.open.get(xid)
        if under_way is None or poll is None:
            return
        yield from self._read(poll, answer, under_way.found)
        if under_way is not self._round:
            return
        under_way.open.pop(xid, None)
        if under_way.is_asked and not under_way.open:
            self._round = None
            defaults: dict[str, Any] = {"entries": {}, "packets": {}, "groups": {}, "buckets": {}, "ports": {}}
            told = {**defaults, "queues": None, **under_way.found}
            self._done(Snapshot(self._switch, under_way.asked_at, now(), **told))

    def _read(self, poll: Poll, answer: Any, found: dict[str, Any]) -> Iterator[None]:  # noqa: ANN401  # the framework's
        messages = self._messages
        match poll:
            case Poll.OWN_ENTRIES:
                if not (yield from self._have_not_changed(answer, found)):
                    yield from self._read_entries(answer, found, everything=False)
                    self._keep_shape(answer, found)
            case Poll.OUR_ENTRIES | Poll.ALL_ENTRIES:
                yield from self._read_entries(answer, found, everything=poll is Poll.ALL_ENTRIES)
                found["answer"] = answer if found["hosts"] else ()
            case Poll.GROUPS:
                yield from self._read_groups(answer)
                found["groups"] = self._groups
            case Poll.GROUP_COUNTERS:
                yield from self._read_buckets(answer, found)
            case Poll.PORT_COUNTERS:
                yield from self._read_counters(messages.polled_ports(answer), found.setdefault("ports", {}))
            case Poll.QUEUE_COUNTERS:
                yield from self._read_counters(messages.polled_queues(answer), found.setdefault("queues", {}))
            case Poll.METERS:
                yield from self._read_counters(messages.polled_meters(answer), found.setdefault("meters", {}))

    def share(self, tables: KnownTables) -> None:
        """Use rules of these tables in later snapshots where they are equal: comparing a thing with itself is cheap."""
        if self._entries is self._shared[0] and self._groups is self._shared[1]:
            return
        keys = dict(zip(tables.flows, tables.flows, strict=True))
        self._own = {
            identity: (keys.get(key, key), tables.flows[key] if tables.flows.get(key) == entry else entry)
            for identity, (key, entry) in self._own.items()
        }
        self._known_groups = {
            identity: (group_id, tables.groups[group_id] if tables.groups.get(group_id) == group else group)
            for identity, (group_id, group) in self._known_groups.items()
        }
        self._entries, self._groups = dict(self._own.values()), dict(self._known_groups.values())
        self._shared = self._entries, self._groups

    def _have_not_changed(
        self,
        answer: Any,  # noqa: ANN401  # the framework's
        found: dict[str, Any],
    ) -> Generator[None, None, bool]:
        """Read our entries if only their counters have changed; return True if that is so."""
        shaped = self._shaped
        if shaped is None or shaped.entries is not self._entries:
            return False
        counted = yield from _all_of(shaped.shape.packets(answer))
        if counted is None:
            return False
        packets = list(chain.from_iterable(counted))
        if len(packets) != len(shaped.keys):
            return False  # the switch describes an entry twice
        found.update(entries=self._entries, packets=dict(zip(shaped.keys, packets, strict=True)))
        return True

    def _keep_shape(self, answer: object, found: Mapping[str, Any]) -> None:
        """Keep the shape of an answer with as many entries as the one before."""
        keys = list(found["packets"])
        is_steady, self._polled = len(keys) == self._polled, len(keys)
        shape = self._messages.entry_shape(answer) if is_steady else None
        self._shaped = None if shape is None else _Shaped(shape, keys, self._entries)

    def _read_entries(self, answer: object, found: dict[str, Any], *, everything: bool) -> Iterator[None]:
        known = self._own
        own: dict[Hashable, tuple[FlowKey, FlowEntry | None]] = {}
        foreign: dict[Hashable, ForeignEntry | None] = {}
        packets: dict[FlowKey, int] = {}
        steps = others = hosts = 0
        for number, (identity, count) in enumerate(self._messages.polled_entries(answer)):
            self._require_few(number)
            its = known.get(identity)
            steps += 1
            if its is None:
                if self._messages.is_own(identity):
                    steps += _PARSING
                    its = self._messages.polled_entry(identity)
                elif self._messages.is_for_hosts(identity):
                    hosts += 1
                elif everything:
                    steps += _PARSING
                    is_ours = self._messages.is_of_application(identity)
                    others += not is_ours
                    is_read = is_ours or others <= MOST_FOREIGN
                    foreign[identity] = self._foreign_entry(identity) if is_read else None
            if its is not None:
                own[identity] = its
                packets[its[0]] = count
            if steps >= _STEP:
                steps = 0
                yield
        if own.keys() != known.keys():
            self._own, self._entries = own, dict(own.values())
        found.update(entries=self._entries, packets=packets, hosts=hosts)
        if everything:
            self._note_foreign(foreign)
            found.update(foreign=self._others, more_foreign=len(foreign) - len(self._others))

    def _foreign_entry(self, identity: Hashable) -> ForeignEntry:
        known = self._foreign.get(identity)
        return self._messages.polled_foreign(identity) if known is None else known

    def _note_foreign(self, foreign: Mapping[Hashable, ForeignEntry | None]) -> None:
        read = {identity: each for identity, each in foreign.items() if each is not None}
        if read.keys() != self._foreign.keys():
            self._foreign, self._others = read, tuple(read.values())

    def _read_groups(self, answer: object) -> Iterator[None]:
        if answer == self._described:
            return
        seen: dict[Hashable, tuple[int, Group | None]] = {}
        steps = 0
        for number, identity in enumerate(self._messages.polled_groups(answer)):
            self._require_few(number)
            its = self._known_groups.get(identity)
            if its is None:
                its = self._messages.polled_group(identity)
                steps += 10 * _PARSING  # it has up to hundreds of buckets
            seen[identity] = its
            steps += 1
            if steps >= _STEP:
                steps = 0
                yield
        self._described, self._known_groups, self._groups = answer, seen, dict(seen.values())

    def _read_buckets(self, answer: Any, found: dict[str, Any]) -> Iterator[None]:  # noqa: ANN401  # the framework's
        shape, buckets = self._bucket_shape, dict[int, tuple[int, ...]]()
        parts = None if shape is None else (yield from _all_of(shape.buckets(answer)))
        if parts is None:
            yield from self._read_counters(self._messages.polled_buckets(answer), buckets)
            self._bucket_shape = self._messages.bucket_shape(answer)
        for part in parts or ():
            buckets |= part
        found["buckets"] = buckets

    def _read_counters(self, counters: Iterable[tuple[Any, Any]], found: dict[Any, Any]) -> Iterator[None]:
        for number, (name, its) in enumerate(counters):
            self._require_few(number)
            found[name] = its
            if number % _STEP == _STEP - 1:
                yield

    def _ask_all(self, under_way: _Round, *polls: Poll) -> None:
        for poll in polls:
            if poll not in self._refused:
                under_way.open[self._ask(poll)] = poll
                self._unanswered_for.setdefault(_SUBJECT.get(poll, poll), 0.0)

    def _require_few(self, number: int) -> None:
        if number >= self._most:
            raise SwitchFaultError(f"it has more than {self._most} groups, flow entries, ports or queues")


def _all_of(parts: Iterator[_Part | None]) -> Generator[None, None, list[_Part] | None]:
    """Return, as a task in short steps, all parts; None if any is None."""
    found = []
    for part in parts:
        if part is None:
            return None
        found.append(part)
        yield
    return found
