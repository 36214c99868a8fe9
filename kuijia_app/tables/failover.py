"""Fast-failover groups at an ingress: tunnels in order of preference; the first alive one is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from kuijia_app.tables import identifiers
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.queues import Queue
from kuijia_app.tables.routes import Route, RoutedPair
from kuijia_app.tables.rules import Action, Bucket, Group, GroupType, Output, SetQueue, ToGroup
from kuijia_app.tables.tagging import Tags
from kuijia_app.tables.wiring import Wiring


@dataclass(frozen=True, slots=True)
class TunnelChoice:
    """A tunnel, and the queue to send through."""

    route: Route
    queue: Queue


class GroupIds(Protocol):
    """Ids of a chain of groups: its head's for step 0, then one more for each step."""

    def __call__(self, step: int) -> int: ...


class Failover(Protocol):
    """Method by which groups detect that a tunnel is alive."""

    def groups(self, choices: tuple[TunnelChoice, ...], group_id: GroupIds, last_resort: int) -> Iterator[Group]:
        """Yield the group `group_id(0)`, which uses the first alive choice, after the groups it needs.

        While no choice is alive it uses the group `last_resort`, which must exist. Groups of earlier calls are reused
        where they fit.
        """

    def last_resort(self, choices: tuple[TunnelChoice, ...], group_id: int) -> Group:
        """Return the group that uses the first choice whose first link is up, alive or not.

        A tunnel may count as dead by an alarm alone: all BFD sessions go down when their switch pauses.
        """


def liveness_group(path_id: int, first_port: int, *, alive: bool) -> Group:
    """Return the group watched by a tunnel's buckets: alive while the tunnel's first port is, dead when emptied."""
    if not alive:
        return emptied_liveness_group(path_id)
    buckets = (Bucket(actions=(), watch_port=first_port),)
    return Group(identifiers.liveness_group(path_id), GroupType.FAST_FAILOVER, buckets)


def emptied_liveness_group(path_id: int) -> Group:
    """Return the group watched by the buckets of a tunnel that is dead by something beyond its first link."""
    return Group(identifiers.liveness_group(path_id), GroupType.FAST_FAILOVER, ())


@dataclass
class _Sender:
    """Actions of one ingress that send over a tunnel."""

    ingress: str
    wiring: Wiring
    tags: Tags

    def first_port(self, route: Route) -> int:
        return self.wiring.port(self.ingress, route.next_hop)

    def send(self, choice: TunnelChoice) -> tuple[Action, ...]:
        mark = self.tags.mark(choice.route.path_id, choice.queue)
        return (*mark, SetQueue(choice.queue.queue_id), Output(self.first_port(choice.route)))

    def last_resort(self, choices: tuple[TunnelChoice, ...], group_id: int) -> Group:
        by_port: dict[int, TunnelChoice] = {}
        for choice in choices:
            by_port.setdefault(self.first_port(choice.route), choice)  # a later one with this port would never be used
        buckets = (Bucket(self.send(choice), watch_port=port) for port, choice in by_port.items())
        return Group(group_id, GroupType.FAST_FAILOVER, tuple(buckets))


def _going_on_to(group_id: int) -> Bucket:
    """Return the bucket that leads to another group, which it watches, as Open vSwitch wants it to watch something."""
    return Bucket((ToGroup(group_id),), watch_group=group_id)


@dataclass
class WatchedGroups(_Sender):
    """Buckets that watch a liveness group per tunnel, which the controller empties."""

    _watched: set[int] = field(default_factory=set)

    def groups(self, choices: tuple[TunnelChoice, ...], group_id: GroupIds, last_resort: int) -> Iterator[Group]:
        for route in (choice.route for choice in choices):
            if route.path_id not in self._watched:
                self._watched.add(route.path_id)
                yield liveness_group(route.path_id, self.first_port(route), alive=True)
        buckets = (
            Bucket(self.send(choice), watch_group=identifiers.liveness_group(choice.route.path_id))
            for choice in choices
        )
        yield Group(group_id(0), GroupType.FAST_FAILOVER, (*buckets, _going_on_to(last_resort)))


@dataclass
class ChainedGroups(_Sender):
    """Two groups per choice: one watches the tunnel's first port, the other the port of its BFD session.

    A bucket that watches a port and a group is alive if either is. To require both takes two groups in a row: each
    falls through to the next choice when its port is dead.
    """

    sessions: BfdSessions
    _known: dict[tuple[tuple[TunnelChoice, ...], int], int] = field(default_factory=dict)

    def groups(self, choices: tuple[TunnelChoice, ...], group_id: GroupIds, last_resort: int) -> Iterator[Group]:
        otherwise = last_resort
        for step in reversed(range(len(choices))):
            known = self._known.get((choices[step:], last_resort)) if step else None
            if known is not None:
                otherwise = known
                continue
            choice = choices[step]
            by_session, by_port = group_id(2 * step + 1), group_id(2 * step)
            session_port = self.sessions.over(choice.route.nodes).watched_port
            for each, bucket in (
                (by_session, Bucket(self.send(choice), watch_port=session_port)),
                (by_port, Bucket((ToGroup(by_session),), watch_port=self.first_port(choice.route))),
            ):
                yield Group(each, GroupType.FAST_FAILOVER, (bucket, _going_on_to(otherwise)))
            self._known[choices[step:], last_resort] = otherwise = by_port


def failover_at(direction: RoutedPair, wiring: Wiring, tags: Tags, sessions: BfdSessions | None) -> Failover:
    """Return an ingress's kind of groups: chained with BFD sessions, else with one liveness group per tunnel."""
    if sessions is None:
        return WatchedGroups(direction.ingress, wiring, tags)
    return ChainedGroups(direction.ingress, wiring, tags, sessions)
