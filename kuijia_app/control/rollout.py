"""Replaces the plan in force without losing a packet: the wanted tables of each switch at each stage; pure.

New entries and groups, which nothing uses yet, go to all switches first. Once every switch that needs some has
acknowledged them, the new plan is in force: each ingress gets its changed groups and entries. Entries and groups of the
old plan alone stay until every ingress has acknowledged that, and `drain` seconds longer for packets in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.tables.identifiers import DROP_GROUP
from kuijia_app.tables.rules import FlowEntry, Group, SwitchTables, ToGroup
from kuijia_base.errors import UnsoundError
from te_solver.plan import Plan

AllTables = Mapping[str, SwitchTables]
"""Switch to its tables."""

DEFAULT_DRAIN = 2.0
"""Seconds: a switch may apply changed groups late (Open vSwitch's cache: half a second), and queues hold packets."""

NOTHING = SwitchTables((), ())


@dataclass(frozen=True)
class Version:
    """A plan and its tables; `name` identifies it for those who requested it."""

    name: str
    plan: Plan
    tables: AllTables


@dataclass(frozen=True)
class _Standby:
    """A plan that is not in force, the switches whose acknowledgement it awaits, and its time to come or go after that.

    `pending` are the switches that have not yet acknowledged their preparation for it or, once it is past, for the next
    plan, whose name is `successor`; a plan that was given up has none, as the previous one is in force again.
    """

    version: Version
    pending: frozenset[str] = frozenset()
    until: float | None = None
    successor: str | None = None


@dataclass(frozen=True)
class Progress:
    """A change of state: the version of this name is in force at all switches, fully rolled out, or given up."""

    name: str
    state: Literal["live", "done", "refused"]


class Rollout:
    """The plan in force, one in preparation, and those being retired.

    `wanted` returns the wanted tables of a switch, `take_changed` the switches for which they changed. Report each
    switch that has reached its wanted tables by `acknowledged`. Times are seconds of any clock.
    """

    def __init__(self, first: Version, drain: float = DEFAULT_DRAIN, settle: float = 0.0) -> None:
        """Start with a plan in force; a prepared plan comes into force `settle` seconds later."""
        self.in_force = first
        self._drain = drain
        self._settle = settle
        self._next: _Standby | None = None
        self._retained: list[_Standby] = []
        self._wanted: dict[str, SwitchTables] = dict(first.tables)
        self._changed: set[str] = set()
        self._retiring: dict[str, set[str]] = {}
        self._away: set[str] = set()

    def wanted(self, switch: str) -> SwitchTables:
        return self._wanted.get(switch, NOTHING)

    def take_changed(self) -> frozenset[str]:
        """Return the switches whose wanted tables have changed since the last call."""
        changed, self._changed = frozenset(self._changed), set()
        return changed

    @property
    def plans(self) -> tuple[Plan, ...]:
        """All plans that may carry traffic now or soon."""
        return tuple(each.plan for each in (self.in_force, *(held.version for held in self._held)))

    @property
    def unavailable(self) -> frozenset[int]:
        """Path ids that no new tunnel may get."""
        return frozenset(tunnel.path_id for held in self._held for tunnel in held.version.plan.tunnels)

    @property
    def is_settled(self) -> bool:
        """True if only one plan is on the switches, or on its way to those that were away."""
        return self._next is None and not self._retained

    def propose(self, version: Version, now: float) -> list[Progress]:
        """Begin to replace the plan in force; gives up one that is still in preparation.

        Raises:
            UnsoundError: an entry of the new plan would replace one in use that means something else.
        """
        self._require_no_clash(version)
        given_up = [] if self._next is None else self.refused()
        self._next = _Standby(version)
        self._next = replace(self._next, pending=self._recompute())
        self._advance(now)
        return given_up

    def acknowledged(self, switch: str, now: float) -> list[Progress]:
        """Record that a switch has its currently wanted tables; return what this completes."""
        without = frozenset((switch,))
        self._away -= without
        if self._next is not None:
            self._next = replace(self._next, pending=self._next.pending - without)
        self._retained = [replace(each, pending=each.pending - without) for each in self._retained]
        return [*self._retired(switch), *self.passed(now)]

    def passed(self, now: float) -> list[Progress]:
        """Advance the time: settled plans come into force, drained ones are removed; return what this completes."""
        self._advance(now)
        progress: list[Progress] = []
        kept: list[_Standby] = []
        drained: list[_Standby] = []
        for each in self._retained:
            if not each.pending and each.until is None:
                # All ingresses have left it.
                kept.append(replace(each, until=now + self._drain))
                if each.successor is not None:
                    progress.append(Progress(each.successor, "live"))
            elif each.until is None or now < each.until:
                kept.append(each)
            else:
                drained.append(each)
        self._retained = kept
        if drained:
            losing = self._recompute() - self._away
            for each in drained:
                if each.successor is not None:
                    self._retiring.setdefault(each.successor, set()).update(losing)
            progress.extend(self._retired(None))
        return progress

    def left(self, switch: str) -> list[Progress]:
        """Record that a switch is away: it removes old tables on its return, and nobody waits for that."""
        self._away.add(switch)
        return self._retired(switch)

    def refused(self) -> list[Progress]:
        """Return to the previous plan, as a switch has refused its tables or an update is withdrawn.

        Has no effect on a plan that is in force at all ingresses.
        """
        if self._next is not None:
            name = self._next.version.name
            self._next = None
            self._recompute()
            return [Progress(name, "refused")]
        if self._retained and self._retained[-1].until is None and self._retained[-1].successor is not None:
            failed, before = self.in_force, self._retained.pop()
            self.in_force = before.version
            self._retained.append(_Standby(failed))
            back = self._recompute()
            self._retained[-1] = replace(self._retained[-1], pending=back)
            return [Progress(failed.name, "refused")]
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

    def _retired(self, switch: str | None) -> list[Progress]:
        done = []
        for name, left in list(self._retiring.items()):
            left.discard(switch or "")
            if not left:
                del self._retiring[name]
                done.append(Progress(name, "done"))
        return done

    @property
    def _held(self) -> tuple[_Standby, ...]:
        """Plans that are not in force, the latest first."""
        past = tuple(reversed(self._retained))
        return past if self._next is None else (self._next, *past)

    def _recompute(self) -> frozenset[str]:
        """Update `wanted`; return the switches for which it has changed."""
        changed = set()
        others = [held.version.tables for held in self._held]
        for switch in self._wanted.keys() | self.in_force.tables.keys():
            wanted = together(
                self.in_force.tables.get(switch, NOTHING), [tables.get(switch, NOTHING) for tables in others]
            )
            if not _are_same(wanted, self.wanted(switch)):
                self._wanted[switch] = wanted
                changed.add(switch)
        self._changed |= changed
        return frozenset(changed)

    def _require_no_clash(self, version: Version) -> None:
        for switch, tables in version.tables.items():
            present = {FlowKey.of(entry): entry for entry in self.wanted(switch).flows if not _is_ingress(entry)}
            for entry in tables.flows:
                other = present.get(FlowKey.of(entry))
                if other is not None and other != entry:
                    raise UnsoundError(
                        ("pairs",),
                        f"at {switch} the new plan gives a tag that is in use another meaning",
                        "a plan whose tags differ from those in use",
                    )


def together(in_force: SwitchTables, others: Iterable[SwitchTables]) -> SwitchTables:
    """Return the tables of the plan in force, plus entries and groups of others that attract no traffic themselves.

    Entries of the others that lead traffic into groups are left out: they decide which plan is used.
    """
    groups: dict[int, Group] = {group.group_id: group for group in in_force.groups}
    flows: dict[FlowKey, FlowEntry] = {FlowKey.of(entry): entry for entry in in_force.flows}
    for tables in others:
        for group in tables.groups:
            groups.setdefault(group.group_id, group)
        for entry in tables.flows:
            if not _is_ingress(entry):
                flows.setdefault(FlowKey.of(entry), entry)
    return SwitchTables(tuple(groups.values()), tuple(flows.values()))


def _are_same(one: SwitchTables, other: SwitchTables) -> bool:
    """Return True if both are the same for a switch: the order does not matter."""
    return one == other or (set(one.groups) == set(other.groups) and set(one.flows) == set(other.flows))


def _is_ingress(entry: FlowEntry) -> bool:
    used = (action.group_id for action in (*entry.actions, *entry.written) if isinstance(action, ToGroup))
    return any(group_id != DROP_GROUP for group_id in used)
