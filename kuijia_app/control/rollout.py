"""Replaces the plan in force without losing a packet: the wanted tables of each switch at each stage; pure.

New entries and groups, which nothing uses yet, go to all switches first. Once every switch that needs some has
acknowledged them, the new plan is in force: each ingress gets its changed groups and entries. Entries and groups of the
old plan alone stay until every ingress has acknowledged that, and `drain` seconds longer for packets in flight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

from kuijia_app.control.identity import are_identical
from kuijia_app.control.reconciliation import IndexedTables
from kuijia_app.tables.rules import SwitchTables
from kuijia_base.errors import UnsoundError
from te_solver.model.plan import Plan

AllTables = Mapping[str, SwitchTables]
"""Switch to its tables."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

DEFAULT_DRAIN = 2.0
"""Seconds: a switch may apply changed groups late (Open vSwitch's cache: half a second), and queues hold packets."""

NOTHING = IndexedTables((), ())


@dataclass(frozen=True)
class Version:
    """A plan and its tables; `name` identifies it for those who requested it."""

    name: str
    plan: Plan
    tables: AllTables

    @cached_property
    def indexed(self) -> dict[str, IndexedTables]:
        """The tables, found by what identifies groups and entries."""
        return {switch: IndexedTables.of(tables) for switch, tables in self.tables.items()}

    def of(self, switch: str) -> IndexedTables:
        return self.indexed.get(switch, NOTHING)

    def index(self) -> None:
        """Index all tables now, which takes seconds for large ones."""
        for tables in self.indexed.values():
            _ = tables.group_of, tables.entry_of, tables.transit


@dataclass(frozen=True)
class _Standby:
    """A plan that is not in force, the switches whose acknowledgement it awaits, and its time to come or go after that.

    `pending` are the switches that have not yet acknowledged their preparation for it or, once it is past, for the next
    plan, whose name is `successor`; a plan that was given up has none, as the previous one is in force again.
    `may_carry` is set if another controller may have put it in force at some ingresses.
    """

    version: Version
    pending: frozenset[str] = frozenset()
    until: float | None = None
    successor: str | None = None
    may_carry: bool = False


@dataclass(frozen=True)
class RolloutProgress:
    """A change of state: the version of this name is in force at all switches, fully rolled out, or given up."""

    name: str
    state: Literal["live", "done", "refused"]


@dataclass(frozen=True)
class Stages:
    """All plans of a rollout.

    Attributes:
        in_force: the one in force.
        next: the one in preparation.
        retained: those that are retired, with the names of their successors.
    """

    in_force: Version
    next: Version | None = None
    retained: tuple[tuple[Version, str | None], ...] = ()

    @property
    def versions(self) -> tuple[Version | None, ...]:
        """All plans, in a fixed order."""
        return (self.in_force, self.next, *(version for version, _ in self.retained))


