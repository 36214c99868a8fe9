"""Plants defects in the controller, which the rehearsal must find: `python -m tests.kuijia_app.rehearsal.planted`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from kuijia_app.control import plan_source, sender
from kuijia_app.control.control import Control
from kuijia_app.control.controller_roles import ControllerRoles
from kuijia_app.control.detours import LastResorts
from kuijia_app.control.flap_damping import FlapDamping
from kuijia_app.control.liveness import LivenessTracker, Port
from kuijia_app.control.pair import Beat, Pair
from kuijia_app.control.peer_plans import PeerFollower
from kuijia_app.control.plan_source import PlanSource
from kuijia_app.control.plan_update import renumber
from kuijia_app.control.reconciliation import Change, DeleteGroup, KnownTables, difference
from kuijia_app.control.roles import Claims
from kuijia_app.control.rollout import Rollout, Stages, Version
from kuijia_app.control.second_chances import SecondChances
from kuijia_app.control.sender import Sender
from kuijia_app.control.switch_connection import SwitchConnection
from kuijia_app.control.switches import ControlledSwitches
from kuijia_app.tables.failover import ChainedGroups
from kuijia_app.tables.rules import Group, SwitchTables
from te_solver.model.plan import Plan
from tests.rehearsal.sequence import run_sequence

_MOST = 1000
"""Sequences after which a defect counts as not found."""

_resume, _rollout, _acknowledged = Rollout.resume, Rollout.__init__, Rollout.acknowledged
_chained = ChainedGroups.groups
_want_instead, _judged, _ports_changed = SwitchConnection.want_instead, Pair.look, Control._ports_changed


@dataclass(frozen=True)
class Planted:
    """A defect: what is wrong, the attribute that is replaced, and the number of controllers that it takes."""

    name: str
    place: object
    attribute: str
    wrong: Callable[..., Any]
    controllers: int = 1

    @contextmanager
    def planted(self) -> Iterator[None]:
        with patch.object(self.place, self.attribute, self.wrong):
            yield

    def found_by(self, most: int = _MOST) -> int | None:
        """Return after how many sequences, from seed 0 on, it is found; None if it is not."""
        with self.planted():
            for seed in range(most):
                if run_sequence(seed, controllers=self.controllers) is not None:
                    return seed + 1
        return None


def _nothing(*_: object, **__: object) -> None:
    return None


def _without_deleted_groups(present: KnownTables, wanted: SwitchTables) -> list[Change]:
    return [change for change in difference(present, wanted) if not isinstance(change, DeleteGroup)]


def _deleted_first(present: KnownTables, wanted: SwitchTables) -> list[Change]:
    changes = difference(present, wanted)
    return sorted(changes, key=lambda change: not isinstance(change, DeleteGroup))


def _acknowledged_when_sent(
    self: SwitchConnection, of: Sender, messages: Iterable[Any], then: Callable[[], None]
) -> Iterator[None]:
    for message in messages:
        self._transmit(message, self._next_id())
        yield
    if of is self._sender:
        self._send([])
        then()


def _resumed_without_next(self: Rollout, stages: Stages) -> None:
    _resume(self, replace(stages, next=None))


def _undrained(self: Rollout, first: Any, drain: float = 0.0, settle: float = 0.0) -> None:  # noqa: ANN401, ARG001
    _rollout(self, first, 0.0, settle)


def _left_by_one(self: Rollout, switch: str, now: float) -> list[Any]:
    self._retained = [replace(each, pending=frozenset()) for each in self._retained]
    return _acknowledged(self, switch, now)


def _told_late(self: SwitchConnection, group_id: int, group: Any) -> None:  # noqa: ANN401
    if self._sender is not None and self._sender.wanted is not None:
        _want_instead(self, group_id, group)


def _renumbered(new: Plan, old: Plan, _: object = frozenset()) -> Plan:
    return renumber(new, old)


def _refused(self: Rollout, **_: object) -> list[Any]:
    self._next = None
    return []


def _look(self: Pair, generation: int, reach: Any, now: float) -> Any:  # noqa: ANN401
    return None if self.is_acting else _judged(self, generation, reach, now)


def _one_end(self: LivenessTracker) -> None:
    edges = [frozenset((switch, self._neighbour(switch, port))) for switch, port in self._down_ports]
    self._failed_edges = frozenset(edge for edge in edges if edges.count(edge) > 1)


def _begun(self: PlanSource, version: Version, in_force: Plan) -> None:
    self._pending = version.name
    self._put(in_force, version.name)
    with self._warning():
        self._files.put_pending(version.plan)


def _drops_told(self: PeerFollower, beat: Beat, stages: Stages | None, now: float) -> None:
    self._roles.heard_beat(beat)
    if not self._roles.acts:
        self._told.heard(beat, stages, now)
        self.follow(now)


def _trusted_later(self: Control, live_by_port: Mapping[Port, bool]) -> None:
    self._tell_ingresses(self.tracker.doubt(self._doubted_ports()))
    _ports_changed(self, live_by_port)


def _without_last_resort(self: ChainedGroups, *arguments: Any) -> Iterator[Group]:  # noqa: ANN401
    *_, last_resort = arguments
    for group in _chained(self, *arguments):
        yield replace(group, buckets=tuple(each for each in group.buckets if each.watch_group != last_resort))


PLANTED = (
    Planted("changed tables are not put right", ControlledSwitches, "tables_wrong", _nothing),
    Planted("entries of others are not named", ControlledSwitches, "_look_at_foreign", _nothing),
    Planted("polls do not know what is being changed", Sender, "begin_poll", lambda _: frozenset()),
    Planted("stale groups are never deleted", sender, "difference", _without_deleted_groups),
    Planted("groups are deleted before the entries that use them", sender, "difference", _deleted_first),
    Planted(
        "changes count as acknowledged when they are sent", SwitchConnection, "_sending_part", _acknowledged_when_sent
    ),
    Planted("generation ids ignore those that switches report", Claims, "met", lambda *_: True),
    Planted("old paths are deleted without a drain", Rollout, "__init__", _undrained),
    Planted("old paths are deleted when one ingress has left them", Rollout, "acknowledged", _left_by_one),
    Planted("path ids of plans that are retired are given again", plan_source, "renumber", _renumbered),
    Planted("an update that is given up is not taken back", Rollout, "refused", _refused),
    Planted("an update is forgotten at a restart", PlanSource, "unfinished", _nothing),
    Planted("port changes are ignored while a switch is read", SwitchConnection, "port_changed", _nothing),
    Planted("dead tunnels are not told to an ingress that comes back", SwitchConnection, "want_instead", _told_late),
    Planted("a link is up while one end is", LivenessTracker, "_note_failed_edges", _one_end),
    Planted("chains of BFD sessions end in nothing", ChainedGroups, "groups", _without_last_resort),
    Planted("last resorts ignore dead tunnels", LastResorts, "update", lambda *_: {}),
    Planted("damped ports are never released", FlapDamping, "released", lambda _self, _now: []),
    Planted("a port is trusted after it is doubted no more", Control, "_ports_changed", _trusted_later),
    Planted(
        "a switch that lacks its tables is no last resort",
        Control,
        "_doubted_ports",
        lambda self: self._damping.doubted(),
    ),
    Planted("a switch that was full is never asked again", SecondChances, "due", lambda _self, _now: []),
    Planted("a switch that lacked ports is not read again", SwitchConnection, "read_again", _nothing),
    Planted("an update is forgotten at a takeover", Rollout, "resume", _resumed_without_next, 2),
    Planted("a controller does not yield to a later one", ControllerRoles, "displaced", _nothing, 2),
    Planted("a controller ignores peers that act", Pair, "look", _look, 2),
    Planted("a controller that stands by ignores ports", Control, "ports_told", _nothing, 2),
    Planted("the plan file is overwritten before its plan is beside it", PlanSource, "begun", _begun),
    Planted("the plan of a peer overwrites one that it does not know", plan_source, "_knows", lambda *_, **__: True, 2),
    Planted("plans are not heard while acting", PeerFollower, "heard", _drops_told, 2),
)


def main() -> None:
    """Print a row for each planted fault: how many controllers it needs, and what finds it."""
    for each in PLANTED:
        found = each.found_by()
        sys.stdout.write(f"| {each.name} | {each.controllers} | {'not found' if found is None else found} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