class _Compositions:
    """The tables of the plan in force combined with those of others; each is made once while its parts are in use."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, ...], tuple[IndexedTables, Sequence[IndexedTables]]] = {}

    def of(self, parts: Sequence[IndexedTables]) -> IndexedTables:
        """Return the tables of the first part plus those that `together` takes from the others; for any thread."""
        identity = tuple(dict.fromkeys(map(id, parts)))
        if len(identity) == 1:
            return parts[0]
        found = self._made.get(identity)
        if found is None:
            # The parts are kept as well, so that no other objects get their ids.
            found = self._made[identity] = together(parts[0], parts[1:]), parts
        return found[0]

    def keep(self, parts: Collection[IndexedTables]) -> Iterator[None]:
        """Return a task that forgets combinations with other parts than these, one at each step."""
        kept = set(map(id, parts))
        for identity in [each for each in list(self._made) if not kept.issuperset(each)]:
            self._made.pop(identity, None)
            yield


class Rollout:
    """The plan in force, one in preparation, and those being retired.

    `wanted` returns the wanted tables of a switch, `take_changed` the switches for which they changed. Report each
    switch that has reached its wanted tables by `acknowledged`. Times are seconds of any clock.

    `prepared` does the work that takes long for large plans in advance; another thread may call it.
    """

    def __init__(self, first: Version, drain: float = DEFAULT_DRAIN, settle: float = 0.0) -> None:
        """Start with a plan in force; a prepared plan comes into force `settle` seconds later."""
        self.in_force = first
        self._drain = drain
        self._settle = settle
        self._next: _Standby | None = None
        self._retained: list[_Standby] = []
        self._wanted: dict[str, IndexedTables] = dict(first.indexed)
        self._compositions = _Compositions()
        self._cleared: tuple[Version, ...] = ()
        self._discarded: list[Version] = []
        self._changed: set[str] = set()
        self._retiring: dict[str, set[str]] = {}
        self._away: set[str] = set()

    @property
    def stages(self) -> Stages:
        """The plans in use, for another controller that may go on with them."""
        retained = tuple((each.version, each.successor) for each in self._retained)
        return Stages(self.in_force, None if self._next is None else self._next.version, retained)

    def resume(self, stages: Stages) -> None:
        """Go on where another controller was: each switch has to acknowledge its tables again."""
        switches = frozenset(stages.in_force.tables)
        self.in_force = stages.in_force
        self._next = None if stages.next is None else _Standby(stages.next, switches, may_carry=True)
        self._retained = [_Standby(version, switches, successor=name) for version, name in stages.retained]
        self._retiring.clear()
        self._cleared = ()
        self._away = set(switches)
        self._recompute()
        for _ in self._compositions.keep([tables for each in self._versions for tables in each.indexed.values()]):
            pass  # no slices: one that stands by has no urgent work

    def wanted(self, switch: str) -> IndexedTables:
        return self._wanted.get(switch, NOTHING)

    def take_changed(self) -> frozenset[str]:
        """Return the switches whose wanted tables have changed since the last call."""
        changed, self._changed = frozenset(self._changed), set()
        return changed

    @property
    def plans(self) -> tuple[Plan, ...]:
        """All plans that may carry traffic now or soon."""
        return tuple(version.plan for version in self._versions)

    @property
    def unavailable(self) -> frozenset[int]:
        """Path ids that no new tunnel may get."""
        return frozenset(tunnel.path_id for held in self._held for tunnel in held.version.plan.tunnels)

    @property
    def is_settled(self) -> bool:
        """True if only one plan is on the switches, or on its way to those that were away."""
        return self._next is None and not self._retained

    def prepared(self, version: Version) -> Version:
        """Return the version, ready to be proposed while the same plans are in use; another thread may call this.

        Its tables share equal objects with those of the switches, and the tables of all stages are made.

        Raises:
            UnsoundError: as `propose` does.
        """
        in_force, *held = versions = self._versions
        tables = {switch: each.sharing_with(self.wanted(switch)) for switch, each in version.indexed.items()}
        version = replace(version, tables=tables)
        version.index()
        _require_no_clash(version, versions)
        for first, others in ((in_force, [version, *held]), (version, versions)):
            for count in range(len(others), 0, -1):
                for switch in version.indexed:
                    self._compositions.of([each.of(switch) for each in (first, *others[:count])])
        self._cleared = (version, *versions)
        return version

    def take_discarded(self) -> Iterator[None]:
        """Return a task that drops the tables of past plans, one switch at each step: all at once takes long."""
        discarded, self._discarded = self._discarded, []
        in_use = [*self._versions, *self._cleared[:1]]
        yield from self._compositions.keep([tables for version in in_use for tables in version.indexed.values()])
        while discarded:
            tables = deque(discarded.pop().indexed.values())
            while tables:
                tables.popleft()
                yield

    def goes_on_with(self, version: Version) -> bool:
        """Return True if the version is the one whose preparation is under way, by its name too."""
        return self._next is not None and (self._next.version.name, self._next.version.plan) == (
            version.name,
            version.plan,
        )

    def propose(self, version: Version, now: float) -> list[RolloutProgress]:
        """Begin to replace the plan in force; gives up one that is still in preparation.

        Raises:
            UnsoundError: an entry of the new plan would replace one in use that means something else.
        """
        if not are_identical(self._cleared, (version, *self._versions)):
            _require_no_clash(version, self._versions)
        self._cleared = ()
        given_up = [] if self._next is None else self.refused()
        self._next = _Standby(version)
        self._next = replace(self._next, pending=self._recompute())
        self._advance(now)
        return given_up

    def acknowledged(self, switch: str, now: float) -> list[RolloutProgress]:
        """Record that a switch has its currently wanted tables; return what this completes."""
        without = frozenset((switch,))
        self._away -= without
        if self._next is not None:
            self._next = replace(self._next, pending=self._next.pending - without)
        self._retained = [replace(each, pending=each.pending - without) for each in self._retained]
        return [*self._retired(switch), *self.passed(now)]

    def passed(self, now: float) -> list[RolloutProgress]:
        """Advance the time: settled plans come into force, drained ones are removed; return what this completes."""
        self._advance(now)
        progress: list[RolloutProgress] = []
        kept: list[_Standby] = []
        drained: list[_Standby] = []
        for each in self._retained:
            if not each.pending and each.until is None:
                # All ingresses have left it.
                kept.append(replace(each, until=now + self._drain))
                if each.successor is not None:
                    progress.append(RolloutProgress(each.successor, "live"))
            elif each.until is None or now < each.until:
                kept.append(each)
            else:
                drained.append(each)
        self._retained = kept
        if drained:
            self._discarded += [each.version for each in drained]
            losing = self._recompute() - self._away
            for each in drained:
                if each.successor is not None:
                    self._retiring.setdefault(each.successor, set()).update(losing)
            progress.extend(self._retired(None))
        return progress

    def left(self, switch: str) -> list[RolloutProgress]:
        """Record that a switch is away: it removes old tables on its return, and no update waits for that."""
        self._away.add(switch)
        return self._retired(switch)

    def lost(self, switch: str) -> None:
        """Record that a switch has come back without its tables: no plan comes into force before it has them again."""
        if self._next is not None:
            self._next = replace(self._next, pending=self._next.pending | {switch}, until=None)

    def refused(self, *, drains: bool = True) -> list[RolloutProgress]:
        """Return to the previous plan, as a switch has refused its tables or an update is withdrawn.

        Has no effect on a plan that is in force at all ingresses. One that another controller, or an earlier process,
        may have put in force at some is drained, unless `drains` is False: a switch without room would never
        acknowledge it.
        """
        if self._next is not None:
            given_up, self._next = self._next, None
            if given_up.may_carry and drains:
                self._retained.append(replace(given_up, until=None))  # no tables change by that
            else:
                self._discarded.append(given_up.version)
                self._recompute()
            return [RolloutProgress(given_up.version.name, "refused")]
        if self._retained and self._retained[-1].until is None and self._retained[-1].successor is not None:
            failed, before = self.in_force, self._retained.pop()
            self.in_force = before.version
            self._retained.append(_Standby(failed))
            back = self._recompute()
            self._retained[-1] = replace(self._retained[-1], pending=back)
            return [RolloutProgress(failed.name, "refused")]
        return []

    def _advance(self, now: float) -> None:
        if self._next is None or self._next.pending:
            return
        if self._next.until is None:
            self._next = replace(self._next, until=now + self._settle)
        if self._next.until is None or now < self._next.until:
            return
        old, self.in_force = self.in_force, self._next.version
        self._next = None
        self._retained.append(_Standby(old, successor=self.in_force.name))
        self._retained[-1] = replace(self._retained[-1], pending=self._recompute())

    def _retired(self, switch: str | None) -> list[RolloutProgress]:
        done = []
        for name, left in list(self._retiring.items()):
            left.discard(switch or "")
            if not left:
                del self._retiring[name]
                done.append(RolloutProgress(name, "done"))
        return done

    @property
    def _held(self) -> tuple[_Standby, ...]:
        """Plans that are not in force, the latest first."""
        past = tuple(reversed(self._retained))
        return past if self._next is None else (self._next, *past)

    @property
    def _versions(self) -> tuple[Version, ...]:
        """The version in force, then all others that may carry traffic now or soon."""
        return (self.in_force, *(held.version for held in self._held))

    def _recompute(self) -> frozenset[str]:
        """Update `wanted`; return the switches for which it has changed."""
        changed = set()
        versions = self._versions
        for switch in self._wanted.keys() | self.in_force.indexed.keys():
            wanted = self._compositions.of([version.of(switch) for version in versions])
            if not wanted.is_same(self.wanted(switch)):
                self._wanted[switch] = wanted
                changed.add(switch)
        self._changed |= changed
        return frozenset(changed)


def together(in_force: IndexedTables, others: Sequence[IndexedTables]) -> IndexedTables:
    """Return the tables of the plan in force, plus entries and groups of others that attract no traffic themselves.

    Entries of the others that lead traffic into groups are left out: they decide which plan is used.
    """
    groups = _merged([in_force.group_of, *(tables.group_of for tables in others)])
    flows = _merged([in_force.entry_of, *(tables.transit for tables in others)])
    if (len(groups), len(flows)) == (len(in_force.group_of), len(in_force.entry_of)):
        return in_force  # the others have added nothing
    return IndexedTables.from_index(groups, flows)


def _merged(mappings: Sequence[Mapping[Key, Value]]) -> dict[Key, Value]:
    """Return all items in order; of items with equal keys only the first."""
    merged: dict[Key, Value] = {}
    for mapping in mappings:
        merged.update(mapping)  # for the order, in which groups come after those that they use
    for mapping in reversed(mappings):
        merged.update(mapping)
    return merged


def _require_no_clash(version: Version, in_use: Sequence[Version]) -> None:
    for switch, tables in version.indexed.items():
        flows = tables.entry_of
        for other in in_use:
            present = other.of(switch).transit
            if {**flows, **present} != {**present, **flows}:
                raise UnsoundError(
                    ("pairs",),
                    f"at {switch} the new plan gives a tag that is in use another meaning",
                    "a plan whose tags differ from those in use",
                )
